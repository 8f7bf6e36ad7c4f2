"""
Bytecode of CUDA Tile IR: `read` makes a module of `cuda_tile` of it, `write` the bytes again.

    module = read(Path("gemm.tileirbc").read_bytes())
    assert write(module) == Path("gemm.tileirbc").read_bytes()

Every byte is accounted for: what is read and written again is identical. Versions 13.1 to 13.5. Source: public
definitions of release 13.3 (NVIDIA/cuda-tile), and the writer of cuda-tile 1.7 (PyPI).
"""

from tileas_xdsl.readers.tile_ir.cursor import BytecodeError
from tileas_xdsl.readers.tile_ir.reading import read
from tileas_xdsl.readers.tile_ir.sections import MAGIC
from tileas_xdsl.readers.tile_ir.writing import NotWritableError, write

__all__ = ["MAGIC", "BytecodeError", "NotWritableError", "read", "write"]
