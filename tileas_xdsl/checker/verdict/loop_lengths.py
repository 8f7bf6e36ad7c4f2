"""
The loops that a function runs, its own and those of the functions that it calls, and what they count from and to.

    scf.for %k = %c100 to %n step %c1        from 100 to argument n by 1

    ^head(%k: i32):                          the same, if ^head is entered with %c100 and ^body leads back with %k + 1
      %more = arith.cmpi slt, %k, %n : i32
      cf.cond_br %more, ^body, ^behind

Bounds of a called function are formulas of what its caller hands it (`bound_formulas`). A loop that is left in several
places, or by another test, is found without a count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, cf, llvm, scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.llvm import ICmpPredicateFlag
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from tileas_xdsl.analysis.dominance import successors_of
from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.natural_loops import NaturalLoop, loop_with_turns_from, natural_loops
from tileas_xdsl.checker.decisions.origins import ADDITIONS, MIRRORED, SUMS
from tileas_xdsl.checker.verdict.bound_formulas import Count, Formula, formula_of, function_of
from tileas_xdsl.interfaces import CallOpInterface, FunctionOpInterface

MOST_CALLEES = 64
"""How many calls are followed from one function."""
BRANCHES = (cf.BranchOp, llvm.BrOp)
CONDITIONAL_BRANCHES = (cf.ConditionalBranchOp, llvm.CondBrOp)
NEGATED = {
    "eq": "ne",
    "ne": "eq",
    "slt": "sge",
    "sle": "sgt",
    "sgt": "sle",
    "sge": "slt",
    "ult": "uge",
    "ule": "ugt",
    "ugt": "ule",
    "uge": "ult",
}
PAST_BOUND = {"slt": 0, "ult": 0, "ne": 0, "sle": 1, "ule": 1, "sgt": 0, "ugt": 0, "sge": -1, "uge": -1}
"""Predicate p -> c such that a counter x that goes on while x p y stops at y + c, or first past that."""


@dataclass(frozen=True)
class Loop:
    """One loop of a function, or of one that it calls."""

    op: Operation
    """The loop; of blocks, the branch at the end of its head."""
    head: Block
    """The block with which its turns begin."""
    tests_first: bool
    """Whether more than a test runs only from the second time on that control comes to its head."""
    count: Count | None
    """None where that is not known, and for loops whose bounds are constants."""
    is_fixed: bool = False
    """Whether its bounds are constants."""


def called_function(op: Operation) -> Region | None:
    """The body of the function that `op` calls, if it is a call that runs in place and the function has one."""
    call = CallOpInterface.of(op)
    target = None if call is None else SymbolTable.lookup_symbol(op, call.callee_name)
    function = FunctionOpInterface.of(target)
    if function is None or function.function_body.first_block is None:
        return None
    return function.function_body


def loops_run_by(body: Region) -> Iterator[Loop]:
    """The loops that a call of the function with this body may run; once for each call of a function around them."""
    stack: list[tuple[Region, Mapping[Formula, Formula]]] = [(body, {})]
    seen: set[tuple[Region, tuple[tuple[Formula, Formula], ...]]] = set()
    while stack and len(seen) < MOST_CALLEES:
        region, given = stack.pop()
        key = (region, tuple(given.items()))
        if key in seen:
            continue
        seen.add(key)
        yield from (_with(loop, given) for loop in _loops_in(region))
        for op in region.walk():
            callee = called_function(op)
            if callee is not None:
                handed = (
                    (("argument", n), _substituted(formula_of(value), given)) for n, value in enumerate(op.operands)
                )
                stack.append((callee, dict(handed)))


def _with(loop: Loop, given: Mapping[Formula, Formula]) -> Loop:
    if loop.count is None or not given:
        return loop
    first, last, step = (_substituted(part, given) for part in loop.count)
    return Loop(loop.op, loop.head, loop.tests_first, (first, last, step))


def _substituted(formula: Formula, given: Mapping[Formula, Formula]) -> Formula:
    if function_of(formula) is not None:
        return (formula[0], *(_substituted(part, given) for part in formula[1:]))
    return given.get(formula, formula)


def _loops_in(region: Region) -> Iterator[Loop]:
    yield from _loops_of_blocks(region)
    for op in region.walk():
        if isinstance(op, scf.ForOp):
            bounds = (op.lb, op.ub, op.step)
            is_fixed = all(constant_integer(value) is not None for value in bounds)
            first, last, step = map(formula_of, bounds)
            yield Loop(op, op.body.block, False, None if is_fixed else (first, last, step), is_fixed)
        elif isinstance(op, scf.WhileOp):
            after = op.after_region.block
            yield Loop(op, op.before_region.block, after.first_op is not after.last_op, None)
        for inner in op.regions:
            yield from _loops_of_blocks(inner)


def _loops_of_blocks(region: Region) -> Iterator[Loop]:
    for block, loop in natural_loops(region).items():
        if block is loop.head:
            yield _loop_of_blocks(loop, region)


def _loop_of_blocks(loop: NaturalLoop, region: Region) -> Loop:
    op = loop_with_turns_from(loop.head)
    exits = [
        block for block in region.blocks if block in loop.blocks and not loop.blocks.issuperset(successors_of(block))
    ]
    count = _count_up_to(loop, exits[0], region) if len(exits) == 1 else None
    is_fixed = count is not None and all(part[0] == "constant" for part in count)
    tests_first = loop.head in exits and len(loop.blocks) > 1
    return Loop(op, loop.head, tests_first, None if is_fixed else count, is_fixed)


def _count_up_to(loop: NaturalLoop, block: Block, region: Region) -> Count | None:
    """What the loop counts from and to that is left at the end of `block` only, if a comparison decides that."""
    branch = block.last_op
    if not isinstance(branch, CONDITIONAL_BRANCHES) or (compared := _comparison(branch.cond)) is None:
        return None
    predicate, *sides = compared
    if branch.then_block not in loop.blocks:
        predicate = NEGATED[predicate]
    for (number, bound), name in ((sides, predicate), (sides[::-1], MIRRORED.get(predicate, predicate))):
        counter = _counter(loop, number, region)
        if counter is not None and name in PAST_BOUND:
            last = formula_of(bound)
            if PAST_BOUND[name]:
                last = (arith.AddiOp, last, ("constant", PAST_BOUND[name]))
            return (counter[0], last, counter[1])
    return None


def _comparison(condition: SSAValue) -> tuple[str, SSAValue, SSAValue] | None:
    """Predicate and sides of the comparison of integers that `condition` is, if it is one."""
    match condition.owner:
        case arith.CmpiOp(predicate=predicate, lhs=left, rhs=right):
            return CMPI_COMPARISON_OPERATIONS[predicate.value.data], left, right
        case llvm.ICmpOp(predicate=predicate, lhs=left, rhs=right):
            return ICmpPredicateFlag.from_int(predicate.value.data), left, right
        case _:
            return None


def _counter(loop: NaturalLoop, number: SSAValue, region: Region) -> tuple[Formula, Formula] | None:
    """What `number` begins with at the head and by what it goes on, if it is a counter, or is what comes after one."""
    own = isinstance(number, BlockArgument) and number.block is loop.head
    owner = number.owner
    counter = number if own else next(iter(owner.operands), None) if isinstance(owner, SUMS) else None
    if not isinstance(counter, BlockArgument) or counter.block is not loop.head:
        return None
    handed = {True: set[SSAValue](), False: set[SSAValue]()}
    for block in region.blocks:
        for successor, values in _edges(block):
            if successor is loop.head:
                handed[block in loop.blocks].add(values[counter.index])
    firsts, nexts = handed[False], handed[True]
    steps = {_step_from(counter, value) for value in nexts}
    step = steps.pop() if len(steps) == 1 else None
    if len(firsts) != 1 or not step or not (own or nexts == {number}):
        return None
    return formula_of(firsts.pop()), ("constant", step)


def _edges(block: Block) -> Iterator[tuple[Block, tuple[SSAValue, ...]]]:
    """Where a branch at the end of `block` leads, and what it hands over."""
    branch = block.last_op
    if isinstance(branch, BRANCHES):
        yield branch.successors[0], tuple(branch.operands)
    elif isinstance(branch, CONDITIONAL_BRANCHES):
        yield branch.then_block, tuple(branch.then_arguments)
        yield branch.else_block, tuple(branch.else_arguments)


def _step_from(counter: SSAValue, number: SSAValue) -> int | None:
    """The constant by which `number` is more than `counter`, if there is one."""
    match number.owner:
        case op if isinstance(op, SUMS) and op.operands[0] is counter:
            step = constant_integer(op.operands[1])
            return step if step is None or isinstance(op, ADDITIONS) else -step
        case op if isinstance(op, ADDITIONS) and op.operands[1] is counter:
            return constant_integer(op.operands[0])
        case _:
            return None
