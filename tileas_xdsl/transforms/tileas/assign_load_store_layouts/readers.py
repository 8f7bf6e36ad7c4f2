"""
The plans of layout conversions, and the copies that store registers into shared memory: the instruction that fits.

A plan keeps its tag, its layout in shared memory and its result; only the instruction may change, where the target has
a better one than was known when the plan was made, or where the plan names none.
"""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.moves import moves
from tileas_xdsl.transforms.tileas.materialize_convert_layout.expand import atom_of
from tileas_xdsl.transforms.tileas.materialize_convert_layout.query import abilities


def refine(function: Operation, capability: int) -> None:
    """Put the best instruction into every load from shared memory and every store there."""
    for op in function.walk():
        if isinstance(op, ConvertLayoutOp):
            _refine_load(op, capability)
        elif isinstance(op, CopyOp):
            _refine_store(op, capability)


def _refine_load(op: ConvertLayoutOp, capability: int) -> None:
    plan = op.atom_plan
    if plan is None or plan.tag.data != 1 or not _is_ours(plan.atom_descriptor):
        return
    access = _access(op.source.type, op.result.type, capability, loads=True)
    if access is not None:
        layout = None if isinstance(plan.atom_layout, NoneAttr) else plan.atom_layout
        op.atom_plan = AtomPlanAttr.of(1, plan.smem_layout, layout, atom_of(access, "ld"))


def _refine_store(op: CopyOp, capability: int) -> None:
    if op.destination is None or op.atom is not None or not _is_ours(op.atom_descriptor):
        return
    access = _access(op.source.type, op.destination.type, capability, loads=False)
    if access is not None:
        op.atom_descriptor = atom_of(access, "st")


def _is_ours(descriptor: object) -> bool:
    """Whether an instruction is missing, or one of those that are chosen here."""
    if not isinstance(descriptor, CuteAtomAttr):
        return descriptor is None or isinstance(descriptor, NoneAttr)
    return descriptor.text.data.startswith(("ld.shared ", "st.shared ", "ldmatrix.", "stmatrix."))


def _access(source: Attribute, target: Attribute, capability: int, *, loads: bool) -> LaneAccess | None:
    """The best access between the registers and the shared memory of two tile types; None for other pairs."""
    spaces = ("smem", "rmem") if loads else ("rmem", "smem")
    first, second, bits = linear_layout(source), linear_layout(target), element_bits(source)
    if first is None or second is None or bits is None or (space_of(source), space_of(target)) != spaces:
        return None
    try:
        found = moves(first, second, bits, abilities(capability))[0]
    except LayoutError:
        return None
    return found if isinstance(found, LaneAccess) else None
