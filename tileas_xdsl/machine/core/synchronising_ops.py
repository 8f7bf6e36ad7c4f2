"""
Which ops synchronise, as far as can be told of an op without a meaning: such an op is never taken for a function of its
operands, whoever assumes that it is one (`--assume-pure`).

A wait or an arrival that is skipped would not be missed: the program would be called racing, or stuck, for no reason;
and one that hands a buffer over would be called right.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.handles import is_handle
from tileas_xdsl.machine.core.meaning import Kind, meaning_of

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
