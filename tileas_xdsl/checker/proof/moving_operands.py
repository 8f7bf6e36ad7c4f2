"""
Which operands of an op with side effects may move on from turn to turn.

They are indices that an address is computed from, stages of a ring, data that is stored, and what is only passed on to
a region or a function. Each op says so itself (`machine.core.op_facts`).
"""

from __future__ import annotations

from collections import Counter

from xdsl.ir import Operation

from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND, operands_called


def positions_that_may_move(op: Operation) -> frozenset[int]:
    """The numbers of the operands of `op` that may differ from turn to turn."""
    groups = facts_of(op).may_move
    if groups == EVERY_OPERAND:
        return frozenset(range(len(op.operands)))
    named = Counter(operand for group in groups for operand in operands_called(op, group))
    used = Counter(op.operands)
    # A value that the op also uses in another way must stay.
    return frozenset(n for n, operand in enumerate(op.operands) if named[operand] == used[operand])
