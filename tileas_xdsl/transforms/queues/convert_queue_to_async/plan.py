"""
The preconditions of the conversion from counts to tokens. All are checked before anything is rewritten.

Refused: queues that cannot be followed (`followable_queues`); a computed count without a limit where any number of
groups may be unfinished, for no window is long enough; a window longer than `MAX_WINDOW`; a scope whose addresses or
branches come from data that it may overwrite itself, since the thread reads them at issue and a task when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffectKind, get_effects, is_side_effect_free
from xdsl.utils.hints import isa

from tileas_xdsl.analysis.in_flight import UNBOUNDED, InFlight, in_flight
from tileas_xdsl.analysis.value_range import ValueRanges
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import ScopeOp, WaitOp
from tileas_xdsl.transforms.queues.followable_queues import functions_with_queues, require_followable

MAX_WINDOW = 64
"""How many tokens of one queue may be carried besides the one for all older groups."""


def plan_windows(module: Operation) -> list[InFlight]:
    """The bounds in each function that uses queues. Raises `RefusedError` for what tokens cannot say."""
    ranges = ValueRanges()
    require_followable(module, ranges)
    plans = [in_flight(function, ranges) for function in functions_with_queues(module)]
    for facts in plans:
        for op in facts.function.walk():
            if isinstance(op, ScopeOp):
                _require_steady_addresses(op)
            elif isinstance(op, WaitOp):
                _require_window(op, facts)
    return plans


def _require_window(op: WaitOp, facts: InFlight) -> None:
    for queue in facts.queues:
        if queue not in facts.ids(op):
            continue
        bounds = [entry[queue] for table in (facts.behind, facts.heads) for entry in table.values()]
        is_unbounded = UNBOUNDED in bounds
        if is_unbounded and facts.count(op).high >= UNBOUNDED:
            refuse(
                op,
                f"waits for a computed count that may be any number, and any number of groups of queue {queue} may be "
                "unfinished, so no window of tokens is long enough",
                "bound the count (arith.minsi with a constant), or wait for a constant count in the loop that commits",
            )
        longest = facts.deepest[queue] if is_unbounded else max(bounds)
        if longest > MAX_WINDOW:
            refuse(
                op,
                f"belongs to a queue in which {longest} groups may be unfinished and have to be told apart: a window "
                f"of more than {MAX_WINDOW} tokens",
                "wait for fewer groups, or in the loop that commits",
            )


# Addresses from data --------------------------------------------------------------------------------------------------


def _require_steady_addresses(scope: ScopeOp) -> None:
    loaded = {kind for op in scope.walk() if _loads(op) for kind in _steering_types(op)}
    if not loaded:
        return
    stored = {kind for op in scope.walk() if not _loads(op) for kind in _written_types(op)}
    if loaded & stored:
        refuse(
            scope,
            "loads what an address or a branch in it depends on from memory that it may write itself: now the issuing "
            "thread reads that, before the writes, and a task would read it after them",
            "load it in front of the scope",
        )


def _loads(op: Operation) -> bool:
    """Whether `op` loads a value from memory."""
    effects = get_effects(op)
    return bool(op.results) and not op.regions and effects is not None and _has(effects, MemoryEffectKind.READ)


def _has(effects: Iterable[EffectInstance], kind: MemoryEffectKind) -> bool:
    return any(effect.kind is kind for effect in effects)


def _steering_types(load: Operation) -> list[Attribute]:
    """The element types of the memory that `load` reads, if an address or a branch follows from the result."""
    if not any(_is_integer(result.type) for result in load.results) or not _steers(load):
        return []
    return _memory_types(load)


def _steers(load: Operation) -> bool:
    """Whether an integer that `load` brings is used for more than to be computed with and stored."""
    stack: list[SSAValue] = list(load.results)
    seen = set(stack)
    while stack:
        for use in stack.pop().uses:
            user = use.operation
            if user.regions or (not is_side_effect_free(user) and use.index > 0) or _loads(user):
                return True
            fresh = [result for result in user.results if _is_integer(result.type) and result not in seen]
            seen.update(fresh)
            stack += fresh
    return False


def _is_integer(kind: Attribute) -> bool:
    return isinstance(kind, IntegerType | IndexType)


def _written_types(op: Operation) -> list[Attribute]:
    effects = get_effects(op)
    if op.regions or (effects is not None and not _has(effects, MemoryEffectKind.WRITE)):
        return []
    return _memory_types(op)


def _memory_types(op: Operation) -> list[Attribute]:
    return [operand.type.element_type for operand in op.operands if isa(operand.type, MemRefType[Attribute])]
