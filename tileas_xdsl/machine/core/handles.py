"""
Handles: which results of an op may be UNKNOWN, and which ops are never taken for functions of their operands.

Data may be: it is moved about, and only a branch or an address that depends on it leaves the verdict open. A handle (a
token, a group, a resource, a queue) may not be: a wait for an unknown handle has no meaning.

An op without a meaning that hands over a handle, or whose name says that it waits or signals, synchronises, whoever
assumes that it only computes (`--assume-pure`): a wait that is skipped would not be missed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.ir import Attribute, Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import HandleType
from tileas_xdsl.machine.core.meaning import Kind, load_dialect, meaning_of
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError


def is_handle(kind: Attribute) -> bool:
    """Whether values of this type are waited for, or held, rather than computed with."""
    return _are_handles(type(kind))


@lru_cache
def _are_handles(kinds: type[Attribute]) -> bool:
    """Whether the types of this class are handles: those of xDSL are named with the meanings of the dialect."""
    load_dialect(kinds.name.partition(".")[0])
    return issubclass(kinds, HandleType) or kinds in HandleType.OF_OTHERS


def unknown_results(op: Operation) -> tuple[Any, ...]:
    """
    UNKNOWN for each result of `op`, and for one that orders nothing the one value that it can have. Raises
    `UndecidedError` where one of them is any other handle.
    """
    return tuple([_unknown_result(op, result.type) for result in op.results])


ORDERS_NOTHING = ()
"""The value of a handle that orders nothing."""


def _unknown_result(op: Operation, kind: Attribute) -> Any:
    if not is_handle(kind):
        return UNKNOWN
    if isinstance(kind, HandleType) and kind.ORDERS_NOTHING:
        return ORDERS_NOTHING
    raise UndecidedError(op, f"returns a {kind} that depends on what is not computed when checking")


def unknown_outcome(op: Operation) -> Any:
    """`unknown_results` in the form in which a meaning returns results: the value alone if there is one result."""
    results = unknown_results(op)
    return results[0] if len(results) == 1 else results


WORDS = ("acquire", "arrive", "atomic", "barrier", "commit", "fence", "membar", "signal", "sync", "wait")
"""What the names of ops that synchronise have in them, in the dialects of LLVM and of others."""


def synchronises(op: Operation) -> bool:
    """Whether `op` waits, signals, orders or hands over: by its meaning, by a token that it has, or by its name."""
    meaning = meaning_of(op)
    if meaning is not None and meaning.kind in (Kind.SYNC, Kind.SUSPENDS):
        return True
    if any(is_handle(value.type) for value in (*op.operands, *op.results)):
        return True
    return any(word in op_name(op) for word in WORDS)
