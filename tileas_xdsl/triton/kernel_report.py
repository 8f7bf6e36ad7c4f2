"""What the check of one kernel for one target found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileas_xdsl.checker.verdict.checking import CheckOptions, check
from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_input import machine_errors
from tileas_xdsl.tools.rendering import Source, report_lines, text_of
from tileas_xdsl.triton.compiling import preconditions_of


@dataclass(frozen=True, repr=False)
class KernelReport:
    """A report, with the kernel and the target that it is about. As text it is what `tileas check` prints."""

    kernel: str
    """The name of the kernel."""
    target: str
    """What it was compiled for: `sm_90`."""
    ttgir: str
    """The text that was checked."""
    report: Report

    @property
    def safe(self) -> bool:
        """Whether nothing was found and nothing left undecided, within the scope that the text ends with."""
        return self.verdict is Verdict.SAFE

    @property
    def verdict(self) -> Verdict:
        return self.report.verdict

    @property
    def violations(self) -> list[Finding]:
        """What is wrong, with both parties and a witness each."""
        return self.report.findings

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the verdict rests on and nothing looks for: the phrases of the last line and of JSON."""
        return self.report.scope.assumed

    @property
    def text(self) -> str:
        """What `tileas check` prints: findings by Python line, and the verdict with its scope."""
        return text_of(report_lines(self.report, Source(_file_name(self.kernel, self.target), self.ttgir)))

    def __str__(self) -> str:
        return f"{self.kernel} for {self.target}:\n{self.text}"

    __repr__ = __str__


def report_on(kernel: str, target: str, ttgir: str, asked: CheckOptions) -> KernelReport:
    """
    Check the text `ttgir` of a kernel, with the options `asked`.

    Raises `InputError` for what is refused: it names the op, its Python line and the reason.
    """
    name = _file_name(kernel, target)
    module = parse_module(ttgir, name, full_context())
    with machine_errors(Source(name, ttgir)):
        return KernelReport(kernel, target, ttgir, check(module, **asked))


def with_stated(asked: CheckOptions, function: Any) -> CheckOptions:
    """The options, with the preconditions that the source of the kernel `function` states."""
    return {**asked, "assume": [*asked.get("assume", ()), *preconditions_of(function)]}


def _file_name(kernel: str, target: str) -> str:
    """The name by which the text is called where an op has no Python line."""
    return f"<{kernel} for {target}>"
