"""The documentation, and `docs/build.py`, which makes a site of it."""
