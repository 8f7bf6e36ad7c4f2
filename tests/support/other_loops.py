"""
The loops of a program in two other forms: as `scf.while`, and as blocks that branch (`cf`).

A loop of a function becomes blocks of that function; any other one becomes blocks of an `scf.execute_region` in its
place.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, cf, func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tests.support.ir import run_passes


def as_while(module: ModuleOp) -> ModuleOp:
    """A copy with `scf.while` in place of every `scf.for`."""
    copy = module.clone()
    loops = [op for op in copy.walk(reverse=True, region_first=True) if isinstance(op, scf.ForOp)]
    for loop in loops:
        kinds = [loop.lb.type, *loop.result_types]
        test = Block(arg_types=kinds)
        more = arith.CmpiOp(test.args[0], loop.ub, "slt")
        test.add_ops([more, scf.ConditionOp(more.result, *test.args)])
        body = loop.body.detach_block(0)
        _turn_on(body, loop.step)
        written = scf.WhileOp([loop.lb, *loop.iter_args], kinds, Region(test), Region(body))
        _put_in_place(loop, [written], written.results[1:])
    return _checked(copy)


def as_blocks(module: ModuleOp) -> ModuleOp:
    """A copy with a block that tests and a block that turns in place of every `scf.for`."""
    copy = module.clone()
    for loop in [op for op in copy.walk(reverse=True, region_first=True) if isinstance(op, scf.ForOp)]:
        before = loop.parent
        assert before is not None
        if isinstance(before.parent_op(), func.FuncOp):
            _become_blocks(loop, _split_behind(loop))
            continue
        # The region has blocks of its own: it begins in front of the loop and ends behind it.
        behind = Block(arg_types=loop.result_types)
        behind.add_op(scf.YieldOp(*behind.args))
        region = scf.ExecuteRegionOp(loop.result_types, Region([Block(), behind]))
        _put_in_place(loop, [region], region.results, erases=False)
        region.region.blocks[0].add_op(loop)
        _become_blocks(loop, behind)
    return _checked(copy)


def _split_behind(loop: scf.ForOp) -> Block:
    """What follows `loop` in its block goes into a new block behind, whose arguments replace the results."""
    before = loop.parent
    assert before is not None
    behind = Block(arg_types=loop.result_types)
    while (after := loop.next_op) is not None:
        after.detach()
        behind.add_op(after)
    region = before.parent
    assert region is not None
    region.insert_block(behind, region.get_block_index(before) + 1)
    for result, argument in zip(loop.results, behind.args, strict=True):
        result.replace_all_uses_with(argument)
    return behind


def _become_blocks(loop: scf.ForOp, behind: Block) -> None:
    """`loop`, the last op of its block, becomes a block that tests and one that turns; then control goes `behind`."""
    before, region = loop.parent, loop.parent_region()
    assert before is not None
    assert region is not None
    test = Block(arg_types=[loop.lb.type, *loop.result_types])
    body = loop.body.detach_block(0)
    values = _turn_on(body, loop.step)
    last = body.last_op
    assert last is not None
    last.detach()
    body.add_op(cf.BranchOp(test, *values))
    more = arith.CmpiOp(test.args[0], loop.ub, "slt")
    test.add_ops([more, cf.ConditionalBranchOp(more.result, body, test.args, behind, test.args[1:])])
    loop.detach()
    before.add_op(cf.BranchOp(test, loop.lb, *loop.iter_args))
    region.insert_block([test, body], region.get_block_index(before) + 1)
    loop.erase()


def _turn_on(body: Block, step: SSAValue) -> list[SSAValue]:
    """Let `body` yield its next index in front of what it yields; returns all that it yields."""
    yielded = body.last_op
    assert isinstance(yielded, scf.YieldOp)
    onward = arith.AddiOp(body.args[0], step)
    values = [onward.result, *yielded.operands]
    yielded.detach()
    body.add_ops([onward, scf.YieldOp(*values)])
    yielded.erase()
    return values


def _put_in_place(
    loop: scf.ForOp,
    ops: list[Operation],
    results: Sequence[SSAValue],
    *,
    erases: bool = True,
) -> None:
    block = loop.parent
    assert block is not None
    block.insert_ops_before(ops, loop)
    for old, new in zip(loop.results, results, strict=True):
        old.replace_all_uses_with(new)
    loop.detach()
    if erases:
        loop.erase()


def _checked(module: ModuleOp) -> ModuleOp:
    return run_passes(module, "verify-dominance")
