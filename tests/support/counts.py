"""Programs that wait by counting, before and after a conversion: the same mistakes, and the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import print_custom
from tests.support.meaning import run_in_order, same_bits
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report


def kinds_of(report: Report) -> tuple[str, list[str]]:
    """The verdict, and the kinds of mistakes found."""
    return str(report.verdict), sorted({str(finding.violation.kind) for finding in report.findings})


def assert_same_verdict_and_numbers(
    before: ModuleOp, after: ModuleOp, argument_sets: Sequence[dict[str, int]], name: str
) -> None:
    """
    The function `f` of `after` has the verdict of that of `before`, by the same kinds of mistakes, for each argument
    set; and the same numbers in every order of completion, where it is safe.
    """
    after.verify()
    verify_dominance(after)
    for arguments in argument_sets:
        first, second = (check(module, "f", args=arguments, trip_counts=[0]) for module in (before, after))
        assert kinds_of(first) == kinds_of(second), f"{name}, {arguments}\n{second}\n{print_custom(before)}"
        if first.findings:
            continue
        for order in ("eager", "lazy", "random:1"):
            old, new = (run_in_order(module, "f", arguments, order) for module in (before, after))
            assert not old.violations
            assert not new.violations
            for array, contents in old.arrays.items():
                assert same_bits(contents, new.arrays[array]), f"{name}, {arguments}, {order}: {array} differs"
