"""
Kernels whose verdict was found by hand, with the reason: wrong ones of every class that the explorer is to know, and
beside each the right twin that differs from it by the mistake.

A verdict is a kind of mistake that the explorer must find, `WRONG` where any kind will do, or `SAFE`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.checker.explorer.kernels import (
    Agent,
    Do,
    Kernel,
    arrive,
    copy,
    copy_over,
    elected,
    expect,
    fence,
    first_thread,
    ignored,
    init,
    inval,
    load,
    meet,
    meet_all,
    no_complete,
    on_warp,
    poke,
    publish,
    spin,
    store,
    wait,
    when,
)

SAFE, WRONG = "safe", "wrong"
FULL, EMPTY = 0, 8
"""Two barriers."""
TURNS = 3
WAITS = ("wait", "spin", "test", "try", "when")


@dataclass(frozen=True)
class ByHand:
    """A kernel and what is right to say of it."""

    kernel: Kernel
    verdict: str
    why: str


def ring(
    look: list[Do] | None = None,
    *,
    full: Do | None = None,
    empty: Do | None = None,
    expects: Do | None = None,
    release: Do | None = None,
    copies: Do | None = None,
    reads: list[Do] | None = None,
    warps: int = 0,
    turns: int = TURNS,
) -> Kernel:
    """A slot that one agent fills and one empties, `turns` times; every part of it can be another one."""
    producer: list[Do] = []
    consumer: list[Do] = []
    for turn in range(turns):
        producer += [wait(EMPTY, 1 - turn % 2), expects or expect(FULL), copies or copy(0, FULL)]
        seen = in_turn(turn, look or [wait(FULL, 0)])
        consumer += [*seen, *(reads or [load(0), fence()]), release or arrive(EMPTY)]
    if warps:
        producer = [elected(each) if each.kind in ("expect", "copy") else each for each in producer]
    before = [full or init(FULL, 1), empty or init(EMPTY, 1), publish()]
    return Kernel([Agent(min(warps, 1), producer), Agent(warps, consumer)], before)


def in_turn(turn: int, look: list[Do]) -> list[Do]:
    """Waits and tests of the parity of this turn."""
    return [
        Do(
            each.kind,
            each.at,
            turn % 2 if each.kind in WAITS else each.n,
            each.flags,
            [in_turn(turn, b) for b in each.bodies],
        )
        for each in look
    ]


def two(first: list[Do], second: list[Do], *before: Do) -> Kernel:
    return Kernel([Agent(0, first), Agent(0, second)], list(before))


def handshake(first: list[Do], second: list[Do]) -> Kernel:
    """Two agents, and a barrier for one arrival a phase."""
    return two(first, second, init(FULL, 1), publish())


def made_again(*, inval_first: bool = True, meets_again: bool = True, turns: int = 2) -> Kernel:
    """A barrier for each turn: made, announced, used, invalidated when both are through with it."""
    first: list[Do] = []
    second: list[Do] = []
    for _ in range(turns):
        first += [init(FULL, 1), publish(), meet(1, 2), arrive(FULL)]
        second += [meet(1, 2), wait(FULL, 0)]
        if meets_again:
            first.append(meet(2, 2))
            second.append(meet(2, 2))
        if inval_first:
            first.append(inval(FULL))
    return two(first, second)


def tile_by_tile(*, is_right: bool) -> Kernel:
    """The same with a copy for each turn, into another slot: who made the barrier waits for the phase as well."""
    first: list[Do] = []
    second: list[Do] = []
    for turn in range(2):
        first += [init(FULL, 1), publish(), meet(1, 2), expect(FULL), copy(turn, FULL), wait(FULL, 0)]
        second += [meet(1, 2), wait(FULL, 0), load(turn), fence()]
        if is_right:
            first += [meet(2, 2), inval(FULL)]
            second += [meet(2, 2)]
    return two(first, second)


def specialised(count: int) -> Kernel:
    """A block of two warps: one arrives, one waits."""
    make = [first_thread(init(FULL, count), publish()), meet_all()]
    return Kernel([Agent(2, [*make, on_warp(0, [arrive(FULL)], [wait(FULL, 0)])])], is_block=True)


def two_counts(last: int) -> Kernel:
    """Two agents meet, then all, then all at the first barrier again."""
    first = [store(0), meet(1, 2), meet_all(), meet(1, last)]
    second = [meet(1, 2), meet_all(), meet(1, last)]
    third = [meet_all(), meet(1, last), store(0)]
    return Kernel([Agent(0, first), Agent(0, second), Agent(0, third)])


NOTHING_YET = "a test says no before the phase is over, and nothing else waits"
PROGRAMS: dict[str, ByHand] = {
    # Predicates
    "an arrival that is switched off": ByHand(ring(expects=expect(FULL, 1, "off")), "deadlock", "nobody arrives"),
    "an arrival that is switched on": ByHand(ring(expects=expect(FULL, 1, "on")), SAFE, "as without predicate"),
    "an init that is switched off": ByHand(ring(full=init(FULL, 1, "off")), "phase", "there is no barrier"),
    "an init that is switched on": ByHand(ring(full=init(FULL, 1, "on")), SAFE, "as without predicate"),
    # Tests
    "a test whose answer is dropped": ByHand(ring([ignored(FULL, 0)]), "race", NOTHING_YET),
    "a try whose answer is dropped": ByHand(ring([ignored(FULL, 0, "try")]), "race", "it may time out"),
    "three tests whose answers are dropped": ByHand(ring([ignored(FULL, 0)] * 3), "race", NOTHING_YET),
    "the slot is read when the answer is no": ByHand(
        ring([when(FULL, 0, [], [load(0)]), wait(FULL, 0)]), "race", "no means: it may be under way"
    ),
    "the slot is read when the answer is yes": ByHand(
        ring([when(FULL, 0, [load(0)], []), wait(FULL, 0)]), SAFE, "yes acquires, and the wait behind it does"
    ),
    "a wait only when the answer is no": ByHand(
        ring([when(FULL, 0, [], [wait(FULL, 0)])]), SAFE, "either way the phase is over"
    ),
    "tests until the answer is yes": ByHand(ring([spin(FULL, 0)]), SAFE, "the loop ends with a yes"),
    # Barriers made again, invalidated
    "made again over a live barrier": ByHand(
        made_again(inval_first=False, meets_again=False), "phase", "the waiter may still look at the old one"
    ),
    "made again, all through with it, not invalidated": ByHand(
        made_again(inval_first=False), "phase", "init wants memory that holds no barrier"
    ),
    "invalidated while the other may wait": ByHand(
        made_again(meets_again=False), "phase", "the arrival orders nothing"
    ),
    "invalidated when both are through": ByHand(made_again(), SAFE, "they meet before it"),
    "made again for each tile": ByHand(tile_by_tile(is_right=False), "phase", "the other may not have looked yet"),
    "invalidated and made for each tile": ByHand(tile_by_tile(is_right=True), SAFE, "they meet before it"),
    "invalidated under a copy": ByHand(
        two(
            [init(FULL, 1), publish(), meet(1, 2), expect(FULL), copy(0, FULL), inval(FULL)],
            [meet(1, 2), wait(FULL, 0)],
        ),
        "phase",
        "the copy counts at it later",
    ),
    "invalidated after the copy": ByHand(
        two([init(FULL, 1), publish(), expect(FULL), copy(0, FULL), wait(FULL, 0), inval(FULL)], []), SAFE, "waited for"
    ),
    "data where the other may still wait": ByHand(
        handshake([arrive(FULL), inval(FULL), poke(FULL)], [wait(FULL, 0)]), "phase", "the wait is not over"
    ),
    "data where a barrier was": ByHand(
        handshake([arrive(FULL), meet(1, 2), inval(FULL), poke(FULL)], [wait(FULL, 0), meet(1, 2)]),
        SAFE,
        "the wait is over",
    ),
    # A barrier is not memory
    "a tile over the barrier": ByHand(ring(copies=copy_over(EMPTY, FULL)), "race", "the copy overwrites it"),
    "a store over the barrier": ByHand(
        handshake([poke(FULL), arrive(FULL)], [wait(FULL, 0)]), "race", "undefined while it is one"
    ),
    "a store before there is a barrier": ByHand(
        two([arrive(FULL)], [wait(FULL, 0)], poke(FULL), init(FULL, 1), publish()), SAFE, "it is none yet"
    ),
    "barriers 4 bytes apart": ByHand(
        two([arrive(FULL)], [wait(4, 0)], init(FULL, 1), init(4, 1), publish()), WRONG, "each has 8 bytes"
    ),
    # Warps
    "each warp arrives for all": ByHand(
        ring(warps=4, release=elected(arrive(EMPTY))), WRONG, "four arrivals on a count of one"
    ),
    "one arrival of each warp": ByHand(
        ring(warps=4, release=elected(arrive(EMPTY)), empty=init(EMPTY, 4)), SAFE, "the count is that of the warps"
    ),
    "one arrival of each of eight warps": ByHand(
        ring(warps=8, release=elected(arrive(EMPTY)), empty=init(EMPTY, 8)), SAFE, "the count is that of the warps"
    ),
    "all threads arrive": ByHand(ring(warps=4, empty=init(EMPTY, 128)), SAFE, "the count is that of the threads"),
    "a warp arrives with all its threads": ByHand(specialised(1), "phase", "32 arrivals on a count of one"),
    "a warp arrives with all that are expected": ByHand(specialised(32), SAFE, "32 of 32"),
    "made by all threads of a warp": ByHand(
        Kernel([Agent(1, [init(FULL, 1)])]), "phase", "32 threads make it, all but one where a barrier is"
    ),
    "made by one thread of each of two warps": ByHand(
        Kernel([Agent(2, [elected(init(FULL, 1))])]), "phase", "both make it, and in no order"
    ),
    "made by one thread, invalidated by all": ByHand(
        Kernel([Agent(1, [elected(init(FULL, 1)), inval(FULL)])]), "phase", "all but one find no barrier"
    ),
    "made and invalidated by one thread": ByHand(
        Kernel([Agent(1, [elected(init(FULL, 1), inval(FULL))])]), SAFE, "each is done once"
    ),
    "only one warp comes to the barrier": ByHand(
        Kernel(
            [Agent(2, [first_thread(init(FULL, 1), publish()), meet_all(), on_warp(1, [wait(FULL, 0)], [])])],
            is_block=True,
        ),
        "deadlock",
        "nobody arrives",
    ),
    # Relaxed, no complete, arrivals that are missing
    "a relaxed arrival": ByHand(
        handshake([store(0), arrive(FULL, 1, "relaxed")], [wait(FULL, 0), load(0)]), "race", "it hands on nothing"
    ),
    "a releasing arrival": ByHand(handshake([store(0), arrive(FULL)], [wait(FULL, 0), load(0)]), SAFE, "it does"),
    "a relaxed arrival that only counts": ByHand(
        handshake([arrive(FULL, 1, "relaxed")], [wait(FULL, 0), load(0)]), SAFE, "nothing is to be handed on"
    ),
    "an arrival that must not complete does": ByHand(
        handshake([no_complete(FULL)], [wait(FULL, 0)]), "phase", "it is the last"
    ),
    "an arrival that must not complete does not": ByHand(
        two([no_complete(FULL), arrive(FULL)], [wait(FULL, 0)], init(FULL, 2), publish()),
        SAFE,
        "another one is the last",
    ),
    "an arrival that must not complete may": ByHand(
        two([no_complete(FULL)], [arrive(FULL), wait(FULL, 0)], init(FULL, 2), publish()), "phase", "either may be last"
    ),
    "an arrival is missing": ByHand(handshake([store(0)], [wait(FULL, 0)]), "deadlock", "nobody arrives"),
    "an arrival too many": ByHand(handshake([arrive(FULL, 2)], [wait(FULL, 0)]), "phase", "one is pending"),
    # Fences
    "a read, then a copy over it, without fence": ByHand(
        ring(reads=[load(0)]), "missing-fence", "the copy is of the asynchronous proxy"
    ),
    "a write, then a copy over it, without fence": ByHand(
        two([store(0), expect(FULL), copy(0, FULL), wait(FULL, 0)], [], init(FULL, 1), publish()),
        "missing-fence",
        "the copy is of the asynchronous proxy",
    ),
    "a fence by who starts the copy": ByHand(
        two([store(0), fence(), expect(FULL), copy(0, FULL), wait(FULL, 0)], [], init(FULL, 1), publish()),
        SAFE,
        "the fence stands between",
    ),
    "copies tell a barrier that was not published": ByHand(
        two([init(FULL, 1), expect(FULL), copy(0, FULL), wait(FULL, 0)], []), "missing-fence", "init is a generic write"
    ),
    "copies tell a barrier that somebody else published": ByHand(
        two(
            [init(FULL, 1), meet(1, 2), meet(2, 2), expect(FULL), copy(0, FULL), wait(FULL, 0)],
            [meet(1, 2), publish(), meet(2, 2)],
        ),
        "missing-fence",
        "that fence is for what its own thread made",
    ),
    "arrivals tell a barrier that was not published": ByHand(
        two([arrive(FULL)], [wait(FULL, 0)], init(FULL, 1)), SAFE, "both are of the generic proxy"
    ),
    # Barriers of threads
    "another count at a barrier of threads": ByHand(two_counts(3), SAFE, "the first meeting is over"),
    "arrivals of two sizes, one too many": ByHand(
        Kernel(
            [Agent(1, [arrive(FULL)]), Agent(1, [elected(arrive(FULL))]), Agent(1, [elected(arrive(FULL))])],
            [init(FULL, 33), publish()],
        ),
        "phase",
        "the warp that arrives with 32 threads may be the last, and one is pending",
    ),
    "a count that nobody reaches": ByHand(two_counts(4), "deadlock", "three come"),
    "two counts at one meeting": ByHand(
        two([meet(1, 2)], [meet(1, 3)]), "phase", "who meets agrees on how many they are"
    ),
    "three come where two meet": ByHand(
        Kernel([Agent(0, [store(0), meet(1, 2)]), Agent(0, [meet(1, 2), load(0)]), Agent(0, [meet(1, 2)])]),
        WRONG,
        "the third meets with nobody, or keeps one from it",
    ),
}
"""What to say of each, and why."""
