"""Which wait for a tile that TMA stores is the last of its kernel: behind it the reading alone is waited for."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.analysis.threads.stores import is_last
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp

KERNEL = """
func.func @f(%done: !nv_tileas.token, %n: index, %out: memref<8xindex>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {kernel}
  func.return
}}
"""
WAIT = "nv_tileas.async.wait %done : (!nv_tileas.token) -> ()"
MORE = "memref.store %n, %out[%c0] : memref<8xindex>"
AGENTS = """
  nv_tileas.async.pipeline.agent_switch attributes {{num_agents_per_group = array<i32: 1>, isolated = false}} {{
    {wait}
    {more}
    nv_tileas.async.pipeline.yield : () -> ()
  }} : () -> ()
"""
IN_AGENT = AGENTS.format(wait=WAIT, more="")
CASES = {
    "alone": (WAIT, True),
    "before more": (f"{WAIT}\n{MORE}", False),
    "in a loop": (f"scf.for %i = %c0 to %n step %c1 {{ {WAIT} }}", False),
    "in an agent": (IN_AGENT, True),
    "in an agent that does more": (AGENTS.format(wait=WAIT, more=MORE), False),
    "in an agent before more": (f"{IN_AGENT}\n{MORE}", False),
}


@pytest.mark.parametrize("case", CASES)
def test_behind_the_last_wait_the_kernel_ends(case: str) -> None:
    kernel, expected = CASES[case]
    (wait,) = (op for op in parse(KERNEL.format(kernel=kernel)).walk() if isinstance(op, AsyncWaitOp))
    assert is_last(wait) is expected
