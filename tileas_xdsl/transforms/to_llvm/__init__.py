"""Down to the `llvm` dialect: ops of `nvvm`, and functions of loops, buffers and numbers."""
