"""
Schedules whose tiles fit their registers, for loops with asynchronous products in which those of the heuristic do not.

    attention, before: 4 stages        %s of one turn, %below of another, %half of a third, and the sum
    after: one turn more behind loads  product s i+1 | product o i | wait s | softmax i+1 | wait o | scale o, %half

An iteration is cut in front of one of its products, or nowhere: what is behind the cut runs one turn later, beside the
beginning of the next iteration, and each tile has its registers once. In a turn products start as soon as what they
read is there, those of the younger iteration first, for what comes behind waits for them; waits come last. Loads lead
by whole turns. Among the cuts that fit, the one with the shortest turn is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ProducerAcquireOp, ProducerCommitOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.loaded_schedules import fits
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule
from tileas_xdsl.scheduling.modulo.search import reuse_edges
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters, words_in_registers
from tileas_xdsl.targets.machine_models import AGENT

ARM = "IN_REGISTERS"


def fitting(
    problem: LoopProblem, found: ModuloSchedule, tiles: TilesInRegisters, *, is_alone: bool = True
) -> ModuloSchedule:
    """
    `found`, if its tiles fit their registers and its rings their memory, or nothing better is known; else the shortest
    turn that fits. So it is, too, where warpgroups share the tensor core (not `is_alone`) and there are several
    products: one multiplies while the other computes, and ptxas lets products of deeper schedules go on one by one.
    """
    products = [number for number, op in enumerate(problem.ops) if isinstance(op, AsyncDotOp)]
    if not products:
        return found
    if has_room(found, tiles) and (len(products) == 1 or (is_alone and fits(found, problem))):
        return found
    candidates = [_Cut(problem, tiles, cut).schedule(found) for cut in (*products, None)]
    fit = [it for it in candidates if it is not None and has_room(it, tiles)]
    return min(fit, key=lambda it: it.ii, default=found)


def has_room(found: ModuloSchedule, tiles: TilesInRegisters) -> bool:
    """Whether each agent has registers for all tiles that live at once: of each tile, for whole turns."""
    for agent, kept in tiles.kept.items():
        lives = [life for life in tiles.lives if life.agent == agent]
        if kept + sum(life.words * life.copies(found.start_of, found.ii) for life in lives) > tiles.room:
            return False
    return True


@dataclass(frozen=True)
class _Turn:
    """The stage of each op, and the order in which the agent runs them."""

    stages: Mapping[int, int]
    order: Sequence[int]


class _Cut:
    """One way of cutting the iterations of a loop: in front of product number `cut`, or nowhere."""

    def __init__(self, found: LoopProblem, tiles: TilesInRegisters, cut: int | None) -> None:
        self.found = found
        self.problem: ModuloProblem = found.problem
        self.agent = range(len(found.ops))
        self.works = {work: found.ops.index(op) for op, work in found.works.items()}
        self.loading = self._needed_by({n for n, op in enumerate(found.ops) if _loads(op)}, self.agent)
        self.later = frozenset[int]() if cut is None else self._behind(cut)
        self.edges = [*self.problem.edges, *self._once(tiles)]

    # What is behind the cut ------------------------------------------------------------------------------------------

    def _behind(self, cut: int) -> frozenset[int]:
        """
        What depends on product number `cut`, and what nothing else needs and makes no tile in registers: ptxas lets
        products go on one by one where registers that one takes are written while another is under way.
        """
        behind, waiting = {cut}, [cut]
        while waiting:
            source = waiting.pop()
            for edge in self.problem.outgoing[source]:
                if edge.distance == 0 and edge.sink not in behind:
                    behind.add(edge.sink)
                    waiting.append(edge.sink)
        free = [
            number for number in self.agent if number not in self.loading and not _makes_tiles(self.found.ops[number])
        ]
        return frozenset(self._needed_by(behind, free))

    def _needed_by(self, ops: set[int], among: Sequence[int]) -> set[int]:
        """`ops`, and those `among` others that only they need."""
        needed, grown = set(ops), True
        while grown:
            more = {it for it in among if it not in needed and (sinks := self._sinks(it)) and sinks <= needed}
            needed |= more
            grown = bool(more)
        return needed

    def _sinks(self, op: int) -> set[int]:
        return {edge.sink for edge in self.problem.outgoing[op] if edge.distance == 0}

    def _once(self, tiles: TilesInRegisters) -> Iterator[TimedEdge]:
        """A tile is made again when what is behind the cut has read it, or has waited for the product that does."""
        for life in tiles.lives:
            if life.definition in self.later:
                continue
            for use in life.uses:
                reader = self.works.get(use.op, use.op)
                if reader in self.later:
                    for last in self._waits_for(use.op) or [use.op]:
                        yield TimedEdge(last, life.definition, use.hold if last == use.op else 0, 1 + use.distance)

    def _waits_for(self, work: int) -> list[int]:
        sinks = [edge.sink for edge in self.problem.outgoing[work] if edge.distance == 0]
        return [sink for sink in sinks if sink < len(self.agent) and isinstance(self.found.ops[sink], AsyncWaitOp)]

    # Schedules --------------------------------------------------------------------------------------------------------

    def schedule(self, like: ModuloSchedule) -> ModuloSchedule | None:
        """
        The schedule with the most turns between loads and their uses that memory and stages allow, up to one. No ring
        has more slots than that: what is loaded for behind the cut is loaded when its slot has been read there.
        """
        for lead in (1, 0):
            made = self._with_lead(lead, like)
            if made is not None and fits(made, self.found):
                return made
        return None

    def _with_lead(self, lead: int, like: ModuloSchedule) -> ModuloSchedule | None:
        stages = {number: self._stage(number, lead) for number in self.agent}
        if any(stage >= self.problem.stage_limit(number) for number, stage in stages.items()):
            return None
        rings = [replace(ring, most_copies=min(ring.most_copies, lead + 1)) for ring in self.problem.rings]
        edges = [*self.edges, *(edge for ring in rings for edge in reuse_edges(ring))]
        order = self._order(stages, edges)
        if order is None:
            return None
        timed = _Rows(self.problem, edges, self.works, _Turn(stages, order)).shortest()
        if timed is None:
            return None
        ii, starts = timed
        return replace(like, problem=self.problem, ii=ii, starts=starts, arms=(ARM,) * len(starts))

    def _stage(self, op: int, lead: int) -> int:
        edges = (*self.problem.incoming[op], *self.problem.outgoing[op])
        if op in self.loading or not edges:
            return 0
        return lead + (op in self.later)

    def _order(self, stages: Mapping[int, int], edges: Sequence[TimedEdge]) -> list[int] | None:
        """The order of one turn; None where ops of one turn wait for each other in a circle."""
        needs: dict[int, set[int]] = {number: set() for number in self.agent}
        for edge in edges:
            source, sink = (self.works.get(op, op) for op in (edge.source, edge.sink))
            if source >= len(self.agent) or sink >= len(self.agent) or source == sink:
                continue
            turns = edge.distance + stages[sink] - stages[source]
            if turns < 0:
                return None
            if turns == 0:
                needs[sink].add(source)
        order: list[int] = []
        while needs:
            ready = [number for number, before in needs.items() if not before]
            if not ready:
                return None
            best = min(ready, key=lambda number: (*self._rank(number, order), number))
            order.append(best)
            del needs[best]
            for before in needs.values():
                before.discard(best)
        return order

    def _rank(self, number: int, order: Sequence[int]) -> tuple[int, int]:
        op = self.found.ops[number]
        if isinstance(op, AsyncDotOp) or not self.problem.ops[number].latency:
            return 0, number in self.later
        awaited = [self.works.get(edge.source, edge.source) for edge in self.problem.incoming[number]]
        started = [order.index(it) for it in awaited if it in order and isinstance(self.found.ops[it], AsyncDotOp)]
        return (2, min(started)) if isinstance(op, AsyncWaitOp) and started else (1, 0)


class _Rows:
    """
    When each op of a turn starts, where the agent runs them in a given order, and so does each engine its works.

    All that is asked for are differences: `row[sink] >= row[source] + latency - turns II`. For one interval the least
    rows are longest paths; a circle that is too long refutes it, and a longer interval never has one that a shorter
    has not.
    """

    def __init__(
        self, problem: ModuloProblem, edges: Sequence[TimedEdge], works: Mapping[int, int], turn: _Turn
    ) -> None:
        self.problem = problem
        self.stages = dict(turn.stages)
        self.stages |= {work: turn.stages[issuer] for work, issuer in works.items()}
        rest = [number for number in range(len(problem.ops)) if number not in self.stages]
        self.stages |= dict.fromkeys(rest, 0)
        self.order = [*turn.order, *rest]
        self.differences = [
            (edge.source, edge.sink, edge.latency, edge.distance + self.stages[edge.sink] - self.stages[edge.source])
            for edge in edges
        ]
        self.differences += self._one_after_the_other(self.order, AGENT)
        for engine in {use.slot for work in works for use in problem.ops[work].uses}:
            queue = [work for work in sorted(works, key=lambda it: turn.order.index(works[it]))]
            self.differences += self._one_after_the_other([it for it in queue if self._rows(it, engine)], engine)

    def _rows(self, op: int, slot: str) -> int:
        return sum(use.rows for use in self.problem.ops[op].uses if use.slot == slot)

    def _one_after_the_other(self, ops: Sequence[int], slot: str) -> Iterator[tuple[int, int, int, int]]:
        for before, after in zip(ops, (*ops[1:], *ops[:1]), strict=True):
            wraps = int(after == ops[0])
            yield before, after, max(self._rows(before, slot), 1), wraps

    def shortest(self) -> tuple[int, tuple[int, ...]] | None:
        """The least interval, and the starts."""
        least, most = 1, 2 * sum(max(op.latency, op.rows, 1) for op in self.problem.ops)
        if self._least(most) is None:
            return None
        while least < most:
            middle = (least + most) // 2
            if self._least(middle) is None:
                least = middle + 1
            else:
                most = middle
        rows = self._least(least)
        assert rows is not None
        return least, tuple(self.stages[op] * least + rows[op] for op in range(len(rows)))

    def _least(self, ii: int) -> list[int] | None:
        """The least rows of the interval `ii`, those of the agent inside of it; None where there are none."""
        rows, inside = [0] * len(self.problem.ops), frozenset(self.order)
        for _ in range(len(rows) + 1):
            changed = False
            for source, sink, latency, turns in self.differences:
                if (row := rows[source] + latency - turns * ii) > rows[sink]:
                    rows[sink], changed = row, True
                    if row >= ii and sink in inside:  # rows only grow
                        return None
            if not changed:
                return rows
        return None


def _loads(op: Operation) -> bool:
    return isinstance(op, ProduceOp | ProducerAcquireOp | ProducerCommitOp)


def _makes_tiles(op: Operation) -> bool:
    return any(words_in_registers(result) for result in op.results)
