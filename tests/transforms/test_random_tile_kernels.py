"""
Random loops over tiles through the whole family, in one agent and in several: equal numbers and safe, or one agent with
a reason.
"""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.random_tile_kernels import assert_right_and_safe, random_kernel
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tileas.materialize_schedule import AGENTS

PROGRAMS = range(200)
STRATEGIES = ("warp-specialize", "unspecialize")


def compiled(seed: int, strategy: str) -> tuple[ModuleOp, str | None]:
    """The program through the family, and why it is in fewer agents or stages than asked for, if it is."""
    options = f"pipeline-strategy={strategy} unspecialized-pipeline-num-stages={2 + seed % 3}"
    with recorded_diagnostics() as said:
        module = run_passes(parse(random_kernel(seed)), f"tileir{{compute-capability=sm_90 {options}}}")
    verify_dominance(module)
    failed = [str(diagnostic) for diagnostic in said if "Failed to pipeline loop" in str(diagnostic)]
    if strategy == "unspecialize":
        return module, failed[0] if failed else None
    (function,) = functions_in(module)
    found = function.attributes[AGENTS]
    assert isinstance(found, DictionaryAttr)
    reason = found.data.get("reason")
    is_one = not any(isinstance(op, AgentSwitchOp) for op in module.walk())
    return module, reason.data if is_one and isinstance(reason, StringAttr) else None


REFUSED: dict[str, dict[int, str]] = {"unspecialize": {}, "warp-specialize": {191: "no loop fills a ring"}}
"""Strategy -> seed -> why its loop stays as it is."""


def test_at_most_one_in_twenty_is_refused() -> None:
    assert all(len(refused) <= len(PROGRAMS) // 20 for refused in REFUSED.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
@each("seed", PROGRAMS, 6)
def test_random_kernels_keep_their_numbers_and_are_safe(seed: int, strategy: str) -> None:
    module, reason = compiled(seed, strategy)
    expected = REFUSED[strategy].get(seed)
    assert (reason is None) == (expected is None), reason
    assert (expected or "") in (reason or "")
    assert_right_and_safe(module, random_kernel(seed), (0, 1, 2 + seed % 3, 5), seed)
