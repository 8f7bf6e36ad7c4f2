"""
Registers that go to other lanes of the warp, round by round, as `layouts/exchange.py` has planned.

    offered = select lanes 0, 2, .. ? %r0 : %r1        each lane offers one word
    got     = nvvm.shfl.sync idx %mask, %offered, ..   and takes that of the lane it names
    %s0     = select lanes 0, 2, .. ? got : %s0        where it belongs

Which lanes do something is a constant of 32 bits, shifted by the number of the lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType, VectorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp, ShuffleOp
from tileas_xdsl.dialects.nvvm.attributes import ShflKind
from tileas_xdsl.dialects.nvvm.thread import ShflOp
from tileas_xdsl.layouts.distributed import LANE, WARP_SIZE, representatives
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.exchange import EXCHANGED_BITS, Exchange, ExchangeStep, exchange
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits, elements, packed, vector_of
from tileas_xdsl.transforms.to_llvm.tiles.places import linear
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads

ALL_LANES = -1
"""The mask of `shfl.sync` that names all 32 lanes."""
CLAMP = WARP_SIZE - 1
EVERYWHERE = (1 << WARP_SIZE) - 1
WORD_BITS = 32
SHUFFLED = (8, 16, 32, 64)
"""The bits of elements that lanes can exchange."""


def shuffled(threads: Threads, value: SSAValue, kind: ShflKind, lane: SSAValue) -> SSAValue:
    """What the lane that `kind` and the number `lane` name has."""
    own = value.type
    if getattr(own, "bitwidth", WORD_BITS) == 2 * WORD_BITS:
        return _shuffled_halves(threads, value, kind, lane)
    word = value if isinstance(own, Float32Type) or own == i32 else cast_word(threads, value)
    mask, clamp = threads.number(ALL_LANES), threads.number(CLAMP)
    return from_word(threads, threads.result(ShflOp(kind, mask, word, lane, clamp)), own)


def _shuffled_halves(threads: Threads, value: SSAValue, kind: ShflKind, lane: SSAValue) -> SSAValue:
    """A number of 64 bits in two words."""
    pair = cast_bits(threads, value, VectorType(i32, [2]))
    halves = [threads.result(ExtractElementOp(pair, threads.number(place))) for place in (0, 1)]
    return cast_bits(threads, vector_of(threads, [shuffled(threads, half, kind, lane) for half in halves]), value.type)


def cast_word(threads: Threads, value: SSAValue) -> SSAValue:
    """A value of at most 32 bits as an i32."""
    width = getattr(value.type, "bitwidth", WORD_BITS)
    if (narrow := _narrow(value.type)) is not None:
        return threads.result(arith.ExtUIOp(cast_bits(threads, value, narrow), i32))
    if isinstance(value.type, VectorType) or width == WORD_BITS:
        return cast_bits(threads, value, i32)
    return cast_bits(threads, vector_of(threads, [value] * (WORD_BITS // width)), i32)


def from_word(threads: Threads, word: SSAValue, kind: object) -> SSAValue:
    """The converse."""
    if word.type == kind:
        return word
    width = getattr(kind, "bitwidth", WORD_BITS)
    if (narrow := _narrow(kind)) is not None:
        return cast_bits(threads, threads.result(arith.TruncIOp(word, narrow)), cast("VectorType", kind))
    if isinstance(kind, VectorType) or width == WORD_BITS:
        return cast_bits(threads, word, cast("VectorType", kind))
    pair = cast_bits(threads, word, VectorType(cast("VectorType", kind), [WORD_BITS // width]))
    return threads.result(ExtractElementOp(pair, threads.number(0)))


def _narrow(kind: object) -> IntegerType | None:
    """The integer of as many bits as a vector that fills no word; None for any other type."""
    if not isinstance(kind, VectorType):
        return None
    vector = cast("VectorType[Any]", kind)
    bits: int = prod(vector.get_shape()) * vector.element_type.bitwidth
    return IntegerType(bits) if bits < WORD_BITS else None


# Plans ----------------------------------------------------------------------------------------------------------------


def _plan(op: Operation) -> tuple[Tile, Tile, Exchange]:
    source, target = tile_of(op.operands[0].type), tile_of(op.results[0].type)
    assert source is not None
    assert target is not None
    return source, target, exchange(source.layout, target.layout, source.bits)


def no_exchange(op: ShuffleOp | CopyOp) -> tuple[str, str] | None:
    """What of an exchange between registers cannot be lowered."""
    source, target = tile_of(op.operands[0].type), tile_of(op.results[0].type)
    if source is None or target is None:
        return None
    way_out = "let the conversion go through shared memory"
    if source.bits not in EXCHANGED_BITS:
        return f"exchanges elements of {source.bits} bits", way_out
    try:
        _, _, plan = _plan(op)
    except LayoutError as error:
        return f"exchanges what no lane of the warp has: {error}", way_out
    if not plan.can_be_code:
        return "exchanges registers otherwise in each warp", way_out
    return None


# Rounds ---------------------------------------------------------------------------------------------------------------


def exchange_registers(op: ShuffleOp | CopyOp, threads: Threads) -> None:
    """Build the rounds of an exchange."""
    _, target, plan = _plan(op)
    held = elements(threads, threads.registers(op.operands[0]))
    found: dict[int, SSAValue] = {}
    masks = _Masks(threads)
    for step in plan.steps:
        received = _received(threads, step, held, masks)
        for number, lanes in _lanes_that(step.kept[0]).items():
            _keep(found, number, received, masks.of(lanes), threads)
    same = representatives(target.layout, plan.registers)
    threads.give(op.results[0], packed(threads, target, [found[same[number]] for number in range(target.count)]))


def _lanes_that(table: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """Registers -> the mask of the lanes that name them; lanes that name none are left out."""
    found: dict[tuple[int, ...], int] = {}
    for lane, registers in enumerate(table):
        if registers:
            found[registers] = found.get(registers, 0) | 1 << lane
    return found


class _Masks:
    """Whether this lane is one of those in a mask; each is computed once."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._known: dict[int, SSAValue] = {}

    def of(self, mask: int) -> SSAValue | None:
        """An i1; None where all lanes are in the mask."""
        if mask == EVERYWHERE:
            return None
        if mask not in self._known:
            signed = mask - (1 << WARP_SIZE) if mask >> (WARP_SIZE - 1) else mask
            threads = self._threads
            shifted = threads.result(arith.ShRUIOp(threads.number(signed), threads.lane))
            self._known[mask] = threads.result(arith.TruncIOp(shifted, i1))
        return self._known[mask]


def _received(threads: Threads, step: ExchangeStep, held: Sequence[SSAValue], masks: _Masks) -> list[SSAValue]:
    """The elements that a lane gets in a round."""
    offered: SSAValue | None = None
    kinds = _lanes_that(step.offered[0])

    for registers, lanes in kinds.items():
        word = held[registers[0]] if len(registers) == 1 else vector_of(threads, [held[r] for r in registers])

        condition = masks.of(lanes)
        if offered is None or condition is None:
            offered = word
        else:
            offered = _selected(threads, condition, word, offered)
    assert offered is not None
    if not step.local:
        images = step.lane_images
        assert images is not None
        own = linear(threads, {LANE: images})
        first = step.lane[0][0]
        lane = threads.number(first) if own is None else threads.compute(arith.XOrIOp, own, first) if first else own
        offered = shuffled(threads, offered, ShflKind.IDX, lane)
    if not isinstance(offered.type, VectorType):
        return [offered]
    count = len(next(iter(kinds)))
    return [threads.result(ExtractElementOp(offered, threads.number(position))) for position in range(count)]


def _is_vector(kind: Attribute) -> bool:
    return isinstance(kind, VectorType)


def _selected(threads: Threads, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """A choice; of vectors as words, since a choice of vectors goes by elements."""
    kind: Attribute = a.type
    if not _is_vector(kind):
        return threads.result(arith.SelectOp(condition, a, b))
    words = (cast_word(threads, value) for value in (a, b))
    return from_word(threads, threads.result(arith.SelectOp(condition, *words)), kind)


def _keep(
    found: dict[int, SSAValue],
    registers: tuple[int, ...],
    received: Sequence[SSAValue],
    condition: SSAValue | None,
    threads: Threads,
) -> None:
    for number, value in zip(registers, received, strict=True):
        before = found.get(number)
        found[number] = value if before is None or condition is None else _selected(threads, condition, value, before)
