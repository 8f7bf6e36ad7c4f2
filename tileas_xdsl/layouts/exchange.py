"""
Conversions within a warp: every register of the target comes from some register of some lane, by the fewest shuffles.

`shfl.sync` gives each lane one word of 32 bits, from a lane that it names; a lane offers one word, to all that want it.
So the shuffles of a warp are *rounds*, and in a round

- a lane that receives gets the elements of one word, all from one lane (receivers limit the rounds from below), and
- a lane that sends has one word to offer (so do senders).

Let d = (register, lane, warp) be a place of the target, and `source(d)` the place that its element comes from. Elements
that one lane gets from one lane are those of registers whose difference has source lane 0: the *group*. As many of them
as a word holds travel together: V, a subspace of the group. A linear map that numbers the rounds is right when its
kernel N meets the registers (modulo V) in 0, so that a lane gets one word a round, and meets the places with
source lane 0 only where they want the same word. Two subspaces have a common complement, so the number of rounds is the
larger of what receivers and senders need. That is the fewest: no lane could do with less. Elements that stay in their
lane need no round; where every lane has such a group, its rounds are left out.

This is the method of Zhou et al. (arXiv 2505.23819, section 5.4), for senders as well, and with the rounds that stay at
home left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import eq

from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.distributed import BLOCK, LANE, REGISTER, WARP
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout

SHUFFLE_BITS = 32
"""What one shfl.sync moves for a lane (PTX ISA, shfl.sync)."""
EXCHANGED_BITS = (8, 16, 32)
"""The sizes of elements that threads exchange or select; others are renamed or go through memory."""


@dataclass(frozen=True)
class Exchange:
    """
    A conversion within warps.

    `sources` leads from (register, lane, warp) of the target to (register, lane) of the source, in the same warp.
    `word` is V, a basis of register numbers, and `rounds` the columns of the map that numbers the rounds. Rounds below
    `local` stay within their lanes.
    """

    sources: LinearLayout
    registers: tuple[int, ...]
    """Register numbers that span the different elements of a thread; the others hold copies."""
    word: tuple[int, ...]
    rounds: LinearLayout
    local: int
    parts: int
    """How many words an element takes: 2 for one of 64 bits."""

    @property
    def shuffles(self) -> int:
        """How many shfl.sync a warp executes."""
        return (self.rounds.output_size("round") - self.local) * self.parts

    @property
    def moves_registers_only(self) -> bool:
        """Whether each thread has what it needs: registers are renamed or selected, nothing is sent."""
        return self.shuffles == 0

    @property
    def is_relabelling(self) -> bool:
        """Whether each register of the target is one register of the source, the same in every thread."""
        selected = self.sources.with_inputs([LANE, WARP]).with_outputs([REGISTER])
        return self.moves_registers_only and not any(selected.columns)

    @cached_property
    def steps(self) -> tuple[ExchangeStep, ...]:
        """What is done, step by step; see `Step`."""
        return tuple(_steps(self))

    @cached_property
    def can_be_code(self) -> bool:
        """
        Whether all warps execute the same instructions: in each step they do the same, and the lane that a lane takes
        from is a linear map of its own number, which a few operations on bits compute.
        """
        return all(step.is_the_same_in_warps and step.lane_images is not None for step in self.steps)


@dataclass(frozen=True)
class ExchangeStep:
    """
    One word for each lane. Lists are by warp, then lane.

    Lane l of warp w gets, from `lane[w][l]`, the elements which stand there in the registers `offered[w][source]`, and
    puts them into `kept[w][l]`. A `local` step takes no shuffle.
    """

    lane: tuple[tuple[int, ...], ...]
    offered: tuple[tuple[tuple[int, ...], ...], ...]
    kept: tuple[tuple[tuple[int, ...], ...], ...]
    local: bool

    @property
    def is_the_same_in_warps(self) -> bool:
        """Whether lanes of equal numbers do the same in every warp."""
        return all(len(set(table)) == 1 for table in (self.lane, self.offered, self.kept))

    @property
    def lane_images(self) -> list[int] | None:
        """
        The images of the bits of a lane's number in that of the lane it takes from, in the first warp; None if the
        map is not linear, up to the lane that lane 0 takes from.
        """
        table = self.lane[0]
        images = [table[unit] ^ table[0] for unit in f2.units(exponent(len(table), "the lanes of a warp"))]
        expected = (table[0] ^ f2.combination(images, lane) for lane in range(len(table)))
        return images if all(map(eq, table, expected)) else None


@lru_cache(maxsize=1024)
def exchange(source: LinearLayout, target: LinearLayout, element_bits: int, word_bits: int = SHUFFLE_BITS) -> Exchange:
    """
    The conversion from `source` to `target` by words of at most `word_bits`, with the fewest shuffles. Where the source
    holds elements more than once, one of the copies is chosen for each place, by descent: fewest is then not promised.
    Raises `LayoutError` where an element has to go to another warp or block.
    """
    problem = _Problem.of(source, target, element_bits, word_bits)
    return problem.solved(min(problem.choices(), key=problem.rounds_of))


@dataclass(frozen=True)
class _Problem:
    """The two layouts, with the place of the target as one vector: independent registers, then lanes, then warps."""

    source: LinearLayout
    target: LinearLayout
    capacity: int
    """How many elements fit a word."""
    parts: int
    registers: tuple[int, ...]
    wanted: tuple[int, ...]
    """For each bit of a place, the element that the same warp of the source must hold."""

    @staticmethod
    def of(source: LinearLayout, target: LinearLayout, element_bits: int, word_bits: int) -> _Problem:
        if source.outputs != target.outputs:
            raise LayoutError("the two layouts are not of one tile")
        if source.images(BLOCK) != target.images(BLOCK):
            raise LayoutError("elements would have to go to another block")
        images = target.images(REGISTER)
        registers = tuple(u for u, i in zip(f2.units(len(images)), images, strict=True) if i)
        registers = f2.extension(f2.kernel(images), registers)
        moved = [s ^ t for s, t in zip(_padded(source, target), _padded(target, source), strict=True)]
        wanted = (*(f2.combination(images, r) for r in registers), *target.images(LANE), *moved)
        parts = max(1, element_bits // word_bits)
        capacity = exponent(max(1, word_bits // element_bits), "the elements of a word")
        return _Problem(source, target, capacity, parts, registers, wanted)

    @property
    def register_bits(self) -> int:
        return len(self.registers)

    @property
    def lane_bits(self) -> int:
        return len(self.target.images(LANE))

    def choices(self) -> Iterator[tuple[int, ...]]:
        """For each bit of a place the packed (register, lane) of the source that it takes its element from."""
        own = (*self.source.images(REGISTER), *self.source.images(LANE))
        solved = [f2.solve(own, element) for element in self.wanted]
        if None in solved:
            raise LayoutError("elements would have to go to another warp")
        plain = tuple(place for place in solved if place is not None)
        yield plain
        copies = [null for null in f2.kernel(own) if null >> len(self.source.images(REGISTER))]
        homely = self._local_first(own, plain)
        yield homely
        if copies:
            yield self._descended(min(plain, homely, key=self.rounds_of), copies)

    def _local_first(self, own: Sequence[int], plain: tuple[int, ...]) -> tuple[int, ...]:
        """Take from the same lane whatever is there; the rest as in `plain`."""
        start = len(self.source.images(REGISTER))
        lanes = self.source.images(LANE)
        shift = [1 << (start + bit - self.register_bits) if self._is_lane(bit) else 0 for bit in range(len(plain))]
        held = [lanes[bit - self.register_bits] if self._is_lane(bit) else 0 for bit in range(len(plain))]
        missing = [element ^ there for element, there in zip(self.wanted, held, strict=True)]
        here = self.source.images(REGISTER)
        both = [*missing, *here]
        local = f2.basis(n & ((1 << len(plain)) - 1) for n in f2.kernel(both))
        others = f2.extension(local, f2.units(len(plain)))
        images = [self._local_place(place, missing, here, shift) for place in local]
        images += [f2.combination(plain, place) for place in others]
        back = f2.inverse([*local, *others], len(plain))
        assert back is not None
        return tuple(f2.combination(images, chosen) for chosen in back)

    def _is_lane(self, bit: int) -> bool:
        return self.register_bits <= bit < self.register_bits + min(self.lane_bits, len(self.source.images(LANE)))

    @staticmethod
    def _local_place(place: int, missing: Sequence[int], here: Sequence[int], shift: Sequence[int]) -> int:
        register = f2.solve(here, f2.combination(missing, place))
        assert register is not None
        return register ^ f2.combination(shift, place)

    def _descended(self, start: tuple[int, ...], copies: Sequence[int]) -> tuple[int, ...]:
        """Change the copy for one bit of a place after the other, while that saves shuffles."""
        best, cost = start, self.rounds_of(start)
        shifts = [f2.combination(copies, number) for number in range(1, 1 << len(copies))]
        for bit in range(len(start)):
            for shift in shifts:
                tried = (*best[:bit], best[bit] ^ shift, *best[bit + 1 :])
                tried_cost = self.rounds_of(tried)
                if tried_cost < cost:
                    best, cost = tried, tried_cost
        return best

    def rounds_of(self, places: tuple[int, ...]) -> int:
        """How many rounds `solved` will find for one choice, not counting local ones."""
        start = len(self.source.images(REGISTER))
        lane = [place >> start for place in places]
        group = self.register_bits - f2.rank(lane[: self.register_bits])
        word = min(group, self.capacity)
        if self._local(lane) is not None:
            return (1 << (self.register_bits - word)) - (1 << (group - word))
        senders = f2.kernel(lane[: self.register_bits + self.lane_bits])
        offered = f2.rank(f2.combination(places, sender) for sender in senders)
        return 1 << (max(self.register_bits, offered) - word)

    def solved(self, places: tuple[int, ...]) -> Exchange:
        """The rounds for one choice of source places."""
        start = len(self.source.images(REGISTER))
        lane = [place >> start for place in places]
        registers = range(self.register_bits)
        group = [n for n in f2.kernel([lane[r] for r in registers])]
        word = tuple(group[: self.capacity])
        local = self._local(lane)
        kernel = f2.extension(group, local) if local is not None else self._common(places, lane, word)
        rounds = _quotient([*word, *kernel], [*(local or ()), *f2.units(len(places))], len(places))
        count = 1 << (len(local) - len(kernel) - len(word)) if local is not None else 0
        return Exchange(
            self._sources(places, start),
            self.registers,
            tuple(f2.combination(self.registers, w) for w in word),
            self._numbering(rounds),
            count,
            self.parts,
        )

    def _local(self, lane: Sequence[int]) -> tuple[int, ...] | None:
        """The places whose source is their own lane, where every thread has one, else None."""
        own = [source ^ (1 << (b - self.register_bits) if self._is_lane(b) else 0) for b, source in enumerate(lane)]
        local = f2.kernel(own)
        threads = [place >> self.register_bits for place in local]
        return local if f2.rank(threads) == len(lane) - self.register_bits else None

    def _same_word(self, places: Sequence[int], senders: Sequence[int], word: Sequence[int]) -> tuple[int, ...]:
        """Z: those of `senders` that want a word which the word of register 0 of lane 0 holds."""
        offered = [f2.combination(places, w) for w in word]
        both = [*(f2.combination(places, s) for s in senders), *offered]
        kept = [n & ((1 << len(senders)) - 1) for n in f2.kernel(both)]
        return f2.basis(f2.combination(senders, k) for k in kept)

    def _common(self, places: Sequence[int], lane: Sequence[int], word: Sequence[int]) -> tuple[int, ...]:
        """
        N, modulo V: as large a space as there is that meets the registers in 0, and the places with source lane 0
        only in Z, where they want one word. Warps differ in nothing.
        """
        size = self.register_bits + self.lane_bits
        senders = f2.kernel(lane[:size])
        base = f2.basis([*word, *self._same_word(places, senders, word)])
        rest = f2.extension(base, f2.units(size))
        flat = f2.echelon([*base, *rest])

        def modulo(vectors: Sequence[int]) -> list[int]:
            return [flat.reduce(vector)[1] >> len(base) for vector in vectors]

        inside = f2.common_complement(modulo(f2.units(self.register_bits)), modulo(senders), len(rest))
        lifted = [f2.combination(rest, vector) for vector in inside]
        return f2.extension(word, [*base, *lifted, *f2.units(len(places))[size:]])

    def _numbering(self, columns: Sequence[int]) -> LinearLayout:
        bits = max((c.bit_length() for c in columns), default=0)
        return LinearLayout(self._places(columns), (("round", bits),))

    def _sources(self, places: Sequence[int], start: int) -> LinearLayout:
        return LinearLayout(self._places(places), ((REGISTER, start), (LANE, len(self.source.images(LANE)))))

    def _places(self, columns: Sequence[int]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """What the bits of a place lead to, by the input that they belong to."""
        lanes, warps = self.register_bits, self.register_bits + self.lane_bits
        return (REGISTER, tuple(columns[:lanes])), (LANE, tuple(columns[lanes:warps])), (WARP, tuple(columns[warps:]))


def _padded(layout: LinearLayout, other: LinearLayout) -> tuple[int, ...]:
    """The images of the warps, as many as the larger of both layouts has."""
    own = layout.images(WARP)
    return (*own, *(0,) * (len(other.images(WARP)) - len(own)))


def _quotient(kernel: Sequence[int], order: Sequence[int], size: int) -> tuple[int, ...]:
    """The columns of a map whose kernel is `kernel`; vectors that come earlier in `order` get the lower bits."""
    zero = f2.basis(kernel)
    others = f2.extension(zero, order)
    back = f2.inverse([*zero, *others], size)
    assert back is not None
    return tuple(chosen >> len(zero) for chosen in back)


def _steps(plan: Exchange) -> Iterator[ExchangeStep]:
    """The rounds of a plan, written out for every lane. Raises `LayoutError` should a lane be asked for two words."""
    warps, lanes, register_bits, lane_bits = _sizes(plan)
    inside = [f2.combination(_word_numbers(plan), number) for number in range(1 << len(plan.word))]
    source_registers = (1 << dict(plan.sources.outputs)[REGISTER]) - 1
    senders = 1 << dict(plan.sources.outputs)[LANE]
    for number, members in enumerate(_members(plan)):
        lane = [[0] * lanes for _ in range(warps)]
        offered: list[list[tuple[int, ...]]] = [[()] * senders for _ in range(warps)]
        kept: list[list[tuple[int, ...]]] = [[()] * lanes for _ in range(warps)]
        for place in members:
            at, warp = place >> register_bits & (lanes - 1), place >> (register_bits + lane_bits)
            taken = [plan.sources.table[place ^ i] for i in inside]
            by_register = {t & source_registers: place ^ i for t, i in zip(taken, inside, strict=True)}
            lane[warp][at] = taken[0] >> source_registers.bit_length()
            order = offered[warp][lane[warp][at]] or tuple(by_register)
            if kept[warp][at] or set(order) != set(by_register):
                raise LayoutError("a lane would have to offer, or to take, two words in one round")
            offered[warp][lane[warp][at]] = order
            numbers = (by_register[register] & ((1 << register_bits) - 1) for register in order)
            kept[warp][at] = tuple(f2.combination(plan.registers, number) for number in numbers)
        yield ExchangeStep(
            tuple(map(tuple, lane)), tuple(map(tuple, offered)), tuple(map(tuple, kept)), number < plan.local
        )


def _sizes(plan: Exchange) -> tuple[int, int, int, int]:
    """Warps, lanes, and the bits of a register number and of a lane in a packed place."""
    register_bits, lane_bits = len(plan.rounds.images(REGISTER)), len(plan.rounds.images(LANE))
    return plan.rounds.input_size(WARP), plan.rounds.input_size(LANE), register_bits, lane_bits


def _word_numbers(plan: Exchange) -> tuple[int, ...]:
    """V in numbers of independent registers."""
    solved = [f2.solve(plan.registers, word) for word in plan.word]
    return tuple(word for word in solved if word is not None)


def _members(plan: Exchange) -> list[list[int]]:
    """For each round the places of its words: of each word the place of the first register."""
    _, _, register_bits, _ = _sizes(plan)
    words = _word_numbers(plan)
    others = f2.extension(words, f2.units(register_bits))
    firsts = {f2.combination(others, n) for n in range(1 << len(others))}
    rounds: list[list[int]] = [[] for _ in range(plan.rounds.output_size("round"))]
    for place, number in enumerate(plan.rounds.table):
        if place & ((1 << register_bits) - 1) in firsts:
            rounds[number].append(place)
    return rounds
