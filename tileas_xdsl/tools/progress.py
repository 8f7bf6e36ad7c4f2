"""
What a command is doing, on standard error while that is a terminal and the command takes its time; gone when it ends.

    with progress() as tell:
        tell("@ring with n = 4")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 2.0
"""Seconds that a command may take before anything is shown."""

Tell = Callable[[str], None]
"""Called with what the command does from now on, in a few words."""


@contextmanager
def progress() -> Generator[Tell | None]:
    """
    A context that shows on a terminal what is done inside. Gives a function to call with each step; None where standard
    error is no terminal, so that it costs nothing.
    """
    if not sys.stderr.isatty():
        yield None
        return
    line = _Line()
    timer = Timer(PATIENCE, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield line.tell
    finally:
        timer.cancel()
        line.close()


@contextmanager
def bar() -> Generator[Callable[[int, int, str], None] | None]:
    """
    A context with a bar on a terminal: a function to call with the steps that are done, all steps, and the present one.
    None where standard error is no terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, total, text: shown.update(task, completed=done, total=total, description=_plain(text))


class _Line:
    """The line of the terminal: shown by the thread of a timer, written by that which does the work."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._text = ""
        self._status: Status | None = None
        self._closed = False

    def tell(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(_plain(text))

    def show(self) -> None:
        from rich.console import Console

        with self._lock:
            if not self._closed:
                self._status = Console(stderr=True, highlight=False).status(_plain(self._text))
                self._status.start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._status is not None:
                self._status.stop()


def _plain(text: str) -> str:
    """`text` with its square brackets escaped, which rich would read as markup."""
    from rich.markup import escape

    return escape(text)
