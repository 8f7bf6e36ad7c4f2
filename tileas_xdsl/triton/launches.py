"""
Launches of kernels that are checked, not made: `with checking("sm_90"):` and `@checked("sm_90")`.

Nothing is executed. Each launch is compiled as Triton would compile it, with the types and divisibilities of its
arguments, once for each set of them; a tuned kernel is checked in all configurations that the tuner would try.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Unpack

from tileas_xdsl.checker.verdict.checking import CheckOptions
from tileas_xdsl.triton.compiling import target_named
from tileas_xdsl.triton.edited_kernel import Form, edit_of_form
from tileas_xdsl.triton.host.launching import Launch, caught
from tileas_xdsl.triton.kernel_report import KernelReport, report_on, with_stated


class NotSafeError(AssertionError):
    """A kernel that was launched is not safe, or none was launched. Holds the reports as text."""


@dataclass
class Launches:
    """The launches inside of `checking`, and what was found in each."""

    target: str
    asked: CheckOptions
    edit: bool = True
    """Whether the edit is looked for that repairs a kernel."""
    reports: list[KernelReport] = field(default_factory=list[KernelReport])
    _known: set[str] = field(default_factory=set[str])

    def check(self, launch: Launch, device: Any) -> None:
        """Compile a launch and check it, unless its text is known. Raises `InputError` for what is refused."""
        form = Form(launch.function, launch.source, device, self.target, launch.options)
        text = form.ttgir
        if text in self._known:
            return
        self._known.add(text)
        asked = with_stated(self.asked, launch.function)
        found = report_on(launch.name, self.target, text, asked)
        if self.edit:
            found.report.edit = edit_of_form(form, found.report, asked)
        self.reports.append(found)

    @property
    def safe(self) -> bool:
        return bool(self.reports) and all(report.safe for report in self.reports)

    def __str__(self) -> str:
        wrong = [str(report) for report in self.reports if not report.safe]
        return "\n\n".join(wrong) or f"{len(self.reports)} kernels were checked for {self.target}, and nothing is wrong"


@contextmanager
def checking(target: str, *, edit: bool = True, **asked: Unpack[CheckOptions]) -> Generator[Launches]:
    """
    Inside, launches of Triton's kernels are checked for `target` and not made; nothing is computed.

    At the end raises `NotSafeError`, an `AssertionError`, with the reports of those that are not safe, and where
    nothing was launched. A report shows the edit that repairs its kernel, if one is found; `edit=False` leaves out the
    search. The options of each check are those of `checker.verdict.checking.check`; preconditions may stand in a kernel
    as well: `# tileas: assume K >= 1`. Raises `InputError` for what is refused.
    """
    device = target_named(target)
    launches = Launches(target, asked, edit)
    with caught(device, target, lambda launch: launches.check(launch, device)):
        yield launches
    if not launches.reports:
        raise NotSafeError(f"no kernel was launched, so there is nothing to be checked for {target}")
    if not launches.safe:
        raise NotSafeError(str(launches))


def _launch(kernel: Any, grid: Any = (1,), args: Sequence[Any] = (), **options: Any) -> None:
    """`kernel[grid](*args, **options)`."""
    kernel[grid](*args, **options)


def checked(
    *targets: str, edit: bool = True, **asked: Unpack[CheckOptions]
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """
    A decorator for tests: the test gets `launch(kernel, grid=, args=, **options)`, and is called once for each target.

    It fails with the reports of all kernels that are not safe. Its other parameters stay, as fixtures of pytest.
    The options of each check are those of `checking`.
    """
    if not targets or not all(isinstance(target, str) for target in targets):  # pyright: ignore
        raise TypeError('name at least one target: @checked("sm_90")')

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        parameters = inspect.signature(test).parameters
        if "launch" not in parameters:
            raise TypeError(f"{test.__name__} has no parameter 'launch', by which it would launch a kernel")

        @functools.wraps(test)
        def for_each_target(*args: Any, **fixtures: Any) -> None:
            wrong: list[str] = []
            for target in targets:
                try:
                    with checking(target, edit=edit, **asked):
                        test(*args, **fixtures, launch=_launch)
                except NotSafeError as error:
                    wrong.append(str(error))
            if wrong:
                raise NotSafeError("\n\n".join(wrong))

        others = [parameter for name, parameter in parameters.items() if name != "launch"]
        for_each_target.__signature__ = inspect.Signature(others)  # pyright: ignore
        return for_each_target

    return decorate
