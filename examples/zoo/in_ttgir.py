"""
The exhibits in the words of Triton: beside `NAME.bad.mlir` stands `NAME.bad.ttgir`, and beside the right one its like.

The exhibits that TTGIR cannot say, or that are no mistake there, are listed here with the reason.
"""

from __future__ import annotations

BLOCKS = "no op names a place in another block"
THREADS = "the compiler lets the threads of a partition meet"
FENCED = "the compiler fences where a barrier is made"
COUNTERS = "the compiler counts instructions"
GLOBAL = "global memory is not followed"
NO_OP = "there is no such op"
TOKENS = "tokens order nothing"
COLUMNS = "the compiler allocates the columns"

NOT_IN_TTGIR = {
    "prefetch-behind-the-end": GLOBAL,
    "split-loop-tail": "not written yet",
    "address-of-columns": COLUMNS,
    "arrive-scope": BLOCKS,
    "barrier-sixteen": NO_OP,
    "barrier-counts-the-block": NO_OP,
    "barrier-over-lds-transfers": COUNTERS,
    "barrier-without-counters": COUNTERS,
    "block-barrier-in-a-branch": THREADS,
    "cleared-by-one-thread": NO_OP,
    "cluster-arrive-relaxed": BLOCKS,
    "columns-given-back": COLUMNS,
    "copy-over-an-operand": "not written yet",
    "copy-in-two-groups": "a token orders nothing, and may be named often",
    "descriptor-of-the-next-group": GLOBAL,
    "dropped-token": TOKENS,
    "elected-in-every-warp": "one thread of a partition arrives",
    "external-arrays-alias": "allocations say where they lie",
    "first-of-two-producers": "there are no queues of tiles",
    "group-rank": NO_OP,
    "handed-back-unread": NO_OP,
    "expect-after-handover": "an expectation is an arrival",
    "init-by-every-warp": "one thread of a partition makes a barrier",
    "init-fenced-elsewhere": FENCED,
    "init-not-fenced": FENCED,
    "live-slots": "slots have no lives of their own",
    "loop-back-barrier": THREADS,
    "offset-that-wraps": "tiles have the addresses",
    "marks-for-instructions": COUNTERS,
    "mask-beyond-the-cluster": "the compiler makes the masks",
    "multicast-over-peer": "not written yet",
    "named-barrier-early-return": NO_OP,
    "nocomplete-completes": NO_OP,
    "peer-has-left": BLOCKS,
    "peer-not-there-yet": BLOCKS,
    "permit-given-up": COLUMNS,
    "producer-tail": BLOCKS,
    "quantize-then-tma": GLOBAL,
    "rendezvous-ahead": BLOCKS,
    "read-then-refilled": "the compiler fences within a partition",
    "rows-by-thread": "one thread of a partition stores a tile",
    "scratch-of-the-block": THREADS,
    "shared-counter": COUNTERS,
    "single-iteration": "an expectation is an arrival",
    "state-of-another-barrier": "a wait names a parity",
    "stored-and-loaded-back": GLOBAL,
    "token-not-carried": TOKENS,
    "two-producers": "slots are numbers",
    "try-wait-once": "a wait has no answer",
    "unexpected-bytes": BLOCKS,
    "wait-behind-the-barrier": THREADS,
    "wait-in-a-callee": COUNTERS,
    "weights-over-scores": "the compiler lets the warps of a partition meet",
}
"""Name of an exhibit -> why there is no TTGIR of it."""
