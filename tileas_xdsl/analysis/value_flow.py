"""
Other names of a value: through structured control flow, branches between blocks, and selections.

    scf.for ... iter_args(%a = %t)      %t becomes %a, and the loop's result
    scf.yield %t                        becomes the result of the op around, and the argument of the next iteration
    arith.select %c, %t, %u             becomes the result

Any other op is a use of the value itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, cf, llvm, scf
from xdsl.ir import BlockArgument, Operation, OpResult, Region, SSAValue, Use

from tileas_xdsl.interfaces import AgentLikeOpInterface, end_of


def carried_to(use: Use) -> Sequence[SSAValue] | None:
    """The values that become another name of the used value at this use; None where the op uses the value itself."""
    op, index = use.operation, use.index
    match op:
        case scf.ForOp() if index >= 3:
            return (op.body.block.args[index - 2], op.results[index - 3])
        case scf.WhileOp():
            return (op.before_region.block.args[index],)
        case scf.ConditionOp() if index >= 1 and isinstance(parent := op.parent_op(), scf.WhileOp):
            return (parent.after_region.block.args[index - 1], parent.results[index - 1])
        case scf.YieldOp():
            return _yielded_to(op, index)
        case arith.SelectOp() if index >= 1:
            return (op.result,)
        case cf.BranchOp():
            return (op.successor.args[index],)
        case cf.ConditionalBranchOp() if index >= 1:
            split = 1 + len(op.then_arguments)
            return (op.then_block.args[index - 1] if index < split else op.else_block.args[index - split],)
        case _:
            return None


def hands_on(op: Operation) -> bool:
    """Whether `op` ends a body of structured control flow by handing its operands to the op around."""
    return isinstance(op, scf.YieldOp)


def yielding(values: Iterable[SSAValue]) -> Operation:
    """What hands `values` to the op around."""
    return scf.YieldOp(*values)


def handed_on_by(terminator: Operation) -> Sequence[SSAValue]:
    """The operands that `terminator` hands on: all but the condition of a `while` loop."""
    return terminator.operands[1 if isinstance(terminator, scf.ConditionOp) else 0 :]


def condition_of(op: Operation) -> SSAValue | None:
    """What decides in which region or block control goes on behind `op`; None where nothing does."""
    match op:
        case scf.WhileOp():
            last = op.before_region.blocks[-1].last_op
            return None if last is None else condition_of(last)
        case scf.ConditionOp():
            return op.condition
        case scf.IfOp() | cf.ConditionalBranchOp() | llvm.CondBrOp():
            return op.cond
        case _:
            return None


def _yielded_to(terminator: scf.YieldOp, index: int) -> Sequence[SSAValue] | None:
    match terminator.parent_op():
        case scf.ForOp() as loop:
            return (loop.body.block.args[index + 1], loop.results[index])
        case scf.WhileOp() as loop:
            return (loop.before_region.block.args[index],)
        case scf.IfOp() | scf.IndexSwitchOp() | scf.ExecuteRegionOp() as branch:
            return (branch.results[index],)
        case _:
            return None


def names_behind(use: Use) -> Sequence[SSAValue] | None:
    """The same, and the names under which agents capture the used value; None where the op uses the value itself."""
    op = use.operation
    agents = AgentLikeOpInterface.of(op)
    if agents is None or not agents.hands_operands_in:
        return carried_to(use)
    pairs = [pair for region in op.regions for pair in captures_of(op, region)]
    return [argument for place, argument in pairs if place == use.index]


def captures_of(agents: Operation, region: Region) -> list[tuple[int, BlockArgument]]:
    """(number of an operand, argument of `region` that stands for it): they are the last arguments, if any are."""
    arguments: Sequence[BlockArgument] = region.blocks[0].args if region.blocks else ()
    first = len(arguments) - len(agents.operands)
    return [(place, arguments[first + place]) for place in range(len(agents.operands)) if first + place >= 0]


def handed_by(value: SSAValue) -> list[tuple[SSAValue, Operation]] | None:
    """What a counted loop or a branch makes `value` of, and the op that hands it on; None for other values."""
    if isinstance(value, BlockArgument):
        loop, number = value.block.parent_op(), value.index - 1
    else:
        assert isinstance(value, OpResult)
        loop, number = value.op, value.index
    if isinstance(loop, scf.IfOp):
        ends = [region.block.last_op for region in loop.regions]
        return [(end.operands[number], end) for end in ends if end is not None]
    if not isinstance(loop, scf.ForOp) or number < 0:
        return None
    end = end_of(loop.body.block)
    return [(loop.iter_args[number], loop), (end.operands[number], end)]


def behind_captures(value: SSAValue) -> SSAValue:
    """What agents have captured under the name `value`: the last arguments of their regions stand for operands."""
    while isinstance(value, BlockArgument):
        op = value.block.parent_op()
        agents = AgentLikeOpInterface.of(op)
        if op is None or agents is None or not agents.hands_operands_in:
            break
        place = value.index - (len(value.block.args) - len(op.operands))
        if place < 0:
            break
        value = op.operands[place]
    return value


class Families:
    """Disjoint sets of values (union-find): values of one set may be names of one another."""

    def __init__(self) -> None:
        self._parent: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue) -> SSAValue:
        """The representative of the family of `value`: the value that was met first."""
        root = self._parent.setdefault(value, value)
        while root is not self._parent[root]:
            root = self._parent[root]
        while value is not root:
            self._parent[value], value = root, self._parent[value]
        return root

    def unite(self, first: SSAValue, second: SSAValue) -> None:
        """Merge two families; the representative of `first` stays."""
        self._parent[self.of(second)] = self.of(first)


def families_of(values: Iterable[SSAValue]) -> Families:
    """The families of `values`, united along the uses that carry them."""
    families = Families()
    for value in values:
        families.of(value)
        for use in value.uses:
            for target in carried_to(use) or ():
                families.unite(value, target)
    return families


def values_in(function: Operation) -> Iterable[SSAValue]:
    """Every value that `function` defines, in program order."""
    for op in function.walk():
        if op is not function:
            yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
