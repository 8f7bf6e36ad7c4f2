"""
Which loops of a function are left open, and which of them turn equally often.

    for %t = 0 to %n            term: argument n
      for %j = 0 to %t          term: the induction variable around it
      for %k = 0 to 1024        term: constant 1024

A bound is an argument, or what is computed from one and constants (`derived_counts`), a long constant, or the
induction variable of an open loop, plus a constant, perhaps clipped at 0 (`origins`). A count may also be compared with
a constant, and in a loop that it bounds with any number (`%k + 2 < %n`). An argument that is used in any other way
decides something else as well: then nothing is left open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import BlockArgument, Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures, names_behind
from tileas_xdsl.checker.decisions.derived_counts import DerivedCount, Term, derived_count
from tileas_xdsl.checker.decisions.origins import (
    MIRRORED,
    SUMS,
    Origin,
    clipped_at_zero,
    keeps_number,
    origin_of,
)
from tileas_xdsl.checker.proof.outcomes import NoProofError
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.code import Code
from tileas_xdsl.machine.core.loops.open_comparisons import COMPARES
from tileas_xdsl.machine.core.loops.open_counts import INDUCTION, Known, OpenComparison, OpenLoop
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH
from tileas_xdsl.machine.core.values import bit_width

LONG = 128
"""Loops with a constant bound above this are left open."""
UPPER = 1
"""Which operand of an `scf.for` is its upper bound."""


@dataclass(frozen=True)
class OpenLoops:
    """The open loops of a function."""

    loops: dict[Operation, OpenLoop]
    counts: tuple[str, ...]
    """What they are bounded by: names of arguments, and constants, in the order of the loops."""
    known: Mapping[Hashable, Known] = field(default_factory=dict[Hashable, Known])
    """Term -> what is known of it from the beginning."""
    comparisons: Mapping[Operation, OpenComparison] = field(default_factory=dict[Operation, OpenComparison])
    """The ops that compare an argument with a number."""
    code: Code = field(default_factory=Code)
    """The code of the function for executions with open loops."""

    @property
    def inner(self) -> list[Term]:
        """The arguments, and what is computed from them, that bound loops inside others: of the innermost one first."""
        inside = sorted((loop for loop in self.loops.values() if loop.depth), key=lambda loop: -loop.depth)
        terms = dict.fromkeys(loop.term for loop in inside)
        return [term for term in terms if isinstance(term, str | DerivedCount) and term != INDUCTION]

    def turns_around(self) -> Iterator[SSAValue]:
        """The induction variables as often as which loops inside turn."""
        for op, loop in self.loops.items():
            around = _open_loop_around(op, self.loops) if loop.term == INDUCTION else None
            if around is not None:
                yield around.body.block.args[0]


def open_loops(body: Region, arguments: dict[str, BlockArgument]) -> OpenLoops:
    """
    The open loops of the function with that `body`: those that the `arguments` (by name) bound, that have a long
    constant bound, and that turn as often as such a loop around them has turned.

    Raises `NoProofError` where one of the arguments decides something else, or is narrow.
    """
    for name, argument in arguments.items():
        if (width := bit_width(argument.type)) < LEAST_WIDTH:
            raise NoProofError(f"'{name}' has {width} bits, which overflow")
    names = _counts_from({argument: name for name, argument in arguments.items()})
    loops: dict[Operation, OpenLoop] = {}
    comparisons: dict[Operation, OpenComparison] = {}
    for op in body.walk():
        if isinstance(op, scf.ForOp) and (loop := _open_loop(op, names, loops)) is not None:
            loops[op] = replace(loop, depth=sum(other.is_ancestor(op) for other in loops))
    for count, name in names.items():
        for use in deciding_uses(count):
            op = use.operation
            if (op in loops and use.index == UPPER) or any(result in names for result in op.results):
                continue
            around = [loop.term for other, loop in loops.items() if other.is_ancestor(op)]
            comparison = _open_comparison(use, name, names, len(around))
            if comparison is not None and (comparison.constant is not None or name in around):
                comparisons[op] = comparison
            else:
                reason = f"takes '{name}', which also bounds loops that are left open"
                raise NoProofError(sentence(use.operation, reason))
    terms = dict.fromkeys(str(loop.term) for loop in loops.values() if loop.term not in (INDUCTION, None))
    code = Code(meanings=dict.fromkeys(comparisons, COMPARES))
    return OpenLoops(loops, tuple(terms), comparisons=comparisons, code=code)


def _counts_from(arguments: Mapping[SSAValue, Term]) -> dict[SSAValue, Term]:
    """The counts: `arguments`, and what is computed from them and constants."""
    names = dict(arguments)
    waiting = list(arguments)
    while waiting:
        for use in deciding_uses(waiting.pop()):
            count = derived_count(use, names)
            if count is not None:
                result = use.operation.results[0]
                names[result] = count
                waiting.append(result)
    return names


SIGNED = {
    "eq": (True, 0, False),
    "ne": (True, 0, True),
    "slt": (False, 0, False),
    "sle": (False, 1, False),
    "sgt": (False, 1, True),
    "sge": (False, 0, True),
}
"""Predicate p -> (equality, a, negated) such that x p y if, and only if, x is less than (equal to) y + a, or not."""


def _open_comparison(use: Use, term: Term, names: Mapping[SSAValue, Term], depth: int) -> OpenComparison | None:
    """How `use` compares the argument `term` with a number that does not depend on arguments; None if it does not."""
    op = use.operation
    if not isinstance(op, arith.CmpiOp):
        return None
    other = 1 - use.index
    mine, theirs = origin_of(op.operands[use.index]), origin_of(op.operands[other])
    constant = constant_integer(behind_captures(op.operands[other]))
    predicate = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    name = MIRRORED.get(predicate, predicate) if use.index else predicate
    if name.startswith("u") and (mine.is_clipped or mine.offset >= 0) and _is_never_negative(theirs, constant):
        name = f"s{name[1:]}"
    how = SIGNED.get(name)
    # What is taken from a constant, or added to itself, is no sum of the count and a constant.
    if how is None or theirs.root in names or names.get(mine.root) != term:
        return None
    equals, added, negated = how
    if mine.is_clipped and (constant is None or constant + added < 1):
        # Where it is clipped, it is 0: that compares alike with numbers from 1 on.
        return None
    return OpenComparison(term, other, added - mine.offset, equals, negated, constant, depth)


def _is_never_negative(number: Origin, constant: int | None) -> bool:
    """Whether a number that is compared is a constant or the induction variable of a loop, and not negative."""
    if constant is not None:
        return constant >= 0
    root = number.root
    loop = root.block.parent_op() if isinstance(root, BlockArgument) and root.index == 0 else None
    first = constant_integer(behind_captures(loop.lb)) if isinstance(loop, scf.ForOp) else None
    return first is not None and first + number.offset >= 0


def _open_loop(op: scf.ForOp, names: Mapping[SSAValue, Term], loops: dict[Operation, OpenLoop]) -> OpenLoop | None:
    first, step = (constant_integer(behind_captures(value)) for value in (op.lb, op.step))
    bound = origin_of(op.ub)
    if step is None or step <= 0 or (bound.is_clipped and (first is None or first < 0)):
        return None
    root, offset = bound.root, bound.offset
    constant = constant_integer(root)
    if root in names:
        return OpenLoop(names[root] if first is not None else None, offset)
    if constant is not None:
        return OpenLoop(constant if first is not None else None, offset) if constant + offset > LONG else None
    around = _open_loop_around(op, loops)
    if around is not None and root is around.body.block.args[0]:
        counts_up = (start := constant_integer(behind_captures(around.lb))) is not None and start >= 0
        return OpenLoop(INDUCTION if first is not None and counts_up else None, offset)
    return None


def _open_loop_around(op: Operation, loops: Mapping[Operation, OpenLoop]) -> scf.ForOp | None:
    """The innermost open loop around `op`."""
    parent = op.parent_op()
    while parent is not None and parent not in loops:
        parent = parent.parent_op()
    return parent if isinstance(parent, scf.ForOp) else None


def deciding_uses(argument: SSAValue) -> Iterator[Use]:
    """The uses of `argument`, and of what is only it and a constant: those that are not the sum with a constant."""
    stack = [argument]
    while stack:
        for use in stack.pop().uses:
            further = names_behind(use) or ()
            op, value = use.operation, use.operation.operands[use.index]
            is_sum = isinstance(op, SUMS) and all(
                operand is value or constant_integer(operand) is not None for operand in op.operands
            )
            if is_sum or keeps_number(op) or clipped_at_zero(op) is value:
                stack.extend(op.results)
            elif AgentLikeOpInterface.of(use.operation) is not None:
                # Where the regions have no names of their own for it, they use it themselves.
                stack.extend(further)
            else:
                yield use


def integers_in(body: Region) -> Iterator[SSAValue]:
    """The integers of the function, in program order."""

    def of(values: Sequence[SSAValue]) -> Iterator[SSAValue]:
        return (value for value in values if isinstance(value.type, IntegerType | IndexType))

    for block in body.blocks:
        yield from of(block.args)
    for op in body.walk():
        yield from of(op.results)
        for region in op.regions:
            for block in region.blocks:
                yield from of(block.args)
