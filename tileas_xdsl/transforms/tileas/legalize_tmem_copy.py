"""
TileASLegalizeTmemCopy: copies to and from tensor memory become what the threads of sm_100 can do.

    copy %t, %s : T -> S      ->   %r = copy %t {"tcgen05.ld..."} : T -> R
                                   copy %r, %s {"stmatrix.x4"} : R -> S

    copy %s, %t : S -> T      ->   %r = convert_layout %s {atom_plan = ldmatrix} : S -> R
                                   copy %r, %t {"tcgen05.st..."} : R -> T

Between tensor memory and registers one copy is left, by `tcgen05.ld` or `tcgen05.st`. R, which thread holds what,
follows from T and the shape of the instruction (`layouts/tensor_memory.py`). Where the other side asks for registers in
another layout, a conversion between the two stands beside the copy, with its plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.diagnostics import Diagnostic, ErrorCollector, Severity, clear_status, mark_soft_failure
from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, form_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import LinearBases
from tileas_xdsl.layouts.moves import Move, tensor_move
from tileas_xdsl.layouts.tensor_memory import Transfer, transfers
from tileas_xdsl.targets.chips import DEFAULT_NAME, Feature, can
from tileas_xdsl.transforms.tileas.materialize_convert_layout.expand import VECTOR_BYTES, atom_of, expand
from tileas_xdsl.transforms.tileas.materialize_convert_layout.query import Options, PlannedStep, abilities

NO_REGISTER_LAYOUT = "failed to infer register layout from tmem layout"
NO_SOURCE_LAYOUT = "failed to infer source layout from tmem layout"
"""What TileAS says of a copy out of tensor memory, and of one into it, that has no plan; byte for byte."""


@dataclass(frozen=True)
class PlannedCopy:
    """How a copy is made: the transfer, and what happens on the other side of the registers."""

    transfer: Transfer
    registers: TensorType[Attribute]
    """The tile as the transfer leaves or takes it."""
    move: Move | None
    """From these registers to the other side, or the way round; None where both are the same, or words are silent."""


@dataclass(frozen=True)
class LegalizeTmemCopyPass(ModulePass):
    """
    Bind the copies to and from tensor memory to `tcgen05.ld` and `tcgen05.st`.

    Rewrites
        Each `nv_tileas.copy` with one side in tensor memory, as the module's docstring shows; others stay. Of the
        shapes of the instruction that is taken which makes the rest cheapest: no conversion, or the cheapest; to and
        from shared memory `stmatrix` and `ldmatrix` where the layouts allow them, else plain accesses; the fewest
        wavefronts. A copy that has an atom is done: a second run changes nothing.

    Requires
        Verified IR, and layouts that say their bits: a copy from words to words is left as it is. Functions for targets
        without tensor memory stay as they are. A warp issues `tcgen05.wait` behind what it has loaded or stored; that
        is part of the copy, for what follows it may use its result.

    Refuses
        A layout in tensor memory for which no shape gives a layout in registers, or none from which the other side can
        be reached. The copy stays as it is and its function gets bit 2; the other copies are made, and the errors come
        together at the end.

    Choices
        A layout in tensor memory is one of offsets, as in other memories: columns of a lane first, then lanes. So
        `row_major` is one row a lane, and only 64 rows, which leave the upper half of each 32 lanes empty, need a form
        of their own (PTX ISA, "Data Path Layout Organization", layout F). The two accesses of `.16x32bx2` are to the
        same lanes, as its two addresses differ by columns; Triton takes it for 64 rows in the same way. Two groups of
        four warps share the lanes where a step has 16 of them, as in Triton; more share the columns. A copy from tensor
        to shared memory is legal where threads make it, and no asynchronous copy is. Of a copy whose other side is in
        words the first shape is taken, `.32x32b`.
    """

    name = "tileas-legalize-tmem-copy"

    DESCRIPTION: ClassVar[str] = "Bind copies to and from tensor memory to tcgen05.ld and tcgen05.st"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "compute capability"})
    num_warps: int = field(default=4, metadata={"help": "number of warps that copy a tile"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = ErrorCollector()
        capabilities = [capability_for(function, self.compute_capability) for function in functions_in(op)]
        for function, capability in zip(functions_in(op), capabilities, strict=True):
            clear_status(function, self.name)
            if can(capability, Feature.TCGEN05):
                self._legalize(function, Options(VECTOR_BYTES, False, capability), errors)
        errors.raise_if_any()

    def _legalize(self, function: Operation, options: Options, errors: ErrorCollector) -> None:
        for copy in [op for op in function.walk() if isinstance(op, CopyOp) and _is_for_us(op)]:
            try:
                plan = _plan(copy, self.num_warps, options.capability)
            except LayoutError as error:
                what = NO_REGISTER_LAYOUT if _is_load(copy) else NO_SOURCE_LAYOUT
                help = f"from {copy.source.type} to {_target(copy)}: {error}"
                diagnostic = Diagnostic(Severity.ERROR, copy, what, help, verbatim=True)
                mark_soft_failure(function, self.name, diagnostic, errors)
                continue
            (_load if _is_load(copy) else _store)(copy, plan, options)


# Planning -------------------------------------------------------------------------------------------------------------


def _target(copy: CopyOp) -> Attribute:
    return (*copy.destinations, *copy.outputs)[0].type


def _is_load(copy: CopyOp) -> bool:
    return space_of(copy.source.type) == "tmem"


def _is_for_us(copy: CopyOp) -> bool:
    """Whether a copy has one side in tensor memory, a layout to the bit, and no atom yet."""
    types = (copy.source.type, _target(copy))
    if copy.atom is not None or copy.atom_descriptor is not None or not all(isinstance(t, TensorType) for t in types):
        return False
    return any(space_of(t) == "tmem" for t in types) and any(form_of(t) is not None for t in types)


def _plan(copy: CopyOp, warps: int, capability: int) -> PlannedCopy:
    """The best way to make a copy. Raises `LayoutError` where there is none."""
    tensor, other = (copy.source.type, _target(copy)) if _is_load(copy) else (_target(copy), copy.source.type)
    memory, wanted, bits = linear_layout(tensor), linear_layout(other), element_bits(tensor)
    if memory is None or bits is None:
        raise LayoutError("the tile in tensor memory does not say which bits; give it a layout such as row_major")
    if wanted is None and space_of(other) == "smem":
        raise LayoutError("the tile in shared memory does not say which bits; give it a layout such as swizzle<128>")
    if element_bits(other) != bits or (wanted is not None and wanted.outputs != memory.outputs):
        raise LayoutError("the two tiles are not of one shape; a view makes them so")
    if wanted is None:
        first = transfers(memory, bits, warps)[0]
        return PlannedCopy(first, _in_registers(tensor, first), None)
    way = tensor_move(memory, wanted, bits, warps, abilities(capability), loads=_is_load(copy))
    registers = cast("TensorType[Attribute]", other) if way.move is None else _in_registers(tensor, way.transfer)
    return PlannedCopy(way.transfer, registers, way.move)


def _in_registers(tensor: Attribute, transfer: Transfer) -> TensorType[Attribute]:
    tile = cast("TensorType[Attribute]", tensor)
    layout = LayoutAttr.of("rmem", form=LinearBases.of(transfer.registers))
    return TensorType(tile.element_type, tile.get_shape(), layout)


# Rewriting ------------------------------------------------------------------------------------------------------------


def _load(copy: CopyOp, plan: PlannedCopy, options: Options) -> None:
    """Out of tensor memory into registers, and on from there."""
    atom = CuteAtomAttr(StringAttr(plan.transfer.instruction("ld")))
    if _target(copy) == plan.registers:
        copy.atom_descriptor = atom
        return
    load = CopyOp(copy.source, result_type=plan.registers, atom_descriptor=atom)
    _before(copy, load)
    loaded = load.outputs[0]
    if isinstance(plan.move, LaneAccess):
        _copied_on(copy, loaded, atom_of(plan.move, "st"))
        return
    registers = cast("TensorType[Attribute]", _target(copy))
    converted = _between_registers(copy, loaded, registers, plan.move, options)
    if copy.destination is not None:
        _copied_on(copy, converted, None)
        return
    converted.name_hint = copy.outputs[0].name_hint
    copy.outputs[0].replace_all_uses_with(converted)
    Rewriter.erase_op(copy)


def _store(copy: CopyOp, plan: PlannedCopy, options: Options) -> None:
    """Into registers as the instruction takes them, and from there into tensor memory."""
    atom = CuteAtomAttr(StringAttr(plan.transfer.instruction("st")))
    if copy.source.type == plan.registers:
        copy.atom_descriptor = atom
        return
    _copied_on(copy, _between_registers(copy, copy.source, plan.registers, plan.move, options), atom)


def _before(copy: CopyOp, new: Operation) -> None:
    new.location = copy.location
    Rewriter.insert_op(new, InsertPoint.before(copy))


def _copied_on(copy: CopyOp, source: SSAValue, atom: CuteAtomAttr | None) -> None:
    """Let the copy start at `source`, by `atom`."""
    copy.operands[0] = source
    copy.atom_descriptor = atom


def _between_registers(
    copy: CopyOp, source: SSAValue, target: TensorType[Attribute], move: Move | None, options: Options
) -> SSAValue:
    """`source` in the layout of `target`, by `move`; a mere view where words say nothing of who holds what."""
    if move is None:
        view = ViewOp(source, [], target)
        _before(copy, view)
        return view.result
    conversion = ConvertLayoutOp(source, target)
    _before(copy, conversion)
    expand(conversion, PlannedStep(move, source.type, target, False), options)
    assert copy.prev_op is not None
    return copy.prev_op.results[0]
