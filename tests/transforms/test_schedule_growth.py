"""Preparing, scheduling, assigning buffers and expanding take work in proportion to the ops: counted, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import log
from types import FrameType

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from bench.schedules import PREPARED, Steps, many_loops, many_pairs, unscheduled
from tests.support.ir import parse
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.names import PASSES, loaders


def calls(action: Callable[[], None]) -> int:
    """How many functions, of Python or built in, are called in `action`."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def work(text: str, steps: Steps) -> tuple[int, int]:
    """The ops of the module that goes in, and the calls of all passes together."""
    module: ModuleOp = parse(text)
    passes = [loaders("transforms", PASSES)[name]()(**options) for name, options in steps]
    size = sum(1 for _ in module.walk())

    def action() -> None:
        with recorded_diagnostics():
            for one in passes:
                one.apply(Context(), module)

    return size, calls(action)


@pytest.mark.parametrize(
    ("make", "steps", "sizes"),
    [(many_loops, PREPARED, (2, 8)), (many_pairs, unscheduled(2), (20, 100)), (many_pairs, unscheduled(4), (20, 100))],
    ids=["loops of 50 ops", "pairs in one loop, 2 stages", "pairs in one loop, 4 stages"],
)
def test_work_grows_no_faster_than_the_ops(make: Callable[[int], str], steps: Steps, sizes: tuple[int, int]) -> None:
    work(make(1), steps)  # what is loaded and cached at the first use
    (small, few), (large, many) = (work(make(size), steps) for size in sizes)
    assert log(many / few) / log(large / small) <= 1.1
