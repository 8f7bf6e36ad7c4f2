"""
The backward slice of values and roots inside one region: all ops that they need.

The walk goes from a value to its defining op, and on to that op's operands and to the values that its nested regions
capture. It stops at three boundaries, tested in this order: a value without a defining op (a block argument), an op of
another region, an op of a boundary type. These are the boundaries of the region shrinker in the description of TileAS.
Visited ops are keyed by identity, never by equality.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, Region, SSAValue

from tileas_xdsl.analysis.captures import captured_values


def backward_slice(
    region: Region, values: Iterable[SSAValue], roots: Iterable[Operation], boundary: type[Operation]
) -> set[Operation]:
    """
    The ops of `region` itself that are needed for `values` and for `roots`, which are ops of `region`.

    Ops of type `boundary` end the walk unless they are roots. The result is a set keyed by identity, to be used for
    membership tests only, since its order means nothing. Linear in the size of the region.
    """
    needed: set[Operation] = set()
    worklist = list(values)
    for root in roots:
        _include(root, needed, worklist)
    while worklist:
        definition = worklist.pop().owner
        if not isinstance(definition, Operation):
            continue
        if definition.parent_region() is not region:
            continue
        if isinstance(definition, boundary):
            continue
        _include(definition, needed, worklist)
    return needed


def _include(op: Operation, needed: set[Operation], worklist: list[SSAValue]) -> None:
    """Add `op` once; its operands and captures come next."""
    if op in needed:
        return
    needed.add(op)
    worklist.extend(op.operands)
    if op.regions:
        worklist.extend(captured_values(op.regions))
