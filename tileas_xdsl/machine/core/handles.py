"""
What a result may be when nothing is known of it.

Data may be unknown: it is moved about, and only a branch or an address that depends on it leaves a verdict open. A
token, a group, a resource or a queue may not: whoever waits for it would wait for nobody knows what.
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
    """The results of `op`, of which nothing is known. Raises `UndecidedError` where one of them is a handle."""
    for result in op.results:
        if is_handle(result.type):
            raise UndecidedError(op, f"returns a {result.type} that depends on what is not computed when checking")
    return (UNKNOWN,) * len(op.results)


def unknown_outcome(op: Operation) -> Any:
    """The same as a meaning returns it: alone where there is one result."""
    results = unknown_results(op)
    return results[0] if len(results) == 1 else results
