"""What the check of one kernel for one target found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileas_xdsl.checker.verdict.checking import CheckOptions, check
from tileas_xdsl.checker.verdict.report import GRAVEST, Finding, Report, Verdict
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_input import machine_errors
from tileas_xdsl.tools.progress import progress
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
    ptx: str | None = None
    """The PTX that Triton makes of it, if that was checked as well."""
    below: Report | None = None
    """The report on that."""

    @property
    def safe(self) -> bool:
        """Whether nothing was found and nothing left undecided, within the scope that the text ends with."""
        return self.verdict is Verdict.SAFE

    @property
    def verdict(self) -> Verdict:
        """The graver one, where there are two."""
        return max((report.verdict for report in self._reports), key=GRAVEST.index)

    @property
    def violations(self) -> list[Finding]:
        """What is wrong, with both parties and a witness each."""
        return [finding for report in self._reports for finding in report.findings]

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the verdict rests on and nothing looks for: the phrases of the last line and of JSON."""
        return tuple(dict.fromkeys(phrase for report in self._reports for phrase in report.scope.assumed))

    @property
    def text(self) -> str:
        """What `tileas check` prints: findings by Python line, and the verdict with its scope; of both levels."""
        name = name_of_text(self.kernel, self.target)
        said = text_of(report_lines(self.report, Source(name, self.ttgir)))
        if self.below is None or self.ptx is None:
            return said
        return f"TTGIR: {said}\nPTX: {text_of(report_lines(self.below, Source(name, self.ptx)))}"

    @property
    def _reports(self) -> list[Report]:
        return [self.report] if self.below is None else [self.report, self.below]

    def __str__(self) -> str:
        return f"{self.kernel} for {self.target}:\n{self.text}"

    __repr__ = __str__


def report_on(kernel: str, target: str, ttgir: str, asked: CheckOptions) -> KernelReport:
    """
    Check the text `ttgir` of a kernel, with the options `asked`.

    Raises `InputError` for what is refused: it names the op, its Python line and the reason.
    """
    name = name_of_text(kernel, target)
    module = parse_module(ttgir, name, full_context())
    with machine_errors(Source(name, ttgir)), progress() as tell:
        told: CheckOptions = {"tell": tell, **asked}
        return KernelReport(kernel, target, ttgir, check(module, **told))


def with_stated(asked: CheckOptions, function: Any) -> CheckOptions:
    """The options, with the preconditions that the source of the kernel `function` states."""
    return {**asked, "assume": [*asked.get("assume", ()), *preconditions_of(function)]}


def name_of_text(kernel: str, target: str) -> str:
    """The name by which the text is called where an op has no Python line."""
    return f"<{kernel} for {target}>"
