"""
Numbers in memory that atomic accesses change: in one run, and what the ops are as steps.

An addition takes its turn among all accesses to the word. Where its result is used, that is an answer: the run is one
in which the addition finds just that. A loop that asks until it finds a number is a wait for it. A change hands on what
its thread knows if it releases, and what the change before has handed on; who acquires learns that (PTX ISA, "Release
and Acquire Patterns"). There is one word in each program: of one, all accesses are in one order (PTX ISA, "Coherence").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.checker.explorer import steps
from tests.checker.explorer.barriers import Search
from tests.checker.explorer.clocks import Mind
from tests.checker.explorer.meanings import MEANINGS as OTHERS
from tests.checker.explorer.unroll import MEANINGS as ALL
from tests.checker.explorer.unroll import Frame, Unroller, number


class Taken(NamedTuple):
    """A step on a word, and when it was taken."""

    thread: int
    event: int
    moment: int


def _meet_all(search: Search, past: list[Taken], thread: int, mind: Mind) -> None:
    """
    A step of `thread` may have come before each of these that need not come before it: which number it finds, and
    whether it can be taken at all, differs from one to the next.
    """
    for step in past:
        if step.event > mind.order[step.thread]:
            search.reverse(step.moment, thread)


class Word:
    """One number in memory in one run."""

    def __init__(self, size: int) -> None:
        self.number = 0
        self.changes: list[Taken] = []
        self.waits: list[Taken] = []
        self.handed, self.after, self.after_changes = (Mind.of_size(size) for _ in range(3))

    def may_pass(self, step: steps.Change | steps.Until) -> bool:
        if isinstance(step, steps.Until):
            return self.number in step.numbers
        return step.found is None or self.number == step.found

    def change(self, search: Search, step: steps.Change, thread: int, mind: Mind, moment: int) -> None:
        _meet_all(search, [*self.changes, *self.waits], thread, mind)
        mind.follow(self.after)
        if step.acquires:
            mind.acquire(self.handed)
        self.changes.append(Taken(thread, mind.tick(thread), moment))
        if step.releases:
            self.handed.acquire(mind)
        self.after.follow(mind)
        self.after_changes.follow(mind)
        self.number += step.amount

    def wait(self, search: Search, step: steps.Until, thread: int, mind: Mind, moment: int) -> None:
        _meet_all(search, self.changes, thread, mind)
        mind.follow(self.after_changes)
        if step.acquires:
            mind.acquire(self.handed)
        self.waits.append(Taken(thread, mind.tick(thread), moment))
        self.after.follow(mind)

    def look_back(self, search: Search, thread: int, mind: Mind) -> None:
        """A wait that is stuck could have come before any change."""
        _meet_all(search, self.changes, thread, mind)


# As steps -------------------------------------------------------------------------------------------------------------

MONOTONIC, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = 2, 4, 5, 6, 7


def _word(unroller: Unroller, frame: Frame, pointer: Any) -> int:
    word = unroller.numbering.number("words", (pointer.number, pointer.offset))
    unroller.program.words[word] = unroller.bytes(frame, pointer, 4)
    return word


def _most(op: Any) -> int:
    """No more additions than that: programs make each of them once."""
    return sum(other.name == op.name for other in op.get_toplevel_object().walk())


def _add(unroller: Unroller, frame: Frame, op: Any) -> None:
    word, ordering = _word(unroller, frame, frame.values[op.ptr]), op.ordering.value.data
    found = unroller.answer(frame, op, _most(op)) if op.res.first_use is not None else None
    acquires, releases = ordering in (ACQUIRE, ACQ_REL, SEQ_CST), ordering in (RELEASE, ACQ_REL, SEQ_CST)
    frame.emit(steps.Change(word, number(frame.values[op.val]), found, acquires, releases), op)
    frame.values[op.res] = found


def _while(unroller: Unroller, frame: Frame, op: Any) -> None:
    """A loop whose first op is an atomic load asks until it ends."""
    before = op.before_region.block
    load, *others = before.ops
    if load.name != "llvm.load" or not load.ordering.value.data:
        OTHERS["scf.while"](unroller, frame, op)
        return
    ends: set[int] = set()
    for guess in range(2 * _most_of_module(op) + 2):
        frame.values[load.results[0]] = guess
        for inner in others[:-1]:
            ALL[inner.name](unroller, frame, inner)
        if not frame.uniform(frame.values[others[-1].operands[0]]):
            ends.add(guess)
    acquires = load.ordering.value.data in (ACQUIRE, SEQ_CST)
    frame.emit(steps.Until(_word(unroller, frame, frame.values[load.ptr]), frozenset(ends), acquires), op)


def _most_of_module(op: Any) -> int:
    return sum(other.name == "llvm.atomicrmw" for other in op.get_toplevel_object().walk())


MEANINGS: dict[str, Callable[[Unroller, Frame, Any], None]] = {"llvm.atomicrmw": _add, "scf.while": _while}
