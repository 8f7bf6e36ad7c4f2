"""
The cycles that bank conflicts add to an access of shared memory.

A tile that threads bring from their registers to shared memory, or back, takes so many wavefronts, one cycle each
(`layouts/banks.py`). Without conflicts these are what the rate of shared memory says, bytes a cycle. What an access
takes beyond is charged on top, here, for the machine's clock and for schedules alike; it is what
`tileas-materialize-convert-layout` remarks.
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.layouts.access import accesses
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.layouts.moves import is_memory
from tileas_xdsl.layouts.staging import conflicts


def conflict_cycles(op: Operation) -> int:
    """
    How much longer `op` occupies shared memory because of bank conflicts, all its warps together; 0 for an op that does
    not say by which instruction it moves a tile.
    """
    if isinstance(op, ConvertLayoutOp) and op.atom_plan is not None and op.atom_plan.tag.data == 1:
        return _between(op.source.type, op.result.type, str(op.atom_plan.atom_descriptor))
    if isinstance(op, CopyOp) and op.destination is not None and op.atom_descriptor is not None:
        return _between(op.source.type, op.destination.type, str(op.atom_descriptor))
    return 0


@lru_cache(maxsize=256)
def _between(source: Attribute, target: Attribute, atom: str) -> int:
    """Of a tile that `atom` moves; 0 unless one of the types says registers and the other one memory, to the bit."""
    first, second, bits = linear_layout(source), linear_layout(target), element_bits(source)
    if first is None or second is None or bits is None or is_memory(first) == is_memory(second):
        return 0
    registers, memory = (second, first) if is_memory(first) else (first, second)
    access = accesses(registers, memory, bits, matrix="matrix" in atom)[0]
    return conflicts(access) * registers.input_size(WARP)
