"""
Random annotated loops through `inject-software-pipeline`.

Three oracles that are independent of the pass: the machine runs the sequential loop and the pipelined one, under eager,
lazy and random completion, and its checker looks for races; enumeration of all iterations decides which schedules are
legal; and a simulation of the queues, group by group, says how many groups each wait may leave unfinished.
`TILEAS_CASES=full` takes 3,008 loops in place of a sample of 96.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tests.support.annotated_loops import AnnotatedLoop, annotated_loop, random_schedule
from tests.support.corpora import each
from tests.support.ir import parse, print_custom
from tests.support.meaning import run_in_order, same_bits
from tests.support.queue_simulation import Simulation
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_queue import WaitOp
from tileas_xdsl.dialects.async_queue_annotations import is_annotated, read_annotations
from tileas_xdsl.scheduling.async_pipeline.waits import plan_waits, undrained_queues
from tileas_xdsl.scheduling.timetable import Section, TimeSlot
from tileas_xdsl.transforms.queues.inject_software_pipeline import InjectSoftwarePipelinePass
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import bring_into_shape
from tileas_xdsl.transforms.queues.inject_software_pipeline.plan import PipelinePlan, SourceCapture, plan_pipeline

LOOPS_A_CHUNK = 32

chunks = each("chunk", range(94), 3, programs=LOOPS_A_CHUNK)
quarters = each("chunk", range(94), 3, programs=LOOPS_A_CHUNK // 4)


def loops_of(chunk: int) -> Iterator[AnnotatedLoop]:
    for seed in range(chunk * LOOPS_A_CHUNK, (chunk + 1) * LOOPS_A_CHUNK):
        yield annotated_loop(seed)


def some_of(chunk: int) -> Iterator[AnnotatedLoop]:
    """Every fourth loop of a chunk, for the tests that take long."""
    yield from islice(loops_of(chunk), 0, None, 4)


def pipelined(loop: AnnotatedLoop, capture: SourceCapture = "completion", *, merge: bool = True) -> ModuleOp:
    module = parse(loop.text())
    InjectSoftwarePipelinePass(source_capture=capture, merge_waits=merge).apply(Context(), module)
    module.verify()
    verify_dominance(module)
    assert not any(is_annotated(op) for op in module.walk())
    return module


def verdict(module: ModuleOp, loop: AnnotatedLoop, capture: str = "completion") -> Verdict:
    return check(module, "f", args=loop.numbers(), trip_counts=[0], capture=capture).verdict


# Meaning --------------------------------------------------------------------------------------------------------------


@chunks
def test_same_numbers_and_no_race(chunk: int) -> None:
    """Under every completion order the pipelined loop computes what the sequential one does, without a race."""
    for loop in loops_of(chunk):
        after, expected = pipelined(loop), loop.run()
        for order in orders_of(loop.seed):
            assert_computes(after, loop, order, expected)
        assert verdict(after, loop) is Verdict.SAFE, f"seed {loop.seed}\n{print_custom(after)}"


def orders_of(seed: int) -> tuple[str, ...]:
    """Waits make themselves felt when work is late, so each loop runs so; every second one in another order too."""
    return ("lazy", "eager", "lazy", f"random:{seed}")[seed % 2 * 2 :][: 1 + seed // 2 % 2]


def assert_computes(
    module: ModuleOp, loop: AnnotatedLoop, order: str, expected: Mapping[str, NDArray[np.int32]]
) -> None:
    outcome = run_in_order(module, "f", {**loop.numbers(), **loop.initial_arrays()}, order)
    where = f"seed {loop.seed}, {order}\n{print_custom(module)}"
    assert not outcome.violations, where
    for name, array in expected.items():
        assert same_bits(array, outcome.arrays[name]), f"{name}, {where}"


@quarters
def test_plain_data_and_text_of_a_loop_agree(chunk: int) -> None:
    for loop in some_of(chunk):
        assert_computes(parse(loop.text()), loop, "eager", loop.run())


@quarters
def test_issue_capture_has_no_race_where_sources_are_read_at_issue(chunk: int) -> None:
    for loop in some_of(chunk):
        after = pipelined(loop, "issue")
        assert verdict(after, loop, "issue") is Verdict.SAFE, f"seed {loop.seed}\n{print_custom(after)}"


# Legality -------------------------------------------------------------------------------------------------------------


@quarters
def test_refuses_exactly_the_schedules_that_break_a_dependence(chunk: int) -> None:
    """
    The pass refuses a schedule if and only if it breaks a dependence, and leaves a loop that it refuses as it was.
    """
    for loop in some_of(chunk):
        loop.schedule = random_schedule(random.Random(loop.seed), len(loop.components))
        legal = loop.is_legal(loop.schedule)
        module = parse(loop.text())
        text = print_custom(module)
        if legal:
            InjectSoftwarePipelinePass().apply(Context(), module)
            continue
        with pytest.raises(RefusedError):
            InjectSoftwarePipelinePass().apply(Context(), module)
        assert print_custom(module) == text, f"seed {loop.seed}"


# Counts ---------------------------------------------------------------------------------------------------------------


def plan_of(loop: AnnotatedLoop, capture: SourceCapture) -> tuple[PipelinePlan, dict[str, int]]:
    """The plan, and the number of versions of each temporary by name."""
    module = parse(loop.text())
    op = next(op for op in module.walk() if isinstance(op, scf.ForOp) and is_annotated(op))
    annotations = read_annotations(op)
    assert annotations is not None
    plan = plan_pipeline(bring_into_shape(op, {}), annotations, capture=capture)
    versions: dict[str, int] = {}
    for buffer, count in plan.versions.items():
        assert isinstance(buffer.owner, memref.AllocOp)
        assert buffer.name_hint is not None
        versions[buffer.name_hint] = count
    return plan, versions


def slot_of(slot: int, lead: int, trips: int) -> TimeSlot:
    if slot >= trips:
        return TimeSlot(Section.EPILOGUE, slot - trips)
    return TimeSlot(Section.PROLOGUE, slot) if slot < lead else TimeSlot(Section.KERNEL, 0)


@pytest.mark.parametrize("capture", ["completion", "issue"])
@quarters
def test_counts_against_a_simulation_of_the_queues(chunk: int, capture: SourceCapture) -> None:
    """
    Unmerged, each wait asks for exactly one of the groups that its consumer needs (one more would leave it out), and
    never for more than all of them; merged or not, every need is met, and in the end every group is complete.
    """
    judged = 0
    for loop in some_of(chunk):
        plan, versions = plan_of(loop, capture)
        model, first = plan.pipeline, min(loop.schedule.stages)
        for merge in (False, True):
            waits = plan_waits(model, merge=merge)
            for trips in [loop.trips] if loop.is_static else (0, 1, 2, 3, 5, 8):
                simulation = Simulation(loop, trips, versions, capture=capture)
                finished = dict.fromkeys(loop.schedule.async_stages, 0)
                for instance in simulation.instances():
                    slot = slot_of(instance.slot - first, model.timetable.lead, trips)
                    where = f"seed {loop.seed}, {trips} trips, {capture}, merge={merge}: {instance}\n{loop.text()}"
                    for wait in waits[slot].get(instance.component, ()):
                        stage = wait.queue + first
                        required = instance.committed[stage] - wait.count
                        needed = instance.needed.get(stage, frozenset())
                        if not merge:
                            assert required in needed or required <= 0, where
                            judged += required in needed
                        finished[stage] = max(finished[stage], required)
                    for stage, groups in instance.needed.items():
                        assert finished[stage] >= max(groups), where
                for stage in undrained_queues(model):
                    finished[stage + first] = simulation.committed[stage + first]
                assert finished == simulation.committed, f"seed {loop.seed}, {trips} trips"
    assert judged


@quarters
def test_one_more_races_unless_the_wait_is_redundant(chunk: int) -> None:
    """On the machine: raise one unmerged wait by one. If nothing happens, then the wait was not needed at all."""
    races = 0
    for loop in some_of(chunk):
        module = pipelined(loop, merge=False)
        waits = [op for op in module.walk() if isinstance(op, WaitOp)]
        if not waits:
            continue
        wait = random.Random(loop.seed).choice(waits)
        assert isinstance(wait.count, int)
        if lets_pass(wait, wait.count + 1, module, loop):
            assert lets_pass(wait, 1000, module, loop), f"seed {loop.seed}\n{wait}\n{print_custom(module)}"
        else:
            races += 1
    assert races


def lets_pass(wait: WaitOp, count: int, module: ModuleOp, loop: AnnotatedLoop) -> bool:
    wait.properties["count"] = IntegerAttr(count, i64)
    return verdict(module, loop) is Verdict.SAFE


# The corpus -----------------------------------------------------------------------------------------------------------


def test_corpus_has_what_it_is_for() -> None:
    loops = [*loops_of(0), *loops_of(1)]
    drawn = [loop.is_legal(random_schedule(random.Random(loop.seed), len(loop.components))) for loop in loops]
    assert 4 < sum(drawn) < 60
    wanted = {
        "several writers": lambda loop: any(writers(loop, name) > 1 for name in loop.temporaries),
        "partial overwrites": lambda loop: any(
            0 < len({cell for cell in c.writes if cell.array == name}) < 2 < writers(loop, name) + 1
            for c in loop.components
            for name in loop.temporaries
        ),
        "carried locations": lambda loop: set(loop.temporaries) - loop.private or "G0" in loop.arrays,
        "consumer before producer": lambda loop: loop.schedule.order[0] > loop.schedule.order[-1],
        "gaps in stages": lambda loop: any(
            stage not in loop.schedule.stages for stage in range(min(loop.schedule.stages), max(loop.schedule.stages))
        ),
        "several queues": lambda loop: len(loop.schedule.async_stages) > 1,
        "several groups": lambda loop: (
            len(plan_of(loop, "issue")[0].pipeline.groups.of_queue) > 0
            and max(map(len, plan_of(loop, "issue")[0].pipeline.groups.of_queue.values())) > 1
        ),
        "dynamic bounds": lambda loop: not loop.is_static,
        "short loops": lambda loop: 0 < loop.trips < max(loop.schedule.stages),
        "no iteration": lambda loop: loop.trips == 0,
        "step": lambda loop: loop.step > 1,
        "lower bound": lambda loop: loop.lower > 0,
        "predicates": lambda loop: any(c.every_second for c in loop.components),
    }
    for name, holds in wanted.items():
        assert any(holds(loop) for loop in loops), name


def writers(loop: AnnotatedLoop, name: str) -> int:
    return sum(any(cell.array == name for cell in component.writes) for component in loop.components)
