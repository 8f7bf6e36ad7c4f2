"""
The pipeline to which a token, an iterator or a value belongs.

Tokens have no parameters, so the pipeline is found by walking back from a use to where the token comes from:

    %p, %c = create_pipeline ...              the root, for both ends
    %i = create_iterator %c                   back to %c
    %v, %c1 = consume_one %c, %i              back to %c
    %t1 = consume_one %t0                     back to %t0
    %p, %t = produce_one_async %n             no token operand: the op itself is an implicit pipeline
    %out = scf.for ... iter_args(%t = %t0)    back to %t0, or to the yielded value where %t0 has no pipeline
    %out = scf.while (%t = %t0) ...           the same; and back to what the condition hands on
    ^bb0(%slot) of a produce or consume op    the pipeline of the op
    %n = create_none, create_null_token       no pipeline

A pass may clone the producer of an implicit pipeline (peeling, stage expansion). All clones and their consumers then
carry one `pipeline_id`, and equal ids are equal roots.

The root of a token is decided by `pipeline_id` before the token is followed. Arms of an `scf.if` that disagree give no
root.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreateIteratorOp, CreatePipelineOp, IncIterOp, PublishOp
from tileas_xdsl.dialects.nv_tileas.tokens import ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.interfaces import AgentLikeOpInterface, LoopLikeOpInterface


@dataclass(frozen=True)
class PipelineRoot:
    """One pipeline. Roots of one pipeline are equal; `op` is the op at which this one was found."""

    key: Operation | int
    """The root op, or the `pipeline_id` that its clones share."""
    op: Operation = field(compare=False)

    @property
    def is_implicit(self) -> bool:
        """Whether the pipeline has no `create_pipeline`."""
        return not isinstance(self.key, CreatePipelineOp)

    @property
    def has_buffers(self) -> bool:
        """Whether the program names the buffers that hold the slots."""
        return isinstance(self.op, CreatePipelineOp) and bool(self.op.buffers)

    @property
    def depth(self) -> int | None:
        """The number of slots; None for an implicit pipeline without `num_stages`."""
        if isinstance(self.op, CreatePipelineOp):
            return self.op.depth
        depth = self.op.attributes.get("num_stages")
        return depth.value.data if isinstance(depth, IntegerAttr) else None


def pipeline_root(value: SSAValue) -> PipelineRoot | None:
    """
    The pipeline of `value`; None where it has none, or where the arms of an `scf.if` disagree.

    `value` is a token, an iterator, or any other result or slot argument of a pipeline op. Linear in the length of the
    walk back; use `PipelineRoots` for many values of one function.
    """
    return PipelineRoots().of(value)


def pipeline_of(op: Operation) -> PipelineRoot | None:
    """The pipeline that a pipeline op works on, or None."""
    return PipelineRoots().of_op(op)


class PipelineRoots:
    """The roots of many values, cached. Stale once the IR changes."""

    def __init__(self) -> None:
        self._found: dict[SSAValue, PipelineRoot] = {}

    def of(self, value: SSAValue) -> PipelineRoot | None:
        """The pipeline of `value`, or None."""
        return self._search(value, set())

    def of_op(self, op: Operation) -> PipelineRoot | None:
        """The pipeline that `op` works on, or None."""
        return self._first(_sources_of_op(op), set())

    def all_of_op(self, op: Operation) -> list[PipelineRoot]:
        """The pipelines that `op` works on, as often as it does: slots of several may be handed over at once."""
        tokens = op.tokens if isinstance(op, PublishOp) else ()
        found = [self.of(token) for token in tokens] or [self.of_op(op)]
        return [root for root in found if root is not None]

    def _first(self, sources: Iterable[PipelineRoot | SSAValue], seen: set[SSAValue]) -> PipelineRoot | None:
        for source in sources:
            root = source if isinstance(source, PipelineRoot) else self._search(source, seen)
            if root is not None:
                return root
        return None

    def _search(self, start: SSAValue, seen: set[SSAValue]) -> PipelineRoot | None:
        """Depth-first search over the sources of a value; a value visited before in this search adds nothing."""
        parents: dict[SSAValue, SSAValue | None] = {start: None}
        stack = [start]
        while stack:
            value = stack.pop()
            root = self._found.get(value)
            if root is None and value in seen:
                continue
            seen.add(value)
            sources = [root] if root is not None else list(self._sources(value, seen))
            if sources and isinstance(root := sources[0], PipelineRoot):
                self._remember(value, root, parents)
                return root
            for source in reversed(sources):
                if isinstance(source, SSAValue) and source not in parents:
                    parents[source] = value
                    stack.append(source)
        return None

    def _remember(self, value: SSAValue | None, root: PipelineRoot, parents: dict[SSAValue, SSAValue | None]) -> None:
        while value is not None:
            self._found[value] = root
            value = parents[value]

    def _sources(self, value: SSAValue, seen: set[SSAValue]) -> Iterable[PipelineRoot | SSAValue]:
        """The root of `value`, or the values that it may come from, the more likely ones first."""
        if isinstance(value, BlockArgument):
            return _sources_of_argument(value)
        op = value.owner
        if isinstance(op, Block):
            return ()
        if isinstance(op, scf.IfOp):
            return self._common_root(op, op.results.index(value), seen)
        if isinstance(op, scf.WhileOp):
            return _sources_behind_condition(op, op.results.index(value))
        loop = LoopLikeOpInterface.of(op)
        if loop is not None:
            return _sources_of_carried(loop, op.results.index(value))
        return _sources_of_op(op)

    def _common_root(self, op: scf.IfOp, position: int, seen: set[SSAValue]) -> Iterable[PipelineRoot]:
        """The pipeline on which both arms of a branch agree; an arm without a pipeline does not count."""
        roots: list[PipelineRoot] = []
        for region in op.regions:
            last = region.block.last_op if region.first_block is not None else None
            root = self._search(last.operands[position], seen) if last is not None else None
            if root is not None:
                roots.append(root)
        return roots[:1] if all(root == roots[0] for root in roots) else ()


def _sources_of_op(op: Operation) -> Iterable[PipelineRoot | SSAValue]:
    """The sources of the results of the pipeline op `op`."""
    if isinstance(op, CreatePipelineOp):
        return (PipelineRoot(op, op),)
    if isinstance(op, ClassifiedOp):
        return _sources_of_pipeline_op(op)
    if isinstance(op, CreateIteratorOp | IncIterOp | TokenToAsyncOp | ToAsyncOp):
        return (op.operands[0],)
    return ()


def _sources_of_pipeline_op(op: ClassifiedOp) -> Iterable[PipelineRoot | SSAValue]:
    identity = op.attributes.get("pipeline_id")
    if isinstance(identity, IntegerAttr):
        return (PipelineRoot(identity.value.data, op),)
    if op.token is not None:
        return (op.token,)
    stage = op.stage
    if stage is not None and isinstance(stage.type, PipelineIteratorType):
        return (stage,)
    return (PipelineRoot(op, op),) if isinstance(op, ProduceOp) else ()


def _sources_of_argument(argument: BlockArgument) -> Iterable[PipelineRoot | SSAValue]:
    parent = argument.block.parent_op()
    if parent is None:
        return ()
    if isinstance(parent, RegionOp):
        return _sources_of_op(parent)
    if AgentLikeOpInterface.of(parent) is not None:
        return _captured(parent, argument)
    if isinstance(parent, scf.WhileOp):
        return _sources_in_while(parent, argument)
    loop = LoopLikeOpInterface.of(parent)
    if loop is None or argument not in loop.carried_arguments:
        return ()
    return _sources_of_carried(loop, loop.carried_arguments.index(argument))


def _captured(parent: Operation, argument: BlockArgument) -> Iterable[SSAValue]:
    """The operand in the position of `argument`; None for a leading agent number."""
    numbered = len(argument.block.args) - len(parent.operands)
    position = argument.index - max(numbered, 0)
    if not 0 <= position < len(parent.operands) or parent.operands[position].type != argument.type:
        return ()
    return (parent.operands[position],)


def _sources_of_carried(loop: LoopLikeOpInterface, position: int) -> Iterable[SSAValue]:
    """
    The sources of a loop-carried value: the initial value, then the yielded one, used where the former has no pipeline.
    """
    return (loop.init_values[position], loop.yielded_values[position])


def _sources_in_while(loop: scf.WhileOp, argument: BlockArgument) -> Iterable[SSAValue]:
    """The same of an argument of either region of an `scf.while`."""
    if argument.block is loop.after_region.block:
        return _sources_behind_condition(loop, argument.index)
    last = loop.after_region.block.last_op
    return (
        loop.arguments[argument.index],
        *(() if last is None else last.operands[argument.index : argument.index + 1]),
    )


def _sources_behind_condition(loop: scf.WhileOp, position: int) -> Iterable[SSAValue]:
    """What the condition of an `scf.while` hands on, into the second region and behind the loop."""
    condition = loop.before_region.block.last_op
    return () if condition is None else condition.operands[position + 1 : position + 2]
