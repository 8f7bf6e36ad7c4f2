"""
Raise every wait for a queue to the largest count that is safe, and remove the waits that nothing needs.

    async_queue.wait 0, 0 { use of slot i mod 3 }     ->     async_queue.wait 0, 2 { use of slot i mod 3 }
    async_queue.wait 1, 4    (two groups in flight)   ->     nothing

The judge is the checker (`judge`): a count is raised only where the program is then still proved safe, for every
interleaving and every trip count; with the next count it goes wrong, or is not proved. So no race can come of it.
Waits are taken in program order, each with the earlier ones as they are by then.

A function is judged as a whole where the checker can follow all of it, and else queue by queue (`one_queue`), without
what it cannot follow. So each wait is judged for itself, and one that cannot be judged stays as it is, with a remark
that says why.

Whether one op may run before another is told from where they stand, conservatively: a wrong answer is always yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import location_of, op_name, remark
from tileas_xdsl.dialects.async_queue import QueueScope, WaitOp
from tileas_xdsl.interfaces import FunctionOpInterface, enclosing_function
from tileas_xdsl.machine.arguments import ArgumentError, find_function, public_functions
from tileas_xdsl.transforms.queues.queue_tighten_waits.judge import Gain, Judge, set_count
from tileas_xdsl.transforms.queues.queue_tighten_waits.one_queue import OneQueue, other_asynchrony, queue_number
from tileas_xdsl.transforms.rewriting.choices import ChoosingPass

ONCE = (scf.IfOp, scf.IndexSwitchOp, scf.ExecuteRegionOp, QueueScope)
"""Ops that run each of their regions at most once each time that they are executed."""


def may_run_before(first: Operation, second: Operation) -> bool:
    """Whether `first` may be run, or begun, before `second` is begun, in some execution."""
    function, other = enclosing_function(first), enclosing_function(second)
    if function is None or other is None or _is_called(function) or _is_called(other):
        return True
    if function is not other:
        return False  # Two ways into the module; queues are empty where one is entered.
    if any(len(region.blocks) > 1 for op in function.walk() for region in op.regions):
        return True
    if any(not isinstance(op, ONCE) and op.is_ancestor(second) for op in _around(first, function)):
        return True
    return next(op for op in function.walk() if op is first or op is second) is first


def _is_called(function: Operation) -> bool:
    """Whether the module calls `function`, or it cannot be told."""
    view = FunctionOpInterface.of(function)
    calls = (op for op in function.get_toplevel_object().walk() if isinstance(op, CallOp))
    return view is None or any(call.callee.string_value() == view.function_name for call in calls)


def _around(op: Operation, function: Operation) -> list[Operation]:
    """The ops around `op` inside of `function`."""
    found: list[Operation] = []
    node = op.parent_op()
    while node is not None and node is not function:
        found.append(node)
        node = node.parent_op()
    return found


@dataclass(frozen=True)
class WaitOutcome:
    """The result for one wait, and the remark about it; `gain` is None where the wait stays as it is."""

    wait: WaitOp
    gain: Gain | None
    text: str


def plan_tightening(module: ModuleOp, capture: str) -> list[WaitOutcome]:
    """
    The outcome of every wait that can be weakened or cannot be judged, in program order. Changes nothing.

    The cost is that of a few executions for each step of a binary search, and one proof, for each wait.
    """
    waits = [op for op in module.walk() if isinstance(op, WaitOp)]
    groups: dict[tuple[str, ...], list[WaitOp]] = {}
    for wait in waits:
        groups.setdefault(_judged_by(wait, module), []).append(wait)
    plan = _Plan(module, capture)
    for functions, members in groups.items():
        plan.tighten(functions, members)
    return [plan.outcomes[wait] for wait in waits if wait in plan.outcomes]


@dataclass
class _Plan:
    module: ModuleOp
    capture: str
    outcomes: dict[WaitOp, WaitOutcome] = field(default_factory=dict[WaitOp, WaitOutcome])

    def __post_init__(self) -> None:
        self.unseen = [op for op in self.module.walk() if isinstance(op, CallOp) and not _has_body(self.module, op)]

    def tighten(self, functions: Sequence[str], waits: Sequence[WaitOp]) -> None:
        """Judge `waits`, of which `functions` tell what is safe: as a whole, or else queue by queue."""
        copy = self.module.clone()
        twins = {one: two for one, two in zip(self.module.walk(), copy.walk(), strict=True) if isinstance(two, WaitOp)}
        judge = Judge(copy, functions, self.capture)
        fault = judge.fault()
        if fault is None:
            self._judge(judge, waits, twins, self.unseen)
        elif (other := other_asynchrony(self.module)) is not None:
            why = f"{fault.text}; and queues are judged one by one only where nothing else is asynchronous, as"
            self._leave(waits, f"{why} {named(other)} is")
        else:
            self._tighten_queues(functions, waits)

    def _tighten_queues(self, functions: Sequence[str], waits: Sequence[WaitOp]) -> None:
        by_queue: dict[int | None, list[WaitOp]] = {}
        for wait in waits:
            by_queue.setdefault(queue_number(wait), []).append(wait)
        for queue, members in by_queue.items():
            if queue is None:
                self._leave(members, "its queue is computed, and cannot be told from the others")
                continue
            model = OneQueue(self.module, queue, functions, self.capture)
            fault = model.settle()
            if fault is not None:
                self._leave(members, "; ".join([fault.text, *_what_is_not_counted_on(model)]))
                continue
            twins = model.waits()
            for wait in members:
                if wait not in twins:
                    self._leave([wait], f"it stands where the program cannot be followed: {model.given_way[wait]}")
            seen = [wait for wait in members if wait in twins]
            self._judge(model.judge, seen, twins, [*self.unseen, *model.blind_spots])

    def _judge(
        self,
        judge: Judge,
        waits: Sequence[WaitOp],
        twins: Mapping[Operation, WaitOp],
        blind_spots: Sequence[Operation],
    ) -> None:
        """Look for the largest counts of `waits`; `twins` are the same in the copy of `judge`."""
        for wait in waits:
            unseen = next((op for op in blind_spots if may_run_before(op, wait)), None)
            count = wait.count
            if unseen is not None:
                self._leave([wait], f"{named(unseen)} may commit groups before it that nobody sees")
            elif not isinstance(count, int):
                self._leave([wait], "its count is computed")
            elif (gain := judge.tighten(twins[wait], count)) is not None:
                self.outcomes[wait] = WaitOutcome(wait, gain, gain.text)

    def _leave(self, waits: Sequence[WaitOp], why: str) -> None:
        for wait in waits:
            self.outcomes[wait] = WaitOutcome(wait, None, f"stays as it is: {why}")


def _what_is_not_counted_on(model: OneQueue) -> Iterator[str]:
    """The ops that cannot be followed, and might be what makes the program safe."""
    for op, why in model.given_way.items():
        if isinstance(op, WaitOp):
            yield f"what {named(op)} completes is not known: {why}"


def named(op: Operation) -> str:
    """An op as a remark names it: `'func.call' at a.mlir:3:5`."""
    location = location_of(op)
    return f"'{op_name(op)}'" if location is None else f"'{op_name(op)}' at {location}"


def _has_body(module: Operation, call: CallOp) -> bool:
    try:
        find_function(module, call.callee.string_value())
    except ArgumentError:
        return False
    return True


def _judged_by(wait: WaitOp, module: ModuleOp) -> tuple[str, ...]:
    """The functions that tell whether a count is safe: the wait's own, or all that are public where others call it."""
    function = enclosing_function(wait)
    names = public_functions(module)
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}
    view = FunctionOpInterface.of(function) if function is not None else None
    own = view.function_name if view is not None else None
    return (own,) if own in names and own not in called else tuple(names)


def emit_tightening(plan: Sequence[WaitOutcome]) -> None:
    """Carry out a plan; cannot fail."""
    for item in plan:
        if item.gain is None:
            continue
        if item.gain.count is not None:
            set_count(item.wait, item.gain.count)
            continue
        body = item.wait.body.first_block
        for op in list(body.ops) if body is not None else ():
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(item.wait))
        Rewriter.erase_op(item.wait)


@dataclass(frozen=True)
class QueueTightenWaitsPass(ChoosingPass):
    """
    Raise every wait for a queue to the largest count that is proved safe, and remove waits that nothing needs.

    Rewrites: the count of `async_queue.wait`, upward; a wait that is not needed to its body. A remark on each says what
    was won, and the call in which one group more would go wrong.

    Requires: nothing. A wait stays as it is, with a remark that says why, where its queue raced before or cannot be
    proved safe for every trip count, where its queue or count is computed, where it stands in what cannot be followed,
    or behind what may commit groups that nobody sees.

    Refuses: nothing.

    Choices
        The checker is the judge of a count, with its proof for every trip count. Addresses that it can follow are thus
        followed exactly, and where it proves nothing the waits stay. A wait without which all is as safe is removed,
        also where it could block. What cannot be followed is taken to do all that it might; a function without a body
        may commit groups that the caller waits for, so waits behind its call stay.
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
