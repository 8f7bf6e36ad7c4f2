"""
What the structured ops of `linalg` do, on memrefs and on tensors.

Every one of them is a loop nest around a body of scalar ops; named ops bring the body along. The body runs once for
each point of the nest, in the order of the loops:

    for d in <loops that some output does not name>:        one after another: reductions
        out[...] = body(in[...], ..., out[...])             for all points of the other loops at once

"At once" is what arithmetic on arrays means, so it is done only where the body is `arith` and `math`. Other bodies
run point by point, up to 10^6 points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ShapedType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.ir.affine import AffineDimExpr, AffineMap

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import Step, bound, per_op
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.meaning import Kind, control, pure, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.recording import Deferred
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation, give_results
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import Array, element_of, is_array, to_scalar

MOST_POINTS = 1_000_000
"""Points of a nest that is run point by point; more are refused."""

terminators(linalg.YieldOp)

STRUCTURED_OPS = (
    linalg.AddOp,
    linalg.Conv2DNchwFchwOp,
    linalg.Conv2DNgchwFgchwOp,
    linalg.Conv2DNgchwGfchwOp,
    linalg.Conv2DNhwc_FhwcOp,
    linalg.Conv2DNhwc_HwcfOp,
    linalg.Conv2DNhwgcGfhwcOp,
    linalg.CopyOp,
    linalg.ExpOp,
    linalg.FillOp,
    linalg.GenericOp,
    linalg.LogOp,
    linalg.MaxOp,
    linalg.MinOp,
    linalg.MulOp,
    linalg.QuantizedMatmulOp,
    linalg.SelectOp,
    linalg.SqrtOp,
    linalg.SubOp,
    linalg.TransposeOp,
)
"""Not `linalg.pooling_nchw_max`: the body that xDSL gives it compares with the window in place of the output."""


# The loop nest of an op ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nest:
    """The loops of a structured op: which element of each operand a point names, and the body that runs there."""

    maps: tuple[AffineMap, ...]
    """For each operand, inputs first: from the point to the indices."""
    inputs: int
    body: Region
    serial: tuple[int, ...]
    """Loops that run one after another, outermost first."""
    together: tuple[int, ...]
    """Loops whose points are independent: every output names each of them once, by itself."""
    elementwise: bool
    """Whether the body is arithmetic, so that independent points can be computed as arrays."""

    @property
    def block(self) -> Block:
        return self.body.block

    def reads(self, operand: int) -> bool:
        """Whether the body reads the elements of `operand`."""
        return self.block.args[operand].first_use is not None

    def extents(self, op: Operation, shapes: Sequence[tuple[int, ...]]) -> list[int]:
        """How many iterations each loop has, from the shapes of the operands."""
        found: dict[int, int] = {}
        for affine_map, shape in zip(self.maps, shapes, strict=True):
            for expression, extent in zip(affine_map.results, shape, strict=True):
                if isinstance(expression, AffineDimExpr) and found.setdefault(expression.position, extent) != extent:
                    raise UnsupportedError(
                        op, f"has operands that disagree on loop {expression.position}: {found} and {extent}"
                    )
        return [found.get(loop, 1) for loop in range(self.maps[0].num_dims)]


def _nest(maps: Sequence[AffineMap], inputs: int, body: Region) -> Nest:
    loops = range(maps[0].num_dims)
    named = [[e.position for e in m.results if isinstance(e, AffineDimExpr)] for m in maps[inputs:]]
    together = tuple(loop for loop in loops if all(names.count(loop) == 1 for names in named))
    elementwise = all(_is_elementwise(op) for op in body.block.ops)
    return Nest(tuple(maps), inputs, body, tuple(d for d in loops if d not in together), together, elementwise)


def _is_elementwise(op: Operation) -> bool:
    if isinstance(op, linalg.YieldOp | linalg.IndexOp):
        return True
    return op.dialect_name() in ("arith", "math") and not op.regions


@per_op
def _structured_nest(op: LinalgStructuredOperation) -> Nest:
    return _nest([attribute.data for attribute in op.get_indexing_maps()], len(op.inputs), op.body)


def _rank(kind: Attribute) -> int:
    assert isinstance(kind, ShapedType)
    return len(kind.get_shape())


@per_op
def _broadcast_nest(op: linalg.BroadcastOp) -> Nest:
    added = op.dimensions.get_values()
    everywhere = AffineMap.identity(_rank(op.init.type))
    kept = tuple(e for d, e in enumerate(everywhere.results) if d not in added)
    return _nest([AffineMap(everywhere.num_dims, 0, kept), everywhere], 1, op.hidden_region)


@per_op
def _reduction_nest(op: linalg.ReduceOp) -> Nest:
    reduced = op.dimensions.get_values()
    everywhere = AffineMap.identity(_rank(op.input.type))
    kept = tuple(e for d, e in enumerate(everywhere.results) if d not in reduced)
    return _nest([everywhere, AffineMap(everywhere.num_dims, 0, kept)], 1, op.region)


@control(*STRUCTURED_OPS)
@control(linalg.MatmulOp)
def _structured(agent: Agent, op: LinalgStructuredOperation, *_operands: Any) -> Answer:
    return _run(agent, op, _structured_nest(agent, op))


@control(linalg.BroadcastOp)
def _broadcast(agent: Agent, op: linalg.BroadcastOp, *_operands: Any) -> Answer:
    return _run(agent, op, _broadcast_nest(agent, op))


@control(linalg.ReduceOp)
def _reduce(agent: Agent, op: linalg.ReduceOp, *_operands: Any) -> Answer:
    return _run(agent, op, _reduction_nest(agent, op))


@dataclass
class IterationPoint(OwnPart):
    """The point of a nest of loops at which an agent runs a body."""

    indices: Sequence[Any] = ()

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.sequence(self.indices)


@pure(linalg.IndexOp)
def _index(agent: Agent, op: linalg.IndexOp) -> Any:
    return agent.part(IterationPoint).indices[op.dim.value.data]


# Running a nest -----------------------------------------------------------------------------------------------------


def _run(agent: Agent, op: Operation, nest: Nest) -> Answer:
    """Read the operands, compute, write the outputs. Inside an asynchronous scope the first two happen later."""
    # Not the operands handed over: those are evaluated too early when a scope only records.
    operands = [agent.value(operand) for operand in op.operands]
    contents = [_contents(agent, op, nest, number, value) for number, value in enumerate(operands)]
    outputs = tuple(operands[nest.inputs :])
    if nest.elementwise:
        return _write(agent, op, _compute_together(agent, op, nest, contents), outputs)
    return _compute_one_by_one(agent, op, nest, operands, contents).then(_write, outputs)


@continuation
def _write(agent: Agent, op: Operation, results: tuple[Any, ...], outputs: Sequence[Any]) -> Answer:
    if not op.results:
        for view, result in zip(outputs, results, strict=True):
            agent.store(view, result, op)
        return ()
    return give_results(agent, op, results)


def _contents(agent: Agent, op: Operation, nest: Nest, number: int, value: Any) -> Any:
    """The elements of operand `number`. For an output that the body does not read, zeros of the same shape."""
    if not isinstance(value, View):
        return value
    if number < nest.inputs or nest.reads(number):
        return agent.load(value, op)
    return np.zeros(value.shape, value.element.dtype) if agent.has_data else UNKNOWN


def _array(op: Operation, value: Any, kind: Attribute) -> Array:
    return value if is_array(value) else np.asarray(value, element_of(op, kind).dtype)


def _compute_together(agent: Agent, op: Operation, nest: Nest, contents: Sequence[Any]) -> tuple[Any, ...]:
    count = len(contents) - nest.inputs
    if not agent.has_data or any(content is UNKNOWN for content in contents):
        return (UNKNOWN,) * count

    def compute(*values: Any) -> tuple[Array, ...]:
        return _sweep(agent, op, nest, values)

    if not any(isinstance(content, Deferred) for content in contents):
        return compute(*contents)
    everything = _later(agent, op, compute, contents)
    return tuple(_later(agent, op, _item(number), [everything]) for number in range(count))


def _item(number: int) -> Callable[[Sequence[Any]], Any]:
    return lambda items: items[number]


def _later(agent: Agent, op: Operation, compute: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Record in the present asynchronous scope that `compute` is to be applied to `inputs`."""
    assert agent.recording is not None

    def function(_agent: Agent, _op: Operation, *values: Any) -> Any:
        return compute(*values)

    return agent.recording.apply(Step(op, Kind.PURE, function, (), ()), list(inputs), agent)


def _sweep(agent: Agent, op: Operation, nest: Nest, contents: Sequence[Any]) -> tuple[Array, ...]:
    """Run an elementwise body: independent points at once, the others in order."""
    arrays = [_array(op, value, operand.type) for value, operand in zip(contents, op.operands, strict=True)]
    outputs = [array.copy() for array in arrays[nest.inputs :]]
    arrays[nest.inputs :] = outputs
    extents = nest.extents(op, [array.shape for array in arrays])
    point: list[Any] = [0] * len(extents)
    grid = np.ix_(*(np.arange(extents[loop]) for loop in nest.together))
    for loop, indices in zip(nest.together, grid, strict=True):
        point[loop] = indices
    for serial in np.ndindex(*(extents[loop] for loop in nest.serial)):
        for loop, index in zip(nest.serial, serial, strict=True):
            point[loop] = index
        places = [tuple(affine_map.eval(point, ())) for affine_map in nest.maps]
        elements = [np.asarray(array[place]) for array, place in zip(arrays, places, strict=True)]
        results = _run_body(agent, nest.block, elements, point)
        for output, place, result in zip(outputs, places[nest.inputs :], results, strict=True):
            output[place] = result
    return tuple(outputs)


def _run_body(agent: Agent, block: Block, arguments: Sequence[Array], point: Sequence[Any]) -> tuple[Array, ...]:
    """Run pure ops on arrays; a scalar from outside counts as an array of rank 0."""
    values = agent.activation.values
    values.update(bound(block, arguments))
    agent.part(IterationPoint).indices = point
    for step in agent.prepared(block):
        operands = [_array(step.op, values[operand], operand.type) for operand in step.operands]
        if step.kind is Kind.TERMINATOR:
            return tuple(operands)
        # Shapes differ where an operand does not depend on every loop.
        outcome = step.function(agent, step.op, *np.broadcast_arrays(*operands))
        results = (outcome,) if len(step.results) == 1 else outcome
        values.update(zip(step.results, results, strict=True))
    return ()


def _compute_one_by_one(
    agent: Agent, op: Operation, nest: Nest, operands: Sequence[Any], contents: Sequence[Any]
) -> Request:
    """Run any body, point by point, in the order of the loops."""
    if agent.recording is not None:
        raise UnsupportedError(op, "has a body that is not arithmetic, inside an asynchronous scope; use loops there")
    extents = nest.extents(op, [_shape(agent, op, value) for value in operands])
    if prod(extents) > MOST_POINTS:
        raise UnsupportedError(op, f"runs its body at {prod(extents)} points one by one; {MOST_POINTS} is the limit")
    arrays = [
        value if value is UNKNOWN else _array(op, value, operand.type)
        for value, operand in zip(contents, op.operands, strict=True)
    ]
    outputs = [value if value is UNKNOWN else value.copy() for value in arrays[nest.inputs :]]
    arrays[nest.inputs :] = outputs
    walk = _Walk(nest, arrays, list(np.ndindex(*extents)), agent.part(IterationPoint).indices)
    return _run_at(agent, op, walk, 0)


@dataclass(frozen=True, eq=False)
class _Walk:
    """A body that runs at one point after the other, on elements of `arrays`: inputs, then outputs."""

    nest: Nest
    arrays: Sequence[Any]
    points: Sequence[tuple[int, ...]]
    outer: Sequence[Any]
    """The point at which the body around it runs."""

    def places(self, number: int) -> list[tuple[int, ...]]:
        """The element of each array at point `number`."""
        return [tuple(affine_map.eval(self.points[number], ())) for affine_map in self.nest.maps]


def _run_at(agent: Agent, op: Operation, walk: _Walk, number: int) -> Request:
    nest = walk.nest
    if number == len(walk.points):
        agent.part(IterationPoint).indices = walk.outer
        return Done(tuple(walk.arrays[nest.inputs :]))
    agent.part(IterationPoint).indices = walk.points[number]
    items = zip(walk.arrays, walk.places(number), nest.block.args, strict=True)
    return agent.run_region(nest.body, [_element(op, *item) for item in items]).then(_go_to_next, walk, number)


@continuation
def _go_to_next(agent: Agent, op: Operation, results: tuple[Any, ...], walk: _Walk, number: int) -> Answer:
    first = walk.nest.inputs
    for output, place, result in zip(walk.arrays[first:], walk.places(number)[first:], results, strict=True):
        if output is not UNKNOWN:
            output[place] = result
    return _run_at(agent, op, walk, number + 1)


def _shape(agent: Agent, op: Operation, value: Any) -> tuple[int, ...]:
    if isinstance(value, View):
        return value.shape
    return np.shape(agent.known(value, op, "takes its loop bounds from"))


def _element(op: Operation, array: Any, place: tuple[int, ...], argument: Any) -> Any:
    return UNKNOWN if array is UNKNOWN else to_scalar(np.asarray(array[place]), element_of(op, argument.type))
