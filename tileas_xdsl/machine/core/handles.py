"""
Which results of an op may be UNKNOWN.

Data may be: it is moved about, and only a branch or an address that depends on it leaves the verdict open. A handle (a
token, a group, a resource, a queue) may not be: a wait for an unknown handle has no meaning.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute, Operation

from tileas_xdsl.interfaces import HandleType
from tileas_xdsl.machine.core.meaning import load_dialect
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError


def is_handle(kind: Attribute) -> bool:
    """Whether values of this type are waited for, or held, rather than computed with."""
    load_dialect(kind.name.partition(".")[0])
    return isinstance(kind, HandleType)


def unknown_results(op: Operation) -> tuple[Any, ...]:
    """UNKNOWN for each result of `op`. Raises `UndecidedError` where one of them is a handle."""
    for result in op.results:
        if is_handle(result.type):
            raise UndecidedError(op, f"returns a {result.type} that depends on what is not computed when checking")
    return (UNKNOWN,) * len(op.results)


def unknown_outcome(op: Operation) -> Any:
    """`unknown_results` in the form in which a meaning returns results: the value alone if there is one result."""
    results = unknown_results(op)
    return results[0] if len(results) == 1 else results
