"""
The causes of mistakes, each with a number that stays: `tileas explain-error T001` shows the pages of the zoo about it.

A cause is finer than a kind. A race is a wait that leaves too much in flight, a slot that is filled while another agent
reads it, or a task that nobody waits for, and each is repaired in another way. The first row counts that fits: what a
row says of the kind, of the ops and of the words of the report is true of the violation. The last row of a kind takes
what no other one does. A number that is gone is not given again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileas_xdsl.checker.witnesses.witness import witness_of
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import Violation, ViolationKind

COPIES = (
    r"nvvm\.cp\.async\.shared|ttg\.async_copy|rocdl\.|amdg\.|nvgpu\.device_async|async_queue\.|async_region\."
    r"|gpu\.memcpy"
)
LOADS = r"nvvm\.cp\.async\.bulk\.(tensor\.)?shared|ttng\.async_tma_(copy_global|gather)|nv_tileas\..*load"
STORES = (
    r"nvvm\.cp\.async\.bulk\.(tensor\.)?(global|reduce)|ttng\.async_tma_(copy_local|reduce|scatter)|.*reduce\.global"
)
PRODUCTS = r"nvvm\.(wgmma|tcgen05)\.|ttng\.(warp_group|tc_gen5|tmem)"

COUNTED_WAITS = re.compile(r"wait[._]group|async_wait|asyncmark|waitcnt|wait\.\w+cnt|async_queue\.wait")


@dataclass(frozen=True)
class Cause:
    """A row of the table: the number, what is wrong, and which violations have this cause."""

    number: int
    title: str
    kind: ViolationKind
    pages: tuple[str, ...] = ()
    """Pages of the zoo, by the names of their files."""
    says: str = ""
    """A pattern that the message, or what is missing, has somewhere in it."""
    first: str = ""
    """A pattern that the name of the first party's op begins with."""
    second: str = ""
    """The same of the second party."""

    waited: bool | None = None
    """Whether its issuer has waited for groups of asynchronous work, as the witness shows; None if either."""

    @property
    def code(self) -> str:
        """`T012`"""
        return f"T{self.number:03}"

    def fits(self, violation: Violation) -> bool:
        """Whether `violation` has this cause, if no row before fits."""
        said = f"{violation.message}; {violation.missing}"
        names = [op_name(party.op) for party in violation.parties]
        begins = zip((self.first, self.second), [*names, "", ""], strict=False)
        return (
            violation.kind is self.kind
            and re.search(self.says, said) is not None
            and all(re.match(pattern, name) is not None for pattern, name in begins)
            and self.waited in (None, _has_waited(violation))
        )


def _has_waited(violation: Violation) -> bool:
    """Whether the agent of the first party waits, in the witness, until at most some groups are unfinished."""
    witness = witness_of(violation)
    steps = [step for step in witness.steps if isinstance(step, Happening)] if witness is not None else []
    own = [step for step in steps if step.agent_name == violation.parties[0].agent]
    return any(COUNTED_WAITS.search(step.op.name) is not None for step in own)


RACE, DEADLOCK, PHASE, SLOT = ViolationKind.RACE, ViolationKind.DEADLOCK, ViolationKind.PHASE, ViolationKind.SLOT
FENCE, UNDRAINED = ViolationKind.MISSING_FENCE, ViolationKind.UNDRAINED
ABSENT, MALFORMED = ViolationKind.ABSENT, ViolationKind.MALFORMED

CAUSES: tuple[Cause, ...] = (
    # Barriers and values under races.
    Cause(
        1,
        "a barrier is used before its initialisation is known",
        RACE,
        ("init-not-published",),
        says="nothing that orders its initialisation",
    ),
    Cause(
        2,
        "the bytes of a barrier are used for data",
        RACE,
        ("barrier-bytes-reused",),
        says="an ordinary access .* its bytes",
    ),
    Cause(3, "a result of asynchronous work is used before the work is over", RACE, says="a value of '"),
    Cause(
        4,
        "an arrival hands nothing over: its scope or its order is too weak",
        RACE,
        ("arrive-scope",),
        says="hands over nothing",
    ),
    # Works whose end nobody awaits.
    Cause(
        5,
        "a wait leaves the copy in flight: its count is too large, or it comes too early",
        RACE,
        (
            "nothing-waited",
            "commit-after-wait",
            "cp-async-tail",
            "count-on-every-path",
            "physical-groups",
            "marks-for-instructions",
            "shared-counter",
            "interleaved-prologue",
            "wait-in-a-callee",
            "wait-inside-its-group",
            "loop-back-barrier",
            "offset-that-wraps",
        ),
        says="^read after write",
        first=COPIES,
        waited=True,
    ),
    Cause(
        58,
        "nothing waits for a copy before what it brings is read",
        RACE,
        (
            "split-loop-tail",
            "wait-behind-the-barrier",
            "barrier-over-lds-transfers",
            "arrival-not-counted",
        ),
        says="^read after write",
        first=COPIES,
    ),
    Cause(
        6,
        "a slot is filled again while the copy before is in flight",
        RACE,
        ("buffers-for-stages",),
        says="^write after write",
        first=COPIES,
    ),
    Cause(
        7,
        "the source of asynchronous work changes before the work has read it",
        RACE,
        ("source-overwritten",),
        says="^write after read",
        first=COPIES,
    ),
    Cause(
        8,
        "a tile is read before the load that signals a barrier is complete",
        RACE,
        ("missing-operand-wait", "half-of-a-pair", "load-above-the-wait"),
        says="^read after write",
        first=LOADS,
    ),
    Cause(
        9,
        "a load writes where another one may still write",
        RACE,
        ("multicast-over-peer",),
        says="^write after write",
        first=LOADS,
    ),
    Cause(
        10,
        "a tensor map changes while a copy uses it",
        RACE,
        ("descriptor-of-the-next-group",),
        says="^write after read",
        first=LOADS,
    ),
    Cause(
        11,
        "shared memory is written before a bulk store has read it",
        RACE,
        ("store-wait-count", "external-arrays-alias", "offsets-that-overlap"),
        says="^write after read",
        first=STORES,
    ),
    Cause(
        12,
        "what a bulk store writes is read back before the store is complete",
        RACE,
        ("stored-and-loaded-back",),
        first=STORES,
    ),
    Cause(
        13,
        "an operand of a product changes, or its result is read, before the product is over",
        RACE,
        ("copy-over-an-operand", "columns-given-back", "operands-given-back-early", "weights-over-scores"),
        first=PRODUCTS,
    ),
    Cause(
        14,
        "asynchronous work starts on bytes that another agent still uses",
        RACE,
        ("try-wait-once", "wait-in-another-thread", "rows-by-thread"),
        says="an edge that lets '",
    ),
    Cause(15, "a stage is given back before it is read", RACE, ("release-before-load",), says=" of pipeline '"),
    # Agents that nothing orders.
    Cause(
        16,
        "data of an earlier grid is read before the wait for that grid",
        RACE,
        ("read-before-grid-wait",),
        says="an earlier grid",
    ),
    Cause(
        17,
        "a task is not awaited before what it does is needed",
        RACE,
        ("dropped-token", "token-not-carried", "group-rank", "plan-buffer-reuse"),
        says=r"(of|with) task \d",
    ),
    Cause(
        18,
        "threads of a block exchange data with no barrier between",
        RACE,
        (
            "cleared-by-one-thread",
            "scratch-of-the-block",
            "scratch-of-two-reductions",
            "address-of-columns",
            "handed-back-unread",
        ),
        says=r"(of|with) (warp|thread) \d",
    ),
    Cause(
        34,
        "a queue has more producers than it is made for",
        RACE,
        ("two-producers",),
        first=r"nv_tileaa\.queue\.put",
        second=r"nv_tileaa\.queue\.put",
    ),
    Cause(62, "two blocks of a grid reach one place", RACE, says="^two blocks of the grid"),
    Cause(
        19,
        "agents exchange data with nothing that orders them",
        RACE,
        ("barrier-without-counters", "cluster-arrive-relaxed", "first-of-two-producers"),
    ),
    # Standstills.
    Cause(20, "a register pool has too few registers", DEADLOCK, ("register-pool-too-small",), says="free registers"),
    Cause(
        21,
        "a barrier of threads waits for more threads than come",
        DEADLOCK,
        ("barrier-counts-the-block", "named-barrier-early-return", "block-barrier-in-a-branch"),
        says=r"more arrivals? at barrier \d",
    ),
    Cause(
        22,
        "agents wait for each other, or for an arrival that nobody makes",
        DEADLOCK,
        ("circular-wait", "missing-release", "skipped-tile"),
    ),
    Cause(
        23,
        "a barrier counts more arrivals than are made",
        PHASE,
        ("release-count", "tma-arrival-count"),
        says="or an init count of",
    ),
    Cause(
        24,
        "the bytes that a barrier expects are not those that come",
        PHASE,
        ("single-iteration", "unexpected-bytes"),
        says="bytes have come",
    ),
    Cause(
        25,
        "the first wait asks for the wrong parity, or agents wait for each other",
        PHASE,
        ("producer-start-parity",),
        says="with the other parity",
    ),
    Cause(26, "nobody arrives at a barrier", PHASE, says="at which nobody arrives"),
    # Phases.
    Cause(
        27,
        "a barrier is made anew while it is valid",
        PHASE,
        ("barrier-made-anew", "barrier-left-behind"),
        says="made anew",
    ),
    Cause(28, "a barrier is made by every thread", PHASE, ("init-by-every-warp",), says="all but one make it"),
    Cause(
        29,
        "a barrier is invalidated while it may still be used",
        PHASE,
        ("inval-under-copy", "inval-under-waiter"),
        says="invalidated while",
    ),
    Cause(30, "a barrier is used and is no valid one", PHASE, says="is no valid barrier"),
    Cause(
        31,
        "a barrier runs ahead of an agent that waits for it",
        PHASE,
        ("leader-arrives-early", "phase-skew", "rendezvous-ahead", "ring-parity-on-one-barrier"),
        says="ahead of a waiting agent",
    ),
    Cause(32, "more arrive at a barrier than it counts", PHASE, says="more arrivals at|more threads meet"),
    Cause(
        33,
        "an arrival that must not complete a phase completes it",
        PHASE,
        ("nocomplete-completes",),
        says="must not complete",
    ),
    Cause(
        35,
        "a wait passes on an earlier phase than is meant",
        PHASE,
        ("copy-cluster-parity", "elected-in-every-warp", "expect-after-handover", "persistent-parity"),
        says="passes on phase",
    ),
    Cause(36, "a barrier is used out of turn", PHASE),
    # Fences.
    Cause(
        37,
        "a barrier is made and then used by the asynchronous proxy without a fence",
        FENCE,
        ("init-not-fenced", "init-fenced-elsewhere"),
        says="is made by a generic write",
    ),
    Cause(
        38,
        "a generic write is not fenced before an asynchronous read",
        FENCE,
        ("cp-async-then-tma-store", "operand-not-fenced", "quantize-then-tma"),
        says="^generic write, then asynchronous",
    ),
    Cause(
        39,
        "a generic read is not fenced before an asynchronous write",
        FENCE,
        ("read-then-refilled", "refill-without-fence", "response-overwritten"),
        says="^generic read, then asynchronous",
    ),
    Cause(40, "a tensor map is written and used without proxy fences", FENCE, says="as a tensor map"),
    Cause(41, "registers of a product are touched without a wgmma fence", FENCE, says="then by wgmma"),
    Cause(42, "tensor memory passes between threads without a tcgen05 fence", FENCE),
    # What is left at the end.
    Cause(43, "stages are produced and never consumed", UNDRAINED, ("short-loop-prologue",), says="never consumed"),
    Cause(44, "columns of tensor memory are not given back", UNDRAINED, says="still allocated"),
    Cause(45, "a task may be unfinished at the end", UNDRAINED, says="^a task may"),
    Cause(46, "memory ends while asynchronous work may touch it", UNDRAINED, says="when that ends"),
    Cause(
        47,
        "asynchronous work may be unfinished at the end",
        UNDRAINED,
        ("store-outlives-its-block", "first-block-of-causal"),
    ),
    # Clusters, slots, rules.
    Cause(
        48, "another block of the cluster is not there yet", ABSENT, ("peer-not-there-yet",), says="not be there yet"
    ),
    Cause(49, "another block of the cluster may have ended", ABSENT, ("peer-has-left", "producer-tail")),
    Cause(50, "two pipelines share storage that is in use", SLOT, says="the storage of"),
    Cause(51, "more values are live than a pipeline has slots", SLOT, ("live-slots",)),
    Cause(
        52, "an access reaches outside its array", MALFORMED, ("prefetch-behind-the-end",), says="sizes|fix the index"
    ),
    Cause(53, "a named barrier has a number above 15", MALFORMED, ("barrier-sixteen",), says="^an op.*; 0 to 15"),
    Cause(54, "a copy is put into two groups", MALFORMED, ("copy-in-two-groups",), says="name each copy once"),
    Cause(
        55,
        "tensor memory is allocated or given back against its rules",
        MALFORMED,
        ("permit-given-up",),
        first=r"nvvm\.tcgen05",
    ),
    Cause(
        56,
        "the state of one barrier is waited for at another",
        MALFORMED,
        ("state-of-another-barrier",),
        says="a state that",
    ),
    Cause(
        59,
        "an op names a block that the cluster does not have",
        MALFORMED,
        ("mask-beyond-the-cluster",),
        says="^an op.*; a rank from 0",
    ),
    Cause(60, "a tile is taken that its array does not have", MALFORMED, says="has no tile of that number"),
    Cause(61, "elements outside of an array reach a result", MALFORMED, says="^elements outside of"),
    Cause(57, "an op is used against its rules", MALFORMED),
)


def cause_of(violation: Violation) -> Cause:
    """The row of the table for `violation`."""
    return next(cause for cause in CAUSES if cause.fits(violation))


def cause_with(code: str) -> Cause | None:
    """The cause with a code such as `T012`, in any spelling (`t12`, `12`); None if there is none."""
    digits = code.upper().removeprefix("T")
    number = int(digits) if digits.isascii() and digits.isdigit() else 0
    return next((cause for cause in CAUSES if cause.number == number), None)
