"""
The sites of a loop body: ops that fill or empty a stage, and how each is taken apart.

A `produce_one` or `consume_one` is a site when its region does its handshake in the open, that is, directly in the
region or not at all; what nobody does the op does itself. A site whose commit or release is somewhere else already is
left alone.

    consume_one %c, %i {                 stays in the region: the wait
      %got = consumer_wait %c, %i
      %v = consumer_read %got, %i        goes behind the op, with everything else
      consumer_release %got              goes behind the last use of what was read
      yield %v
    }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, BlockArgument, Operation
from xdsl.traits import Pure

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.pipeline_steps import reaches
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    PipelineYieldOp,
    ProduceOneOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType, is_token
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.transforms.tileas.materialize_async.classify import LOADS, fits_in_slot
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in


@dataclass(eq=False)
class Staged:
    """A load or get that becomes a stage of a pipeline of its own."""

    op: Operation
    kind: str
    last: Operation
    """The last op of the body that needs the stage."""


@dataclass(eq=False)
class Produced:
    """A `produce_one` that becomes asynchronous, its commit moved out."""

    op: ProduceOneOp
    root: PipelineRoot | None
    commit: ProducerCommitOp | None
    """The commit inside, or None where the op commits itself."""
    loads: Sequence[Operation] = ()
    """Loads in front of it that move into its region."""
    kind: str | None = None
    stage: int = 0
    reads_borrowed_bytes: bool = False
    """Whether it copies from bytes that may change once it is issued: then it is awaited at once."""


@dataclass(eq=False)
class Consumed:
    """A `consume_one` that is taken apart, its release moved behind the last use."""

    op: ConsumeOneOp
    root: PipelineRoot | None
    wait: ConsumerWaitOp | None
    """The wait inside, or None where the op waits itself."""
    reads: Sequence[ConsumerReadOp]
    releases: Sequence[ConsumerReleaseOp]
    """The release inside, or the one behind the op; all of them go."""
    slot_types: Sequence[Attribute]
    """The types that a read by the op itself gives; empty where reads inside its region do it."""
    last: Operation
    """The last op of the body that needs the stage; the op itself where only its own region does."""
    stage: int = 1


# Producers ------------------------------------------------------------------------------------------------------------


def produced_site(op: ProduceOneOp, roots: PipelineRoots) -> Produced | None:
    """`op` as a site, or None where its commit is not directly inside."""
    root = roots.of_op(op)
    if any(reaches(result, ProducerCommitOp) for result in op.results if is_token(result.type)):
        return None
    block = op.body.first_block
    if block is None:
        return Produced(op, root, None)
    if not _ends_in_yield(block):
        return None
    commits = [inner for inner in op.walk() if isinstance(inner, ProducerCommitOp) and roots.of_op(inner) == root]
    if not commits:
        return Produced(op, root, None)
    commit = commits[0]
    if len(commits) > 1 or commit.parent_block() is not block or len(commit.tokens) != 1:
        return None
    return Produced(op, root, commit)


def loads_yielded(op: ProduceOneOp) -> Iterator[Operation]:
    """The loads beside `op` whose tile only goes into its slot, yielded by its body or by that of its write."""
    for inner in op.walk():
        if not isinstance(inner, PipelineYieldOp) or not isinstance(inner.parent_op(), ProduceOneOp | ProducerWriteOp):
            continue
        for value in inner.operands:
            load = value.owner
            if not isinstance(load, LOADS) or load.parent_block() is not op.parent_block():
                continue
            if all(sum(1 for _ in result.uses) == (result is value) for result in load.results):
                yield load


# Consumers ------------------------------------------------------------------------------------------------------------


def consumed_site(op: ConsumeOneOp, roots: PipelineRoots, position: dict[Operation, int]) -> Consumed | None:
    """
    `op` as a site of the body whose ops `position` numbers, or None where it cannot be taken apart: steps in branches,
    a release that is not the only one, a view that escapes the iteration.
    """
    root, block = roots.of_op(op), op.body.first_block
    if block is not None and not _ends_in_yield(block):
        return None
    releases = _releases_behind(op)
    inside = [] if block is None else [inner for inner in op.walk() if inner is not op and roots.of_op(inner) == root]
    waits = [inner for inner in inside if isinstance(inner, ConsumerWaitOp)]
    reads = [inner for inner in inside if isinstance(inner, ConsumerReadOp) and inner.parent_block() is block]
    given = [inner for inner in inside if isinstance(inner, ConsumerReleaseOp)]
    if releases is None or len(waits) > 1 or len(releases) + len(given) > 1:
        return None
    if any(inner.parent_block() is not block for inner in (*waits, *given)):
        return None
    if not all(_can_go_in_front(inner) for wait in waits for inner in ops_before(wait)):
        return None
    if any(len(inner.tokens) != 1 for inner in (*given, *releases)):
        return None
    slot_types = _own_read(op, block, reads)
    if slot_types is None:
        return None
    last = _last_use(op, releases, position)
    if last is None:
        return None
    return Consumed(op, root, next(iter(waits), None), reads, [*given, *releases], slot_types, last)


def _ends_in_yield(block: Block) -> bool:
    return isinstance(block.last_op, PipelineYieldOp)


def ops_before(wait: ConsumerWaitOp) -> list[Operation]:
    """The ops of the region in front of its wait."""
    before: list[Operation] = []
    op = wait.prev_op
    while op is not None:
        before.append(op)
        op = op.prev_op
    return before[::-1]


def _can_go_in_front(op: Operation) -> bool:
    """Whether `op` of a region may as well stand in front of the op that holds it."""
    return op.has_trait(Pure, value_if_unregistered=False) and not any(
        isinstance(operand, BlockArgument) and operand.block is op.parent_block() for operand in op.operands
    )


def _releases_behind(op: ConsumeOneOp) -> list[ConsumerReleaseOp] | None:
    """The releases beside `op` that take its token; None where the token goes to some other step of the stage."""
    releases: list[ConsumerReleaseOp] = []
    for result in op.results:
        if not is_token(result.type):
            continue
        for use in result.uses:
            user = use.operation
            if isinstance(user, ConsumerReleaseOp) and user.parent_block() is op.parent_block():
                releases.append(user)
            elif isinstance(user, ConsumerReadOp | ConsumeOneAsyncOp | ConsumerReleaseOp):
                return None
        if not releases and reaches(result, ConsumerReleaseOp):
            return None
    return releases


def _own_read(op: ConsumeOneOp, block: Block | None, reads: Sequence[ConsumerReadOp]) -> Sequence[Attribute] | None:
    """The types of a read that stands for the op's own: of its slot arguments, or of its results when abstract."""
    if block is None:
        types = [result.type for result in op.value_results]
        return types if fits_in_slot(types) else None
    stage_type = None if op.stage is None else op.stage.type
    iterators = [argument for argument in block.args if isinstance(argument.type, PipelineIteratorType)]
    tiles = [argument for argument in block.args if argument not in iterators]
    if any(argument.type != stage_type for argument in iterators):
        return None
    if reads and not any(argument.first_use for argument in tiles):
        return ()
    types = [argument.type for argument in tiles]
    return types if fits_in_slot(types) else None


def _last_use(
    op: ConsumeOneOp, releases: Sequence[ConsumerReleaseOp], position: dict[Operation, int]
) -> Operation | None:
    """The last op that uses a view of the slot, or releases it today; `op` where none does; None on an escape."""
    parent, block = op.parent_block(), op.body.first_block
    assert parent is not None
    if block is None:
        read = list(op.value_results)
    else:
        inside = (child.value_results for child in block.ops if isinstance(child, ConsumerReadOp))
        read = [value for values in (block.args, *inside) for value in values if is_view(value)]
    users = uses_in(parent, read)
    if users is None:
        return None
    return max((op, *users, *releases), key=position.__getitem__)
