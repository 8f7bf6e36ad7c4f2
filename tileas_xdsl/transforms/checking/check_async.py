"""
`tileas check` as a pass, to stand anywhere in an `xdsl-opt` pipeline: it stops the pipeline at a race or a deadlock.

    xdsl-opt ring.mlir -p 'tileas-queue-to-pipeline,check-async{trip-counts=0,1,2,5}'

What is safe passes through untouched, with a remark on standard error that says for which trip counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.checker.verdict.checking import STEPS, TIMEOUT, check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.diagnostics import Error, refuse, remark, warn
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.transforms.rewriting.choices import ChoosingPass


class UnsafeError(PassFailedException, Error):
    """A program is not safe, or it is not decided whether it is; the text is the report, its last line the verdict."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))


@dataclass(frozen=True)
class CheckAsyncPass(ChoosingPass):
    """
    Check functions for races, deadlocks and other mistakes in asynchronous code; fail with the report if there are any.

    Rewrites: nothing.

    Requires: ops that the machine knows, which are those of docs/machine.md; ops that only compute from their operands
    may be named in `assume-pure`.

    Refuses: ops that the machine does not know, by name; a function or trip counts that cannot be checked.

    Fails: where the verdict is a violation or undecided. The exception carries the report, the verdict as its last
    line.
    """

    name = "check-async"

    function: str | None = field(default=None, metadata={"help": "check this function only; unset: every public one"})
    trip_counts: tuple[int, ...] | None = field(
        default=None,
        metadata={
            "help": "try only these with arguments that bound loops; unset: all, which is proved where it can be"
        },
    )
    capture: Literal["completion", "issue"] = field(
        default="completion",
        metadata={
            "help": "when asynchronous work reads its sources: at some time until its completion, or at its issue"
        },
    )
    assume_pure: tuple[str, ...] = field(
        default=(), metadata={"help": "names of ops that only compute from their operands"}
    )
    timeout: float | None = field(
        default=None,
        metadata={"help": "seconds of processor time for each function: then the check ends with what is known"},
    )
    steps: int | None = field(
        default=None,
        metadata={"help": f"steps for each function, the same on every computer; unset: {STEPS}, or none with timeout"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        report = self._report(op)
        if report.verdict is not Verdict.SAFE:
            raise UnsafeError(report)
        for found in report.warnings:
            warn(found.relaxation.op, f"waits for more than is needed: it {found.advice}")
        for calls in report.left_out:
            remark(op, f"is checked without some calls: {calls}")
        for reason in report.bounds_that_matter:
            remark(op, f"is not shown to be safe for every trip count: {reason}")
        for search in report.cut_short:
            remark(op, f"was not looked at in full: {search}")
        remark(op, f"is {report.last_line}")

    def _report(self, module: ModuleOp) -> Report:
        try:
            return check(
                module,
                self.function,
                trip_counts=self.trip_counts,
                capture=self.capture,
                assume_pure=self.assume_pure,
                timeout=TIMEOUT if self.timeout is None else self.timeout,
                steps=self.steps,
            )
        except UnsupportedError as error:
            _refuse_unsupported(error)
        except ArgumentError as error:
            refuse(module, f"cannot be checked: {error}", "see the options of check-async")


def _refuse_unsupported(error: UnsupportedError) -> NoReturn:
    """Raise the refusal of an op. The machine's reason holds the way out behind a semicolon, where there is one."""
    reason, _, way_out = error.reason.rpartition("; ")
    refuse(error.op, reason or error.reason, way_out if reason else "use ops in a way that docs/machine.md describes")
