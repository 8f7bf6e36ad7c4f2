"""
One type for one pipeline iterator, wherever it travels: where control flow joins, there is no implicit merge of types.

An iterator is made with a type (`create_iterator`) or comes from outside with one. Every value that it flows into has
the same type; where control flow joins, all that join agree:

    %i = create_iterator %p                      fixes the type
    %j = inc_iter %i                             as %i
    scf.for ... iter_args(%a = %i)               init, argument, yield and result of one position
    scf.if ... { yield %i } else { yield %j }    both arms and the result
    agent_switch %i { ^bb0(%a): ... }            operand and argument of one position
    consume_one ... { yield %i }                 operand of the yield and result

`iterator_types` computes the types that follow, to a fixed point, and changes nothing; `propagate_iterator_types` then
retags the values that disagree with it. Two different types that meet are refused, for nothing says which one is meant.
Both take time linear in the uses of iterators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.classified import RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import IncIterOp, PipelineYieldOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.transforms.rewriting.structure import CARRIERS

DISAGREEMENT = "branch arms must yield matching pipeline iterator types"
"""TileAS' own text, byte for byte (docs/verbatim.md)."""


def propagate_iterator_types(scope: Operation) -> bool:
    """
    Give every iterator in `scope` the type that follows from where it was made. Returns whether a value was retagged.

    Raises `RefusedError` where two types meet, with nothing changed.
    """
    types = iterator_types(scope)
    retagged = [value for value, type_ in types.items() if value.type != type_]
    for value in retagged:
        Rewriter.replace_value_with_new_type(value, types[value])
    return bool(retagged)


def iterator_types(scope: Operation) -> dict[SSAValue, Attribute]:
    """
    The type of every iterator in `scope` that follows from where iterators are made.

    Raises `RefusedError` on the op at which two different types meet.
    """
    iterators = list(_iterators_in(scope))
    derived = {target for value in iterators for use in value.uses for target in _flows_to(use)}
    types: dict[SSAValue, Attribute] = {value: value.type for value in iterators if value not in derived}
    reached = list(types)
    for value in reached:
        for use in value.uses:
            for target in _flows_to(use):
                if target not in types:
                    types[target] = types[value]
                    reached.append(target)
                elif types[target] != types[value]:
                    _refuse_disagreement(use.operation)
    return types


def _iterators_in(scope: Operation) -> Iterator[SSAValue]:
    """Every value of iterator type, in program order."""
    for op in scope.walk():
        yield from (result for result in op.results if isinstance(result.type, PipelineIteratorType))
        for region in op.regions:
            for block in region.blocks:
                yield from (argument for argument in block.args if isinstance(argument.type, PipelineIteratorType))


def _flows_to(use: Use) -> Iterable[SSAValue]:
    """The values that are the same iterator, or the next one of the same pipeline, behind a use."""
    op, index = use.operation, use.index
    match op:
        case IncIterOp():
            return op.results
        case PipelineYieldOp() if isinstance(parent := op.parent_op(), RegionOp):
            return parent.value_results[index : index + 1]
        case _:
            return names_behind(use) or ()


def _refuse_disagreement(meeting_point: Operation) -> None:
    """Name the branch or loop rather than its terminator."""
    around = meeting_point.parent_op()
    refuse(
        around if isinstance(around, CARRIERS) and meeting_point.has_trait(IsTerminator) else meeting_point,
        DISAGREEMENT,
        "make both iterators with one type: the same payload and the same depth",
        verbatim=True,
    )
