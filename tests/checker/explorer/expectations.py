"""
Families of random programs in which a phase is made to wait for more: by an expectation of bytes apart from an arrival,
or by arrivals behind `cp.async` copies that add to the pending count.

What makes a phase wait for more has to come before something without which the phase cannot complete. In the families
that are right it does, in every way that there is: before an arrival of its own thread; before one of another thread,
which a handshake orders; or before the copy that alone can bring bytes that such an arrival expects. Their mutants, and
the families called `open...` and `random...`, are right or wrong, as it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.checker.explorer.statements import Source, Stmt, agents, arrive, at, fresh, inits, load, loop, wait_phase

FULL, READY, NEXT = 0, 1, 2
"""The barrier that counts, and two for handshakes."""


def expect(barrier: int = FULL) -> Stmt:
    return Stmt("expect", [*at(barrier), 1])


def arrive_expect(barrier: int = FULL) -> Stmt:
    return Stmt("arrive_expect", [*at(barrier), 1])


def bulk(cell: int, barrier: int = FULL) -> Stmt:
    """A copy of a word, whose bytes the barrier counts."""
    return Stmt("bulk", [*at(cell), cell, *at(barrier), 1])


def cp(cell: int) -> Stmt:
    return Stmt("cp", [*at(cell), cell])


def adds(barrier: int = FULL) -> Stmt:
    """An arrival behind the copies of the thread, which is added to what the phase waits for."""
    return Stmt("arrive_behind", [*at(barrier), 0])


def counted(barrier: int = FULL) -> Stmt:
    """The same, one of those that the barrier is made for."""
    return Stmt("arrive_behind", [*at(barrier), 1])


def reader(*cells: int) -> list[Stmt]:
    return [wait_phase(at(FULL), 0), *(load(0, at(cell)) for cell in cells)]


def makes_wait(rng: Random, cell: int) -> list[Stmt]:
    """Bytes that are expected, or an arrival that is added, and what brings them: before it, the copy of `cp.async`."""
    return [expect(), bulk(cell)] if rng.random() < 0.5 else [cp(cell), adds()]


def shuffled(rng: Random, *bodies: list[Stmt]) -> Stmt:
    found = list(bodies)
    rng.shuffle(found)
    return agents(*found)


# Before an arrival ----------------------------------------------------------------------------------------------------


def before_own_arrival(rng: Random) -> Source:
    """One thread makes the phase wait, once or twice, and arrives; it or another one reads."""
    cells = range(rng.randint(1, 2))
    body = [statement for cell in cells for statement in makes_wait(rng, cell)]
    body.append(arrive(at(FULL)))
    if rng.random() < 0.3:
        return Source("expectations", [*inits(1), *body, *reader(*cells)])
    return Source("expectations", [*inits(1), shuffled(rng, body, reader(*cells))])


def before_an_arrival_of_another(rng: Random) -> Source:
    """A handshake orders the expectation before the arrival of another thread, which may expect bytes as well."""
    first = makes_wait(rng, 0)
    place = rng.randint(1 + (first[0].kind == "cp"), 2)
    first.insert(place, arrive(at(READY)))
    arrival = rng.choice(([arrive(at(FULL))], [arrive_expect(), bulk(1)]))
    second = [wait_phase(at(READY), 0), *arrival]
    return Source("expectations", [*inits(1, 1), shuffled(rng, first, second, reader(0))])


def before_one_of_two_arrivals(rng: Random) -> Source:
    """Two threads must arrive; one of them has made the phase wait before."""
    first = [*makes_wait(rng, 0), arrive(at(FULL))]
    second = [arrive_expect(), bulk(1)] if rng.random() < 0.5 else [arrive(at(FULL))]
    return Source("expectations", [*inits(2), shuffled(rng, first, [*second, *reader(0)])])


def counted_arrivals(rng: Random) -> Source:
    """The init count has the arrivals behind copies among those that it counts."""
    first, second = [cp(0), counted()], [cp(1), rng.choice((counted, adds))()]
    count = 1 + sum(each[1].numbers[-1] for each in (first, second))
    second.append(arrive(at(FULL)))
    return Source("expectations", [*inits(count), shuffled(rng, first, second, reader(0, 1))])


def ring(rng: Random) -> Source:
    """A producer that makes each phase wait before it arrives, and a consumer that gives the slot back."""
    trips, depth = rng.randint(1, 3), rng.randint(1, 2)
    full, empty, slot = at(0, depth), at(depth, depth), at(0, depth)
    fills = (
        [Stmt("expect", [*full, 1]), Stmt("bulk", [*slot, 0, *full, 1]), arrive(full)],
        [Stmt("cp", [*slot, 0]), Stmt("arrive_behind", [*full, 0]), arrive(full)],
        [Stmt("cp", [*slot, 0]), Stmt("arrive_behind", [*full, 1])],
    )
    producer = loop(trips, [wait_phase(empty, 1, depth), *rng.choice(fills)])
    consumer = loop(trips, [wait_phase(full, 0, depth), load(0, slot), arrive(empty)])
    return Source("expectations", [*inits(*[1] * depth, *[1] * depth), shuffled(rng, [producer], [consumer])])


# Before bytes ---------------------------------------------------------------------------------------------------------


def before_bytes(rng: Random) -> Source:
    """The arrival expects bytes, and the copy that brings them waits until the phase has been made to wait for more."""
    first = makes_wait(rng, 1)
    first.insert(1 + (first[0].kind == "cp"), arrive(at(READY)))
    second = [arrive_expect(), wait_phase(at(READY), 0), bulk(0)]
    return Source("expectations", [*inits(1, 1), shuffled(rng, first, second, reader(0, 1))])


def chain_before_bytes(rng: Random) -> Source:
    """The same over two: the copy of each waits for the next to have expected its own."""
    first = [arrive_expect(), wait_phase(at(READY), 0), bulk(0)]
    second = [
        expect(),
        wait_phase(at(NEXT), 0),
        *rng.choice(([arrive(at(READY)), bulk(1)], [bulk(1), arrive(at(READY))])),
    ]
    third = [expect(), arrive(at(NEXT)), bulk(2)]
    return Source("expectations", [*inits(1, 1, 1), shuffled(rng, first, second, third, reader(0, 1, 2))])


def several_before_bytes(rng: Random) -> Source:
    """The same where two others, in any order, expect bytes of their own before that copy."""
    first = [arrive_expect(), wait_phase(at(READY), 0), bulk(0)]
    others = [[expect(), arrive(at(READY)), bulk(cell)] for cell in (1, 2)]
    return Source("expectations", [*inits(1, 2), shuffled(rng, first, *others, reader(0, 1, 2))])


# Open -----------------------------------------------------------------------------------------------------------------


def open_expectations(rng: Random) -> Source:
    """Nothing, or not enough, orders what makes the phase wait before what completes it."""
    first = makes_wait(rng, 0)
    if rng.random() < 0.3:
        first.append(arrive(at(FULL)))
    second = rng.choice(([arrive(at(FULL))], [arrive_expect(), bulk(1)], [cp(1), counted()]))
    if rng.random() < 0.4:
        first.insert(rng.randint(0, len(first)), arrive(at(READY)))
        second.insert(rng.randint(0, len(second)), wait_phase(at(READY), 0))
    arrivals = sum(each.kind in ("arrive", "arrive_expect") and each.numbers[0] == FULL for each in [*first, *second])
    arrivals += sum(each.kind == "arrive_behind" and each.numbers[-1] for each in second)
    return Source("expectations", [*inits(max(1, arrivals), 1), shuffled(rng, first, [*second, *reader(0)])])


def random_expectations(rng: Random) -> Source:
    bodies = [[fresh(rng, "expectations") for _ in range(rng.randint(1, 4))] for _ in range(rng.choice((2, 2, 3)))]
    return Source("expectations", [*inits(*[rng.choice((1, 1, 2)) for _ in range(2)]), agents(*bodies)])


FAMILIES: tuple[Callable[[Random], Source], ...] = (
    before_own_arrival,
    before_an_arrival_of_another,
    before_one_of_two_arrivals,
    counted_arrivals,
    ring,
    before_bytes,
    chain_before_bytes,
    several_before_bytes,
    open_expectations,
    open_expectations,
    random_expectations,
)
