"""
Loops that data end, or a number that does not go on by a step: how often they turn becomes an argument.

    scf.while (%i = %c1) {                      %last = scf.for %turn = 0 to %turns iter_args(%i = %c1) {
      %flag = llvm.load %stop[%i]                 %flag = llvm.load %stop[%i]
      %more = arith.cmpi ne, %flag, %c0           scf.yield %i * 2
      scf.condition(%more) %i           ->      }
    } do {                                      %flag = llvm.load %stop[%last]
    ^bb0(%i):
      scf.yield %i * 2
    }

Every call of the function does what the copy does with some number of turns, if all threads find the same condition.
They do where it is computed from arguments, constants and what is loaded from arrays that nothing writes, without the
number of a thread. So where the copy is right for every number of turns, the function is right whatever ends its loop.
That it ends is assumed, and said; a loop whose condition cannot change is left.
A loop that runs several times in a call, or in several agents, may turn another number of times each time: it is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects import arith, llvm, memref, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.value_flow import carried_to, condition_of, handed_on_by, names_behind
from tileas_xdsl.dialects.nv_tileaa.memory import LoadOp, TiledLoadOp
from tileas_xdsl.machine.arguments import argument_names, find_function

PLAIN = frozenset({"arith", "math", "llvm", "memref"})
"""Dialects whose ops tell no number of a thread or a block."""
ORDERED = frozenset({"ordering", "volatile_", "isVolatile"})
"""Properties of loads that meet what other threads write meanwhile."""


@dataclass(frozen=True)
class FreeTurns:
    """A copy of a function with one more argument, and the name of that."""

    op: Operation
    body: Region
    turns: str


def with_free_turns(function: Operation) -> FreeTurns | None:
    """
    A copy of the function, in a copy of its module, whose `scf.while` turns as often as an argument says. None where it
    has none, or several, or one that runs more than once, or ends for some threads before others.
    """
    if not isinstance(function, FuncOp) or _loop_of(function) is None:
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copy, body = find_function(module.clone(), function.sym_name.data)
    assert isinstance(copy, FuncOp)
    loop, entry = _loop_of(copy), body.blocks[0]
    assert loop is not None
    turns = entry.insert_arg(IndexType(), len(entry.args))
    taken = set(argument_names(body))
    turns.name_hint = next(name for name in ("turns", *(f"turns{i}" for i in range(99))) if name not in taken)
    copy.function_type = FunctionType.from_lists(entry.arg_types, list(copy.function_type.outputs))
    _count(loop, turns)
    return FreeTurns(copy, body, argument_names(body)[-1])


def _loop_of(function: FuncOp) -> scf.WhileOp | None:
    """The only `while` loop of a function, if it runs once and all threads find the same condition."""
    loops = [op for op in function.walk() if isinstance(op, scf.WhileOp)]
    if len(loops) != 1 or len(function.body.blocks) != 1 or _runs_often(loops[0]):
        return None
    condition = condition_of(loops[0])
    found = None if condition is None else _sources_of(condition, _handed_in(function))
    return loops[0] if found is not None and any(_changes_within(loops[0], value) for value in found) else None


def _runs_often(op: Operation) -> bool:
    """Whether an op may run more than once in a call: only branches may stand around it."""
    around = op.parent_op()
    while isinstance(around, scf.IfOp):
        around = around.parent_op()
    return not isinstance(around, FuncOp)


# Conditions -----------------------------------------------------------------------------------------------------------

Handed = Mapping[SSAValue, Sequence[SSAValue]]
"""By a value that control flow hands on: what it is another name of."""


def _handed_in(function: Operation) -> Handed:
    found: dict[SSAValue, list[SSAValue]] = {}
    for op in function.walk():
        for index, operand in enumerate(op.operands):
            for name in carried_to(Use(op, index)) or ():
                found.setdefault(name, []).append(operand)
    return found


def _sources_of(value: SSAValue, handed: Handed) -> Collection[SSAValue] | None:
    """All that a value is computed from; None where threads of a block, or agents, may not compute the same number."""
    seen, stack = {value}, [value]
    while stack:
        sources = _sources(stack.pop(), handed)
        if sources is None:
            return None
        stack += [each for each in sources if each not in seen]
        seen.update(sources)
    return seen


def _changes_within(loop: scf.WhileOp, value: SSAValue) -> bool:
    """Whether a value may be another one in the next turn. A loop whose condition rests on none never ends."""
    return isinstance(value, BlockArgument) and value.block.parent_op() is loop


def _sources(value: SSAValue, handed: Handed) -> Sequence[SSAValue] | None:
    """What a value is computed from; None where it may differ between threads, or nothing is known."""
    maker = value.owner.parent_op() if isinstance(value, BlockArgument) else value.owner
    assert isinstance(maker, Operation)
    if isinstance(maker, FuncOp):
        return [] if value.owner is maker.body.first_block else None
    if isinstance(maker, scf.ForOp):
        return [maker.lb, maker.ub, maker.step, *handed.get(value, ())]
    if isinstance(maker, scf.WhileOp | scf.IfOp):
        decides = condition_of(maker)
        return None if decides is None else [decides, *handed.get(value, ())]
    if isinstance(maker, _reads()):
        return maker.operands if _is_of_what_nothing_writes(maker) else None
    is_plain = maker.name.partition(".")[0] in PLAIN and not maker.regions and is_side_effect_free(maker)
    return maker.operands if is_plain else None


def _is_of_what_nothing_writes(load: Operation) -> bool:
    """Whether a load reads arrays of the call that are only read in the function."""
    said = [load.properties.get(name) for name in ORDERED]
    if any(each is not None and not (isinstance(each, IntegerAttr) and each.value.data == 0) for each in said):
        return False
    behind = [value for value in _behind(load.operands[0]) if isinstance(value, BlockArgument)]
    arrays = [value for value in behind if not isinstance(value.type, IntegerType | IndexType)]
    return bool(arrays) and all(isinstance(each.block.parent_op(), FuncOp) and _is_only_read(each) for each in arrays)


def _behind(value: SSAValue) -> Iterator[SSAValue]:
    """What an address is computed from without loads, as far as ops compute it."""
    seen, stack = {value}, [value]
    while stack:
        each = stack.pop()
        yield each
        if isinstance(each, OpResult) and is_side_effect_free(each.op):
            stack += [operand for operand in each.op.operands if operand not in seen]
            seen.update(each.op.operands)


@cache
def _reads() -> tuple[type[Operation], ...]:
    """Ops that read from memory what their operands lead to, and do nothing else."""
    from xdsl.dialects import vector

    return (llvm.LoadOp, memref.LoadOp, vector.LoadOp, LoadOp, TiledLoadOp)


def _is_only_read(array: SSAValue) -> bool:
    """Whether nothing but loads accesses what an argument leads to."""
    seen, stack = {array}, [array]
    while stack:
        for use in stack.pop().uses:
            reached = names_behind(use)
            if isinstance(use.operation, _reads()):
                continue
            if reached is None:
                if use.operation.regions or not is_side_effect_free(use.operation):
                    return False
                reached = use.operation.results
            stack += [each for each in reached if each not in seen]
            seen.update(reached)
    return True


# The copy -------------------------------------------------------------------------------------------------------------


def _count(loop: scf.WhileOp, turns: SSAValue) -> None:
    """Let a loop turn that often. What it does before each turn it does once more behind the last one."""
    zero, one = (arith.ConstantOp.from_int_and_width(number, IndexType()) for number in (0, 1))
    body = Block(arg_types=[IndexType(), *(value.type for value in loop.arguments)])
    handed = _copied(loop.before_region, body.args[1:], InsertPoint.at_end(body))
    _copied(loop.after_region, handed, InsertPoint.at_end(body), ends=True)
    counting = scf.ForOp(zero.result, turns, one.result, loop.arguments, Region(body))
    counting.location = loop.location
    Rewriter.insert_op([zero, one, counting], InsertPoint.before(loop))
    last = _copied(loop.before_region, counting.results, InsertPoint.before(loop))
    Rewriter.replace_op(loop, [], last)


def _copied(region: Region, arguments: Sequence[SSAValue], place: InsertPoint, *, ends: bool = False) -> list[SSAValue]:
    """Copy the ops of a region, for these arguments, also the terminator if it `ends` the copy; what that hands on."""
    block = region.clone().block
    last = block.last_op
    assert last is not None
    Rewriter.inline_block(block, place, arguments)
    handed = list(handed_on_by(last))
    if not ends:
        Rewriter.erase_op(last)
    return handed
