"""
xDSL's values and nodes of the IR equal only themselves, and are found in dictionaries by their `id`: both said in
Python, and asked several times for each step of an execution. `object` answers the same by itself.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue, Use


def tell_apart_by_identity() -> None:
    """Let `object` compare and hash values, their uses, and ops, blocks and regions, which share their answer."""
    for kind in (Operation, SSAValue, Use):
        says = next(base for base in kind.__mro__ if "__hash__" in vars(base))
        if says is not object:
            setattr(says, "__eq__", object.__eq__)  # noqa: B010
            setattr(says, "__hash__", object.__hash__)  # noqa: B010
