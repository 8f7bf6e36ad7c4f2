"""
The asynchronous works for which a token of `nv_tileas` may stand.

    %d, %t = nv_tileas.async.dot ...             %t stands for the product
    %u = nv_tileas.async.token_to_async %t       so does %u
    scf.for ... iter_args(%last = %none)         %last stands for nothing, or for what the body yields

Whoever waits for such a token completes those works: from then on what they wrote may be read, and what they read may
be overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from tileas_xdsl.analysis.memory.objects import memory_sources
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp, ToAsyncOp, TokenToAsyncOp

WORKS = (AsyncDotOp, TiledTmaLoadOp)
"""Ops whose token stands for nothing but their own accesses."""


def works_behind(token: SSAValue) -> Sequence[Operation] | None:
    """
    The ops whose completion `token` may stand for, each once, in the order in which they are found; None where it may
    stand for anything else. Linear in the values on the way back.
    """
    works: dict[Operation, None] = {}
    seen, stack = {token}, [token]
    while stack:
        value = stack.pop()
        before = _sources(value, works)
        if before is None:
            return None
        for source in before:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return list(works)


def _sources(value: SSAValue, works: dict[Operation, None]) -> Sequence[SSAValue] | None:
    """The values that `value` may be another name of; a work is added to `works`. None for what is not known."""
    if isinstance(value, OpResult):
        op = value.op
        if isinstance(op, WORKS):
            works[op] = None
            return ()
        if isinstance(op, CreateNoneOp):
            return ()
        if isinstance(op, TokenToAsyncOp | ToAsyncOp):
            return op.operands
    return memory_sources(value)
