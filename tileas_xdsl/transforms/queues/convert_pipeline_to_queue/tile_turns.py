"""
Turns that hand over tiles: what a `produce_one` puts into a slot, and what a `consume_one` takes out.

    produce_one %p, %k {                            consume_one %c, %k {
      %own = producer_acquire %p, %k                  %got = consumer_wait %c, %k
      %full = producer_write %own, %k {               %tile = consumer_read %got, %k
        yield %tile                                   yield %tile
      }                                             }
      producer_commit %full                         ...
      yield                                         consumer_release %consumed
    }

That is what `tileas-queue-to-pipeline` writes; a body that yields the tile itself, without the handshake, is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.classified import RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    PipelineYieldOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)

Tile = TensorType[Attribute]

STEPS_OF_A_PUT = (ProducerAcquireOp, ProducerWriteOp, ProducerCommitOp, PipelineYieldOp)
STEPS_OF_A_GET = (ConsumerWaitOp, ConsumerReadOp, ConsumerReleaseOp, PipelineYieldOp)


@dataclass(frozen=True)
class TilePut:
    """The tiles that a turn of the producer puts into its slot."""

    op: ProduceOneOp
    tiles: tuple[SSAValue, ...]


@dataclass(frozen=True)
class TileGet:
    """The results of a turn of the consumer, each with its place in the slot, and the op that gives the slot back."""

    op: ConsumeOneOp
    results: tuple[tuple[SSAValue, int], ...]
    release: ConsumerReleaseOp | None
    """None where the turn itself does."""

    @property
    def given_back_at(self) -> Operation:
        return self.op if self.release is None else self.release


def put_of(op: ProduceOneOp) -> TilePut:
    """Raises `RefusedError` unless `op` puts tiles that are there already, and does nothing else."""
    if op.is_abstract:
        refuse(op, "does not say how its data moves", "give it a body")
    _require_steps(op, STEPS_OF_A_PUT, "does more in its body than put tiles into the slot")
    writes = [step for step in op.body.block.ops if isinstance(step, ProducerWriteOp)]
    if len(writes) > 1:
        refuse(op, "writes its slot in several steps", "write it in one")
    tiles = _written(writes[0]) if writes else op.yielded
    for tile in tiles:
        if isinstance(tile, BlockArgument) and op.is_ancestor(tile.owner.parent_op() or tile.owner):
            refuse(op, "puts into the slot what is in the slot", "put a tile that is made in front of the turn")
        _require_tile(op, tile.type)
    return TilePut(op, tuple(tiles))


def _written(write: ProducerWriteOp) -> Sequence[SSAValue]:
    if write.is_abstract:
        return write.values
    if write.body.block.first_op is not write.body.block.last_op:
        refuse(write, "computes what it puts into the slot", "compute the tile in front of the produce_one")
    return write.yielded


def _require_tile(op: Operation, type_: Attribute) -> None:
    if not isa(type_, Tile) or not type_.has_static_shape() or not type_.get_shape():
        refuse(
            op,
            f"hands over {type_}, which cannot be kept in a buffer of known size",
            "hand over tiles of static shape, and wrap scalars in a tile",
        )


def get_of(op: ConsumeOneOp) -> TileGet:
    """Raises `RefusedError` unless `op` takes tiles out of its slot, does nothing else, and is given back once."""
    results = list(op.value_results)
    if op.is_abstract:
        places = list(range(len(results)))
    else:
        _require_steps(op, STEPS_OF_A_GET, "does more in its body than take tiles out of the slot")
        taken = _taken(op)
        places = [taken.index(value) for value in op.yielded if value in taken]
        if len(places) != len(results):
            refuse(op, "yields something that it does not read from the slot", "yield the results of its consumer_read")
    for result in results:
        _require_tile(op, result.type)
    return TileGet(op, tuple(zip(results, places, strict=True)), _release_of(op))


def _taken(op: ConsumeOneOp) -> list[SSAValue]:
    """The values by which the body of `op` sees the tiles of the slot, in the order of their places."""
    if op.body.block.args:
        return list(op.body.block.args)
    return [value for step in op.body.block.ops if isinstance(step, ConsumerReadOp) for value in _read(step)]


def _read(read: ConsumerReadOp) -> Sequence[SSAValue]:
    if not read.is_abstract:
        refuse(read, "computes with what it takes out of the slot", "compute behind the consume_one")
    return read.value_results


def _require_steps(op: RegionOp, steps: tuple[type[Operation], ...], reason: str) -> None:
    for step in op.body.block.ops:
        if not isinstance(step, steps):
            refuse(step, f"stands in a turn that hands over tiles, which then {reason}", "move it out of the turn")


def _release_of(op: ConsumeOneOp) -> ConsumerReleaseOp | None:
    token = op.ownership_result if op.ownership_result is not None else op.async_result
    users = [] if token is None else [use.operation for use in token.uses]
    if not users:
        return None
    release = users[0]
    if len(users) > 1 or not isinstance(release, ConsumerReleaseOp) or release.parent is not op.parent:
        refuse(op, "is not given back by one consumer_release in the same block", "release each stage once, in order")
    if any(result.first_use is not None for result in release.results):
        refuse(release, "has a result that is used, and a queue has none to give", "use the pipeline's own tokens")
    return release


def give_back(get: TileGet) -> None:
    """Remove from its release the token of a turn that was rewritten; a release without tokens is erased."""
    release = get.release
    if release is None:
        return
    release.operands = [token for token in release.operands if token.owner is not get.op]
    if not release.operands:
        Rewriter.erase_op(release)
