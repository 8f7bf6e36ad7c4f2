"""
Values and views: whether using a value reads memory at that moment.

A tile in registers is a value. A tile in shared or tensor memory, a slot argument, the result of an allocation or of a
pipeline op, and every view of these is a *view*: an op that uses it reads (as a destination: writes) the bytes at that
moment. So arithmetic is pure on values, and reads memory where an operand is a view.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.dialects.tiles.traits import SlotArguments, ViewOfOperand
from tileas_xdsl.dialects.tiles.types import denotes_memory
from tileas_xdsl.interfaces import AllocationOpInterface


def names_bytes_of_operand(op: Operation) -> bool:
    """Whether the result of `op` names bytes of its first operand, so that it is a view exactly where that one is."""
    return op.has_trait(ViewOfOperand, value_if_unregistered=False)


def bytes_of(value: SSAValue) -> SSAValue:
    """The value whose bytes `value` names: itself, but for views, of what they are views of."""
    while isinstance(value.owner, Operation) and names_bytes_of_operand(value.owner):
        value = value.owner.operands[0]
    return value


def is_view(value: SSAValue) -> bool:
    """Whether using `value` reads memory at that moment."""
    while not denotes_memory(value.type):
        owner = value.owner
        if isinstance(owner, Block):
            parent = owner.parent_op()
            return parent is not None and parent.has_trait(SlotArguments, value_if_unregistered=False)
        if not names_bytes_of_operand(owner):
            return AllocationOpInterface.of(owner) is not None
        value = owner.operands[0]
    return True
