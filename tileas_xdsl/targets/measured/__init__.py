"""Figures that were measured on a device; each names its measurement in `bench/gpu/results/`."""
