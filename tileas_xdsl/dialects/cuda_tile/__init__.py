"""
The dialect `cuda_tile`: NVIDIA's CUDA Tile IR, the IR of tile kernels that cuTile Python writes.

`table.py` has a row for each op. From the rows are made: the classes (`base.py`, `ops.py`), the text (`forms.py`, with
the exceptions of `custom.py` and `structure.py`), the verifiers (`verifiers.py`), and the bytecode
(`readers/tile_ir/`). Source: public definitions of release 13.3 (NVIDIA/cuda-tile).
"""

DIALECT = "cuda_tile"
"""The name of the dialect."""
HINTS = "tile_ir.hints"
"""The attribute of a function that an entry has become, with the hints of the entry."""
