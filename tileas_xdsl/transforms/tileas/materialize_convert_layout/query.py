"""
How one layout conversion is done: the plans that its layouts and its target allow, and the first that is feasible.

Nothing here changes IR.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute

from tileas_xdsl.dialects.nv_tileas.layout import PACKED_BYTES, element_bits, form_of, layout_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.conversion import REGISTERS, Abilities, LayoutPlan
from tileas_xdsl.layouts.distributed import REGISTER
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.moves import Move, is_memory, moves
from tileas_xdsl.layouts.staging import conflicts, store_staging
from tileas_xdsl.targets.chips import Feature, can, chip_of
from tileas_xdsl.transforms.tileas.materialize_convert_layout.narrow import as_bytes, check_width, is_narrow_float


@dataclass(frozen=True)
class Options:
    """The options of the pass."""

    width: int
    """The cap on register-to-register copies, in bytes."""
    as_bytes: bool
    capability: int


@dataclass(frozen=True)
class Failure:
    """Why there is no plan, and what would help."""

    help: str


@dataclass(frozen=True)
class PlannedStep:
    """
    What is to be done: the move, and the types between which it leads (those of bytes where these are reinterpreted).
    """

    move: Move
    source: Attribute
    target: Attribute
    reinterpreted: bool


@dataclass(frozen=True)
class Conflicts:
    """Bank conflicts that the layouts of an op force on it."""

    message: str
    way_out: str


def query(op: ConvertLayoutOp, options: Options) -> PlannedStep | Failure | None:
    """The plan for an op; None for one between layouts in words, which is left alone."""
    source, target = op.source.type, op.result.type
    if form_of(source) is None and form_of(target) is None:
        return None
    if options.width < 1:
        return Failure(f"reg2reg-vec-size is the width of a copy in bytes, so at least 1, not {options.width}")
    try:
        return _planned(source, target, options)
    except LayoutError as error:
        return Failure(f"from {_words(source)} to {_words(target)}: {error}")


def _planned(source: Attribute, target: Attribute, options: Options) -> PlannedStep | Failure:
    check_width(source)
    reinterpreted = options.as_bytes and is_narrow_float(source)
    if reinterpreted:
        source, target = as_bytes(source), as_bytes(target)
    first, second, bits = linear_layout(source), linear_layout(target), element_bits(source)
    for layout, type_ in ((first, source), (second, target)):
        if layout is None:
            raise LayoutError(f"{_words(type_)} does not say which bits; give it a layout such as blocked or swizzle")
    assert first is not None
    assert second is not None
    assert bits is not None
    if bits < 8 and options.width < PACKED_BYTES:
        return Failure(
            f"copies of {bits}-bit elements are {PACKED_BYTES} bytes wide, "
            f"and reg2reg-vec-size allows {options.width}: raise it to {PACKED_BYTES}, or set reinterpret-to-i8"
        )
    _refuse_other_spaces(source, target)
    return PlannedStep(
        moves(first, second, bits, abilities(options.capability, options.width))[0], source, target, reinterpreted
    )


def _refuse_other_spaces(source: Attribute, target: Attribute) -> None:
    for type_ in (source, target):
        layout = layout_of(type_)
        if layout is not None and layout.space.data not in ("rmem", "smem"):
            raise LayoutError(f"the catalogue has registers and shared memory, not {layout.space.data}")


def abilities(capability: int, width: int = 4) -> Abilities:
    """What the target has. Words of shuffles are no wider than the cap, which is `width` bytes."""
    return Abilities(
        matrix_loads=can(capability, Feature.MATRIX_LOADS),
        matrix_stores=can(capability, Feature.MATRIX_STORES),
        shared_bytes=chip_of(capability).shared_bytes,
        word_bits=8 * _largest_power(min(width, 4)),
    )


def _largest_power(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def _words(type_: Attribute) -> str:
    return str(layout_of(type_) or "a tile without a layout")


def forced_conflicts(step: PlannedStep) -> Conflicts | None:
    """The bank conflicts of a step, None where there are none; what a store could be staged in without them."""
    if not isinstance(step.move, LaneAccess) or not conflicts(step.move):
        return None
    extra = conflicts(step.move)
    message = f"takes {step.move.wavefronts} wavefronts a warp, {extra} of them for bank conflicts"
    registers = linear_layout(step.target if _is_load(step) else step.source)
    assert registers is not None
    best = store_staging(registers, step.move.element_bits, matrix_stores=step.move.kind != "plain")
    if not best or best[0][2].wavefronts >= step.move.wavefronts:
        return Conflicts(message, "no swizzle of TMA has fewer")
    width, _, access = best[0]
    return Conflicts(message, f"a swizzle of {width} bytes takes {access.wavefronts}")


def _is_load(step: PlannedStep) -> bool:
    source = linear_layout(step.source)
    return source is not None and is_memory(source)


def moved_bytes(step: PlannedStep) -> int:
    """How many bytes of registers a thread holds of the target; elements that share a byte fill a register."""
    target, bits = linear_layout(step.target), element_bits(step.target)
    assert target is not None
    assert bits is not None
    return max(1 if bits >= 8 else PACKED_BYTES, target.input_size(REGISTER) * bits // 8)


def tag_of(move: Move) -> int:
    """0: within registers. 1: through shared memory, or out of it."""
    return move.tag if isinstance(move, LayoutPlan) else 1


def stays_in_registers(move: Move) -> bool:
    return tag_of(move) == REGISTERS


def staging_layout(move: Move) -> LinearLayout | None:
    """The layout in shared memory that a plan stages the tile in."""
    return move.staging.memory if isinstance(move, LayoutPlan) and move.staging is not None else None
