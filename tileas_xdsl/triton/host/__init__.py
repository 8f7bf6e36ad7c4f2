"""
What stands in for a GPU and for the libraries that ask for one, so that a file of kernels can be executed anywhere.

Triton's driver only says its target (`driver`); tensors have a type, a shape and strides, and no elements (`tensors`);
`torch` makes such tensors (`torch`); and of everything else there are the names (`anything`).
"""
