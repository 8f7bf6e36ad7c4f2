"""Commands about compiled kernels."""
