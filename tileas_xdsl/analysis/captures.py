"""
The values that a region captures from outside.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue


def captured_values(regions: Sequence[Region]) -> list[SSAValue]:
    """
    The values used in `regions`, however deep, that are defined outside of them; each once, in order of first use.
    """
    inside = set(map(id, regions))
    captured: dict[SSAValue, None] = {}
    local: set[SSAValue] = set()
    for region in regions:
        for block in region.blocks:
            _collect(block, inside, local, captured)
    return list(captured)


def _collect(block: Block, inside: set[int], local: set[SSAValue], captured: dict[SSAValue, None]) -> None:
    local.update(block.args)
    for op in block.ops:
        for operand in op.operands:
            if operand not in local and not _defined_inside(operand, inside):
                captured[operand] = None
        local.update(op.results)
        for region in op.regions:
            for nested in region.blocks:
                _collect(nested, inside, local, captured)


def _defined_inside(value: SSAValue, inside: set[int]) -> bool:
    """
    Whether `value` is defined in one of the regions `inside` (their ids).

    Blocks need not stand in order of dominance, so the walk may meet a use before the definition.
    """
    owner = value.owner
    node: Operation | Block | None = owner
    while node is not None:
        region = node.parent if isinstance(node, Block) else node.parent_region()
        if region is None:
            return False
        if id(region) in inside:
            return True
        node = region.parent
    return False
