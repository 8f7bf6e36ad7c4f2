"""
What is known of xDSL's own ops, which cannot inherit our interfaces: one dialect a file, loaded with its first op.

    memref.store %v, %B[%i]        writes %B at [%i]
    vector.load %B[%i, %j]         reads %B at [%i, %j .. %j + 7]
    linalg.matmul                  reads its inputs and outputs, writes its outputs
    func.call @f(%B)               may do anything

*Models* answer our interfaces instead of an op (`interfaces.py`). *Rules* give its memory effects, where its
traits give none or do not say where. An op without a rule is asked for its memory effect traits; without those it
touches everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.interfaces import Effect
from tileas_xdsl.names import load_upstream_models

AccessRule = Callable[[Any], Sequence[Effect] | None]
"""Given an op, its own effects; None where it may do anything."""

ACCESSES: dict[type[Operation], AccessRule] = {}
"""Op class -> the rule that gives its memory effects."""

VIEWS: dict[type[Operation], int] = {}
"""Op class -> the operand whose memory the results show."""

ALLOCATIONS: set[type[Operation]] = set()
"""Ops whose results are memory that no other value names."""


def accesses(*ops: type[Operation]) -> Callable[[AccessRule], AccessRule]:
    """Decorator: the function is the rule of these op classes."""

    def register(rule: AccessRule) -> AccessRule:
        ACCESSES.update(dict.fromkeys(ops, rule))
        return rule

    return register


def access_rule(op: Operation) -> AccessRule | None:
    """The rule that gives the memory effects of `op`, if it has one."""
    load_upstream_models(op.dialect_name())
    return ACCESSES.get(type(op))


def shown_operand(op: Operation) -> int | None:
    """The number of the operand whose memory the results of `op` show, if it is a view."""
    load_upstream_models(op.dialect_name())
    return VIEWS.get(type(op))


def allocates(op: Operation) -> bool:
    """Whether the results of `op` are memory that no other value names."""
    load_upstream_models(op.dialect_name())
    return type(op) in ALLOCATIONS


def touches_nothing(_op: Operation) -> Sequence[Effect]:
    """Nothing by itself: arithmetic that xDSL gives no trait, a new buffer, a region whose ops speak for themselves."""
    return ()


def touches_anything(_op: Operation) -> None:
    """
    Anything: whatever the callee does; what a device does at any moment between an op that issues it and a wait; and
    what other threads have done when a barrier opens.
    """
    return None
