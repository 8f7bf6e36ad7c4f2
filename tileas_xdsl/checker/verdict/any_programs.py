"""
Loops over the programs of a grid, however many a block computes and whichever these are: for proofs.

    %id, %all = block_id, grid_dim
    scf.for %p = %id to %tiles step %all {              scf.for %t = 0 to %turns step 1 {
      %row = arith.remui %p, %rows                ->
      .. %a[%row, %k] .. %c[%row, %p] ..                  .. %a[%program, %k] .. %c[%program, %program1] ..
    }                                                   }

In the copy the number of turns is an argument. What is computed from the number of a program, and does nothing but
index arrays, is an opaque number (`machine.core.opaque_numbers`), the same one in all turns. So all programs touch one
tile of an array that is written. If nothing is wrong with that, nothing is wrong with any tiles. For two accesses of
different programs that share a byte are at the same place of tiles that coincide, since each access stays within one
cell of the grid that such numbers make (`decisions.cells`). Then they share that byte in the copy, too. Everything else
is as in the function: what is executed, in which order, and what is awaited depends on no number of a program. So what
is proved of the copy for every number of turns holds for each block of each grid.

A copy is made only where numbers of programs are computed with, captured by agents, and used as indices. Where one is
carried to another turn, stored, compared by a branch, or bounds a loop, the function is checked as it stands. So it is
where the copy is not proved: tiles that coincide may be a mistake that no call makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from xdsl.dialects import arith, llvm, memref, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsolatedFromAbove

from tileas_xdsl.analysis.memory.tail_guards import is_tail_guard
from tileas_xdsl.analysis.value_flow import behind_captures, names_behind
from tileas_xdsl.checker.verdict.blocks import TRIP_COUNT, is_extent, loops_over_blocks
from tileas_xdsl.checker.verdict.bound_formulas import Count, Formula, formula_of, function_of, leaves_of
from tileas_xdsl.checker.verdict.cases import Case, Tell
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.expanded_loops import count_turns, whole_count_of, without_last
from tileas_xdsl.checker.verdict.loop_bounds import bounding_arguments, made_up_extent, switching_arguments
from tileas_xdsl.checker.verdict.proving import is_proved_at_once
from tileas_xdsl.checker.verdict.report import Outcome, Report
from tileas_xdsl.checker.verdict.steering import is_number
from tileas_xdsl.dialects.upstream_models.integers import Function
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.arguments import argument_at, argument_names, find_function, is_argument
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE
from tileas_xdsl.machine.core.meaning import Kind, crossing_of, facts_of, meaning_of
from tileas_xdsl.machine.core.op_facts import Crosses
from tileas_xdsl.machine.core.opaque_numbers import positions_of
from tileas_xdsl.machine.core.threads.cluster_calls import crosses_blocks
from tileas_xdsl.machine.parts.programs import takes_programs_over
from tileas_xdsl.machine.tiles.unknown_places import is_address_of_reads

COORDINATES = "coordinates"
"""The operands that say where a box of global memory lies, of copies that name the array by a tensor map."""
PROGRAM: Formula = ("program",)
"""The formula of the number of a program."""
EVEN = (Function.SUM, Function.DIFFERENCE, Function.EXTENDED, Function.RESIZED)
"""What is followed of opaque numbers; so are products with a constant."""


@dataclass(frozen=True)
class AnyPrograms:
    """A copy of a function in which it is open how many programs a block computes, and which."""

    op: Operation
    body: Region
    turns: str
    """The argument that says how many."""
    programs: tuple[str, ...]
    """The arguments that stand for what is computed from the number of a program."""


def with_any_programs(function: Operation, name: str) -> AnyPrograms | None:
    """The `function` called `name` in a copy of its module; None where it has no such loops, or needs to know more."""
    if not isinstance(function, FuncOp) or not _may_be_open(function):
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copied, body = find_function(module.clone(), name)
    assert isinstance(copied, FuncOp)
    loops = _loops_over_programs(copied)
    counts = [whole_count_of(loop) for loop in loops]
    turns = _with_argument(copied, loops[0].ub.type, "turns")
    arguments: dict[tuple[Formula, Attribute], BlockArgument] = {}
    stands_for: dict[SSAValue, BlockArgument] = {}
    for loop in loops:
        for root in _roots(loop):
            key = _in_programs(root, loop), root.type
            if key not in arguments:
                arguments[key] = _with_argument(copied, root.type, "program")
            stands_for[root] = arguments[key]
    for root, argument in stands_for.items():
        root.replace_all_uses_with(argument)
    for loop, (_, left_out) in zip(loops, counts, strict=True):
        _turn(loop, without_last(turns, left_out, loop))
    count_turns(copied, counts[0][0], turns)
    _erase_dead(copied)
    names = argument_names(body)
    return AnyPrograms(copied, body, names[turns.index], tuple(names[each.index] for each in arguments.values()))


def is_proved_for_any_programs(
    name: str, subject: Subject, fixed: Mapping[str, int], report: Report, tell: Tell
) -> bool:
    """
    Whether the function called `name` is proved for every trip count, with the arguments `fixed`, in every block of
    every grid. That is put into `report` then. If not, nothing is: the function is to be checked as it stands, in half
    of the time that there was.
    """
    general = with_any_programs(subject.op, name) if not subject.assumptions.preconditions else None
    if general is None or switching_arguments(general.body) or made_up_extent(general.op) is not None:
        return False
    bounds = bounding_arguments(general.body)
    if len(bounds) == 1 and loops_over_blocks(subject.body) is not None:
        return False  # An induction over the turns of the blocks will do.
    body, names = subject.body, argument_names(subject.body)
    given = {names[argument_at(body, each).index]: number for each, number in fixed.items() if is_argument(body, each)}
    copy = replace(subject.of(general.op, general.body), programs=general.programs)
    bounds = [each for each in bounds if each not in given]
    attempt = Report([name], report.trip_counts, tries_every_trip_count=True)
    is_proved = is_proved_at_once(Case(name, copy, given, bounds, attempt, tell))
    proved = Outcome(
        executions=attempt.executions,
        proofs_by_decisions=attempt.proofs_by_decisions,
        assumed={**attempt.assumed, BLOCKS_ALONE: None},
        varied=[TRIP_COUNT if each == general.turns else each for each in bounds],
        may_be_negative=[each for each in bounds if each != general.turns],
        fixed=given,
    )
    report.absorb(proved if is_proved else Outcome(executions=attempt.executions))
    return is_proved


def _may_be_open(function: FuncOp) -> bool:
    meets_others = any(crossing_of(op) is not Crosses.NO for op in function.walk())
    if meets_others or crosses_blocks(function) or takes_programs_over(function):
        return False  # Blocks that take part in one execution may turn differently often.
    loops = _loops_over_programs(function)
    counts = list(dict.fromkeys(whole_count_of(loop)[0] for loop in loops))
    if len(counts) != 1 or not _is_over_programs(counts[0]):
        return False
    return all(_sees_arguments(loop) and _only_indexes(loop) for loop in loops)


# Which loops ----------------------------------------------------------------------------------------------------------


def _loops_over_programs(function: Operation) -> list[scf.ForOp]:
    """The loops that begin with a number that is computed from the id of the block."""
    loops = (op for op in function.walk() if isinstance(op, scf.ForOp))
    return [loop for loop in loops if any(leaf[0] == "grid" for leaf in leaves_of(formula_of(loop.lb)))]


def _is_over_programs(count: Count) -> bool:
    """Whether a loop turns equally often wherever it stands, since it takes nothing but arguments and ids, and ends."""
    step = count[2]
    rises = (step[0] == "grid" and is_extent(str(step[1]))) or (step[0] == "constant" and step[1] > 0)
    return rises and all(leaf[0] != "data" for part in count for leaf in leaves_of(part))


def _sees_arguments(loop: scf.ForOp) -> bool:
    """Whether the arguments of the function have their names in `loop`."""
    above = loop.parent_op()
    while above is not None and not isinstance(above, FuncOp):
        if above.has_trait(IsolatedFromAbove):
            return False
        above = above.parent_op()
    return above is not None


# What is computed from a program --------------------------------------------------------------------------------------


def _only_indexes(loop: scf.ForOp) -> bool:
    """Whether the number of a program, and what is computed from it, only indexes arrays in the turn of the program."""
    uses = (use for value in _computed_from(loop) for use in value.uses)
    if not all(_indexes(use) or _guards(use) or _reached(use) is not None for use in uses):
        return False
    leaves = (leaf for root in _roots(loop) for leaf in leaves_of(_in_programs(root, loop)))
    return all(leaf[0] != "data" for leaf in leaves)


def _computed_from(loop: scf.ForOp) -> list[SSAValue]:
    """The induction variable of `loop`, and the integers that are computed from it."""
    found: dict[SSAValue, None] = {loop.body.block.args[0]: None}
    stack = list(found)
    while stack:
        for use in stack.pop().uses:
            fresh = [value for value in _reached(use) or () if value not in found]
            found.update(dict.fromkeys(fresh))
            stack += fresh
    return list(found)


def _reached(use: Use) -> Sequence[SSAValue] | None:
    """The integers that an op computes of the used one, or as which agents capture it; None for any other use."""
    op = use.operation
    if AgentLikeOpInterface.of(op) is not None:
        return names_behind(use)
    is_computed = len(op.results) == 1 and function_of(formula_of(op.results[0])) is not None
    return op.results if is_computed else None


def _indexes(use: Use) -> bool:
    """Whether a use is an index of an array, a coordinate of a box, or goes into an address of nothing but reads."""
    op, facts = use.operation, facts_of(use.operation)
    groups = [*(group for group, _ in facts.indexes), *(group for group in facts.opaque if group == COORDINATES)]
    if isinstance(op, llvm.GEPOp) and not is_address_of_reads(op):
        return False
    return any(use.index in positions_of(op, group) for group in groups)


def _guards(use: Use) -> bool:
    """Whether a use only leaves out what lies outside of an array."""
    return isinstance(use.operation, arith.CmpiOp) and is_tail_guard(use.operation)


def _roots(loop: scf.ForOp) -> list[SSAValue]:
    """
    Of what is computed from the number of a program: the numbers from which indices are sums with known factors.

    Each is any number for itself: what they have to do with each other is not followed.
    """
    computed = _computed_from(loop)
    is_followed = partial(_is_followed, computed=computed)
    return [value for value in computed if not is_followed(value) and _leads_to_an_index(value, is_followed)]


def _is_followed(value: SSAValue, computed: Sequence[SSAValue]) -> bool:
    """
    Whether `value` is a sum of numbers computed from a program, a copy of one, or a multiple: by a constant, or by a
    stride of the array that is read at that distance.
    """
    if isinstance(value, BlockArgument):
        return behind_captures(value) is not value
    what = formula_of(value)[0]
    if what.function is Function.PRODUCT:
        others = [operand for operand in cast("OpResult", value).op.operands if operand not in computed]
        return len(others) == 1 and (formula_of(others[0])[0] == "constant" or _is_distance(value, others[0]))
    return what.function in EVEN and what.signed


def _is_distance(product: SSAValue, factor: SSAValue) -> bool:
    """Whether `factor` is a stride of an array, and `product` goes into nothing but addresses of reads there."""
    sizes = factor.owner
    if not isinstance(sizes, memref.ExtractStridedMetaDataOp) or factor not in sizes.strides:
        return False
    return isinstance(sizes.source, BlockArgument) and _only_reads(product, sizes.source)


def _only_reads(distance: SSAValue, array: SSAValue) -> bool:
    """Whether `distance`, and what is computed from it, goes into nothing but addresses of reads in `array`."""
    return all(_reads(use, array) for use in distance.uses)


def _reads(use: Use, array: SSAValue) -> bool:
    if isinstance(use.operation, llvm.GEPOp):
        return _indexes(use) and _array_behind(use.operation.ptr) is array
    reached = _reached(use)
    return reached is not None and all(_only_reads(each, array) for each in reached)


def _array_behind(pointer: SSAValue) -> SSAValue | None:
    """The array that the address of `pointer` is taken of; None where that is not known."""
    op = pointer.owner
    while isinstance(op, llvm.GEPOp | llvm.IntToPtrOp | arith.IndexCastOp):
        op = op.operands[0].owner
    return op.source if isinstance(op, memref.ExtractAlignedPointerAsIndexOp) else None


def _leads_to_an_index(value: SSAValue, is_followed: Callable[[SSAValue], bool]) -> bool:
    """Whether `value`, or a sum with it, is an index."""
    if any(map(_indexes, value.uses)):
        return True
    reached = (each for use in value.uses for each in _reached(use) or ())
    return any(is_followed(each) and _leads_to_an_index(each, is_followed) for each in reached)


def _in_programs(value: SSAValue, loop: scf.ForOp) -> Formula:
    """The formula of `value` by the number of the program that `loop` is at."""
    return _replaced(formula_of(value), ("data", loop.body.block.args[0]))


def _replaced(formula: Formula, program: Formula) -> Formula:
    if formula == program:
        return PROGRAM
    return (formula[0], *(_replaced(part, program) for part in formula[1:])) if function_of(formula) else formula


# The copy -------------------------------------------------------------------------------------------------------------


def _with_argument(function: FuncOp, kind: Attribute, name: str) -> BlockArgument:
    """A new argument of `function`, under a name of its own."""
    entry = function.body.blocks[0]
    taken = set(argument_names(function.body))
    argument = entry.insert_arg(kind, len(entry.args))
    argument.name_hint = next(n for n in (name, *(f"{name}{i}" for i in range(len(taken) + 1))) if n not in taken)
    function.function_type = FunctionType.from_lists(entry.arg_types, list(function.function_type.outputs))
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr([*function.arg_attrs, DictionaryAttr({})])
    return argument


def _turn(loop: scf.ForOp, turns: SSAValue) -> None:
    """Let `loop` turn that often."""
    zero, one = (arith.ConstantOp.from_int_and_width(number, cast("Any", turns.type)) for number in (0, 1))
    Rewriter.insert_op([zero, one], InsertPoint.before(loop))
    loop.operands[0], loop.operands[1], loop.operands[2] = zero.result, turns, one.result


def _erase_dead(function: Operation) -> None:
    """Erase what only computes numbers that nobody uses any more: it would take arguments that decide nothing."""
    for op in list(function.walk(reverse=True)):
        numbers = all(map(is_number, op.results)) and bool(op.results)
        is_pure = (meaning := meaning_of(op)) is not None and meaning.kind is Kind.PURE
        computes = is_pure or facts_of(op).number_of_block is not None
        if numbers and computes and not op.regions and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
