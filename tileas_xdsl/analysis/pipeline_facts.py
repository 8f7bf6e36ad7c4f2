"""
What the ops of one pipeline together say about it: the payload of a slot, the number of consumers of each stage, its
name.

A pipeline is identified by its root (`pipeline_root`): the op that creates it, or a produce op without token operand,
which is a pipeline by itself. Clones of such an op share a `pipeline_id`. One walk over the function collects the facts
of all its pipelines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.stage_turns import take_turns
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerWaitOp,
    CreateIteratorOp,
    CreatePipelineOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType, is_token
from tileas_xdsl.interfaces import AgentLikeOpInterface, enclosing_function


@dataclass
class PipelineFact:
    """One pipeline of a function."""

    key: Hashable
    """Equal for all ops of one pipeline."""
    name: str
    payload: tuple[Attribute, ...] = ()
    """The types of what a slot holds."""
    consumers: int = 1
    """The number of agents that take each stage."""
    source: int = 0
    """The number of the pipeline in its function; abstract produce ops write data that is a function of it."""


@dataclass
class PipelineFacts:
    """The pipelines of one function, in program order of their roots."""

    pipelines: dict[Hashable, PipelineFact] = field(default_factory=dict[Hashable, PipelineFact])

    def of_root(self, op: Operation) -> PipelineFact:
        """The facts of the pipeline whose root is `op`."""
        return self.pipelines[root_key(op)]


def root_key(op: Operation) -> Hashable:
    """The key of a root op: its `pipeline_id` where it has one, else the op itself."""
    identity = op.pipeline_id if isinstance(op, ProduceOp) else None
    return op if identity is None else identity.value.data


def is_root(op: Operation) -> bool:
    """Whether `op` creates a pipeline, or is an implicit one."""
    return isinstance(op, CreatePipelineOp) or (isinstance(op, ProduceOp) and op.token is None)


def pipeline_facts(op: Operation) -> PipelineFacts:
    """The facts of the function around `op`. Linear in its size."""
    function = enclosing_function(op)
    scope = function if function is not None else _outermost(op)
    facts = PipelineFacts()
    for nested in scope.walk():
        if is_root(nested):
            _add_root(facts, nested)
    groups: dict[Hashable, list[Operation]] = {key: [] for key in facts.pipelines}
    roots = PipelineRoots()
    for nested in scope.walk():
        if isinstance(nested, ClassifiedOp | CreateIteratorOp):
            root = roots.of_op(nested)
            if root is not None and root.key in groups:
                groups[root.key].append(nested)
    for key, members in groups.items():
        _complete(facts.pipelines[key], members)
    return facts


def _outermost(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def _add_root(facts: PipelineFacts, op: Operation) -> None:
    key = root_key(op)
    if key in facts.pipelines:
        return
    number = key if isinstance(key, int) else len(facts.pipelines)
    hint = next((result.name_hint for result in op.results if is_token(result.type) and result.name_hint), None)
    facts.pipelines[key] = PipelineFact(key, f"pipeline '{hint}'" if hint else f"pipeline {number}", source=number)


def _complete(fact: PipelineFact, members: list[Operation]) -> None:
    root = fact.key if isinstance(fact.key, Operation) else next(iter(members), None)
    fact.payload = _payload(root, members)
    fact.consumers = _consumers(root, members)


def _payload(root: Operation | None, members: Iterable[Operation]) -> tuple[Attribute, ...]:
    """The payload: from the buffer, listed types, an iterator, yielded values or consumers; the first that is known."""
    if isinstance(root, CreatePipelineOp) and root.buffers:
        buffer = root.buffers[0].type
        if isa(buffer, TensorType[Attribute]):
            return (TensorType(buffer.element_type, buffer.get_shape()[1:], buffer.encoding),)
    members = list(members)
    for find in (_listed, _iterated, _yielded, _taken):
        for op in members:
            types = find(op)
            if types:
                return types
    return ()


def _listed(op: Operation) -> tuple[Attribute, ...]:
    return op.payload or () if isinstance(op, RegionOp) else ()


def _iterated(op: Operation) -> tuple[Attribute, ...]:
    type_ = op.results[0].type if isinstance(op, CreateIteratorOp) else None
    if not isinstance(type_, PipelineIteratorType):
        return ()
    payload = type_.payload
    if isa(payload, TupleType):
        return tuple(payload.types.data)
    return (payload,) if isa(payload, TensorType[Attribute]) else ()


def _yielded(op: Operation) -> tuple[Attribute, ...]:
    if not isinstance(op, ProduceOp | ProducerWriteOp):
        return ()
    values = op.yielded or (op.values if isinstance(op, ProducerWriteOp) else ())
    types = tuple(value.type for value in values)
    return () if any(is_token(type_) for type_ in types) else types


def _taken(op: Operation) -> tuple[Attribute, ...]:
    if not isinstance(op, ConsumeOp | ConsumerReadOp) or not op.is_abstract:
        return ()
    return tuple(result.type for result in op.value_results if not isinstance(result.type, PipelineIteratorType))


def _consumers(root: Operation | None, members: Iterable[Operation]) -> int:
    """
    The number of agents of the regions that consume, or of one of them where they take turns; 1 outside of agent
    regions, or if each agent has its own pipeline.
    """
    regions: dict[Region, int] = {}
    stages: dict[Hashable, list[SSAValue | None]] = {}
    for op in members:
        if isinstance(op, ConsumeOp | ConsumerReadOp | ConsumerWaitOp):
            around = _agents_around(op, root)
            regions |= around
            for region in around:
                stages.setdefault(region, []).append(op.stage)
    return (max(regions.values()) if take_turns(stages) else sum(regions.values())) or 1


def _agents_around(op: Operation, root: Operation | None) -> dict[Region, int]:
    """The innermost agent region around `op`, with the number of its agents, if all of them share the pipeline."""
    region = op.parent_region()
    while region is not None and region.parent is not None and not _holds_its_creation(region, root):
        agents = AgentLikeOpInterface.of(region.parent)
        if agents is not None:
            return {region: agents.group_sizes[list(agents.agent_regions).index(region)]}
        region = region.parent.parent_region()
    return {}


def _holds_its_creation(region: Region, root: Operation | None) -> bool:
    """Whether the pipeline is created inside `region`, so that each agent that runs the region has its own."""
    return isinstance(root, CreatePipelineOp) and region.is_ancestor(root)
