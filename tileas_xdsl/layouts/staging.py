"""
A conversion through shared memory, staged in the layout with the fewest wavefronts.

What decides is small. The low bits of the offset say how wide each side may go: a thread writes 2**k elements at once
when the elements at the first 2**k offsets are in its registers, and reads so on the other side. Where the two sides
have less than 4 bytes in common, one of them gets the rest of the word; matrix instructions ask for rows of their
own. Each of these choices is tried.

The rest of the offset is banks and rows. Lanes that go together must not differ by a row alone: they would want
different words of one bank. So the rows S must meet, modulo the word, the elements that go together when writing only
in 0, and those when reading too. Both span at most one wavefront, and two subspaces of a space have a common
complement: such rows always exist, and *no choice of low bits has a bank conflict*. (Zhou et al., arXiv 2505.23819,
section 5.5, find their swizzles in that way.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.access import VECTOR_BITS, LaneAccess, accesses, store_accesses
from tileas_xdsl.layouts.banks import SHARED, Banks, together
from tileas_xdsl.layouts.distributed import LANE, REGISTER
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET, SWIZZLES, swizzled


@dataclass(frozen=True)
class Staging:
    """A tile in shared memory between two sets of threads: its layout, and how each side accesses it."""

    memory: LinearLayout
    write: LaneAccess
    read: LaneAccess

    @property
    def wavefronts(self) -> int:
        """Of one warp that writes and one that reads."""
        return self.write.wavefronts + self.read.wavefronts

    @property
    def conflicts(self) -> int:
        """The wavefronts that bank conflicts cost on either side."""
        return conflicts(self.write) + conflicts(self.read)

    @property
    def bytes(self) -> int:
        """How much shared memory it takes."""
        return max(1, (self.write.element_bits << self.memory.output_bits) // 8)


def least(access: LaneAccess) -> int:
    """The wavefronts of an access without conflicts: one for each group of lanes that go together."""
    if access.kind != "plain":
        return access.matrices * len(access.instructions)
    groups = max(1, access.lanes // together(access.width, access.banks))
    return groups * len(access.instructions)


def conflicts(access: LaneAccess) -> int:
    """The wavefronts of one warp that bank conflicts cost: those beyond what the same access would take without."""
    return access.wavefronts - least(access)


def staging(
    source: LinearLayout,
    target: LinearLayout,
    element_bits: int,
    *,
    matrix_loads: bool = False,
    matrix_stores: bool = False,
    banks: Banks = SHARED,
) -> Staging:
    """
    The staging with the fewest wavefronts; with as many, the one with the fewest instructions. Raises `LayoutError`
    where no layout will do: threads would write parts of one byte.
    """
    found: list[Staging] = []
    for low in _low_bits(source, target, element_bits, matrix_loads, matrix_stores):
        memory = _completed(low, source, target, element_bits, banks)
        try:
            write = store_accesses(source, memory, element_bits, matrix=matrix_stores, banks=banks)[0]
            read = accesses(target, memory, element_bits, matrix=matrix_loads, banks=banks)[0]
        except LayoutError:
            continue
        found.append(Staging(memory, write, read))
    if not found:
        raise LayoutError(f"no thread holds a whole byte of neighbours among elements of {element_bits} bits")
    return min(found, key=_cost)


def _cost(choice: Staging) -> tuple[int, int, bool]:
    instructions = len(choice.write.instructions) + len(choice.read.instructions)
    return choice.wavefronts, instructions, choice.write.needs_select or choice.read.needs_select


@lru_cache(maxsize=256)
def store_staging(
    source: LinearLayout, element_bits: int, *, matrix_stores: bool = False
) -> tuple[tuple[int, LinearLayout, LaneAccess], ...]:
    """
    The layouts that a TMA store accepts (swizzles of 0, 32, 64 and 128 bytes), best first, each with the way in which
    the threads of `source` write it.
    """
    found: list[tuple[int, LinearLayout, LaneAccess]] = []
    for width in sorted(SWIZZLES, reverse=True):
        memory = swizzled(source.shape, element_bits, width)
        try:
            written = store_accesses(source, memory, element_bits, matrix=matrix_stores)[0]
            found.append((width, memory, written))
        except LayoutError:
            continue
    return tuple(sorted(found, key=lambda choice: (choice[2].wavefronts, len(choice[2].instructions))))


def _low_bits(
    source: LinearLayout, target: LinearLayout, element_bits: int, matrix_loads: bool, matrix_stores: bool
) -> Iterator[tuple[int, ...]]:
    """The elements to which the lowest bits of the offset may lead."""
    written, read = source.images(REGISTER), target.images(REGISTER)
    widest = exponent(VECTOR_BITS // element_bits, "the elements of a vector")
    word = exponent(max(1, 32 // element_bits), "the elements of a word")
    common = _in_order(f2.intersection(written, read), written)
    for size in dict.fromkeys((widest, min(widest, word))):
        yield common[:size]
        for side in (written, read):
            yield (*common, *f2.extension(common, side))[:size]
    for layout, possible in ((target, matrix_loads), (source, matrix_stores)):
        if possible:
            yield from _matrix_rows(layout, element_bits)


def _in_order(span: Sequence[int], preferred: Sequence[int]) -> tuple[int, ...]:
    """A basis of `span`, beginning with those of `preferred` that lie in it."""
    inside = [vector for vector in preferred if f2.contains(span, vector)]
    return f2.basis([*inside, *span])


def _matrix_rows(layout: LinearLayout, element_bits: int) -> Iterator[tuple[int, ...]]:
    """The rows of 16 bytes that ldmatrix and stmatrix access, without and with transposition."""
    lanes, registers = layout.images(LANE), f2.basis(layout.images(REGISTER))
    if len(lanes) != 5 or element_bits > 32:
        return
    in_word = exponent(32 // element_bits, "the elements of a word")
    rows = [(*registers[:in_word], *lanes[:2])] if len(registers) >= in_word else []
    if element_bits == 16:
        rows.append(lanes[2:])
    yield from (row for row in rows if f2.rank(row) == len(row))


def _completed(
    low: Sequence[int], source: LinearLayout, target: LinearLayout, element_bits: int, banks: Banks
) -> LinearLayout:
    """The memory layout with these low bits, banks and rows being chosen so that neither side has a conflict."""
    dimension = source.output_bits
    sides = (source, target)
    word_bits = exponent(max(1, 8 * banks.width // element_bits), "the elements of a word")
    spread = [image for side in sides for place in (REGISTER, LANE) for image in side.images(place)]
    begun = f2.extension((), [*low, *f2.extension(low, [*spread, *f2.units(dimension)])])
    word = begun[: max(len(low), min(word_bits, dimension))]
    together_ = [_going_together(side, word, element_bits, banks) for side in sides]
    row_bits = exponent(8 * banks.row // element_bits, "the elements of a wavefront")
    enlarged = [_enlarged(span, [*together_[0], *together_[1]], row_bits, dimension) for span in together_]
    rows = f2.common_complement(enlarged[0], enlarged[1], dimension)[: max(0, dimension - row_bits)]
    in_row = f2.extension([*word, *rows], [*together_[0], *together_[1], *f2.units(dimension)])
    return LinearLayout(((OFFSET, (*word, *in_row, *rows)),), source.outputs)


def _going_together(side: LinearLayout, word: Sequence[int], element_bits: int, banks: Banks) -> tuple[int, ...]:
    """What the lanes that go together access at once, given the low bits of the offset."""
    registers, lanes = side.images(REGISTER), side.images(LANE)
    wide = 0
    while wide < len(word) and f2.within(word[: wide + 1], registers):
        wide += 1
    width = (element_bits << wide) // 8
    if wide < len(word) and len(lanes) == 5 and element_bits << len(word) == VECTOR_BITS:
        if f2.within(lanes[:2], word):
            return f2.basis([*word, *lanes[2:]])
        if f2.within(lanes[2:], word):
            return f2.basis([*word, *lanes[:2], *f2.extension([*word, *lanes], registers)[:1]])
    group = exponent(min(together(max(1, width), banks), 1 << len(lanes)), "the lanes that go together")
    in_word = exponent(max(1, 8 * banks.width // element_bits), "the elements of a word")
    return f2.basis([*word[: max(wide, in_word)], *lanes[:group]])


def _enlarged(span: Sequence[int], preferred: Sequence[int], size: int, dimension: int) -> tuple[int, ...]:
    """The span, enlarged to a whole wavefront."""
    return (*span, *f2.extension(span, [*preferred, *f2.units(dimension)]))[: max(size, len(span))]
