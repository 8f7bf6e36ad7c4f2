"""
What a verdict rests on and no check looks for: one phrase for each assumption, in the order of the last line.

A verdict names the assumptions of its own program and no others, so each is noted where an execution or a proof comes
to rest on it:

    agent.machine.assume(REACHES_ARGUMENTS_ONLY.about(callee))

The phrases use words of the user's source: names of arguments, functions and ops. `docs/decisions.md` has a table of
them, with the reason for each and the way to do without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Assumption:
    """Something that is not looked for, and has to hold for a verdict to be right."""

    what: str
    """A clause: "waits order the threads of a warp". `{}` in it stands for the `subject`."""
    subject: str = ""

    def __str__(self) -> str:
        return self.what.format(self.subject)

    def about(self, subject: str) -> Assumption:
        """The same assumption about `subject`: an argument, a function, an op."""
        return replace(self, subject=subject)


# Arguments ------------------------------------------------------------------------------------------------------------

NOT_NEGATIVE = Assumption("{} >= 0")
"""An argument that a loop bound or a branch follows takes the numbers from 0 up."""
BELOW_OVERFLOW = Assumption("{}, where an integer overflows")
"""`n < 2^21`: the trip counts up to which no integer overflows that a proof follows (`checker.proof.shifts`)."""
NONE_OVERFLOWS = Assumption("no integer overflows")
"""The same of a proof for several loop counts at once, which does not know how far they go (`checker.decisions`)."""
OF_PROOFS = (BELOW_OVERFLOW.what, NONE_OVERFLOWS.what)
"""What only a proof for every trip count rests on."""
BOUNDS_HOLD = Assumption("bounds computed from {} are not negative and do not overflow")
"""Of loops whose number of turns stands for the formula of their bound."""
MULTIPLE = Assumption("bounds of loops by steps of {} are multiples of that")
"""The same, where something else is computed from the bound."""
STAYS_INSIDE = Assumption("indices stay inside {}")
"""An array whose extent is open is taken to be as large as the loops that walk it."""
LIES_INSIDE = Assumption("indices that are data stay inside {}")
"""Of an array that is read at places which are not computed when checking."""
ENDS = Assumption("{} ends")
"""Of a loop that data end: whatever they are, it turns some number of times."""
SEPARATE = Assumption("no two of {} overlap")
"""Arguments that name arrays are objects of their own, unless `may_alias` pairs them."""
APART = Assumption("boxes of {} at different coordinates do not overlap")
"""Of a tensor map of which nothing says how large its boxes are."""
NAMED_ONCE = Assumption("the tensor of {} is reached through that map only")
"""Of a tensor map that something is stored by."""
ONLY_READ = Assumption("buffers that vectors of four words name are only read")
"""The words of a buffer resource hold its address (AMD, "Buffer Resource Descriptor"), and no object."""
FILLS_ARRAY = Assumption("a tensor copy without tileas.box_bytes fills the array that its address names")
"""Only the descriptor knows the bytes of a box."""
EVEN_SHARES = Assumption("tensor copies without tileas.box_bytes bring equal parts of the bytes that are expected")
"""The same of several copies whose bytes a barrier expects together."""
FILLS_PART = Assumption("a tensor store without tileas.box_bytes reads up to the next part of shared memory at most")
"""The same of a store."""

NO_FENCE_FOR_SLOT = Assumption("the address that tcgen05.alloc writes needs no proxy fence")
"""No edition of PTX ISA says in which proxy it is written; compilers put no fence behind it."""

# Threads --------------------------------------------------------------------------------------------------------------

ONE_THREAD = Assumption("one thread runs {}")
"""Of code for single threads where nothing says how many run it, neither the function nor the caller (`threads`)."""
ORDERS_ITS_WARP = Assumption("elect, and what only some threads of a warp do, is ordered with what the others do")
"""An agent is a warp at most, and runs in order (`machine.parts.divergence`)."""
FIRST_ELECTED = Assumption("elect.sync elects the first lane")
"""Of PTX that asks within an election for the number of the thread (`Elections`)."""
ASKS_AGAIN = Assumption("an answer that gives no work is not looked at before the last request for work")
"""PTX defines no request behind one that was seen to fail; where requests go on, nothing follows which was seen."""
ORDERS_ITS_AGENT = Assumption("what only some threads of an agent do is ordered with what its others do")
"""The same of an agent of several warps, whose threads do tiles together and meet at mbarriers each for itself."""
RUN_IN_STEP = Assumption("the threads of a warp run in step where one touches what another writes")
"""
Of accesses of several threads of one warp that meet, with no barrier and no `bar.warp.sync` between them. PTX promises
no order there since sm_70 (CUDA C++ Programming Guide, "Independent Thread Scheduling").
"""
HANDS_OVER_BEHIND_BARRIERS = Assumption("threads of a warp use each other's copies only behind a barrier of theirs")
"""A wait covers the copies of the thread that waits (PTX, cp.async.wait_group), and an agent is a whole warp here."""
PREPARED_IN_TIME = Assumption("registers that wgmma is given to add to are written before the last wgmma.fence")
"""Of an accumulator that is no result of `wgmma`: which instructions write its registers, and when, is left open."""

STARTS_WITH = Assumption("each thread starts with the most registers that its block can have ({})")
"""Of a kernel without `maxnreg` that moves registers (`machine.parts.instructions.register_pool`)."""

# Other blocks and other memory ----------------------------------------------------------------------------------------

BLOCKS_ALONE = Assumption("blocks do not race with each other")
"""Of a kernel that asks for its place in the grid, or writes to global memory: one block is executed."""
BLOCKS_ALIKE = Assumption("the blocks of a cluster do the same, and none reaches into another: one was executed")
"""Of a Triton kernel for clusters."""
ORDERED_BY_COMPILER = Assumption("the compiler orders what threads read and write of tiles in other blocks")
"""Of a Triton kernel for clusters, whose compiler puts barriers of the cluster around that."""
CLUSTER_AS_ONE = Assumption("the blocks of a cluster are executed as one")
"""
Of barriers of the cluster in a kernel whose blocks do not reach into each other: they wait for the own threads. (What
blocks do to global memory may be written as agents of one program.)
"""
CLUSTER_SIZE = Assumption("a cluster has {} blocks")
"""Of a kernel that does not say so."""
GRIDS_COMPLETE = Assumption("no earlier grid writes what the kernel reads while it runs")
"""Of a kernel that takes part in early launches and does not wait (`machine.core.threads.earlier_grids`)."""
GLOBAL_MEMORY = Assumption("accesses to global memory do not race: they are not followed")
"""Of loads, stores and copies whose addresses are computed."""
NOT_ASYNCHRONOUS_YET = Assumption("nothing is asynchronous yet: it is TTIR, and what Triton makes of it is not checked")
"""Of kernels before their conversion to TTGIR."""

# Ops ------------------------------------------------------------------------------------------------------------------

REACHES_ARGUMENTS_ONLY = Assumption("{} touches only what its arguments reach, and starts and awaits nothing")
"""Of a function without a body."""
ASSERTION_HOLDS = Assumption("assertions about data hold")
"""Of an assertion about what a check does not compute."""

# What the caller asks for ---------------------------------------------------------------------------------------------

PROMISED = Assumption("{}")
"""Preconditions of arguments, given as `assume`: calls that break one are not looked at."""
THREADS_GIVEN = Assumption("a block has {} threads")
"""Given by the caller, as `threads`, for a function that does not say so itself."""
UNFENCED_REFILLS = Assumption("an asynchronous write behind a read needs no proxy fence")
"""Asked for by `relaxed_proxy`, and relied on."""
CAPTURED_AT_ISSUE = Assumption("asynchronous work reads its sources when it is issued")
"""Given by the caller, as `capture="issue"`."""
ONLY_COMPUTES = Assumption("{} only computes from its operands")
"""Of an op that the caller of a check names in `assume_pure`."""

ALL: Mapping[str, Assumption] = {name: each for name, each in globals().items() if isinstance(each, Assumption)}
"""Every assumption by its name, in the order in which the last line has them."""
_PLACES = {each.what: place for place, each in enumerate(ALL.values())}


def in_words(assumptions: Iterable[Assumption], names: Sequence[str] = ()) -> list[str]:
    """
    One clause for each kind of assumption, in the order of `ALL`, which names all of its subjects: those among `names`
    first and in that order, then the others in the order of first mention.
    """
    subjects: dict[str, dict[str, None]] = {}
    for assumption in assumptions:
        subjects.setdefault(assumption.what, {})[assumption.subject] = None
    places = {name: place for place, name in enumerate(names)}

    def place(subject: str) -> int:
        return places.get(subject.partition(" < ")[0], len(places))

    kinds = sorted(subjects, key=lambda what: _PLACES.get(what, len(_PLACES)))
    return [what.format(", ".join(sorted(subjects[what], key=place))) for what in kinds]
