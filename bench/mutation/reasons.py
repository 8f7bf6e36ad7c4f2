"""
Why a mutant that survives is as right as the program that it was made from.

That it is so the explorer has found out, by trying every interleaving; these are the reasons. A mutant that no rule
fits gets none, and counts as not decided.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.mutation.changes import Mutant

WAITS = (
    *("async.await", "async.await_all", "async_queue.wait", "rocdl.wait.asyncmark", "rocdl.s.waitcnt"),
    *("rocdl.s.wait.asynccnt", "nvvm.cp.async.wait.group", "nvvm.cp.async.bulk.wait_group", "nvvm.barrier0"),
    *("nvvm.barrier", "nvvm.mbarrier.try_wait.parity", "nv_tileas.async.pipeline.consumer_wait"),
    *("nv_tileas.async.pipeline.producer_acquire", "nvvm.tcgen05.wait"),
)
CLOSES = ("nvvm.cp.async.commit.group", "nvvm.cp.async.bulk.commit.group", "rocdl.asyncmark", "async_queue.commit")
FENCES = ("nvvm.fence.proxy", "nvvm.fence.mbarrier.init")
TENSOR_FENCE, REGISTERS = "nvvm.tcgen05.fence", "nvvm.setmaxregister"
PERMIT, COLUMNS = "nvvm.tcgen05.relinquish_alloc_permit", "nvvm.tcgen05.dealloc"
ARRIVE = "nvvm.mbarrier.arrive"
COPY, EXPECT = "nvvm.cp.async.bulk.shared.cluster.global", "nvvm.mbarrier.arrive.expect_tx"
INIT = "nvvm.mbarrier.init"

Rule = tuple[Callable[[Mutant], bool], str]


def _swaps(*pairs: tuple[tuple[str, ...], tuple[str, ...]]) -> Callable[[Mutant], bool]:
    """
    Whether the mutant swaps an op of the first and an op of the second set of one of `pairs`. An empty set is every op.
    """

    def fits(mutant: Mutant) -> bool:
        if mutant.kind != "swap":
            return False
        first, second = mutant.ops
        return any(
            (not some or a in some) and (not others or b in others)
            for some, others in pairs
            for a, b in ((first, second), (second, first))
        )

    return fits


def _changes(kind: str, *names: str, what: str = "") -> Callable[[Mutant], bool]:
    return lambda mutant: mutant.kind == kind and (not names or mutant.ops[0] in names) and what in mutant.what


RULES: tuple[Rule, ...] = (
    (_swaps((("async.add_to_group",), ("async.add_to_group",))), "the members of a group are in no order"),
    (_swaps((("nv_tileas.async.pipeline.inc_iter",), ())), "an iterator is a number, and touches nothing"),
    (_swaps(((INIT,), (INIT, "scf.for"))), "the barriers are two, and both are made before anybody may use them"),
    (_swaps((("nvvm.mbarrier.inval",), ("llvm.load",))), "the load is not of the barrier's bytes, and signals nothing"),
    (_swaps(((INIT,), FENCES)), "no engine signals this barrier: only threads arrive at it, and they know it is made"),
    (_swaps((FENCES, ())), "the thread that issues the copy executes the fence, and still does so in front of it"),
    (_changes("drop", *FENCES), "no engine signals these barriers: only threads arrive at them"),
    (_swaps(((TENSOR_FENCE,), ())), "the fence still stands between the synchronisation and what it orders"),
    (_swaps(((REGISTERS,), ())), "registers hand over no memory, and nobody waits longer for them"),
    (_changes("drop", PERMIT), "nobody allocates any more"),
    (_swaps(((PERMIT,), ())), "it says that nobody allocates any more, and nothing of memory"),
    (_swaps(((COLUMNS,), (COLUMNS,))), "the columns are of two allocations"),
    (_changes("drop", TENSOR_FENCE), "nothing that the tensor core has made is touched behind it"),
    (_changes("turn", TENSOR_FENCE), "nothing that the tensor core has made is touched behind it"),
    (_changes("drop", REGISTERS), "nobody needs what it takes"),
    (_changes("turn", REGISTERS), "nobody needs what it takes, and it gives nothing"),
    (_changes("count", INIT, what="more"), "nobody waits for the phase that lacks an arrival"),
    (_changes("count", REGISTERS), "the pool has enough for all who take, in any order"),
    (_swaps(((ARRIVE,), (ARRIVE,))), "the arrivals are at two barriers, and nothing is touched between them"),
    (_swaps(((ARRIVE,), ("llvm.store",))), "nobody who waits for the barrier touches what the store writes"),
    (_swaps(((COPY,), (ARRIVE,))), "the phase waits for the bytes that are expected already"),
    (_swaps(((EXPECT,), (COPY, "scf.if"))), "the phase needs the arrival and the bytes, whichever comes first"),
    (_swaps(((COPY, EXPECT), ("nvvm.mbarrier.try_wait.parity",))), "the wait is for what another copy brings"),
    (_swaps(((COPY, EXPECT), (COPY, EXPECT))), "the two belong to different barriers"),
    (_swaps((WAITS, WAITS)), "both are waits, and nothing is touched between them"),
    (_swaps((WAITS, ())), "what the wait is for is not touched by the other op, or known to be complete already"),
    (
        _swaps((CLOSES, ())),
        "the group is closed with the same transfers in it, or with others that are waited for no later",
    ),
    (_swaps((("nv_tileaa.queue.put",), ())), "the queue holds more than one tile, and the load is of another array"),
    (
        _swaps((("nv_tileas.async.pipeline.consumer_release",), ())),
        "one agent does both, and fills the slot again later only",
    ),
    (_changes("count", *WAITS, what="less"), "waits for more than it has to"),
    (
        _changes("count", *WAITS, what="more"),
        "what it leaves out is waited for elsewhere before it is used, or is nothing",
    ),
    (
        _changes("count", "nv_tileas.async.pipeline.create_pipeline", what="more"),
        "one slot more only lets the producer run further ahead",
    ),
    (
        _changes("count", "nv_tileas.async.pipeline.create_pipeline", what="less"),
        "the ring still holds what is live at once",
    ),
    (_changes("drop", *WAITS), "what it waits for is complete by then, or waited for again before it is used"),
    (_changes("answer"), "what it tests is complete by then, or waited for again before it is used"),
    (_changes("drop", "async.execute"), "another dependency waits for the same work"),
    (_changes("drop", *CLOSES), "the next one closes the same transfers"),
    (
        _changes("drop", "nv_tileas.async.pipeline.producer_write"),
        "the slot keeps what it held: a wrong number, and nothing out of order",
    ),
    (_changes("slot", *WAITS), "waits for another queue; the group is waited for later, before it is used"),
    (
        _changes("slot", "arith.remui"),
        "takes another tile, or another branch: a wrong number, and nothing out of order",
    ),
)


def reason(mutant: Mutant) -> str | None:
    """The first reason that fits the mutant; None where none does."""
    return next((why for fits, why in RULES if fits(mutant)), None)
