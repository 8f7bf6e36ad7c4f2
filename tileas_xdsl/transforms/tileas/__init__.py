"""Passes of the TileAS family, on `nv_tileas` pipelines: acquire, commit, wait, release."""
