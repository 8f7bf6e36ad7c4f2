"""
Compare TVM's pipeline pass with ours on the same annotated loops: `python -m bench.compare_tvm [--loops N]`.

Both outputs are executed for the loop's trip count and compared by what they do: which component runs for which
iteration, on which version, in which commit group, and what is known to be complete then. TVM's execution is also
handed to the checker. So every difference is explained, or counted as unexplained, which is a failure.

TVM is needed: `pip install .[tvm]`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from xdsl.utils.exceptions import PassFailedException

from bench.tvm import executions, queues, tir
from bench.tvm.executions import Event, instances
from bench.tvm.loops import RFC_EXAMPLES, AnnotatedLoop, random_loop
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import ViolationKind

RESULTS = Path(__file__).parents[1] / "build" / "bench"

OUTCOMES = {
    "equal": "same schedule, versions, groups, and the same known complete at every access",
    "TVM waits more": "TVM is sound, and forces more somewhere",
    "TVM copies more": "TVM is sound, and keeps another number of versions",
    "TVM races": "the checker finds a race in TVM's output",
    "TVM leaves work": "the checker finds work in TVM's output that nobody waits for before the buffers' lives end",
    "TVM stops": "TVM's pass raises an internal error, or its process dies",
    "ours refuses": "our pass refuses: unexplained",
    "ours is unsafe": "the checker finds a mistake in our output: unexplained",
    "unexplained": "TVM is sound, and something else differs",
}
FAILURES = ("ours refuses", "ours is unsafe", "unexplained")


@dataclass(frozen=True)
class Comparison:
    """What came out for one loop."""

    outcome: str
    detail: str = ""


def mistakes(events: tuple[Event, ...], loop: AnnotatedLoop) -> str:
    """The kinds of mistakes that the checker finds in an execution, with sources captured at issue; empty if none."""
    report = check(queues.parsed(queues.program_text(events, loop)), capture="issue")
    if report.verdict is Verdict.SAFE:
        return ""
    return ", ".join(dict.fromkeys(str(finding.violation.kind) for finding in report.findings)) or str(report.verdict)


def compare(loop: AnnotatedLoop, tvm: tir.Worker) -> Comparison:
    """Run `loop` through both passes."""
    try:
        ours = queues.execution_of(queues.pipelined(loop), loop)
    except PassFailedException as refusal:
        return Comparison("ours refuses", str(refusal))
    if wrong := mistakes(ours, loop):
        return Comparison("ours is unsafe", wrong)
    try:
        theirs = tvm.execution_of(loop)
    except tir.TVMAbortError as abort:
        return Comparison("TVM stops", str(abort))
    if wrong := mistakes(theirs, loop):
        return Comparison("TVM races" if str(ViolationKind.RACE) in wrong else "TVM leaves work", wrong)
    return _both_sound(instances(ours), instances(theirs))


def _both_sound(ours: list[executions.Instance], theirs: list[executions.Instance]) -> Comparison:
    if ours == theirs:
        return Comparison("equal")
    if not executions.same_sequence(ours, theirs) or executions.waits_more(ours, theirs):
        return Comparison("unexplained", executions.first_difference(ours, theirs))
    if not executions.same_schedule(ours, theirs):
        return Comparison("TVM copies more", executions.first_difference(ours, theirs))
    return Comparison("TVM waits more" if executions.waits_more(theirs, ours) else "equal")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare_tvm", description=__doc__)
    parser.add_argument("--loops", type=int, default=500, help="how many random loops (default 500)")
    parser.add_argument("--show", metavar="OUTCOME", help="print the loops that come out so")
    options = parser.parse_args()
    loops = RFC_EXAMPLES | {f"random {seed}": random_loop(seed) for seed in range(options.loops)}
    tvm = tir.Worker()
    compared = {name: compare(loop, tvm) for name, loop in loops.items()}
    tvm.close()

    console = Console()
    for name, comparison in compared.items():
        if name in RFC_EXAMPLES:
            console.print(f"{name}: {comparison.outcome} {comparison.detail}".rstrip(), highlight=False)
        if comparison.outcome == options.show or comparison.outcome in FAILURES:
            console.print(f"{name}: {loops[name]}\n  {comparison.outcome}: {comparison.detail}", highlight=False)
    counts = Counter(comparison.outcome for comparison in compared.values())
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("outcome")
    table.add_column("loops", justify="right")
    table.add_column("meaning")
    for outcome, meaning in OUTCOMES.items():
        table.add_row(outcome, str(counts[outcome]), meaning)
    console.print(table)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "compare_tvm.json").write_text(json.dumps({o: counts[o] for o in OUTCOMES}, indent=2) + "\n")
    return int(any(counts[failure] for failure in FAILURES))


if __name__ == "__main__":
    sys.exit(main())
