"""
What a command is doing, on standard error while that is a terminal and the command takes its time; gone when it ends.
In a notebook it is an output of the cell.

    with progress() as tell:
        tell("@ring with n = 4")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Lock, Timer
from typing import Any, Protocol

PATIENCE = 2.0
"""Seconds that a command may take before anything is shown."""

Tell = Callable[[str], None]
"""Called with what the command does from now on, in a few words."""


class _Place(Protocol):
    """Where a line is shown."""

    def update(self, text: str) -> None: ...

    def stop(self) -> None: ...


@contextmanager
def progress() -> Generator[Tell | None]:
    """
    A context that shows on a terminal, or in a notebook, what is done inside. Gives a function to call with each step;
    None where no one looks, so that it costs nothing.
    """
    place = _Output if _is_notebook() else _Status
    if place is _Status and not sys.stderr.isatty():
        yield None
        return
    line = _Line(place)
    # A notebook knows by the context which cell an output belongs to.
    timer = Timer(PATIENCE, copy_context().run, (line.show,))
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
    A context with a bar on a terminal, or a line in a notebook: a function to call with the steps that are done, all
    steps, and the present one. None where no one looks.
    """
    if _is_notebook() or not sys.stderr.isatty():
        with progress() as tell:
            yield None if tell is None else lambda done, total, text: tell(f"{done} of {total}: {text}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, total, text: shown.update(task, completed=done, total=total, description=_plain(text))


class _Line:
    """A line that is shown by the thread of a timer, and written by that which does the work."""

    def __init__(self, place: Callable[[str], _Place]) -> None:
        self._lock = Lock()
        self._text = ""
        self._open = place
        self._place: _Place | None = None
        self._closed = False

    def tell(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._place is not None:
                self._place.update(text)

    def show(self) -> None:
        with self._lock:
            if not self._closed:
                self._place = self._open(self._text)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._place is not None:
                self._place.stop()


class _Status:
    """A line of the terminal."""

    def __init__(self, text: str) -> None:
        from rich.console import Console

        self._status = Console(stderr=True, highlight=False).status(_plain(text))
        self._status.start()

    def update(self, text: str) -> None:
        self._status.update(_plain(text))

    def stop(self) -> None:
        self._status.stop()


class _Output:
    """An output of a notebook's cell, empty when it ends."""

    def __init__(self, text: str) -> None:
        from IPython.display import display  # pyright: ignore
        from rich.text import Text

        self._made: Callable[[str], Any] = Text
        self._handle: Any = display(Text(text), display_id=True)

    def update(self, text: str) -> None:
        self._handle.update(self._made(text))

    def stop(self) -> None:
        self.update("")


def _is_notebook() -> bool:
    """Whether this is the process of a notebook's cells: IPython with a kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _plain(text: str) -> str:
    """`text` with its square brackets escaped, which rich would read as markup."""
    from rich.markup import escape

    return escape(text)
