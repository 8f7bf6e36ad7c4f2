"""
Carries out the plan of a loop. The emitters of TileAS make fixed sequences: a producer is `produce_one_async`, commit,
`token_to_async`, wait; a consumer is `consume_one`, read, `consume_one_async`, release, wait. What is staged together
shares one commit, one release and the two waits.

    %none = create_none
    %r:2 = scf.for %i = ... iter_args(%acc = %init, %last = %none) {
      %p, %f = produce_one_async %i { %x = tiled_load ...; yield %x }      each load chain, then each one's
      %c = producer_commit %f                                              one commit
      %s = token_to_async %c
      async.wait %s                                                        in the stage of the consumers
      %h = consume_one %f                                                  each one's
      %v = consumer_read %h
      %d = consume_one_async %h
      %x = to_async %v {storage}                                           takes the place of the load's tile
      %y = to_async %v {token}
      ...                                                                  what the loop computes
      %g = consumer_release %d                                             one release, behind the last use
      async.wait %g
      scf.yield ..., %g                                                    the newest token
    } {token_iter_idx = 1}
    future_wait %r#1
    async.wait %r#1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import (
    STORAGE,
    TOKEN,
    AsyncWaitOp,
    CreateNoneOp,
    FutureWaitOp,
    ToAsyncOp,
    TokenToAsyncOp,
)
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType, PipelineIteratorType, is_token
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.rewriting.structure import carry_through
from tileas_xdsl.transforms.tileas.materialize_async.classify import payload_of
from tileas_xdsl.transforms.tileas.materialize_async.plan import TOKEN_ITER_IDX, CommitPlan, LoopPlan
from tileas_xdsl.transforms.tileas.materialize_async.sites import Consumed, Produced, Staged, ops_before

PIPELINE_STAGE, PRODUCER_KIND, CONSUMER_IDX = "pipeline_stage", "producer_kind", "consumer_idx"


def rewrite_loop(plan: LoopPlan) -> scf.ForOp:
    """Rewrite the loop of `plan`. Returns the loop that takes its place."""
    return _LoopRewriter(plan).rewrite()


class _LoopRewriter:
    """Rewrites one loop. What was emitted for a site is kept by the site's op."""

    def __init__(self, plan: LoopPlan) -> None:
        self.plan = plan
        self.body = plan.loop.body.block
        self.filled: dict[Operation, SSAValue] = {}
        """Producer -> the token that completes when its stage is full."""
        self.read: dict[Operation, SSAValue] = {}
        """Consumer -> the token that completes when its stage was read."""
        self.begins: dict[Operation, Operation] = {}
        """Op of the old body -> the first op of what has taken its place."""
        self.ends: dict[Operation, Operation] = {}
        """Op of the old body -> the last op of what has taken its place."""
        self.tokens: dict[Operation, SSAValue] = {}
        """Op -> the token that it makes for those behind the loop."""

    def rewrite(self) -> scf.ForOp:
        if self.plan.staged:
            self._emit_staged(self.plan.staged)
        for produced in self.plan.produced:
            self._emit_producer(produced)
        for consumed in self.plan.consumed:
            self._emit_consumer(consumed)
        for commit in self.plan.commits:
            self._emit_commit(commit)
        for group in self.plan.releases:
            self._emit_release(group.sites, group.last)
        for consumed in self.plan.consumed:
            self._drop_old(consumed)
        return self._carry_token()

    # Load chains ------------------------------------------------------------------------------------------------------

    def _emit_staged(self, sites: Sequence[Staged]) -> None:
        """All produce ops, one commit, one wait, all consume ops, at the place of the first load."""
        moved = {*(site.op for site in sites), *self.plan.lifted}
        following = next(op for op in _behind(sites[0].op) if op not in moved)
        here = InsertPoint.before(following)
        for op in self.plan.lifted:
            op.detach()
            Rewriter.insert_op(op, here)
        stage = self.plan.staged_at
        produced = [self._stage_load(site, here, stage) for site in sites]
        full = self._hand_over([op.results[1] for op in produced], sites[0].op, here)
        Rewriter.insert_op(_located(AsyncWaitOp(full), sites[0].op, stage + 1), here)
        for site, op in zip(sites, produced, strict=True):
            self._take_load(site, op, here, stage + 1)

    def _stage_load(self, site: Staged, here: InsertPoint, stage: int) -> ProduceOneAsyncOp:
        """`produce_one_async %i { load; yield }`: the load itself moves into the region."""
        load = site.op
        types = [value.type for value in payload_of(load)]
        load.detach()
        tail = PipelineYieldOp(*payload_of(load))
        produce = ProduceOneAsyncOp(
            None,
            self.body.args[0],
            body=Region(Block([load, _located(tail, load)], arg_types=types)),
            producer_types=types,
            attributes={PRODUCER_KIND: StringAttr(site.kind)},
        )
        _name(load.results[0].name_hint, (produce.results[0], "owner"), (produce.results[1], "filled"))
        for slot, tile in zip(produce.body.block.args, payload_of(load), strict=True):
            _name(tile.name_hint, (slot, "slot"))
        Rewriter.insert_op(_located(produce, load, stage), here)
        return produce

    def _take_load(self, site: Staged, produced: ProduceOneAsyncOp, here: InsertPoint, stage: int) -> None:
        """The consumer's sequence up to the wrappers, which take the place of what was loaded."""
        tiles = payload_of(site.op)
        types = [tile.type for tile in tiles]
        consume = ConsumeOneOp(produced.results[1], consumer_types=types)
        read = ConsumerReadOp(consume.results[0], value_types=types, returns=False)
        complete = ConsumeOneAsyncOp(consume.results[0], consumer_types=types)
        Rewriter.insert_op(_located(consume, site.op, stage), here)
        Rewriter.insert_op(_located(read, site.op), here)
        Rewriter.insert_op(_located(complete, site.op, stage), here)
        _name(tiles[0].name_hint, (consume.results[0], "held"), (complete.results[0], "read"))
        for tile, value in zip(tiles, read.results, strict=True):
            value.name_hint = tile.name_hint
            tile.replace_uses_with_if(value, lambda use: use.operation.parent_op() is not produced)
            self._wrap(value, here)
        self.read[site.op] = complete.results[0]

    # Producers and consumers that are there ---------------------------------------------------------------------------

    def _emit_producer(self, site: Produced) -> None:
        """`produce_one` -> `produce_one_async`, its loads inside, its commit outside."""
        old = site.op
        for load in site.loads:
            use = load.results[0].first_use
            assert use is not None
            load.detach()
            Rewriter.insert_op(load, InsertPoint.before(use.operation))
        if site.commit is not None:
            for result in site.commit.results:
                result.replace_all_uses_with(site.commit.tokens[0])
            Rewriter.erase_op(site.commit)
        new = ProduceOneAsyncOp(
            old.token,
            old.stage,
            body=Rewriter.move_region_contents_to_new_regions(old.body),
            value_types=[result.type for result in old.value_results],
            attributes=old.attributes,
        )
        if site.kind is not None:
            new.attributes[PRODUCER_KIND] = StringAttr(site.kind)
        Rewriter.insert_op(_located(new, old, site.stage), InsertPoint.before(old))
        for result, value in zip(old.value_results, new.value_results, strict=True):
            value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        _hand_tokens(old, new)
        _name(None, (new.results[-1], "filled"))
        Rewriter.erase_op(old)
        self.filled[old] = new.results[-1]
        self.begins[old] = self.ends[old] = new

    def _emit_consumer(self, site: Consumed) -> None:
        """`consume_one` -> itself with nothing but the wait, what else was in it, `consume_one_async`."""
        old, here = site.op, InsertPoint.before(site.op)
        for op in ops_before(site.wait) if site.wait is not None else ():
            op.detach()
            Rewriter.insert_op(op, here)
        for argument in old.body.block.args if old.body.blocks else ():
            if isinstance(argument.type, PipelineIteratorType) and old.stage is not None:
                argument.replace_all_uses_with(old.stage)
        consume = _scope(site)
        Rewriter.insert_op(_located(consume, old, site.stage), here)
        reads = list(site.reads)
        if site.slot_types:
            reads.insert(0, _own_read(site, consume, here))
        if old.body.blocks:
            _move_out(old.body.block, site.releases, here)
        complete = ConsumeOneAsyncOp(consume.results[0], attributes=_consumer_number(old))
        _name(_hint_of(old), (consume.results[0], "held"), (complete.results[-1], "read"))
        Rewriter.insert_op(_located(complete, old, site.stage), InsertPoint.after(reads[-1]))
        for read in reads:
            following = (complete if read is reads[-1] else read).next_op
            assert following is not None
            for value in read.value_results:
                self._wrap(value, InsertPoint.before(following))
        for result, value in zip(old.value_results, old.yielded, strict=False):
            value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        _hand_tokens(old, complete)
        self.read[old] = complete.results[-1]
        assert old.prev_op is not None
        self.begins[old], self.ends[old] = consume, old.prev_op

    def _drop_old(self, site: Consumed) -> None:
        """The old `consume_one`, now an empty shell, and the release that was behind it."""
        for release in site.releases:
            if release.parent_block() is self.body:
                for result in release.results:
                    result.replace_all_uses_with(release.tokens[0])
                Rewriter.erase_op(release)
        Rewriter.erase_op(site.op)

    # Commits, releases, waits -----------------------------------------------------------------------------------------

    def _emit_commit(self, commit: CommitPlan) -> None:
        source = commit.sites[-1].op
        last = self.ends[source]
        assert last.next_op is not None
        here = InsertPoint.before(last.next_op)
        full = self._hand_over([self.filled[site.op] for site in commit.sites], last, here)
        if commit.at_once:
            Rewriter.insert_op(_located(AsyncWaitOp(full), last, commit.wait_stage), here)
        elif commit.wait_before is not None:
            consumer = self.begins.get(commit.wait_before, commit.wait_before)
            Rewriter.insert_op(_located(AsyncWaitOp(full), last, commit.wait_stage), InsertPoint.before(consumer))
        following = here.insert_before
        assert following is not None
        assert following.prev_op is not None
        self.ends[source] = following.prev_op

    def _emit_release(self, sites: Sequence[Staged | Consumed], last: Operation) -> None:
        """One release of all stages, and the wait for it."""
        release = ConsumerReleaseOp(*(self.read[site.op] for site in sites), returns=True)
        release.results[0].name_hint = "released"
        here = InsertPoint.after(self.ends.get(last, last))
        Rewriter.insert_op(_located(release, last), here)
        Rewriter.insert_op(_located(AsyncWaitOp(release.results[0]), last), InsertPoint.after(release))
        self.tokens[release] = release.results[0]

    def _hand_over(self, tokens: Sequence[SSAValue], source: Operation, here: InsertPoint) -> SSAValue:
        """One commit of `tokens`, and its completion as a token, which is returned."""
        commit = ProducerCommitOp(*tokens, returns=True)
        complete = TokenToAsyncOp(commit.results[0])
        commit.results[0].name_hint, complete.result.name_hint = "committed", "full"
        Rewriter.insert_op(_located(commit, source), here)
        Rewriter.insert_op(_located(complete, source), here)
        self.tokens[complete] = complete.result
        return complete.result

    def _wrap(self, value: SSAValue, here: InsertPoint) -> None:
        """The two wrappers of a value that was read: the storage takes its place. Both stay, used or not."""
        storage, token = ToAsyncOp(value, STORAGE), ToAsyncOp(value, TOKEN)
        value.replace_uses_with_if(storage.result, lambda use: use.operation not in (storage, token))
        storage.result.name_hint = value.name_hint
        _name(value.name_hint, (token.result, "token"))
        source = value.owner
        assert isinstance(source, Operation)
        Rewriter.insert_op(_located(storage, source), here)
        Rewriter.insert_op(_located(token, source), here)

    # The loop ---------------------------------------------------------------------------------------------------------

    def _carry_token(self) -> scf.ForOp:
        """Carry the newest token of the iteration out of the loop, and wait for it there."""
        old = self.plan.loop
        terminator = end_of(self.body)
        newest: Operation | None = terminator.prev_op
        while newest is not None and newest not in self.tokens:
            newest = newest.prev_op
        assert newest is not None
        token = self.tokens[newest]
        none = _located(CreateNoneOp(), old)
        none.result.name_hint = "none"
        Rewriter.insert_op(none, InsertPoint.before(old))
        (final,) = carry_through(old, [none.result], lambda _body, _last: [token], "last")
        final.name_hint = "final"
        loop = final.owner
        assert isinstance(loop, scf.ForOp)
        loop.attributes[TOKEN_ITER_IDX] = IntegerAttr(len(loop.iter_args) - 1, i32)
        for op in (AsyncWaitOp(final), FutureWaitOp(final)):
            Rewriter.insert_op(_located(op, loop), InsertPoint.after(loop))
        return loop


# Taking a consumer apart ----------------------------------------------------------------------------------------------


def _scope(site: Consumed) -> ConsumeOneOp:
    """The op that holds the stage: with the wait inside, or abstract where it waits itself. It reads nothing."""
    old, attributes = site.op, dict(site.op.attributes)
    if site.wait is None:
        return ConsumeOneOp(_token_of(old), old.stage, attributes=attributes)
    for name in ("consumer_types", "producer_types"):
        attributes.pop(name, None)
    site.wait.detach()
    tail = _located(PipelineYieldOp(), old)
    consume = ConsumeOneOp(_token_of(old), old.stage, body=Region(Block([site.wait, tail])), attributes=attributes)
    site.wait.results[0].replace_all_uses_with(consume.results[0])
    return consume


def _token_of(op: ConsumeOneOp) -> SSAValue:
    token = op.token
    assert token is not None
    return token


def _own_read(site: Consumed, consume: ConsumeOneOp, here: InsertPoint) -> ConsumerReadOp:
    """The read that the old op did itself; its values take the place of the slot arguments, or of the results."""
    old = site.op
    read = ConsumerReadOp(
        consume.results[0], value_types=site.slot_types, returns=False, attributes=_consumer_number(old)
    )
    Rewriter.insert_op(_located(read, old), here)
    taken: Sequence[SSAValue] = old.value_results
    if old.body.blocks:
        taken = [value for value in old.body.block.args if not isinstance(value.type, PipelineIteratorType)]
    for value, result in zip(taken, read.results, strict=True):
        result.name_hint = value.name_hint
        value.replace_all_uses_with(result)
    return read


def _move_out(block: Block, dropped: Sequence[Operation], here: InsertPoint) -> None:
    """Move the ops of a region in front of the op that holds it, all but `dropped` and the yield."""
    for op in list(block.ops):
        if op in dropped:
            for result in op.results:
                result.replace_all_uses_with(op.operands[0])
            Rewriter.erase_op(op)
        elif not isinstance(op, PipelineYieldOp):
            op.detach()
            Rewriter.insert_op(op, here)


def _consumer_number(op: ConsumeOneOp) -> dict[str, Attribute]:
    """Which consumer of its group `op` is, where it says so."""
    return {} if op.consumer_idx is None else {CONSUMER_IDX: op.consumer_idx}


def _hint_of(op: ConsumeOneOp) -> str | None:
    return next((result.name_hint for result in op.value_results), None)


# Small things ---------------------------------------------------------------------------------------------------------


def _hand_tokens(old: ClassifiedOp, new: ClassifiedOp) -> None:
    """Replace the tokens of `old` by those of `new` of the same types."""
    for result in old.results:
        if not is_token(result.type):
            continue
        is_async = isinstance(result.type, AsyncTokenType)
        value = new.async_result if is_async else new.ownership_result
        assert value is not None
        if value.name_hint is None:
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)


def _behind(op: Operation) -> Iterator[Operation]:
    """The ops of the block of `op` that come after it."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


OpT = TypeVar("OpT", bound=Operation)


def _located(op: OpT, source: Operation, stage: int | None = None) -> OpT:
    """`op` at the location of the op that it was made for, in the given pipeline stage."""
    op.location = source.location
    if stage is not None:
        op.attributes[PIPELINE_STAGE] = IntegerAttr(stage, i32)
    return op


def _name(hint: str | None, *named: tuple[SSAValue, str]) -> None:
    """Give each value a name hint: `hint`, if there is one, and the suffix of the value."""
    for value, suffix in named:
        value.name_hint = suffix if hint is None else f"{hint}_{suffix}"
