"""
The loops of a program in two other forms: as `scf.while`, and as blocks that branch (`cf`).

Blocks can replace only the loops that stand in a function itself; loops inside of these, and of agents, stay.
"""

from __future__ import annotations

from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tests.support.ir import run_passes
from tileas_xdsl.interfaces import functions_in


def outermost_loops(module: ModuleOp) -> list[scf.ForOp]:
    """The loops that stand in a function itself, last ones first."""
    found = [op for f in functions_in(module) for block in f.regions[0].blocks for op in block.ops]
    return [op for op in reversed(found) if isinstance(op, scf.ForOp)]


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
    """A copy with a block that tests and a block that turns in place of each outermost loop."""
    copy = module.clone()
    for loop in outermost_loops(copy):
        before, region = loop.parent, loop.parent_region()
        assert before is not None
        assert region is not None
        behind = Block(arg_types=loop.result_types)
        after: Operation | None = loop.next_op
        while after is not None:
            following = after.next_op
            after.detach()
            behind.add_op(after)
            after = following
        test = Block(arg_types=[loop.lb.type, *loop.result_types])
        body = loop.body.detach_block(0)
        for result, argument in zip(loop.results, behind.args, strict=True):
            result.replace_all_uses_with(argument)
        values = _turn_on(body, loop.step)
        last = body.last_op
        assert last is not None
        last.detach()
        body.add_op(cf.BranchOp(test, *values))
        more = arith.CmpiOp(test.args[0], loop.ub, "slt")
        test.add_ops([more, cf.ConditionalBranchOp(more.result, body, test.args, behind, test.args[1:])])
        loop.detach()
        before.add_op(cf.BranchOp(test, loop.lb, *loop.iter_args))
        place = region.get_block_index(before)
        region.insert_block([test, body, behind], place + 1)
        loop.erase()
    return _checked(copy)


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


def _put_in_place(loop: scf.ForOp, ops: list[Operation], results: list[SSAValue] | tuple[SSAValue, ...]) -> None:
    block = loop.parent
    assert block is not None
    block.insert_ops_before(ops, loop)
    for old, new in zip(loop.results, results, strict=True):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()


def _checked(module: ModuleOp) -> ModuleOp:
    return run_passes(module, "verify-dominance")
