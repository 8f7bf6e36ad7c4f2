"""
Do two modules mean the same? Asked of the machine: run both, check both, compare what their pipelines did.

A rewrite of pipelines keeps the numbers under every completion order, the verdict of `check`, and, for each pipeline
and side, the sequence of (stage, slot, phase): later passes and the lowering rely on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.ir import print_custom
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.parts.rings import Ring, Rings
from tileas_xdsl.machine.running import Outcome, run

ORDERS = ("eager", "lazy", "random:0", "random:1", "random:2")
"""The orders that a rewrite is tried under unless a test says otherwise."""

ArgumentSet = Mapping[str, Any]
"""Numbers and arrays by the names of a function's arguments; arrays that are left out get default data."""


def assert_same_meaning(
    before: ModuleOp,
    after: ModuleOp,
    function: str,
    argument_sets: Sequence[ArgumentSet],
    orders: Sequence[str] = ORDERS,
) -> None:
    """
    `function` of `after` does what that of `before` does, for each argument set and under each order, and `check` finds
    both safe for the numbers of each argument set.
    """
    after.verify()
    verify_dominance(after)
    for arguments in argument_sets:
        numbers = {name: value for name, value in arguments.items() if np.ndim(value) == 0}
        for order in orders:
            first, second = (run_in_order(module, function, arguments, order) for module in (before, after))
            difference = difference_between(first, second)
            assert difference is None, f"{numbers}, {order}: {difference}\n{print_custom(after)}"
        for name, module in (("before", before), ("after", after)):
            report = check(module, function, args=numbers, trip_counts=[0])
            assert report.verdict is Verdict.SAFE, f"{name}, {numbers}: {report}\n{print_custom(module)}"


def run_in_order(
    module: ModuleOp, function: str, arguments: ArgumentSet, order: str, capture: str = "completion"
) -> Outcome:
    """Run under `eager`, `lazy`, or `random:SEED`. The arrays given stay as they are."""
    name, _, seed = order.partition(":")
    fresh = {key: np.array(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
    return run(module, function, fresh, order=name, seed=int(seed or 0), capture=capture)


def difference_between(before: Outcome, after: Outcome) -> str | None:
    """What tells two outcomes apart (results, arrays, violations, turns of pipelines), or None."""
    for name, outcome in (("before", before), ("after", after)):
        if outcome.violations:
            return f"{name}: {'; '.join(map(str, outcome.violations))}"
    if len(before.results) != len(after.results):
        return f"{len(before.results)} results, then {len(after.results)}"
    for number, (old, new) in enumerate(zip(before.results, after.results, strict=True)):
        if not same_bits(old, new):
            return f"result {number}: {old}, then {new}"
    for name, array in before.arrays.items():
        if not same_bits(array, after.arrays[name]):
            return f"array {name}:\n{array}\nthen\n{after.arrays[name]}"
    old_turns, new_turns = turns_of(before, after), turns_of(after, before)
    if old_turns != new_turns:
        return f"turns {old_turns}, then {new_turns}"
    return None


def same_bits(old: Any, new: Any) -> bool:
    """Whether two numbers or arrays are the same in type, shape and every bit; NaNs of one kind are."""
    first, second = np.asarray(old), np.asarray(new)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def turns_of(outcome: Outcome, other: Outcome) -> list[tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]:
    """
    For each pipeline or queue of `outcome`, in order of creation: the turns of its producer in order, and those of its
    consumers, sorted, since several agents may take the same ones.

    A turn is (stage, slot, phase), or the stage alone where the pipeline has no depth in one of the two outcomes. Where
    agents create pipelines, the order of creation is a matter of chance, and the list is sorted.
    """
    mine, theirs = _rings(outcome), _rings(other)
    comparable = len(mine) == len(theirs)
    turns: list[tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = []
    for number, ring in enumerate(mine):
        has_slots = ring.depth is not None and comparable and theirs[number].depth is not None
        seen = [(side, turn if has_slots else turn[:1]) for side, *turn in ring.log]
        puts = [tuple(turn) for side, turn in seen if side == "producer"]
        gets = sorted(tuple(turn) for side, turn in seen if side == "consumer")
        turns.append((puts, gets))
    return sorted(turns) if any(_is_in_agents(ring.op) for ring in mine) else turns


def _rings(outcome: Outcome) -> list[Ring]:
    return outcome.machine.part(Rings).made


def _is_in_agents(op: Operation) -> bool:
    node: Operation | None = op.parent_op()
    while node is not None and AgentLikeOpInterface.of(node) is None:
        node = node.parent_op()
    return node is not None
