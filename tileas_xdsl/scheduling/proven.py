"""
Registers bind: of a loop whose tiles have to fit the registers of the agents that hold them, the least interval.

    without registers     II = 1051, and what is refuted below it is refuted with registers, too
    does it fit?          then the proof holds as it stands
    another one at 1051?  sought in few stages
    else                  between 1051 and the serial interval, by halving: `exact/halving.py`

So an interval that registers lengthen is found and bounded, where the problem is too large to refute each interval on
its own: nothing in the problem of a loop has to come soon enough, so that one refutation does for all below it.

Modulo scheduling by proof: the problem of the heuristic scheduler, solved by the exact one.

One problem, two schedulers: what the heuristic finds is the start of the exact search, so that the answer is never
slower, and their two intervals can stand beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.cycles import TimedEdge, earliest_starts
from tileas_xdsl.scheduling.exact import problem as exact
from tileas_xdsl.scheduling.exact.agents import crowded_op
from tileas_xdsl.scheduling.exact.bounds import bounds_of, schedules_stretch, serial_ii
from tileas_xdsl.scheduling.exact.explain import pool_text
from tileas_xdsl.scheduling.exact.halving import Halving
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import ExactSchedule, NoSchedule, ScheduleSource, Trail
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.search import Limits, any_schedule, solve
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem
from tileas_xdsl.scheduling.modulo.schedule import IntervalProof, ModuloSchedule
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters

UNLIMITED = 1 << 40
"""Bytes of a space that the problem sets no limit for."""


@dataclass(frozen=True)
class ProvenSchedule:
    """A schedule for the passes, and the proofs that came with it."""

    schedule: ModuloSchedule
    result: ExactSchedule
    fits: bool = True
    """Whether its tiles fit their registers, where these are counted."""

    @property
    def text(self) -> str:
        """What is proven, and what binds."""
        return self.result.text


def proven_schedule(start: ModuloSchedule, limits: Limits | None = None) -> ProvenSchedule | NoSchedule:
    """
    The schedule with the least interval for the problem of `start`, which bounds the search from above.

    Raises `SolverMissing` where there is no solver.
    """
    problem = exact_problem(start.problem)
    result = solve(_in_any_order(problem), limits or Limits(), as_exact(start))
    if isinstance(result, ExactSchedule) and validate(problem, result.schedule):
        result = solve(problem, limits or Limits(), as_exact(start))
    if isinstance(result, NoSchedule):
        return result
    starts = starts_of(problem, result.schedule)
    proof = IntervalProof(result.text, result.lower_bound, start)
    found = ModuloSchedule(start.problem, result.ii, starts, start.strategy, start.bounds, proof=proof)
    return ProvenSchedule(found, result)


def _in_any_order(problem: ExactProblem) -> ExactProblem:
    """
    The same where engines may serve what waits for them in any order. That order makes the search several times longer,
    and most schedules keep it unasked; a refutation without it holds with it, too.
    """
    return replace(problem, queues=())


def starts_of(problem: exact.ExactProblem, schedule: Schedule) -> tuple[int, ...]:
    """Starts from stage 0 on, in the least stages."""
    settled = _settled(problem, schedule)
    (origin,) = settled.origins
    early = min(time - origin for time in settled.starts) // settled.ii * settled.ii + origin
    return tuple(time - early for time in settled.starts)


def _settled(problem: exact.ExactProblem, schedule: Schedule) -> Schedule:
    """
    `schedule` with the same rows in the least stages that dependences allow, if it is right there.

    Where a limit ends the search before the phase for stages, the solver has left gaps of many stages, which cost
    memory and peeled iterations and buy nothing.
    """
    ii, places = schedule.ii, problem.positions
    (origin,) = schedule.origins
    rows = [(start - origin) % ii for start in schedule.starts]
    pairs = [(it.source, it.sink, it.latency, it.distance) for it in problem.dependences]
    pairs += [(ring.writer, read.op, 0, read.distance) for ring in problem.rings for read in ring.readers]
    edges = [
        TimedEdge(u, v, -(-(rows[u] + latency - rows[v]) // ii) - distance, 0)
        for u, v, latency, distance in ((places[source], places[sink], *rest) for source, sink, *rest in pairs)
    ]
    stages = earliest_starts(len(rows), edges, 0)
    if stages is None:
        return schedule
    starts = tuple(stage * ii + row for stage, row in zip(stages, rows, strict=True))
    ends = [[starts[places[it.op]] + it.hold + ii * it.distance for it in ring.readers] for ring in problem.rings]
    copies = tuple(
        max(ring.min_copies, *(-(-(end - starts[places[ring.writer]]) // ii) for end in found))
        for ring, found in zip(problem.rings, ends, strict=True)
    )
    better = Schedule(ii, starts, starts, schedule.agents, copies, (0,))
    is_right = not validate(problem, better)
    return better if is_right and better.stage_counts < schedule.stage_counts else schedule


def exact_problem(problem: ModuloProblem, tiles: TilesInRegisters | None = None) -> exact.ExactProblem:
    """The same problem in the records of the exact scheduler, for one agent, with `tiles` in registers."""
    names = _names(problem)
    groups = {op: f"group {number}" for number, members in enumerate(problem.groups) for op in members}
    ops = tuple(
        exact.OpSpec(
            names[number],
            tuple(use for use in op.uses if use.rows),
            op.latency,
            group=groups.get(number),
            max_stage=None if problem.stage_limit(number) >= NO_LIMIT else problem.stage_limit(number) - 1,
        )
        for number, op in enumerate(problem.ops)
    )
    edges = tuple(
        exact.Dependence(names[it.source], names[it.sink], it.latency, it.distance, it.reason) for it in problem.edges
    )
    rings = tuple(
        exact.ExactRing(
            f"{ring.name}#{number}",
            ring.space,
            names[ring.writer],
            tuple(exact.RingRead(names[use.op], use.hold, use.distance) for use in ring.readers),
            ring.bytes,
            max_copies=None if ring.most_copies >= NO_LIMIT else ring.most_copies,
        )
        for number, ring in enumerate(problem.rings)
    )
    machine = _machine(problem)
    queues = tuple(tuple(names[work] for work in works) for works in problem.queues)
    found = exact.ExactProblem(ops, machine, edges, rings, queues=queues)
    if tiles is None:
        return found
    pools = tuple(exact.RegisterPool(agent, tiles.room, kept) for agent, kept in tiles.kept.items())
    return replace(found, machine=replace(machine, pools=pools), values=tuple(_values(tiles, names)))


def _values(tiles: TilesInRegisters, names: Sequence[str]) -> Iterator[exact.RegisterValue]:
    labels = [life.name for life in tiles.lives]
    for number, life in enumerate(tiles.lives):
        label = life.name if labels.count(life.name) == 1 else f"{life.name} #{number}"
        uses = tuple(exact.RingRead(names[use.op], use.hold, use.distance) for use in life.uses)
        yield exact.RegisterValue(label, names[life.definition], uses, life.words, pool=life.agent)


def _names(problem: ModuloProblem) -> tuple[str, ...]:
    """A name of its own for each op: that which it has, or one with its number."""
    taken = [op.name for op in problem.ops]
    return tuple(name if taken.count(name) == 1 else f"{name}#{number}" for number, name in enumerate(taken))


def _machine(problem: ModuloProblem) -> exact.MachineLimits:
    used = dict.fromkeys(use.slot for op in problem.ops for use in op.uses)
    slots = tuple(exact.SlotLimit(slot, problem.capacity(slot), problem.slot_numbers.get(slot)) for slot in used)
    held = dict.fromkeys(ring.space for ring in problem.rings)
    spaces = tuple(exact.Space(space, problem.space_bytes.get(space, UNLIMITED)) for space in held)
    return exact.MachineLimits(slots, spaces, ceiling=None if problem.ceiling >= NO_LIMIT else problem.ceiling)


def as_exact(start: ModuloSchedule) -> Schedule:
    agents = (0,) * len(start.starts)
    return Schedule(start.ii, start.starts, start.starts, agents, start.copies, (0,))


def in_registers(found: ProvenSchedule, tiles: TilesInRegisters, seconds: float) -> ProvenSchedule:
    """
    `found`, if `tiles` fit their registers in it; else the schedule with the least interval in which they do, as far as
    it is found in about so many deterministic seconds; else `found`, with what it would need in its proof.
    """
    problem = exact_problem(found.schedule.problem, tiles)
    fitting = _in_registers(found, _in_any_order(problem), seconds)
    keeps_order = not fitting.fits or not validate(problem, as_exact(fitting.schedule))
    return fitting if keeps_order else _in_registers(found, problem, seconds, fitting.schedule.ii)


def _in_registers(
    found: ProvenSchedule, problem: ExactProblem, seconds: float, hoped: int | None = None
) -> ProvenSchedule:
    """The same for a problem with registers; `hoped` is an interval that may have a schedule."""
    breaches = validate(problem, as_exact(found.schedule))
    if not breaches:
        return found
    same = None if crowded_op(problem) else any_schedule(problem, found.schedule.ii, seconds / 2)
    if same is not None:
        return replace(found, schedule=replace(found.schedule, starts=starts_of(problem, same)))
    roomy = _some_schedule(problem, found, hoped, seconds / 2) if schedules_stretch(problem) else None
    if roomy is not None:
        return _later(found, problem, roomy, seconds)
    proof = _proof_of(found)
    why = crowded_op(problem) or breaches[0].text
    text = f"{proof.text}; registers do not suffice: {why}"
    return replace(found, schedule=replace(found.schedule, proof=replace(proof, text=text)), fits=False)


def _some_schedule(problem: ExactProblem, found: ProvenSchedule, hoped: int | None, seconds: float) -> Schedule | None:
    """With the interval that is hoped for; or the heuristic's, if it fits; or one whose iterations need not overlap."""
    hit = None if hoped is None else any_schedule(problem, hoped, seconds)
    if hit is not None:
        return hit
    heuristic = as_exact(_proof_of(found).heuristic)
    if not validate(problem, heuristic):
        return heuristic
    return None if crowded_op(problem) else any_schedule(problem, serial_ii(problem, 1), seconds)


def _later(found: ProvenSchedule, problem: ExactProblem, roomy: Schedule, seconds: float) -> ProvenSchedule:
    """The least interval between that of `found` and that of `roomy`."""
    halving = Halving(problem, found.result.lower_bound - 1, roomy, seconds)
    halving.run()
    schedule = any_schedule(problem, halving.schedule.ii, seconds / 2) or halving.schedule
    trail = Trail(
        bounds_of(problem),
        (*found.result.trail.refuted, *halving.refuted),
        tuple(range(halving.refuted_up_to + 1, halving.schedule.ii)),
        found.result.trail.seconds + halving.spent,
        (),
        nondeterministic=found.result.trail.nondeterministic,
    )
    result = ExactSchedule(problem, schedule, ScheduleSource.SOLVER, trail, (), fewest_proven=True)
    full = " and ".join(pool_text(problem, pool.name) for pool in problem.machine.pools)
    relation = "=" if found.result.proven else "<="
    text = f"{result.text}; {full}; without regard to them, II {relation} {found.schedule.ii}"
    before = _proof_of(found)
    fits = not validate(problem, as_exact(before.heuristic))
    proof = IntervalProof(text, result.lower_bound, before.heuristic, heuristic_fits=fits)
    starts = starts_of(problem, schedule)
    return ProvenSchedule(replace(found.schedule, ii=result.ii, starts=starts, proof=proof), result)


def _proof_of(found: ProvenSchedule) -> IntervalProof:
    assert found.schedule.proof is not None, "it was proven"
    return found.schedule.proof
