"""
TileASAssignLoadStoreLayouts: every load and store gets the instruction that moves its tile.

    %t = tiled_load %a[%i, %k] : ... -> S        %t = tiled_load %a[%i, %k] {nv_tileas.atom = sm90_tma_load_2d_f16}
    tiled_store %c[%i, %j], %r : R          ->   tiled_store %c[%i, %j], %r {nv_tileas.atom = sm90_stg_128_f32}
    %x = convert_layout %t {atom_plan}           %x = convert_layout %t {atom_plan with the atom that fits}

Which instructions there are follows from the layout of the tile, what is known of the array, and the target
(`layouts/atoms.py`). The loads that fill one pipeline are an *alias group* and use instructions of one kind, for their
completion is counted in one way; the group takes the kind with the lowest score. Layouts stay as they are, and so do
the tags of plans.

`accesses.py` has what is loaded and stored, `groups.py` chooses.

*Readers* are the plans of layout conversions, and the copies that store registers into shared memory. A plan keeps its
tag, its layout in shared memory and its result; only the instruction may change, where the target has a better one than
was known when the plan was made, or where the plan names none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.diagnostics import ErrorCollector, clear_status, mark_soft_failure, remark
from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.moves import moves
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.tileas.assign_load_store_layouts.groups import Known, choose
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


@dataclass(frozen=True)
class AssignLoadStoreLayoutsPass(ModulePass):
    """
    Bind loads and stores to instructions.

    Rewrites
        The attribute `atom` of accesses to global memory (`nv_tileas.atom` on ops of nv_tileaa) whose tile has a layout
        to the bit, and the `atom_descriptor` of layout conversions and copies between registers and shared memory where
        another one fits better. An access that has an atom keeps it. A second run changes nothing.

    Requires
        Verified IR with layouts, behind `tileas-materialize-convert-layout`.

    Refuses
        A pipeline whose tiles lie in different memories, or whose loads have no kind of instruction in common; a tile
        with elements that share a byte and belong to several threads. Nothing in the function is bound then, and it
        gets bit 2; the other functions are bound, and the errors come together.

    Choices
        The published figure of merit counts, as accesses of shared memory, the wavefronts of threads that access the
        tile in order, or the boxes of TMA; as live registers those that hold the tile on the way from memory to memory.
        An alias group is what fills one pipeline; its kinds are TMA, `cp.async` and registers. Rows whose alignment no
        type states are taken to begin at multiples of 16 bytes, as TMA takes no others; `row-alignment` says otherwise.
        Ops of nv_tileaa have no `atom`, so theirs is the attribute `nv_tileas.atom`.
    """

    name = "tileas-assign-load-store-layouts"

    DESCRIPTION: ClassVar[str] = "Bind loads and stores to the instructions that move their tiles"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "compute capability"})
    num_warps: int = field(default=4, metadata={"help": "number of warps that move a tile"})
    row_alignment: int = field(
        default=16, metadata={"help": "bytes of which rows of arrays begin at a multiple where types leave it open"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for option, value in (("num-warps", self.num_warps), ("row-alignment", self.row_alignment)):
            if value < 1 or value & (value - 1):
                raise PassFailedException(f"{self.name}: {option}={value}: a power of two is needed")
        capabilities = [capability_for(function, self.compute_capability) for function in functions_in(op)]
        errors = ErrorCollector()
        for function, capability in zip(functions_in(op), capabilities, strict=True):
            clear_status(function, self.name)
            self._bind(function, Known(capability, self.num_warps, self.row_alignment), errors)
        errors.raise_if_any()

    def _bind(self, function: Operation, known: Known, errors: ErrorCollector) -> None:
        choice = choose(function, known)
        for diagnostic in choice.errors:
            mark_soft_failure(function, self.name, diagnostic, errors)
        if choice.errors:
            return
        for access, atom in choice.atoms:
            access.bind(atom)
        for op, message, way_out in choice.remarks:
            remark(op, message, way_out)
        refine(function, known.capability)
