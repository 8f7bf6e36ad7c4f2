"""
Raise every wait for a queue to the largest count that is safe, and remove the waits that nothing needs.

    async_queue.wait 0, 0 { use of slot i mod 3 }     ->     async_queue.wait 0, 2 { use of slot i mod 3 }
    async_queue.wait 1, 4    (two groups in flight)   ->     nothing

The judge is the checker (`machine/checking.py`): a count is raised only where the whole program is then still proved
safe, for every interleaving and every trip count; with the next count it goes wrong, or is not proved. So no race
can come of it, and a wait that cannot be judged stays as it is. Waits are taken in program order, each with the
earlier ones as they are by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import remark
from tileas_xdsl.dialects.async_queue import WaitOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.arguments import ArgumentError, find_function, public_functions
from tileas_xdsl.machine.checking import check
from tileas_xdsl.machine.report import Report, Verdict
from tileas_xdsl.machine.violations import UnsupportedError

FEW_TRIPS = tuple(range(5))
"""Counts that are too large mostly show with so few trips; what goes well for them is then proved."""

NEVER_BLOCKS = 1 << 20
"""A count as good as no wait."""

MOST_UNPROVED = 8
"""How much more is tried for a wait that a few trips do without and the proof does not."""


def constant_waits(module: Operation) -> list[tuple[WaitOp, int]]:
    """The waits for a number of groups that is written down, in program order, with the number."""
    waits = [op for op in module.walk() if isinstance(op, WaitOp)]
    return [(wait, count) for wait in waits if isinstance(count := wait.count, int)]


@dataclass
class Judge:
    """Asks the checker about copies of a module in which the waits have other counts."""

    module: ModuleOp
    capture: str
    counts: list[int] = field(init=False)
    """The counts as they are by now, of `constant_waits`."""

    def __post_init__(self) -> None:
        self._copy = self.module.clone()
        self._waits = [wait for wait, _ in constant_waits(self._copy)]
        self.counts = [count for _, count in constant_waits(self.module)]

    def fault(self, functions: Sequence[str], wait: int, count: int, *, prove: bool = True) -> str | None:
        """
        What is wrong with that count of wait number `wait` in `functions`, or with `prove` why it is not proved right;
        None where all is well. Without `prove` a few trip counts are tried.
        """
        self._set(wait, count)
        try:
            return next((fault for name in functions if (fault := self._fault_of(name, prove)) is not None), None)
        finally:
            self._set(wait, self.counts[wait])

    def settle(self, wait: int, count: int) -> None:
        """From now on wait number `wait` has that count."""
        self.counts[wait] = count
        self._set(wait, count)

    def _set(self, wait: int, count: int) -> None:
        self._waits[wait].properties["count"] = IntegerAttr(count, i64)

    def _fault_of(self, function: str, prove: bool) -> str | None:
        try:
            trips = None if prove else FEW_TRIPS
            return _doubt(check(self._copy, function, trip_counts=trips, capture=self.capture), prove)
        except (ArgumentError, UnsupportedError) as error:
            return str(error)


def _doubt(report: Report, prove: bool) -> str | None:
    """Why `report` says less than that all is well, for every trip count where `prove` is set; None where it does."""
    if report.findings:
        finding = report.findings[0]
        return f"{finding.violation.message}, {finding.call}"
    if report.verdict is Verdict.SAFE and (report.holds_for_every_trip_count or not prove):
        return None
    return next(iter([*report.undecided, *report.bounded]), report.verdict_line)


@dataclass(frozen=True)
class Tightening:
    """What becomes of one wait: `count` groups may stay unfinished, or, without, it goes."""

    wait: WaitOp
    count: int | None
    text: str


def plan_tightening(module: ModuleOp, capture: str) -> list[Tightening]:
    """
    What there is to win, in program order. Changes nothing.

    The cost is that of a proof for each step of a binary search, for each wait.
    """
    judge = Judge(module, capture)
    waits = constant_waits(module)
    found: list[Tightening] = []
    doubts: dict[tuple[str, ...], str | None] = {}
    for number, (wait, count) in enumerate(waits):
        functions = _judged_by(wait, module)
        if functions not in doubts:
            doubts[functions] = judge.fault(functions, number, count)
            if doubts[functions] is not None:
                remark(wait, f"and its like stay as they are: {doubts[functions]}")
        if doubts[functions] is None:
            found += _tighten(judge, number, wait, functions)
    return found


def _tighten(judge: Judge, number: int, wait: WaitOp, functions: Sequence[str]) -> list[Tightening]:
    """Find the largest count of one wait that is proved safe."""
    old = judge.counts[number]
    most, fault = _largest_plausible(judge, number, functions)
    for count in range(most, old, -1):
        doubt = judge.fault(functions, number, count)
        if doubt is not None:
            fault = doubt
            continue
        judge.settle(number, count)
        if count == NEVER_BLOCKS:
            return [Tightening(wait, None, f"removed: all is as safe without waiting for all but {old} groups")]
        return [Tightening(wait, count, f"raised from {old} to {count}; with {count + 1}: {fault}")]
    return []


def _largest_plausible(judge: Judge, number: int, functions: Sequence[str]) -> tuple[int, str]:
    """The largest count that goes well for a few trip counts, and what goes wrong with the next one."""
    old = judge.counts[number]
    fault = judge.fault(functions, number, NEVER_BLOCKS, prove=False)
    if fault is None:
        doubt = judge.fault(functions, number, NEVER_BLOCKS)
        return (NEVER_BLOCKS, "") if doubt is None else (old + MOST_UNPROVED, doubt)
    good, bad = old, old + 1
    while (reason := judge.fault(functions, number, bad, prove=False)) is None:
        good, bad = bad, old + 2 * (bad - old)
    fault = reason
    while bad - good > 1:
        middle = (good + bad) // 2
        reason = judge.fault(functions, number, middle, prove=False)
        if reason is None:
            good = middle
        else:
            bad, fault = middle, reason
    return good, fault


def _judged_by(wait: WaitOp, module: ModuleOp) -> tuple[str, ...]:
    """The functions that tell whether a count is safe: the wait's own, or all that are public where others call it."""
    function = enclosing_function(wait)
    names = public_functions(module)
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}
    own = [name for name in names if find_function(module, name)[0] is function]
    return tuple(own if own and own[0] not in called else names)


def emit_tightening(plan: Sequence[Tightening]) -> None:
    """Carry out a plan; cannot fail."""
    for item in plan:
        if item.count is not None:
            item.wait.properties["count"] = IntegerAttr(item.count, i64)
            continue
        body = item.wait.body.first_block
        for op in list(body.ops) if body is not None else ():
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(item.wait))
        Rewriter.erase_op(item.wait)


@dataclass(frozen=True)
class QueueTightenWaitsPass(ModulePass):
    """
    Raise every wait to its exact count and remove what needs no wait. See the module.

    Rewrites: the count of `async_queue.wait`, upward; a wait that is not needed to its body. A remark on each says what
    was won, and the call in which one group more would go wrong.

    Requires: functions that the checker proves safe for every trip count. Others stay as they are, with a remark that
    says why. Waits whose count is computed stay.

    Refuses: nothing.
    """

    name = "queue-tighten-waits"

    capture: Literal["completion", "issue"] = field(
        default="completion", metadata={"help": "when asynchronous work reads its sources"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plan = plan_tightening(op, self.capture)
        for item in plan:
            remark(item.wait, item.text)
        emit_tightening(plan)
