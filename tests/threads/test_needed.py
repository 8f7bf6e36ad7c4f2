"""Each barrier and each fence that is inserted is needed: without it the threads are unsafe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tests.support.corpora import each
from tests.support.ir import context, parse, run_passes
from tests.support.thread_kernels import passes
from tests.support.threads_and_tiles import AGENTS, BEFORE_TMA, ONE_AGENT, SECONDS, TO_KERNELS, text_of
from tests.threads.random_programs import Program
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import Diagnostic, RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp, SyncWarpOp
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.machine.core.assumptions import RUN_IN_STEP
from tileas_xdsl.pipelines import FAMILY, Strategy, TileIRPass

ORDERS = "tileas-order-accesses"
CASES = [
    ("carried_load", ONE_AGENT),
    ("kept_through_a_loop", BEFORE_TMA),
    ("operand_made_in_front", ONE_AGENT),
    ("through_an_array", ONE_AGENT),
    ("small_tile_in_place", BEFORE_TMA),
    ("converted_in_front", AGENTS),
    ("updated_in_front_of_agents", AGENTS),
    ("rows_in_a_ring", AGENTS),
]


def _ordered(name: str, variant: str) -> tuple[ModuleOp, str]:
    """A program whose accesses are ordered, and the passes that are left."""
    target, strategy = variant.split()
    options = f"compute-capability={target} pipeline-strategy={strategy} layouts=true"
    names = [member.name for member in FAMILY]
    first, cut = names.index("tileas-single-steps"), names.index(ORDERS) + 1
    assert first < names.index(TO_KERNELS) < cut
    road = f"tileas-fold-views,tileas-queue-to-pipeline,tileas-split-agent-groups,tileir{{{options}}}"
    with recorded_diagnostics():
        module = run_passes(parse(text_of(name)), f"{road},{passes(names[first:cut], target)}")
    return module, passes(names[cut:], target)


def _orders(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, Barrier0Op | BarrierOp | SyncWarpOp | FenceProxyOp)]


def _mutants(name: str, variant: str) -> Iterator[ModuleOp]:
    """The threads of a program, each without one barrier or one fence."""
    module, rest = _ordered(name, variant)
    for number in range(len(_orders(module))):
        mutant = module.clone()
        Rewriter.erase_op(_orders(mutant)[number])
        yield run_passes(mutant, rest)


@each("case", CASES, 1, ids="-".join)
def test_threads_are_unsafe_without_any_of_them(case: tuple[str, str]) -> None:
    mutants = list(_mutants(*case))
    assert mutants
    for number, threads in enumerate(mutants):
        assert check(threads, judge_waits=False, prove=False, timeout=SECONDS).findings, number


# Random programs ------------------------------------------------------------------------------------------------------

SEEDS = range(60)
VARIANTS = (AGENTS, ONE_AGENT, BEFORE_TMA)


@each("seed", SEEDS, 2)
def test_threads_of_random_programs_are_not_safe_without_any_of_them(seed: int) -> None:
    """
    But two kinds: what a warp does alone is safe under the assumption that its lanes run in step, which its barrier
    makes true; and coordinates of an array's tiles are compared without the bounds of loops.
    """
    program, variant = Program(seed), VARIANTS[seed % len(VARIANTS)]
    try:
        module, rest, said = _random_ordered(program, variant)
    except RefusedError:
        return
    for number, op in enumerate(_orders(module)):
        mutant = module.clone()
        Rewriter.erase_op(_orders(mutant)[number])
        for step in rest:
            step.apply(context(), mutant)
        report = check(mutant, judge_waits=False, prove=False, timeout=SECONDS)
        is_lost = bool(report.findings) or report.verdict is not Verdict.SAFE
        is_of_warp = isinstance(op, SyncWarpOp) and str(RUN_IN_STEP) in str(report)
        is_of_array = isinstance(op, Barrier0Op | BarrierOp) and not any(
            each.op is op and "of shared memory" in each.message for each in said
        )
        assert is_lost or is_of_warp or is_of_array, f"{number}: {report}"


def _random_ordered(program: Program, variant: str) -> tuple[ModuleOp, list[ModulePass], list[Diagnostic]]:
    """A random program whose accesses are ordered, the passes that are left, and what the ordering remarks."""
    target, strategy = variant.split()
    driver = TileIRPass(
        compute_capability=target,
        pipeline_strategy=cast("Strategy", strategy),
        num_warps=program.warps,
        layouts=True,
        threads=True,
        remarks=True,
    )
    steps, module = driver.steps(), parse(program.text)
    cut = [step.name for step in steps].index(ORDERS) + 1
    with recorded_diagnostics() as said:
        for step in steps[:cut]:
            step.apply(context(), module)
    return module, steps[cut:], said
