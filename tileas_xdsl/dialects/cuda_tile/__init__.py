"""
The dialect `cuda_tile`: NVIDIA's CUDA Tile IR, the IR of tile kernels that cuTile Python writes.

`table.py` has a row for each op. From the rows are made: the classes (`base.py`, `ops.py`), the text (`forms.py`, with
the exceptions of `custom.py` and `structure.py`), the verifiers (`verifiers.py`), and the bytecode
(`readers/tile_ir/`). Source: public definitions of release 13.3 (NVIDIA/cuda-tile).
"""

from xdsl.ir import Dialect

from tileas_xdsl.dialects.cuda_tile.attributes import ATTRIBUTES
from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS, PaddingAttr
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp, GlobalOp, ModuleOp
from tileas_xdsl.dialects.cuda_tile.types import TYPES

CudaTile = Dialect(
    "cuda_tile",
    [ModuleOp, EntryOp, GlobalOp, *OPS.values()],
    [*TYPES, *ATTRIBUTES, *ENUMERATIONS.values(), PaddingAttr],
)
