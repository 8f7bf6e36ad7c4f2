"""Random kernels that are right by construction: handshakes between warps, with counts that agree."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.checker.explorer.kernels import (
    THREADS_OF_WARP,
    Agent,
    Do,
    Kernel,
    arrive,
    copy,
    elected,
    expect,
    fence,
    first_thread,
    init,
    inval,
    load,
    meet,
    meet_all,
    meet_later,
    no_complete,
    on_warp,
    poke,
    publish,
    spin,
    store,
    wait,
    when,
)

WARPS = (0, 0, 1, 4, 8)
"""Of an agent; 0 is one thread."""


def threads(warps: int) -> int:
    return warps * THREADS_OF_WARP or 1


def looks(rng: Random, at: int, parity: int, warps: int) -> list[Do]:
    """A way to wait for a phase. Tests are for few warps: each has two answers."""
    ways = [[wait(at, parity)]] * 3
    if warps <= 1:
        ways += [[spin(at, parity)], [when(at, parity, [], [wait(at, parity)])]]
    if warps == 0:
        ways += [[when(at, parity, [load(9)], []), wait(at, parity)]]
    return rng.choice(ways)


def arrival(rng: Random, at: int, warps: int) -> tuple[Do, int]:
    """How an agent arrives, and how many arrivals that makes."""
    if warps and rng.random() < 0.7:
        return elected(arrive(at)), warps
    if not warps and rng.random() < 0.2:
        return arrive(at, 2), 2
    return arrive(at), threads(warps)


def alone(warps: int, *body: Do) -> list[Do]:
    """By one thread of a warp."""
    return [elected(*body)] if warps else list(body)


def ring(rng: Random) -> Kernel:
    """A producer and one or two consumers over a ring of one or two slots; copies, or stores."""
    depth, turns = rng.randint(1, 2), rng.randint(1, 4)
    consumers = [rng.choice(WARPS) for _ in range(rng.choice((1, 1, 2)))]
    producing = rng.choice((0, 1)) if not any(consumers) else 1
    consumers = [max(warps, producing) for warps in consumers]
    copies = rng.random() < 0.7
    releases = [arrival(rng, 0, warps) for warps in consumers]
    before = [init(8 * slot, 1) for slot in range(depth)]
    before += [init(8 * (depth + slot), sum(count for _, count in releases)) for slot in range(depth)]
    producer: list[Do] = []
    bodies: list[list[Do]] = [[] for _ in consumers]
    for turn in range(turns):
        slot, parity = turn % depth, turn // depth % 2
        full, empty = 8 * slot, 8 * (depth + slot)
        fill = [expect(full), copy(slot, full)] if copies else [store(slot), arrive(full)]
        producer += [*looks(rng, empty, 1 - parity, producing), *alone(producing, *fill)]
        for body, warps, (release, _) in zip(bodies, consumers, releases, strict=True):
            body += [
                *looks(rng, full, parity, warps),
                load(slot),
                *([fence()] if copies else []),
                moved(release, empty),
            ]
    agents = [Agent(producing, producer), *map(Agent, consumers, bodies)]
    return Kernel(agents, [*before, publish()])


def moved(statement: Do, at: int) -> Do:
    """The same at another barrier."""
    return Do(
        statement.kind, at, statement.n, set(statement.flags), [[moved(s, at) for s in b] for b in statement.bodies]
    )


def rendezvous(rng: Random) -> Kernel:
    """Agents that write cells of their own, meet at barriers of threads, and read those of the others."""
    sizes = [rng.choice(WARPS) for _ in range(rng.randint(2, 3))]
    if any(sizes):
        sizes = [size or 1 for size in sizes]
    total = sum(map(threads, sizes))
    bodies: list[list[Do]] = [[] for _ in sizes]
    for turn in range(rng.randint(1, 3)):
        number = rng.choice((0, 1, 1, 2))
        for agent, (body, warps) in enumerate(zip(bodies, sizes, strict=True)):
            cell = turn * len(sizes) + agent
            body += alone(warps, store(cell))
            body.append(meet(number, total) if number else meet_all())
            body.append(load(turn * len(sizes) + (agent + 1) % len(sizes)))
    return Kernel(list(map(Agent, sizes, bodies)))


def named_handover(rng: Random) -> Kernel:
    """A producer that only arrives at barriers of threads, and a consumer that waits there, turn by turn."""
    warps = rng.choice((0, 1, 4))
    total = threads(max(warps, 1)) + threads(1) if warps else 2
    producer: list[Do] = []
    consumer: list[Do] = []
    for turn in range(rng.randint(1, 3)):
        if turn:
            producer.append(meet(2, total))
        producer += [*alone(min(warps, 1), store(0)), meet_later(1, total)]
        if turn:
            consumer.append(meet_later(2, total))
        consumer += [meet(1, total), load(0)]
    return Kernel([Agent(min(warps, 1), producer), Agent(warps, consumer)])


def made_again(rng: Random) -> Kernel:
    """A barrier for each turn, or one place for barriers of different counts; invalidated when all are through."""
    warps = rng.choice((0, 0, 1, 4))
    maker = min(warps, 1)
    total = threads(maker) + threads(warps)
    copies = rng.random() < 0.5
    first: list[Do] = []
    second: list[Do] = []
    for turn in range(rng.randint(1, 3)):
        release, count = arrival(rng, 8, warps)
        first += [*alone(maker, init(0, 1), init(8, count), publish()), meet(1, total)]
        fill = [expect(0), copy(turn, 0)] if copies else [store(turn), arrive(0)]
        first += [*alone(maker, *fill), wait(8, 0), *alone(maker, inval(0), inval(8))]
        second += [meet(1, total), *looks(rng, 0, 0, warps), load(turn), release]
        if rng.random() < 0.3:
            first += alone(maker, poke(0))
    return Kernel([Agent(maker, first), Agent(warps, second)])


def chain(rng: Random) -> Kernel:
    """Each agent hands a cell on to the next; some arrivals that hand on nothing are relaxed, or may not complete."""
    length = rng.randint(2, 3)
    sizes = [rng.choice((0, 0, 1)) for _ in range(length)]
    if any(sizes):
        sizes = [1] * length
    bodies: list[list[Do]] = []
    before: list[Do] = []
    for agent, warps in enumerate(sizes):
        body = looks(rng, 8 * (agent - 1), 0, warps) if agent else []
        body += alone(warps, rng.choice((load, store))(0))
        if agent == length - 1:
            bodies.append(body)
            continue
        extra = rng.choice(([], [], [no_complete(8 * agent)], [arrive(8 * agent, 1, "relaxed")]))
        before.append(init(8 * agent, 1 + len(extra), *rng.choice(((), (), ("on",)))))
        bodies.append([*body, *alone(warps, *extra, arrive(8 * agent))])
    return Kernel(list(map(Agent, sizes, bodies)), [*before, publish()])


def rounds(rng: Random) -> Kernel:
    """Agents that meet at one barrier in memory, round after round, with their own arrivals."""
    sizes = [rng.choice((0, 0, 1, 4)) for _ in range(2)]
    if any(sizes):
        sizes = [size or 1 for size in sizes]
    arrivals = [arrival(rng, 0, warps) for warps in sizes]
    bodies: list[list[Do]] = [[] for _ in sizes]
    for turn in range(rng.randint(1, 4)):
        for agent, (body, warps) in enumerate(zip(bodies, sizes, strict=True)):
            body += [*alone(warps, store(2 * turn + agent)), arrivals[agent][0], wait(0, turn % 2)]
            body.append(load(2 * turn + 1 - agent))
    return Kernel(list(map(Agent, sizes, bodies)), [init(0, sum(count for _, count in arrivals)), publish()])


def one_thread(rng: Random) -> Kernel:
    """A thread that fetches, waits and uses, and may use the bytes of its barrier for something else between."""
    body: list[Do] = []
    turns = rng.randint(1, 4)
    again = rng.random() < 0.5
    for turn in range(turns):
        parity = 0 if again else turn % 2
        if again or not turn:
            body += [init(0, 1), publish()]
        body += [*rng.choice(([], [store(0)])), fence(), expect(0), copy(0, 0)]
        body += [*looks(rng, 0, parity, 0), load(0)]
        if again:
            body += [inval(0), *rng.choice(([], [poke(0)], [poke(4)]))]
    return Kernel([Agent(0, body), Agent(0, rng.choice(([load(5)], [store(6)])))])


def block(rng: Random) -> Kernel:
    """A block of warps: the first produces, the others consume."""
    warps, turns = rng.choice((2, 2, 4)), rng.randint(1, 2)
    consumers = warps - 1
    producer: list[Do] = []
    consumer: list[Do] = []
    for turn in range(turns):
        producer += [wait(8, 1 - turn % 2), elected(expect(0), copy(0, 0))]
        consumer += [wait(0, turn % 2), load(0), fence(), elected(arrive(8))]
    make = [first_thread(init(0, 1), init(8, consumers), publish()), meet_all()]
    return Kernel([Agent(warps, [*make, on_warp(0, producer, consumer)])], is_block=True)


def returning(rng: Random) -> Kernel:
    """A block of warps that hand slots on at its barrier; the last warp returns before the others are through."""
    warps, early, late = rng.choice((2, 3, 4)), rng.randint(0, 1), rng.randint(1, 2)
    last = warps - 1
    together: list[Do] = []
    for turn in range(early):
        together += [on_warp(turn % warps, [store(turn)], []), meet_all(), load(turn)]
    alone: list[Do] = []
    for turn in range(early, early + late):
        alone += [on_warp(rng.randrange(last), [store(turn)], []), meet_all(), load(turn)]
    return Kernel([Agent(warps, [*together, on_warp(last, [], alone)])], is_block=True)


Family = Callable[[Random], Kernel]
FAMILIES: tuple[Family, ...] = (
    ring,
    ring,
    ring,
    rendezvous,
    named_handover,
    made_again,
    made_again,
    chain,
    rounds,
    one_thread,
    block,
    returning,
)
