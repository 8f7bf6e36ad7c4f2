"""
Values in registers that cross agents: whichever agent an op is given to, numbers stay and the agents are safe.
"""

from __future__ import annotations

import random

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.scheduled_loops import after, assert_kept, ops_of
from tests.transforms.test_computing_agents import PASS, passes, reason, switch_of
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, CreatePipelineOp
from tileas_xdsl.transforms.tileas.assign_buffers import BUFFER

NAMED = {kernel.name: kernel for kernel in KERNELS}


def tagged(kernel: Kernel, agent_of: dict[int, int] | random.Random, agents: int = 2, stages: int = 4) -> ModuleOp:
    """The scheduled kernel with an agent for each op of its loop: as `agent_of` says by position, or at random."""
    road = passes(1, stages=stages, target=kernel.target).rpartition(",")[0]
    module = after(kernel.text, road)
    for loop in (op for op in module.walk() if isinstance(op, scf.ForOp)):
        for number, op in enumerate(list(loop.body.block.ops)[:-1]):
            fills = isinstance(op, ClassifiedOp) and op.side == "producer"
            drawn = agent_of.randint(1, agents) if isinstance(agent_of, random.Random) else agent_of.get(number, 1)
            op.attributes["agent"] = IntegerAttr(0 if fills else drawn, i32)
    return module


def materialized(module: ModuleOp, kernel: Kernel) -> ModuleOp:
    made = run_passes(module.clone(), f"{PASS}{{compute-capability={kernel.target}}}")
    verify_dominance(made)
    return made


def assert_right(kernel: Kernel, module: ModuleOp, trips: tuple[int, ...]) -> None:
    for count in trips:
        assert_kept(parse(kernel.text), module, kernel, count)
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"


def products(module: ModuleOp) -> list[int]:
    """The position of each product in the body of its loop."""
    return [
        number
        for loop in module.walk()
        if isinstance(loop, scf.ForOp)
        for number, op in enumerate(loop.body.block.ops)
        if isinstance(op, AsyncDotOp)
    ]


def test_the_factor_that_one_agent_makes_reaches_the_other() -> None:
    """The first product of a chain in one agent, the second in another one."""
    kernel = NAMED["chained_gemm"]
    _, second = products(tagged(kernel, {}))
    module = materialized(tagged(kernel, {second: 2}), kernel)
    assert len(switch_of(module).regions) == 3
    rings = [op for op in ops_of(module, CreatePipelineOp) if isinstance(op, CreatePipelineOp)]
    groups = [(ring.producer_group.value.data, ring.consumer_group.value.data) for ring in rings]
    assert groups == [(0, 1), (0, 2), (1, 2)]
    assert all(BUFFER in ring.attributes for ring in rings)
    assert_right(kernel, module, (0, 1, 2, 3, 4, 7))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_ops_of_one_agent_need_no_ring(kernel: Kernel) -> None:
    module = materialized(tagged(kernel, {}), kernel)
    assert len(ops_of(module, CreatePipelineOp)) == kernel.loads, print_custom(module)
    assert len(switch_of(module).regions) == 2


DRAWN = [f"{kernel.name}-{seed}" for seed in range(8) for kernel in KERNELS]


@each("case", DRAWN, 16, slow=["stencil-6"])
def test_any_agent_may_run_any_op(case: str) -> None:
    name, _, seed = case.rpartition("-")
    kernel = NAMED[name]
    generator = random.Random(seed)
    agents, stages = generator.choice([2, 3, 4]), generator.choice([1, 2, 3, 4])
    module = materialized(tagged(kernel, generator, agents, stages), kernel)
    if not ops_of(module, AgentSwitchOp):
        assert "registers" in (reason(module) or ""), reason(module)
        return
    assert_right(kernel, module, (0, 1, stages, 5))
