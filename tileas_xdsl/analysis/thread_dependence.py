"""
Which values may differ between the threads of a block, because they are computed from the number of a thread.

    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %p = llvm.getelementptr %x[%tid]           differs, and so does what is loaded there
    %v = llvm.load %x                          is the same: all threads load from one place

The answer errs towards "differs". A value is followed through operands, what regions yield, what functions return, and
from the arguments of a function to its calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator, SymbolTable

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import DiffersBetweenThreads, FunctionOpInterface

UNREGISTERED_THREAD_NUMBERS = ("rocdl.workitem.id.x", "rocdl.workitem.id.y", "rocdl.workitem.id.z")
"""Ops that number threads, too, of which only the name is known: our `rocdl` has no class for them."""


def _is_thread_number(op: Operation) -> bool:
    """Whether the results of `op` differ between the threads of a block, whatever its operands."""
    return DiffersBetweenThreads.of(op) is not None or op_name(op) in UNREGISTERED_THREAD_NUMBERS


class ThreadDependence:
    """Which values of a program may differ, worked out once for all. The program must not change meanwhile."""

    def __init__(self) -> None:
        self._differing: dict[int, tuple[Operation, set[SSAValue]]] = {}
        """`id` of the whole program -> the program, and those of its values that may differ."""

    def stores_the_same(self, op: Operation) -> bool:
        """
        Whether `op`, a store, stores the same value to the same place in every thread that executes it equally often.
        """
        root = op.get_toplevel_object()
        assert isinstance(root, Operation)
        if id(root) not in self._differing:
            self._differing[id(root)] = root, _differing_values(root)
        return not op.regions and self._differing[id(root)][1].isdisjoint(op.operands)


def _differing_values(root: Operation) -> set[SSAValue]:
    """All values in `root` that may differ: those computed from thread numbers, step by step."""
    users: dict[SSAValue, list[SSAValue]] = {}
    found: dict[SSAValue, None] = {}
    for op in root.walk():
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            for source in _sources(value):
                if isinstance(source, Operation):
                    found[value] = None
                else:
                    users.setdefault(source, []).append(value)
    worklist = list(found)
    while worklist:
        fresh = [user for user in users.get(worklist.pop(), ()) if user not in found]
        found.update(dict.fromkeys(fresh))
        worklist += fresh
    return set(found)


def differs_between_threads(value: SSAValue) -> bool:
    """Whether `value` may differ between the threads of a block that compute it for the same time."""
    worklist = deque([value])
    seen = {value}
    while worklist:
        for source in _sources(worklist.popleft()):
            if isinstance(source, Operation):
                return True
            if source not in seen:
                seen.add(source)
                worklist.append(source)
    return False


def _sources(value: SSAValue) -> Iterable[SSAValue | Operation]:
    """The values that `value` is computed from; the op, where that is a thread number."""
    op = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
    if op is None:
        return
    if _is_thread_number(op):
        yield op
    elif FunctionOpInterface.of(op) is not None:
        assert isinstance(value, BlockArgument)
        if value.block is not _entry(op):
            yield from _handed_over(op)
        else:
            yield from (call.operands[value.index] for call in _calls_of(op))
    else:
        yield from op.operands
        yield from _handed_over(op)
        callee = _callee(op)
        if callee is not None:
            yield from _handed_over(callee)


def _handed_over(op: Operation) -> Iterable[SSAValue]:
    """What the terminators in the regions of `op` hand over, those of branches between blocks among them."""
    for region in op.regions:
        for block in region.blocks:
            if block.last_op is not None and block.last_op.has_trait(IsTerminator, value_if_unregistered=False):
                yield from block.last_op.operands


def _entry(function: Operation) -> Block | None:
    return function.regions[0].first_block


def _callee(op: Operation) -> Operation | None:
    symbol = getattr(op, "callee", None)
    return None if symbol is None else SymbolTable.lookup_symbol(op, symbol)


def _calls_of(function: Operation) -> Iterable[Operation]:
    """The calls of `function` by name in its module."""
    root = function.parent_op()
    if root is not None:
        yield from (op for op in root.walk() if _callee(op) is function)
