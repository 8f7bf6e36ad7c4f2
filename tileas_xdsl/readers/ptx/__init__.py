"""PTX: the text of a kernel as a module of `func`, `cf`, `arith`, `llvm` and `nvvm`."""
