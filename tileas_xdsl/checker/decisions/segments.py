"""
What follows from one decision, in several visits: the same steps, with numbers that move on evenly in every direction.

The first visit starts with the numbers x, the others with x + d1, x + d2, .. where d1, d2, .. generate the lattice of
the state. Each step must be the same one in all of them. Each number that it sees is y in the first visit and y + e1,
y + e2, .. in the others, and the rules for moving numbers say that it is y + k1 e1 + k2 e2 + .. for any sum x + k1 d1 +
k2 d2 + .., where k1, k2, .. may be negative, too. So nothing rests on the sign of a direction (`Directed`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.checker.decisions.cells import differs_between_programs
from tileas_xdsl.checker.decisions.graph import Visit
from tileas_xdsl.checker.decisions.limits import Limits
from tileas_xdsl.checker.proof.alignment import are_the_same_step, op_of
from tileas_xdsl.checker.proof.recorded_run import Running, TakenStep, Turns
from tileas_xdsl.checker.proof.separation import Cut, Moves, Separation
from tileas_xdsl.checker.proof.steps import Steps
from tileas_xdsl.machine.core.code import Step
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.loops.open_comparisons import BoundLook
from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH, IrregularError, Moving, must_move_by_multiples
from tileas_xdsl.machine.core.opaque_numbers import SumOfIds, opaque_in
from tileas_xdsl.machine.core.values import bit_width
from tileas_xdsl.machine.parts.placed_barriers import BarrierLook
from tileas_xdsl.machine.parts.rings import Ring, StageLook

NO_LAST_TURN = ": no state says how far it comes in all iterations; make the extent dynamic"


@dataclass(frozen=True)
class Directed(Moving):
    """A number that moves on in directions that may be taken forwards and backwards."""

    is_never_negative: bool = False

    @property
    def never_negative(self) -> bool:
        return self.is_never_negative

    @property
    def goes_one_way(self) -> bool:
        return False


@dataclass
class OpenRoom:
    """Places that move on must lie in arrays that have no end, or that end behind the limits of their indices."""

    limits: Limits

    def access(self, access: Access, shift: int) -> None:
        """
        Raises `IrregularError` where an access moves on by `shift` bytes in an array of a fixed size, unless it takes
        an element of the whole array by indices: these are looked at one by one.
        """
        base = access.region.base
        if not shift or base.is_open or access.region.is_empty:
            return
        array = _array_with_indices(access.op)
        if array is None or _size_in_bytes(array, access.region.itemsize) != base.size:
            raise IrregularError(access.op, f"walks through '{base.name}', which ends{NO_LAST_TURN}")

    def index(self, op: Operation, number: int, value: Moving) -> None:
        """Raises `IrregularError` where operand `number` of `op` moves on, an index that may leave its axis."""
        array, first = _array_with_indices(op), facts_of(op).first_index
        if array is None or first is None or number < first or value.stays:
            return
        extent, last = array.get_shape()[number - first], self.limits.of(op.operands[number])
        if extent != DYNAMIC_INDEX and (last is None or last >= extent or not value.never_negative):
            comes_to = "" if last is None else f" of {extent}, and comes to {last}"
            raise IrregularError(op, f"walks along an axis of a fixed extent{comes_to}{NO_LAST_TURN}")


def _array_with_indices(op: Operation) -> MemRefType[Attribute] | None:
    """The type of the array of which `op` takes an element by indices."""
    first = facts_of(op).first_index
    array = None if first is None else op.operands[first - 1].type
    return cast("MemRefType[Attribute]", array) if isinstance(array, MemRefType) else None


def _size_in_bytes(array: MemRefType[Attribute], itemsize: int) -> int | None:
    """How many bytes its elements take, one behind the other; None where it has no fixed extents, or a layout."""
    if not array.has_static_shape() or not isinstance(array.layout, NoneAttr):
        return None
    return prod(array.get_shape()) * itemsize


class DirectedSteps(Steps):
    """Compares steps in several visits."""

    def __init__(self, limits: Limits, tells_threads_apart: bool) -> None:
        super().__init__(OpenRoom(limits), tells_threads_apart)
        self.never_negative = limits.never_negative

    def moving(self, step: Step, number: int, value: int, shifts: tuple[int, ...]) -> Moving:
        name = step.operands[number]
        moving = Directed(value, shifts, name in self.never_negative)
        self.check_moves(step.op, moving, name.type)
        return moving

    def check_moves(self, op: Operation, value: Moving, type_: Attribute) -> None:
        if not value.stays and bit_width(type_) < LEAST_WIDTH:
            raise IrregularError(op, f"counts in {bit_width(type_)} bits, which overflow")


@dataclass
class Findings:
    """What the checks of all decisions have found in common."""

    contested: frozenset[str]
    """Families of objects on which there may be a race."""
    limits: Limits
    tells_threads_apart: bool = False
    comparisons: Container[Operation] = ()
    """Ops that compare a bound that is left open with a number."""
    settled: Container[Operation] = ()
    """Ops that compare a number with a constant up to which states tell it apart."""
    read_from: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """Family from which known numbers are read -> an op that reads one."""
    overwritten: set[str] = field(default_factory=set[str])
    """Families of which places that move on are written."""
    walked: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """Family -> an op that reaches it at places that move on, and differ between programs."""

    def check(self) -> None:
        """Raises `IrregularError` where memory from which numbers are read is overwritten at places that move on."""
        for family, op in self.read_from.items():
            if family in self.overwritten:
                raise IrregularError(op, "takes a number from memory of which other places are overwritten")


def check_visits(visits: Sequence[Visit], findings: Findings) -> None:
    """Raises `IrregularError` unless all sums of the directions between `visits` do what these did."""
    _Comparison(visits, findings).check()


class _Comparison:
    def __init__(self, visits: Sequence[Visit], findings: Findings) -> None:
        self.mine, self.others = visits[0], visits[1:]
        self.findings = findings
        self.steps = DirectedSteps(findings.limits, findings.tells_threads_apart)
        self.moves: dict[Access | BarrierLook, Moves] = {}
        self.repeats: dict[Access, Moves] = {}
        self.agents: list[dict[int, int]] = [{} for _ in self.others]
        begin = self.mine.begin
        self.shifts = [_distances(begin.numbers, other.begin.numbers) for other in self.others]
        self.rings = {ring: self._column(place) for place, ring in begin.rings}

    def _column(self, place: int) -> list[int]:
        return [shifts[place] for shifts in self.shifts]

    def check(self) -> None:
        if any(len(other.entries) != len(self.mine.entries) for other in self.others):
            raise IrregularError(self._first_op(), "is not always followed by the same steps")
        for place, mine in enumerate(self.mine.entries):
            self._compare(mine, [other.entries[place] for other in self.others])
        self._check_snapshots()
        cut = Cut(0, self.mine.begin, dict(enumerate(self.shifts)))
        assert self.mine.encounters is not None
        separation = Separation(
            self.mine.encounters, self.moves, self.repeats, both_ways=True, contested=self.findings.contested
        )
        separation.check(self.mine.entries, [cut])
        for base, op in self.steps.read_from.items():
            self.findings.read_from.setdefault(base.family, op)

    def _first_op(self) -> Operation:
        for place, mine in enumerate(self.mine.entries):
            for other in self.others:
                if place >= len(other.entries) or not are_the_same_step(mine, other.entries[place]):
                    return op_of(mine)
        return op_of(self.others[0].entries[-1])

    def _compare(self, mine: object, others: list[Any]) -> None:
        if not all(are_the_same_step(mine, other) for other in others):
            raise IrregularError(op_of(mine), "is not always followed by the same steps")
        match mine:
            case TakenStep():
                self._compare_steps(mine, others)
            case Access():
                self._compare_accesses(mine, others)
            case BarrierLook():
                self.moves[mine] = {number: other.offset - mine.offset for number, other in enumerate(others)}
            case BoundLook():
                if any((other.gap, other.answer) != (mine.gap, mine.answer) for other in others):
                    raise IrregularError(mine.op, "compares a bound of loops with a number that moves on otherwise")
            case StageLook():
                self._compare_stages(mine.ring, mine.op, [other.k - mine.k for other in others])
            case Turns():
                self._compare_loops(mine, others)
            case _:
                pass

    def _compare_steps(self, mine: TakenStep, others: list[TakenStep]) -> None:
        for names, other in zip(self.agents, others, strict=True):
            if names.setdefault(mine.agent, other.agent) != other.agent:
                raise IrregularError(op_of(mine), "is a step of another agent from time to time")
        if any(each.outcome is Running.STILL for each in (mine, *others)):
            # A visit has ended before the op was through: what comes of it is compared where it is used.
            mine, *others = (each.still_running() for each in (mine, *others))
        _compare_forms(mine, others)
        if mine.step.op in self.findings.settled:
            _compare_settled(mine, others)
        elif mine.step.op not in self.findings.comparisons:
            self.steps.compare(mine, others)

    def _compare_accesses(self, mine: Access, others: Iterable[Access]) -> None:
        region = mine.region
        for number, other in enumerate(others):
            theirs = other.region
            same = region.form == theirs.form
            same = same and mine.relative_parts == other.relative_parts
            if not same or mine.is_write != other.is_write or mine.proxy is not other.proxy:
                raise IrregularError(mine.op, "reaches another number of bytes from iteration to iteration")
            if theirs.base.form != region.base.form:
                raise IrregularError(mine.op, "reaches another part of an array from iteration to iteration")
            shift = theirs.offset - region.offset
            self.moves.setdefault(mine, {})[number] = shift
            if mine.instance is not None and other.instance is not None:
                self.repeats.setdefault(mine, {})[number] = other.instance.times - mine.instance.times
            if shift and differs_between_programs(region.base):
                self.findings.walked.setdefault(region.base.family, mine.op)
            self.steps.room.access(mine, shift)
            if mine.is_write and shift:
                self.findings.overwritten.add(region.base.family)
        self.moves.setdefault(mine, {})

    @staticmethod
    def _compare_loops(mine: Turns, others: Iterable[Turns]) -> None:
        """A loop that is not open must have the same trip count each time."""
        for other in others:
            if (mine.bounds is None) != (other.bounds is None):
                raise IrregularError(op_of(mine), "is open only from time to time")
            if mine.bounds is None or other.bounds is None:
                continue
            apart = (other.bounds.stop - other.bounds.start) - (mine.bounds.stop - mine.bounds.start)
            if apart or other.bounds.step != mine.bounds.step:
                raise IrregularError(op_of(mine), "does not always have the same trip count")

    # Rings and countdowns -------------------------------------------------------------------------------------------

    def _compare_stages(self, ring: Ring, op: Operation, shifts: list[int]) -> None:
        """A visit to a stage must move on as the ring does that it belongs to, or by whole turns of it."""
        moves = self.rings.setdefault(ring, [0] * len(shifts))
        differences = [shift - move for shift, move in zip(shifts, moves, strict=True)]
        reason = f"takes stages of {ring.name} that do not recur evenly"
        if ring.depth is None and any(differences):
            raise IrregularError(op, reason)
        must_move_by_multiples(op, differences, ring.turns, reason)

    def _check_snapshots(self) -> None:
        op = self._op_at_end()
        for place in self.mine.begin.countdowns:
            if any(self._column(place)):
                raise IrregularError(op, "counts down to something from iteration to iteration")
        end = self.mine.end
        if end is None:
            return
        for place, ring in end.rings:
            numbers = [other.end.numbers[place] for other in self.others if other.end is not None]
            self._compare_stages(ring, op, [int(number - end.numbers[place]) for number in numbers])

    def _op_at_end(self) -> Operation:
        return op_of(self.mine.entries[-1])


def _compare_forms(mine: TakenStep, others: Iterable[TakenStep]) -> None:
    """
    A number that differs between blocks must do so by one form. Then it moves on in each block as it does in the first:
    the rules for moving numbers hold whatever the form adds to both.
    """
    ours = [_form_of(value) for value in (*mine.operands, *mine.outcomes)]
    for other in others:
        if [_form_of(value) for value in (*other.operands, *other.outcomes)] != ours:
            raise IrregularError(mine.step.op, "sees a number that differs between blocks in another way")


def _form_of(value: Any) -> SumOfIds | None:
    number = opaque_in(value)
    return None if number is None else number.form


def _compare_settled(mine: TakenStep, others: Iterable[TakenStep]) -> None:
    """A comparison with a constant up to which its number is told apart must say the same each time."""
    if any(other.outcome != mine.outcome for other in others):
        raise IrregularError(op_of(mine), "does not always say the same of a number that states tell apart")


def _distances(numbers: Sequence[float], others: Sequence[float]) -> tuple[int, ...]:
    return tuple(int(other - number) for number, other in zip(numbers, others, strict=True))
