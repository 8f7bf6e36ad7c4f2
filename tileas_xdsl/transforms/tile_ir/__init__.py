"""Passes on `cuda_tile`, the IR of tile kernels that cuTile Python writes."""
