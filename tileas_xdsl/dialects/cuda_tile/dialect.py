"""The dialect `cuda_tile` with all its ops. Who needs a few of them imports their files, and not this one."""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.cuda_tile import DIALECT
from tileas_xdsl.dialects.cuda_tile.attributes import ATTRIBUTES
from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS, PaddingAttr
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp, GlobalOp, ModuleOp
from tileas_xdsl.dialects.cuda_tile.types import TYPES

CudaTile = Dialect(
    DIALECT,
    [ModuleOp, EntryOp, GlobalOp, *OPS.values()],
    [*TYPES, *ATTRIBUTES, *ENUMERATIONS.values(), PaddingAttr],
)
