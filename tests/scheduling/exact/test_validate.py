"""The independent judge: right schedules pass, and each kind of mistake is called by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests.support import slot_kernels as kernels
from tests.support.joint_kernels import gemm, hopper
from tests.support.self_timed import self_timed_period
from tileas_xdsl.scheduling.exact.problem import (
    NAMED,
    ComputeAgents,
    Dependence,
    ExactProblem,
    MachineLimits,
    Move,
    OpSpec,
    RegisterFile,
    RegisterValue,
    RingRead,
    SlotLimit,
    Space,
    Together,
)
from tileas_xdsl.scheduling.exact.result import ExactSchedule
from tileas_xdsl.scheduling.exact.schedule import Schedule, Transfer
from tileas_xdsl.scheduling.exact.search import Limits, solve
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.targets.machine_model import SlotUse


@cache
def schedule_of(problem: ExactProblem) -> Schedule:
    result = solve(problem, Limits(explain=False))
    assert isinstance(result, ExactSchedule), result.text
    return result.schedule


def shifted(times: tuple[int, ...], place: int, by: int) -> tuple[int, ...]:
    return tuple(time + by * (number == place) for number, time in enumerate(times))


def moved_op(schedule: Schedule, place: int, by: int) -> Schedule:
    return replace(schedule, starts=shifted(schedule.starts, place, by), issues=shifted(schedule.issues, place, by))


def kinds(problem: ExactProblem, schedule: Schedule) -> set[str]:
    return {finding.kind for finding in validate(problem, schedule)}


# A transfer between two agents: `a` defines x, `b` on another agent uses it.
MOVING = ExactProblem(
    (OpSpec("a", latency=4, issue=4), OpSpec("b", latency=4, issue=4)),
    MachineLimits((), (Space("shared", 128),), registers=RegisterFile(16, reserve=0)),
    (Dependence("a", "b", 4),),
    values=(RegisterValue("x", "a", (RingRead("b", 4),), 8, Move(64, 1)),),
    agents=2,
)
MOVED = Schedule(200, (0, 98), (0, 98), (0, 1), (), (0, 97), (Transfer("x", 0, 4, ((1, 97),), 1),))

QUEUED = ExactProblem(
    (OpSpec("a", (SlotUse("u", 2),), 2, asynchronous=True), OpSpec("b", (SlotUse("u", 2),), 2, asynchronous=True)),
    MachineLimits((SlotLimit("u"),), queue=4),
)

# Two issues, and the works of one engine behind them.
SERVED = ExactProblem(
    (OpSpec("issue a"), OpSpec("issue b"), OpSpec("a", (SlotUse("u", 2),), 2), OpSpec("b", (SlotUse("u", 2),), 2)),
    MachineLimits((SlotLimit("u"),)),
    (Dependence("issue a", "a", 1), Dependence("issue b", "b", 1)),
    queues=(("a", "b"),),
)


def test_right_schedules_pass() -> None:
    for problem in (kernels.GEMM, kernels.ATTENTION, gemm(256), hopper(2)):
        assert validate(problem, schedule_of(problem)) == ()
    assert validate(MOVING, MOVED) == ()
    assert validate(QUEUED, Schedule(4, (2, 4), (0, 1), (0, 0), (), (0,))) == ()
    assert validate(SERVED, Schedule(8, (0, 1, 2, 6), (0, 1, 2, 6), (0,) * 4, (), (0,))) == ()


GEMM, ATTENTION, WIDE = kernels.GEMM, kernels.ATTENTION, gemm(256)

MUTATIONS: list[tuple[str, str, ExactProblem, Callable[[], Schedule]]] = [
    ("an op too early", "dependence", GEMM, lambda: moved_op(schedule_of(GEMM), 2, -4)),
    ("two loads at once", "slot", GEMM, lambda: moved_op(schedule_of(GEMM), 1, -4)),
    ("an interval too short", "slot", GEMM, lambda: replace(schedule_of(GEMM), ii=15)),
    ("too few copies", "ring", GEMM, lambda: replace(schedule_of(GEMM), copies=(1, 2))),
    ("too many copies", "bytes", GEMM, lambda: replace(schedule_of(GEMM), copies=(8, 8))),
    ("an issue before its execution", "queue", GEMM, lambda: replace(schedule_of(GEMM), issues=(0, 8, 15))),
    ("an entry missing", "shape", GEMM, lambda: replace(schedule_of(GEMM), starts=(0, 8))),
    ("a gap in the agents", "shape", GEMM, lambda: replace(schedule_of(GEMM), agents=(0, 0, 2))),
    ("a loop that begins too late", "stage", GEMM, lambda: replace(schedule_of(GEMM), origins=(5,))),
    ("two agents of one", "agents", GEMM, lambda: replace(schedule_of(GEMM), agents=(0, 0, 1), origins=(0, 0))),
    ("products together", "registers", WIDE, lambda: replace(schedule_of(WIDE), agents=(0, 0, 1, 1), origins=(0, 0))),
    ("a load with a product", "agents", WIDE, lambda: replace(schedule_of(WIDE), agents=(0, 1, 1, 2))),
    ("S lives too long", "registers",
     replace(ATTENTION, machine=kernels.machine(registers=RegisterFile(150, reserve=0))),
     lambda: schedule_of(ATTENTION)),
    ("one overtakes another", "queue", QUEUED, lambda: Schedule(4, (4, 2), (0, 1), (0, 0), (), (0,))),
    ("served out of turn", "queue", SERVED, lambda: Schedule(8, (0, 1, 6, 2), (0, 1, 6, 2), (0,) * 4, (), (0,))),
    ("too long in the queue", "queue", QUEUED, lambda: Schedule(16, (2, 8), (0, 1), (0, 0), (), (0,))),
    ("two at once on an agent", "issue", replace(MOVING, values=(), dependences=()),
     lambda: Schedule(8, (0, 3), (0, 3), (0, 0), (), (0,))),
    ("written before it is there", "transfer", MOVING, lambda: with_transfer(write=3)),
    ("read before it is written", "transfer", MOVING, lambda: with_transfer(reads=((1, 96),))),
    ("used before it is read", "transfer", MOVING, lambda: with_transfer(reads=((1, 98),))),
    ("written again too soon", "transfer", MOVING, lambda: replace(MOVED, ii=100)),
    ("not moved at all", "transfer", MOVING, lambda: replace(MOVED, transfers=())),
    ("moved to its own agent", "transfer", MOVING, lambda: replace(MOVED, agents=(0, 0), origins=(0,))),
    ("memory for one copy", "bytes", MOVING, lambda: with_transfer(copies=3)),
    ("no move known", "agents", replace(MOVING, values=(RegisterValue("x", "a", (RingRead("b", 4),), 8),)),
     lambda: replace(MOVED, transfers=())),
    ("a rule", "agents", replace(MOVING, rules=(Together("one loop", ("a", "b")),)), lambda: MOVED),
    ("too many that compute", "agents", replace(MOVING, rules=(ComputeAgents("one", 1),)), lambda: MOVED),
    ("no barrier left", "barriers",
     replace(MOVING, dependences=(Dependence("a", "b", 4, handshake=NAMED),),
             machine=replace(MOVING.machine, named_barriers=0)), lambda: MOVED),
    ("no warp left", "warps", replace(MOVING, machine=replace(MOVING.machine, warps=1)), lambda: MOVED),
    ("no register left", "warps",
     replace(MOVING, machine=replace(MOVING.machine, registers=RegisterFile(16, words=512))), lambda: MOVED),
    ("a group apart", "stage", replace(GEMM, ops=tuple(replace(op, group="g") for op in GEMM.ops)),
     lambda: schedule_of(GEMM)),
    ("past its last stage", "stage", replace(GEMM, ops=tuple(replace(op, max_stage=0) for op in GEMM.ops)),
     lambda: schedule_of(GEMM)),
    ("iterations overlap", "stage", replace(GEMM, serial=True), lambda: schedule_of(GEMM)),
    ("above the ceiling", "stage", replace(GEMM, machine=replace(GEMM.machine, ceiling=30)), lambda: schedule_of(GEMM)),
]  # fmt: skip


def with_transfer(**changes: object) -> Schedule:
    return replace(MOVED, transfers=(replace(MOVED.transfers[0], **changes),))  # pyright: ignore


@pytest.mark.parametrize(("kind", "problem", "mutant"), [it[1:] for it in MUTATIONS], ids=[it[0] for it in MUTATIONS])
def test_a_mistake_has_a_name(kind: str, problem: ExactProblem, mutant: Callable[[], Schedule]) -> None:
    assert kind in kinds(problem, mutant())


def test_a_release_between_agents_takes_time() -> None:
    """The signal back counts even where no dependence joins the two ops."""
    bare = replace(gemm(128), dependences=())
    schedule = Schedule(4, (0, 2, 0, 2), (0, 2, 0, 2), (0, 0, 1, 1), (1, 1), (0, 0))
    assert kinds(bare, schedule) == {"ring"}


def test_findings_are_told_in_numbers() -> None:
    (finding,) = validate(GEMM, replace(schedule_of(GEMM), copies=(1, 2)))
    assert str(finding) == "ring: a with 1 copies is written again at 16; m needs it until 32"


# The self-timed run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "problem",
    [*(it for it in vars(kernels).values() if isinstance(it, ExactProblem)), gemm(128), gemm(256), hopper(2)],
)
def test_the_order_alone_runs_at_the_interval(problem: ExactProblem) -> None:
    schedule = schedule_of(problem)
    assert self_timed_period(problem, schedule) == schedule.ii


def test_transfers_keep_their_place_in_the_order() -> None:
    """Nothing makes iterations wait but the one copy of the memory between the agents: 93 cycles there and 93 back."""
    assert self_timed_period(MOVING, MOVED) == 2 * (1 + 92)


def test_a_wrong_order_runs_slower() -> None:
    """An issue of no time behind an op of the same row waits for it; before it, it does not."""
    ops = (OpSpec("sum", latency=4, issue=4), OpSpec("copy", (SlotUse("dma", 4),), 4, asynchronous=True))
    around = (Dependence("copy", "sum", 4), Dependence("sum", "copy", 0, 1))
    problem = ExactProblem(ops, MachineLimits((SlotLimit("dma"),)), around)
    schedule = schedule_of(problem)
    assert self_timed_period(problem, schedule) == schedule.ii == 4
    late = replace(problem, ops=(ops[0], replace(ops[1], issue=1)))
    assert self_timed_period(late, schedule) > 4
