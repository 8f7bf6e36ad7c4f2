"""
Loops of Triton's kernels whose bounds are formulas: how often they turn becomes an argument.

    %n = ceildiv(%K, 64)                              func(..., %K, %turns)
    scf.for %k = 0 to %n step 1             ->        scf.for %k = 0 to %turns step 1
    arith.cmpi slt, %k, %n - 2                        arith.cmpi slt, %k, %turns - 2

Numbers of K from 1 to 8 all give one turn, and a proof in K has to go through 64 values for each turn. If the copy is
right for every number of turns, the kernel is right whatever the formula. A mistake in the copy is one of the kernel if
some values of its arguments make its loops turn as often (`arguments_for`).

So it is with loops that begin with a constant and go on by one: the formula is what is left of the upper bound without
constants that are added. Where a loop begins with an id of the block, it is the number of turns itself that becomes an
argument. A bound may be computed from arguments, ids of blocks and data, as long as it is the same in all turns of the
loops around. Loops of equal bounds share their number of turns, in partitions of warps as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import lcm
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.checker.verdict.bound_formulas import (
    Count,
    Formula,
    constants_in,
    core_of,
    formula_of,
    is_open,
    leaves_of,
    turns_of,
)
from tileas_xdsl.checker.verdict.steering import (
    early_returns,
    idle_branches,
    idle_uses,
    is_number,
    leave_out_early_returns,
    steers,
    take_idle_branches,
)
from tileas_xdsl.checker.verdict.turn_conditions import TurnCondition, conditions_on
from tileas_xdsl.dialects.triton.partitions import WarpSpecializePartitionsOp
from tileas_xdsl.dialects.triton.tt import FuncOp
from tileas_xdsl.machine.arguments import argument_names, find_function
from tileas_xdsl.machine.core.meaning import facts_of

MOST_TRIED = 5000
"""Combinations of arguments that are tried to make loops turn as often as they do in a mistake."""


@dataclass(frozen=True)
class Counted:
    """A copy of a kernel with arguments for the numbers of turns."""

    op: Operation
    body: Region
    counts: dict[str, Count]
    """Name of such an argument -> how often a loop turns that it stands for."""
    names: tuple[str, ...]
    """The names of the arguments that the kernel had."""
    multiples: tuple[int, ...]
    """The steps of which upper bounds are taken to be multiples, because something else is computed from them."""
    tells_blocks: bool
    """Whether the kernel asks for its place in the grid, where that decides nothing."""
    leaves_out_returns: bool
    """Whether the kernel also returns before it has begun, which the copy does not."""

    @property
    def behind(self) -> list[str]:
        """The arguments of the kernel that the bounds are computed from."""
        leaves = dict.fromkeys(leaf for count in self.counts.values() for part in count for leaf in leaves_of(part))
        return [self.names[leaf[1]] for leaf in leaves if leaf[0] == "argument"]

    def arguments_for(self, turns: Mapping[str, int]) -> dict[str, int] | None:
        """Values of the kernel's arguments with which its loops turn as often as `turns` says, if any are known."""
        counts = {count: turns[name] for name, count in self.counts.items() if name in turns}
        parts = [part for count in counts for part in count]
        leaves = [leaf for leaf in dict.fromkeys(leaf for part in parts for leaf in leaves_of(part)) if is_open(leaf)]
        # Multiples of a divisor come first: the numbers that people know.
        factors = sorted({1, *(abs(c) for part in parts for c in constants_in(part))}, reverse=True)
        numbers = dict.fromkeys([*(factor * number for factor in factors for number in counts.values()), 0, 1])
        for values in islice(product(numbers, repeat=len(leaves)), MOST_TRIED):
            given = dict(zip(leaves, values, strict=True))
            if all(turns_of(count, given) == number for count, number in counts.items()):
                return {self.names[leaf[1]]: value for leaf, value in given.items() if leaf[0] == "argument"}
        return None


def counted(function: Operation) -> Counted | None:
    """A copy of `function` in a copy of its module; None where it is no kernel of Triton with such a loop."""
    if not isinstance(function, FuncOp):
        return None
    reasons: Sequence[Iterator[object]] = (
        _loops_of_formulas(function),
        idle_branches(function),
        early_returns(function),
    )
    if not any(True for reason in reasons for _ in reason):
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copy, body = find_function(module.clone(), function.sym_name.data)
    names = tuple(argument_names(body))
    take_idle_branches(copy)
    leaves_out_returns = leave_out_early_returns(copy)
    loops = list(_loops_of_formulas(copy))
    conditions = _conditions(copy, loops)
    steps = _steps_of_cores(count for _, count in loops)
    values = _values_by_formula(copy, list(steps))
    steps = _that_steer(steps, values, loops, conditions)
    counts: list[Count] = []
    for core, step in steps.items():
        turns = _with_argument(copy, body.blocks[0], values[core][0].type, len(counts))
        counts.append((("constant", 0), core, ("constant", step)))
        for value in values[core]:
            _replace_by_multiple(value, turns, step)
    others = [(loop, count) for loop, count in loops if not _is_even(count) or core_of(count[1]) not in steps]
    for count in dict.fromkeys(count for _, count in others):
        alike = [loop for loop, own in others if own == count]
        turns = _with_argument(copy, body.blocks[0], alike[0].ub.type, len(counts))
        counts.append(count)
        for loop in alike:
            _turn(loop, _captured(turns, loop))
        for condition in conditions.get(count, ()):
            condition.count_turns(_captured(turns, condition.op))
    new_names = argument_names(body)[len(names) :]
    tells_blocks = _forget_blocks(copy, body.blocks[0])
    _forget_idle_uses(copy, body.blocks[0])
    multiples = tuple(dict.fromkeys(step for step in steps.values() if step != 1))
    return Counted(
        copy, body, dict(zip(new_names, counts, strict=True)), names, multiples, tells_blocks, leaves_out_returns
    )


def _steps_of_cores(counts: Iterable[Count]) -> dict[Formula, int]:
    """Of bounds between even steps, without the constants that are added to them: by what steps their loops go on."""
    steps: dict[Formula, int] = {}
    for count in counts:
        if _is_even(count):
            core = core_of(count[1])
            steps[core] = lcm(steps.get(core, 1), count[2][1])
    return steps


def _conditions(function: Operation, loops: Sequence[tuple[scf.ForOp, Count]]) -> dict[Count, list[TurnCondition]]:
    """
    The conditions that ask for turns of loops which do not count them, and which nothing but their own number bounds:
    where others have the same bound and other steps, what they have in common is that bound.
    """
    of_core: dict[Formula, set[Count]] = {}
    for _, count in loops:
        of_core.setdefault(core_of(count[1]), set()).add(count)
    found: dict[Count, list[TurnCondition]] = {}
    taken: set[Operation] = set()
    for count in dict.fromkeys(count for _, count in loops):
        _, upper, (kind, *step) = count
        if kind != "constant" or step[0] < 1:
            continue
        counts_turns = step[0] == 1 or len(of_core[core_of(upper)]) > 1
        if _is_even(count) and counts_turns:
            continue
        alike = [loop for loop, own in loops if own == count]
        found[count] = [each for each in conditions_on(function, alike, count) if each.op not in taken]
        taken.update(each.op for each in found[count])
    return found


def _that_steer(
    steps: dict[Formula, int],
    values: Mapping[Formula, Sequence[SSAValue]],
    loops: Sequence[tuple[scf.ForOp, Count]],
    conditions: dict[Count, list[TurnCondition]],
) -> dict[Formula, int]:
    """
    Those of the bounds `steps` on which more depends than loops and `conditions` on turns. What is a multiple keeps its
    conditions as they stand: they are taken out of `conditions`.
    """
    bounded = frozenset(loop for loop, _ in loops)
    while True:
        told = frozenset(each.op for found in conditions.values() for each in found)
        steering = {core: by for core, by in steps.items() if any(steers(v, bounded, told) for v in values[core])}
        kept = [count for count in conditions if _is_even(count) and core_of(count[1]) in steering]
        for count in kept:
            del conditions[count]
        if not kept:
            return steering


# Which loops ----------------------------------------------------------------------------------------------------------


def _loops_of_formulas(function: Operation) -> Iterator[tuple[scf.ForOp, Count]]:
    """
    The loops whose bounds are neither constants nor an argument, and the same in all turns of loops around them.
    """
    for op in function.walk():
        if not isinstance(op, scf.ForOp):
            continue
        count = (formula_of(op.lb), formula_of(op.ub), formula_of(op.step))
        if not _is_plain(count) and _stay(count):
            yield op, count


def _is_plain(count: Count) -> bool:
    """Whether a loop turns as often as an argument says, or a constant."""
    lower, upper, step = count
    if all(part[0] == "constant" for part in count):
        return True
    return lower[0] == "constant" and step == ("constant", 1) and core_of(upper)[0] == "argument"


def _is_even(count: Count) -> bool:
    """Whether a loop begins with a constant and goes on by a constant."""
    lower, _, step = count
    return lower[0] == "constant" == step[0] and step[1] > 0


def _stay(count: Count) -> bool:
    data = [leaf[1] for part in count for leaf in leaves_of(part) if leaf[0] == "data"]
    return not any(_is_in_a_loop(value) for value in data)


def _is_in_a_loop(value: SSAValue) -> bool:
    owner = value.owner
    above = owner.parent_op()
    if isinstance(value, BlockArgument) and above is not None:
        is_of_kernel = isinstance(above, FuncOp) and value.block is above.body.first_block
        if not is_of_kernel:
            return True
    while above is not None:
        if isinstance(above, scf.ForOp | scf.WhileOp):
            return True
        above = above.parent_op()
    return False


# The copy -------------------------------------------------------------------------------------------------------------


def _values_by_formula(function: Operation, wanted: Sequence[Formula]) -> dict[Formula, list[SSAValue]]:
    """The values that are computed by each of the formulas `wanted`; those of partitions' arguments are at the fork."""
    found: dict[Formula, list[SSAValue]] = {formula: [] for formula in wanted}
    for op in function.walk():
        values: Sequence[SSAValue] = op.results
        if op is function:
            values = op.regions[0].blocks[0].args
        for value in values:
            if isinstance(value.type, IntegerType | IndexType) and (formula := formula_of(value)) in found:
                found[formula].append(value)
    return found


def _with_argument(function: Operation, entry: Block, kind: Attribute, number: int) -> SSAValue:
    """A new argument of `function`, which is the argument `number` of those that are added."""
    taken = set(argument_names(function.regions[0]))
    name = next(n for n in ("turns", *(f"turns{i}" for i in range(number + 1, 99))) if n not in taken)
    argument = entry.insert_arg(kind, len(entry.args))
    argument.name_hint = name
    _renew_type(function, entry)
    return argument


def _renew_type(function: Operation, entry: Block) -> None:
    """Let the type of `function` be that of its arguments."""
    old = cast("FunctionType", function.properties["function_type"])
    function.properties["function_type"] = FunctionType.from_lists(entry.arg_types, list(old.outputs))
    function.properties.pop("arg_attrs", None)


def _forget_blocks(function: Operation, entry: Block) -> bool:
    """Let ids and extents of the grid that decide nothing be arguments of which nothing is known."""
    ids = [op for op in function.walk() if facts_of(op).number_of_block is not None]
    free = [op for op in ids if not any(steers(result) for result in op.results)]
    for number, op in enumerate(free):
        argument = entry.insert_arg(op.results[0].type, len(entry.args))
        argument.name_hint = f"block{number}"
        op.results[0].replace_all_uses_with(_captured(argument, op))
        Rewriter.erase_op(op)
    _renew_type(function, entry)
    return bool(free)


def _forget_idle_uses(function: Operation, entry: Block) -> None:
    """Let uses of numbers of turns that decide nothing have arguments of which nothing is known."""
    bounds = [argument for argument in entry.args if is_number(argument) and steers(argument)]
    for number, uses in idle_uses(bounds).items():
        other = entry.insert_arg(number.type, len(entry.args))
        other.name_hint = f"{number.name_hint or 'number'}_of_data"
        for use in uses:
            use.operation.operands[use.index] = _captured(other, use.operation)
    _renew_type(function, entry)


def _replace_by_multiple(value: SSAValue, turns: SSAValue, step: int) -> None:
    """Let all that is computed from `value` be computed from `step` times the number of turns."""
    owner = value.owner
    seen = _captured(turns, owner if isinstance(owner, Operation) else None)
    if step != 1:
        by = arith.ConstantOp.from_int_and_width(step, cast("Any", turns.type))
        total = arith.MuliOp(seen, by)
        place = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        Rewriter.insert_op([by, total], place)
        seen = total.result
    value.replace_all_uses_with(seen)


def _captured(turns: SSAValue, op: Operation | None) -> SSAValue:
    """`turns` as it is called at `op`: in a partition it is a capture."""
    region = op.parent_region() if op is not None else None
    while region is not None:
        around = region.parent_op()
        if around is None or isinstance(around, FuncOp):
            return turns
        if isinstance(around, WarpSpecializePartitionsOp):
            return _capture(around, _captured(turns, around), region)
        region = around.parent_region()
    return turns


def _capture(partitions: Operation, value: SSAValue, region: Region) -> SSAValue:
    if value in partitions.operands:
        return region.blocks[0].args[list(partitions.operands).index(value)]
    partitions.operands = [*partitions.operands, value]
    for each in partitions.regions:
        block = each.blocks[0]
        block.insert_arg(value.type, len(block.args))
    return region.blocks[0].args[-1]


def _turn(loop: scf.ForOp, turns: SSAValue) -> None:
    """Let `loop` turn that often, and compute its induction variable from the number of the turn."""
    kind = cast("Any", loop.ub.type)
    lower, step = loop.lb, loop.step
    zero, one = (arith.ConstantOp.from_int_and_width(number, kind) for number in (0, 1))
    Rewriter.insert_op([zero, one], InsertPoint.before(loop))
    loop.operands[0], loop.operands[1], loop.operands[2] = zero.result, turns, one.result
    if (formula_of(lower), formula_of(step)) == (("constant", 0), ("constant", 1)):
        return
    number = loop.body.block.args[0]
    walked = arith.MuliOp(number, step)
    total = arith.AddiOp(walked, lower)
    total.result.name_hint = number.name_hint
    number.replace_uses_with_if(total.result, lambda use: use.operation is not walked)
    Rewriter.insert_op([walked, total], InsertPoint.at_start(loop.body.block))
