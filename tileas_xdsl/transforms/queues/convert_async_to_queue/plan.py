"""Which task goes to which queue, and what each moment waits for: all of it before anything is rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.ages import Ages, Combined, Commit
from tileas_xdsl.analysis.outstanding import Forced, OutstandingTasks
from tileas_xdsl.analysis.value_flow import Families, families_of, values_in
from tileas_xdsl.diagnostics import location_of, refuse, remark
from tileas_xdsl.transforms.queues.convert_async_to_queue.queues import Conflicts, assign_queues
from tileas_xdsl.transforms.queues.convert_async_to_queue.tasks import Moment, TokenProgram, names_completion, token_of


@dataclass
class ConversionPlan:
    """The conversion of one function."""

    program: TokenProgram
    queue_of: dict[Operation, int]
    """The queue of each task, counted from 0 in this function."""
    counts: list[tuple[Moment, dict[int, int]]] = field(default_factory=list[tuple[Moment, dict[int, int]]])
    """For each moment its waits: queue -> how many groups may stay unfinished."""
    remarks: list[tuple[Operation, str, str | None]] = field(default_factory=list[tuple[Operation, str, str | None]])
    """Ops that wait for more than before: the op, what it waits for besides, and the way out where there is one."""

    @property
    def queues(self) -> int:
        """The number of queues that the function uses."""
        return max(self.queue_of.values(), default=-1) + 1


def plan_queues(program: TokenProgram, max_queues: int | None) -> ConversionPlan:
    """Raises `RefusedError` where no number of queues keeps every wait exact, unless `max_queues` allows less."""
    families = _families(program)
    lines = {family: number for number, family in enumerate(_lines(program, families))}
    line_of = {task: lines[families.of(token_of(task))] for task in program.tasks}
    outstanding = OutstandingTasks(program.function, program.events_of, line_of.__getitem__)
    conflicts: Conflicts = {}
    forced: list[tuple[Moment, Forced]] = []
    for moment in program.moments:
        for pair in outstanding.forced(moment.start, moment.tokens):
            forced.append((moment, pair))
            for first, second in _lines_apart(pair, line_of):
                conflicts[first, second] = conflicts.get((first, second), 0) + 1
            if max_queues is None and not pair.is_choice:
                _refuse_disorder(moment, pair, line_of)
    assignment = assign_queues(len(lines), conflicts, max_queues)
    plan = ConversionPlan(program, {task: assignment.queue_of[line] for task, line in line_of.items()})
    _count(plan, outstanding)
    _note_forced(plan, forced, line_of)
    return plan


def _families(program: TokenProgram) -> Families:
    """Tokens that one wait may stand for alike: through loops and branches, and as members of a group."""
    tokens = (value for value in values_in(program.function) if names_completion(value))
    families = families_of(token for token in tokens if token not in program.finished)
    for op in program.names:
        joined = program.events_of(op).joins
        for member in joined[1] if joined is not None else ():
            if joined is not None and member not in program.finished:
                families.unite(joined[0], member)
    return families


def _lines(program: TokenProgram, families: Families) -> Sequence[SSAValue]:
    return list(dict.fromkeys(families.of(token_of(task)) for task in program.tasks))


def _lines_apart(pair: Forced, line_of: dict[Operation, int]) -> list[tuple[int, int]]:
    """The pairs of different lines that would wait for each other, each once."""
    pairs = [(line_of[task], line_of[older]) for task in pair.awaited.tasks for older in pair.older.tasks]
    return list(dict.fromkeys((min(p), max(p)) for p in pairs if p[0] != p[1]))


def _refuse_disorder(moment: Moment, pair: Forced, line_of: dict[Operation, int]) -> None:
    """Refuse a wait for a task while an older one of its own line is outstanding."""
    lines = {line_of[task] for task in pair.awaited.tasks}
    for older in pair.older.tasks:
        if line_of[older] in lines:
            refuse(
                moment.start,
                f"waits for a task while '{older.name}'{_at(older)}, which is older on the same queue, may be "
                "unfinished, and a FIFO can only wait for both",
                "wait in the order of starts, or give max-queues to accept waiting for more",
            )


def _at(op: Operation) -> str:
    location = location_of(op)
    return "" if location is None else f" at {location}"


def _count(plan: ConversionPlan, outstanding: OutstandingTasks) -> None:
    """Turn the tokens of every moment into counts: the least age of those on one queue that may be unfinished."""
    program = plan.program

    def commits_of(op: Operation) -> Sequence[Commit]:
        return (Commit(token_of(op), plan.queue_of[op]),) if op in plan.queue_of else ()

    def combined(op: Operation) -> Combined | None:
        events = program.events_of(op)
        if events.joins is None:
            return events.chooses
        token, members = events.joins
        return token, (members if token in op.results else (token, *members))

    ages = Ages(program.function, commits_of, names_completion, combined, finished=frozenset(program.finished))
    for moment in program.moments:
        counts: dict[int, int] = {}
        unfinished = frozenset(name for instance in outstanding.before(moment.start) for name in instance.may)
        for token in moment.tokens:
            if token not in unfinished:
                continue
            age = ages.age(token, moment.anchor)
            if age is None or not isinstance(age.queue, int):
                # No group has this token on any path that leads here: there is nothing to wait for.
                continue
            counts[age.queue] = min(age.count, counts.get(age.queue, age.count))
        plan.counts.append((moment, dict(sorted(counts.items()))))


def _note_forced(plan: ConversionPlan, forced: Sequence[tuple[Moment, Forced]], line_of: dict[Operation, int]) -> None:
    """Remark on every wait that waits for more than it did, once for each task that it waits for besides."""
    noted: dict[tuple[Operation, Operation], None] = {}
    for moment, pair in forced:
        queues = {plan.queue_of[task] for task in pair.awaited.tasks}
        lines = {line_of[task] for task in pair.awaited.tasks}
        for older in pair.older.tasks:
            if plan.queue_of[older] in queues and (moment.start, older) not in noted:
                noted[moment.start, older] = None
                text = f"also waits for '{older.name}'{_at(older)}, which is older in queue {plan.queue_of[older]}"
                way_out = None if line_of[older] in lines else "allow more queues to keep the two apart"
                plan.remarks.append((moment.start, text, way_out))


def report(plan: ConversionPlan) -> None:
    """Emit the plan's remarks."""
    for op, text, way_out in plan.remarks:
        remark(op, text, way_out)
