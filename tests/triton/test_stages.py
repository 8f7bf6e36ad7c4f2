"""
The modules that Triton has before each of its passes: every one is read, and says the same as the last, or why not.

Before the pipeliner nothing is asynchronous, and the module is safe. Between the passes of warp specialisation there
are rings of `nvws`, which have no meaning here. Before functions are inlined, a bound that is handed to one is not
followed, and leaves the verdict open. What is wrong at a stage has to be wrong at the last one as well.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from tests.support.corpora import each
from tests.triton.stages import KERNELS, stages_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_input import DumpedModule, machine_errors
from tileas_xdsl.tools.rendering import Source

TIMEOUT = 1.0
"""Seconds for each module: what is found is found soon, and no proof is asked for."""
BETWEEN = "is between two steps of Triton's warp specialisation"
REFUSED_FOR_CLUSTERS = ("cluster", "other blocks")
"""Words of what is said where the blocks of a cluster meet."""


def outcome_of(module: DumpedModule, name: str) -> str:
    """`safe`, `undecided`, the kinds of what was found, or why it is refused. Fails where it cannot be read."""
    parsed = parse_module(module.text, name, full_context())
    try:
        with machine_errors(Source(name, module.text)):
            report = check(parsed, timeout=TIMEOUT, judge_waits=False)
    except InputError as error:
        return str(error)
    if report.verdict is Verdict.VIOLATION:
        return ", ".join(sorted({str(finding.violation.kind) for finding in report.findings}))
    return report.verdict.value


SLOW = [name for name in KERNELS if "attention" in name or "persistent" in name or name.endswith("-100")]
"""Those whose stages take more than ten seconds."""


@each("name", list(KERNELS), 1, programs=25, slow=SLOW)
def test_every_stage_is_read_and_the_verdict_stays(name: str) -> None:
    if find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
        pytest.skip("needs Triton 3.9: pip install '.[triton]'")
    modules = stages_of(name)
    outcomes = {f"{number} {module.passes[0]}": outcome_of(module, name) for number, module in enumerate(modules)}
    assert len(outcomes) > 1
    *_, last = outcomes.values()
    unlike = {
        stage: said
        for stage, said in outcomes.items()
        if said not in ("safe", last)
        and not ("Inline" in stage and said == "undecided")
        and BETWEEN not in said
        and not any(w in said for w in REFUSED_FOR_CLUSTERS)
    }
    assert unlike == {}
