"""
Opaque numbers: the ids of blocks, and what is computed from them. A check knows only that all agents of a block see the
same one.

    %b = nvvm.read.ptx.sreg.ctaid.x          b
    %t = arith.muli %b, %c8                  8 b
    %p = llvm.getelementptr %out[%t]         the part of 'out' that begins 8 b elements in

One execution speaks for every block as long as such a number decides nothing: it may be computed with, stored, and
index arrays in global memory. An execution carries it as the number that it would be in block 0 of 1, with its *form*:
by what it differs from that in another block. An array that is indexed by one form is an object of its own; if it is
reached by two forms and written, their distance would decide whether accesses meet. Where a number decides (a branch, a
bound, a slot, a parity, an address in shared memory), `BlockDependentError` says so, and the check takes the id as an
argument.

What differs between threads may be opaque as well, if all threads have the same form: `64 b + tid`. The array is
indexed by that form, and each thread has a place of its own in the part that it leads to.

A form is a sum of atoms with factors. Sums, and products with one number that the check knows, are followed; any other
result is an atom of its own, known by the op and all that went into it.

In `for %t = id to n step extent` a block makes any number of turns, which is an argument of its own (`Grid.turns`).
Of two turns, `t` differs by at least 1: so places that it reaches with a stride of `c` bytes are apart if none of them
is longer than `c`, or begins outside the `c` bytes of its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from xdsl.dialects import arith
from xdsl.ir import Operation

from tileas_xdsl.analysis.memory.tail_guards import is_tail_guard
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core import moving_numbers as moving
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE
from tileas_xdsl.machine.core.meaning import Kind, facts_of, meaning_of
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.op_facts import operands_called
from tileas_xdsl.machine.core.state import Canvas, SharedPart, SharedPartT
from tileas_xdsl.machine.core.threads.hardware import PerThread, of_threads
from tileas_xdsl.machine.core.values import UNKNOWN, bit_width
from tileas_xdsl.machine.core.violations import BlockDependentError

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.assumptions import Assumption
    from tileas_xdsl.machine.core.code import Step
    from tileas_xdsl.machine.core.happens_before import AccessHistory


@dataclass(frozen=True)
class Turn:
    """The atom of the number that turn `number` of a loop over blocks works on."""

    start: str
    """The id that the loop begins with."""
    number: int


@dataclass(frozen=True)
class Made:
    """The atom of an irregular result: of which op, and of what (each number with its form)."""

    op: Operation
    result: int
    operands: tuple[tuple[int, SumOfIds], ...]


@dataclass(frozen=True)
class OfProgram:
    """
    The atom of a number that is computed from the number of a program, where a block computes any number of them: it
    may be another one in each turn, though an execution has one for all (`checker.verdict.any_programs`).
    """

    name: str


Atom = str | Turn | Made | OfProgram
"""A `str` is the name of an id, an extent or an argument."""


@dataclass(frozen=True)
class SumOfIds:
    """A sum of atoms with factors: by what a number differs from what it is in block 0 of 1."""

    terms: tuple[tuple[Atom, int], ...] = ()
    """In an order of their own (`_place_of`), none with the factor 0."""

    @staticmethod
    def of(terms: Iterable[tuple[Atom, int]]) -> SumOfIds:
        sums: dict[Atom, int] = {}
        for atom, factor in terms:
            sums[atom] = sums.get(atom, 0) + factor
        return SumOfIds(tuple(sorted(((a, f) for a, f in sums.items() if f), key=_place_of)))

    def plus(self, other: SumOfIds, factor: int = 1) -> SumOfIds:
        return SumOfIds.of([*self.terms, *((atom, factor * f) for atom, f in other.terms)])

    def times(self, factor: int) -> SumOfIds:
        return SumOfIds().plus(self, factor)

    @property
    def turn(self) -> tuple[Turn, int] | None:
        """The turn of a loop over blocks in it, with its factor; None unless there is exactly one."""
        turns = [(atom, factor) for atom, factor in self.terms if isinstance(atom, Turn)]
        return turns[0] if len(turns) == 1 else None

    @property
    def is_of_program(self) -> bool:
        """Whether it differs between the programs of a block."""
        return any(
            isinstance(atom, OfProgram) or (isinstance(atom, Made) and any(f.is_of_program for _, f in atom.operands))
            for atom, _ in self.terms
        )

    @property
    def without_turn_numbers(self) -> SumOfIds:
        """The same with all turns taken for the first one: equal for the forms of one op in several turns."""
        return SumOfIds.of((replace(atom, number=0) if isinstance(atom, Turn) else atom, f) for atom, f in self.terms)


def _place_of(term: tuple[Atom, int]) -> tuple[object, ...]:
    """A key that sorts the terms of a form: any order will do that is the same for equal atoms."""
    match term[0]:
        case str() as name:
            return (0, name)
        case Turn(start, number):
            return (1, start, number)
        case Made(op, result, operands):
            return (2, id(op), result, hash(operands))
        case OfProgram(name):
            return (3, name)


NO_FORM = SumOfIds()
COORDINATE_BITS = 32
"""Of a coordinate of TMA, and of an extent of the grid (PTX ISA, "cp.async.bulk.tensor")."""


class OpaqueNumber(int):
    """A number that differs from block to block: what it is in block 0 of 1, and its form."""

    form: SumOfIds
    names: frozenset[str]
    """The ids, extents and arguments that it is computed from."""
    is_scaled: bool
    """Whether its form has factors that are not constants of the program."""

    def __new__(cls, value: int, form: SumOfIds, names: frozenset[str], *, is_scaled: bool = False) -> Self:
        number = super().__new__(cls, value)
        number.form, number.names, number.is_scaled = form, names, is_scaled
        return number


def opaque_in(value: Any) -> OpaqueNumber | None:
    """`value` if it is opaque; if it differs between threads, that of one for which it is; None where there is none."""
    if type(value) is PerThread:
        if value.first is not None or OpaqueNumber not in map(type, value.values):
            return None
        return next(each for each in value.values if type(each) is OpaqueNumber)
    return value if type(value) is OpaqueNumber else None


def is_any_opaque(values: Iterable[Any]) -> bool:
    """Whether one of `values` is opaque, in some thread."""
    return any(opaque_in(value) is not None for value in values)


@dataclass(frozen=True)
class Grid:
    """What an execution knows of the place of its block in the grid."""

    is_opaque: bool = False
    """Whether ids and extents are opaque, unless `numbers` has them; else they are those of block 0 of 1."""
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    """Ids and extents that are numbers in this execution: the caller gave them, or they decide something."""
    loops: frozenset[Operation] = frozenset()
    """The loops over blocks: `for %t = id to n step extent`."""
    turns: int = 0
    """How often these turn in this execution."""
    programs: int = 1
    """How many programs the block may compute: its own, and those that it may take over."""
    first: int = 0
    """The number of the program that the block was started for, counted along x first."""
    extents: tuple[int, ...] = (1, 1, 1)
    """How many programs there are along x, y and z, where ids are not opaque."""


ONE_BLOCK = Grid()


class Execution(Protocol):
    """What is asked here of an execution."""

    grid: Grid
    opaque_names: frozenset[str]
    late_numbers: bool

    def part(self, kind: type[SharedPartT]) -> SharedPartT: ...

    def assume(self, assumption: Assumption) -> None: ...

    def history_of(self, base: MemoryObject) -> AccessHistory | None: ...


def block_number(machine: Execution, name: str, alone: int) -> int:
    """The id or extent called `name`, which is `alone` where there is one block."""
    grid = machine.grid
    if grid.is_opaque:
        machine.assume(BLOCKS_ALONE)
    if name in grid.numbers or not grid.is_opaque:
        return grid.numbers.get(name, alone)
    machine.opaque_names |= {name}
    return OpaqueNumber(alone, SumOfIds(((name, 1),)), frozenset([name]))


class TurnsOverBlocks(Sequence[int]):
    """The values of the induction variable of a loop over blocks: one opaque number a turn."""

    def __init__(self, start: str, names: frozenset[str], turns: range) -> None:
        self.start, self.names, self.turns = start, names, turns

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, number: Any) -> Any:
        return OpaqueNumber(0, SumOfIds(((Turn(self.start, number), 1),)), self.names)


def turns_over_blocks(machine: Execution, lower: Any, step: Any) -> TurnsOverBlocks:
    """The turns of a loop over blocks that begins with `lower` and goes on by `step`."""
    names = frozenset(name for number in (lower, step) if isinstance(number, OpaqueNumber) for name in number.names)
    return TurnsOverBlocks(repr(sorted(names)), names, range(machine.grid.turns))


# Computing with opaque numbers ----------------------------------------------------------------------------------------


def computed(step: Step, operands: Sequence[Any], outcome: Any) -> Any:
    """
    The result of a step that only computes, some of whose `operands` are opaque: opaque as well, but for a comparison
    that leaves out what lies outside of an array: it holds in every block.
    """
    if isinstance(step.op, arith.CmpiOp) and is_tail_guard(step.op):
        return outcome
    if any(type(operand) is PerThread for operand in operands):
        return _computed_by_thread(step, operands, outcome)
    names = frozenset(name for operand in operands if isinstance(operand, OpaqueNumber) for name in operand.names)
    if outcome is UNKNOWN:
        return UNKNOWN
    if isinstance(outcome, tuple):
        results = enumerate(cast("tuple[Any, ...]", outcome))
        return tuple(o if o is UNKNOWN else _irregular(step.op, operands, o, names, number) for number, o in results)
    rule = facts_of(step.op).moves
    if rule is moving.selected and not isinstance(operands[0], OpaqueNumber):
        return outcome
    form = None if rule is None else _regular(step, rule, operands)
    if form is None or not isinstance(outcome, int):
        return _irregular(step.op, operands, outcome, names)
    is_scaled = any(isinstance(o, OpaqueNumber) and o.is_scaled for o in operands) or (
        rule is moving.multiplied and not _has_constant(step.op)
    )
    return OpaqueNumber(outcome, form, names, is_scaled=is_scaled)


def _computed_by_thread(step: Step, operands: Sequence[Any], outcome: Any) -> Any:
    """The same where some of the `operands` differ between threads: thread by thread, of one form in all of them."""
    names = frozenset(name for operand in map(opaque_in, operands) if operand is not None for name in operand.names)
    width = next(len(operand.values) for operand in operands if type(operand) is PerThread)
    if isinstance(outcome, tuple):
        raise BlockDependentError(step.op, "makes several numbers, in each thread, of one that differs", names)
    rows = zip(*(of_threads(value, width) for value in (outcome, *operands)), strict=True)
    values = [UNKNOWN if any(each is UNKNOWN for each in row) else computed(step, row[1:], row[0]) for row in rows]
    _must_be_alike(step.op, values, names)
    if type(outcome) is PerThread:
        return PerThread(tuple(values), outcome.varies)
    return next((value for value in values if value is not UNKNOWN), UNKNOWN)


def _regular(step: Step, rule: moving.Rule, operands: Sequence[Any]) -> SumOfIds | None:
    """The form of a sum, a difference, a multiple or a copy; None for any other result."""
    forms = [operand.form if isinstance(operand, OpaqueNumber) else NO_FORM for operand in operands]
    if rule is moving.added:
        return forms[0].plus(forms[1])
    if rule is moving.subtracted:
        return forms[0].plus(forms[1], -1)
    if rule is moving.unchanged or (rule is moving.narrowed and _keeps_distances(step.op)):
        return forms[0]
    if rule is moving.extended_by_zeros:
        return forms[0] if int(operands[0]) >= 0 and all(factor > 0 for _, factor in forms[0].terms) else None
    if rule is moving.multiplied and NO_FORM in forms:
        number, factor = (operands[0], operands[1]) if forms[1] == NO_FORM else (operands[1], operands[0])
        # A product of two factors that both follow the trip count would not move on evenly with it.
        if isinstance(number, OpaqueNumber) and (not number.is_scaled or _has_constant(step.op)):
            return number.form.times(int(factor))
    return None


def _keeps_distances(op: Operation) -> bool:
    """
    Whether a conversion between integers keeps how far apart numbers are. Where it leaves bits out but those of a
    coordinate, numbers that wrap around are farther apart than anything that lies at a place between them.
    """
    width = bit_width(op.results[0].type)
    return width >= bit_width(op.operands[0].type) or width >= COORDINATE_BITS


def _has_constant(op: Operation) -> bool:
    """Whether one of the operands is the same number wherever the op runs."""
    return any(isinstance(operand.owner, Operation) and _is_constant(operand.owner) for operand in op.operands)


def _is_constant(op: Operation) -> bool:
    meaning = meaning_of(op)
    return meaning is not None and meaning.kind is Kind.PURE and not op.operands


def _irregular(
    op: Operation, operands: Sequence[Any], outcome: Any, names: frozenset[str], result: int = 0
) -> OpaqueNumber:
    """A number of which nothing is known but which op made it out of what."""
    if not isinstance(outcome, int):
        raise BlockDependentError(op, "makes no number of a number that differs between blocks", names)
    parts = tuple((int(o), o.form if isinstance(o, OpaqueNumber) else NO_FORM) for o in operands if isinstance(o, int))
    return OpaqueNumber(outcome, SumOfIds(((Made(op, result, parts), 1),)), names, is_scaled=True)


# Where they may go ----------------------------------------------------------------------------------------------------


def admitted(machine: Execution, step: Step, operands: list[Any]) -> list[Any]:
    """
    The `operands` of a step with those arrays replaced that opaque numbers index, each by the part of it that they lead
    to.

    Raises `BlockDependentError` where an opaque number decides something.
    """
    op = step.op
    facts = facts_of(op)
    if machine.late_numbers:
        # A late value may hide an opaque number until an op is performed.
        raise BlockDependentError(op, "takes a value that is not there yet", machine.opaque_names)
    deciding = 0 if op in machine.grid.loops else facts.deciding
    opaque = [number for number, operand in enumerate(operands) if opaque_in(operand) is not None]
    for number in opaque:
        if number < deciding:
            raise _decides(op, operands[number])
    if step.kind in (Kind.PURE, Kind.TERMINATOR):
        return operands
    if op in machine.grid.loops or AgentLikeOpInterface.of(op) is not None or (facts.calls and not facts.indexes):
        return operands
    passed_on = facts.may_move if step.kind in (Kind.CONTROL, Kind.JUMP) else facts.opaque
    free = {place for group in passed_on for place in positions_of(op, group)}
    indices = {place: (group, array) for group, array in facts.indexes for place in positions_of(op, group)}
    for number in opaque:
        if number not in free and number not in indices:
            raise _decides(op, operands[number])
    return _with_parts(machine, op, operands, dict.fromkeys(indices[n] for n in opaque if n in indices))


def must_be_alike(machine: Execution, op: Operation, values: Iterable[Any]) -> None:
    """Raises `BlockDependentError` if `values`, which differ between threads, differ between blocks in several ways."""
    _must_be_alike(op, values, machine.opaque_names)


def _must_be_alike(op: Operation, values: Iterable[Any], names: frozenset[str]) -> None:
    known = [value for value in values if value is not UNKNOWN]
    forms = {value.form if isinstance(value, OpaqueNumber) else NO_FORM for value in known}
    if len(forms) > 1:
        raise BlockDependentError(op, "gives each thread another number that differs between blocks", names)


def _decides(op: Operation, value: Any) -> BlockDependentError:
    number = opaque_in(value)
    assert number is not None
    listed = ", ".join(sorted(number.names))
    return BlockDependentError(op, f"depends on {listed}, which differs between blocks", number.names)


def positions_of(op: Operation, group: str) -> range:
    """The numbers of the operands in a group; where the values stand in several places, the first of these."""
    values = list(operands_called(op, group)) if group != "*" else list(op.operands)
    operands = list(op.operands)
    for start in range(len(operands) - len(values) + 1):
        if values and operands[start : start + len(values)] == values:
            return range(start, start + len(values))
    return range(0)


def _with_parts(machine: Execution, op: Operation, operands: list[Any], groups: Iterable[tuple[str, str]]) -> list[Any]:
    replaced = list(operands)
    for group, array in groups:
        places = positions_of(op, array)
        indices = [operands[number] for number in positions_of(op, group)]
        if not places:
            raise _decides(op, next(i for i in indices if opaque_in(i) is not None))
        number = places[0]
        replaced[number] = _part(machine, op, replaced[number], indices)
    return replaced


def _part(machine: Execution, op: Operation, place: Any, indices: Sequence[Any]) -> Any:
    """The value `place`, which names memory, leading to that part of it which `indices` begin."""
    first = next(index for index in indices if opaque_in(index) is not None)
    places = place.values if type(place) is PerThread else (place,)
    base, *others = dict.fromkeys(map(base_of, (each for each in places if each is not UNKNOWN)))
    if base is None or base.space != "global" or others:
        raise _decides(op, first)
    strides = facts_of(op).index_strides
    steps = strides(op) if strides is not None else _strides_of(place)
    tiles = facts_of(op).index_extents
    if tiles is not None and steps:
        steps = [extent * step for extent, step in zip(tiles(op), steps, strict=True)]
    if len(steps) != len(indices):
        raise _decides(op, first)
    for index in indices:
        if type(index) is PerThread:
            must_be_alike(machine, op, index.values)
    part = part_at(machine, base, [opaque_in(index) if is_any_opaque([index]) else index for index in indices], steps)
    if type(place) is PerThread:
        return PerThread(tuple(p if p is UNKNOWN else rebased(p, part) for p in places), place.varies)
    return rebased(place, part)


def part_at(machine: Execution, base: MemoryObject, indices: Sequence[Any], strides: Sequence[int]) -> MemoryObject:
    """The part of `base` that those of `indices` lead to which are opaque; `base` itself if none is."""
    opaque = [
        (index, stride) for index, stride in zip(indices, strides, strict=True) if isinstance(index, OpaqueNumber)
    ]
    if not opaque:
        return base
    form = base.form if isinstance(base.form, SumOfIds) else NO_FORM
    for index, stride in opaque:
        form = form.plus(index.form, stride)
    names = frozenset(name for index, _ in opaque for name in index.names)
    return machine.part(PartsOfArrays).part(base, form, names)


def base_of(place: Any) -> MemoryObject | None:
    """The object that `place`, a run-time value, leads to; None for one that names no memory."""
    array = getattr(place, "array", None)
    base = getattr(array if isinstance(array, View) else place, "base", None)
    return base if isinstance(base, MemoryObject) and is_dataclass(place) else None


def rebased(place: Any, base: MemoryObject) -> Any:
    """The same place in `base`."""
    array = getattr(place, "array", None)
    if isinstance(array, View):
        return replace(place, array=replace(array, base=base))
    return replace(place, base=base)


def _strides_of(place: Any) -> Sequence[int]:
    """Bytes from one index to the next, for each index; nothing where an index walks through several axes."""
    if isinstance(place, View):
        return place.strides
    array: View | None = getattr(place, "array", None)
    groups: Sequence[Sequence[int]] | None = getattr(place, "groups", None)
    if array is None or groups is None or any(len(group) != 1 for group in groups):
        return ()
    tile: Sequence[int] = getattr(place, "tile", ())
    return [extent * array.strides[group[0]] for extent, group in zip(tile, groups, strict=True)]


# Parts of arrays ------------------------------------------------------------------------------------------------------


class PartsOfArrays(SharedPart):
    """The parts of arrays that opaque numbers lead to: by array and form, each an object of its own."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[SumOfIds, MemoryObject]] = {}
        self._names: dict[int, frozenset[str]] = {}

    def draw(self, canvas: Canvas) -> None:
        """Nothing: a part that can still be named is drawn where it is named; one that is named again is the same."""

    def part(self, base: MemoryObject, form: SumOfIds, names: frozenset[str]) -> MemoryObject:
        """The part of `base`, an array or a part of one, that is `form` away from the beginning of the array."""
        whole = base.whole_object
        parts = self._parts.setdefault(whole.serial, {NO_FORM: whole})
        if form not in parts:
            parts[form] = whole.part(form)
        self._names[whole.serial] = self._names.get(whole.serial, frozenset()) | names
        return parts[form]

    def of(self, base: MemoryObject) -> Sequence[MemoryObject]:
        """The array `base` and all parts of it."""
        return list(self._parts.get(base.serial, {NO_FORM: base}).values())

    def judge(self, machine: Execution) -> None:
        """
        Raises `BlockDependentError` for an array that is written and reached by several forms, unless these are the
        turns of one loop over blocks, and what is reached in one turn lies between its place and that of the next.
        """
        for serial, parts in self._parts.items():
            touched = {form: base for form, base in parts.items() if machine.history_of(base) is not None}
            if len(touched) > 1 and any(_is_written(machine, base) for base in touched.values()):
                _judge_turns(touched, self._names[serial])


def _is_written(machine: Execution, base: MemoryObject) -> bool:
    history = machine.history_of(base)
    return history is not None and history.holds_a_write


def _judge_turns(parts: Mapping[SumOfIds, MemoryObject], names: frozenset[str]) -> None:
    alike = {form.without_turn_numbers for form in parts} if all(form.turn for form in parts) else set[SumOfIds]()
    for form, base in parts.items():
        turn = form.turn
        fits = turn is not None and base.reached.start >= 0 and base.reached.stop <= turn[1]
        if len(alike) != 1 or not fits:
            op = next(each.reached_by for each in (base, *parts.values()) if each.reached_by is not None)
            raise BlockDependentError(op, f"reaches '{base.name}' at a distance that differs between blocks", names)
