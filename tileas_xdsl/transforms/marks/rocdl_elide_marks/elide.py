"""Removes from one function the marks and waits that order nothing."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.rocdl.waits import AsyncmarkOp, WaitAsyncmarkOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface
from tileas_xdsl.transforms.marks.rocdl_elide_marks.facts import (
    counts_without,
    marks_before_no_wait,
    marks_in,
    marks_that_cover_nothing_new,
    marks_that_no_wait_is_for,
    waits_in,
    waits_that_cannot_block,
)

MOST_TRIED = 32
"""The number of marks that are tried one by one where not all can go. Each trial costs one analysis of the function."""


def elide_marks(function: Operation) -> None:
    """Remove what orders nothing from `function`; which transfers each wait completes stays the same."""
    if not is_followed(function):
        return
    before = -1
    while before != (before := len(marks_in(function)) + len(waits_in(function))):
        for op in waits_that_cannot_block(function):
            Rewriter.erase_op(op)
        for op in marks_before_no_wait(function):
            Rewriter.erase_op(op)
        _remove_with_lower_counts(function, marks_that_no_wait_is_for(function))
        _remove_with_lower_counts(function, marks_that_cover_nothing_new(function))


def is_followed(function: Operation) -> bool:
    """Whether `function` has marks or waits, and its own thread passes all of them."""
    others = [op for op in function.walk() if AgentLikeOpInterface.of(op) or AsyncRegionOpInterface.of(op)]
    elsewhere = any(isinstance(op, AsyncmarkOp | WaitAsyncmarkOp) for other in others for op in other.walk())
    return not elsewhere and bool(marks_in(function) or waits_in(function))


def _remove_with_lower_counts(function: Operation, marks: Sequence[AsyncmarkOp]) -> None:
    """Remove all of `marks`, or one after the other, as far as counts can be right on every path without them."""
    if not marks:
        return
    counts = counts_without(function, marks)
    if counts is not None:
        _remove(marks, counts)
        return
    for mark in marks[:MOST_TRIED]:
        counts = counts_without(function, [mark])
        if counts is not None:
            _remove([mark], counts)


def _remove(marks: Sequence[AsyncmarkOp], counts: dict[WaitAsyncmarkOp, int]) -> None:
    for wait, count in counts.items():
        wait.properties["count"] = WaitAsyncmarkOp(count).count
    for mark in marks:
        Rewriter.erase_op(mark)
