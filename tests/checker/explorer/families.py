"""
The families of random programs: correct pipelines, rings and task graphs of each model, and unordered programs.

Every family but those called `random...` and `open...` gives programs without mistake, whatever the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random

from tests.checker.explorer.expectations import FAMILIES as EXPECTATIONS
from tests.checker.explorer.statements import (
    GIVEN,
    VALUE,
    VOCABULARY,
    Source,
    Stmt,
    agents,
    arrive,
    async_call,
    at,
    awaits,
    commit,
    conflict,
    copy,
    fetch,
    fresh,
    get,
    inits,
    load,
    loop,
    maybe_unrolled,
    put,
    some_accesses,
    store,
    task,
    until,
    wait,
    wait_marks,
    wait_phase,
)

# Tokens: task graphs --------------------------------------------------------------------------------------------------


def task_graph(rng: Random) -> Source:
    """Tasks that depend on the earlier ones with which they conflict; main accesses what it has awaited."""
    body: list[Stmt] = []
    tasks: dict[int, list[Stmt]] = {}
    behind: dict[int, set[int]] = {}
    awaited: set[int] = set()
    for name in range(1, rng.randint(3, 5) + 1):
        accesses = some_accesses(rng)
        after = [n for n, earlier in tasks.items() if n not in awaited and conflict(accesses, earlier)]
        late = [n for n in after if rng.random() < 0.3]
        early = [n for n in after if n not in late]
        body.append(task(name, awaits(*late) + accesses, early))
        tasks[name] = accesses
        behind[name] = {name}.union(*(behind[n] for n in after))
        if rng.random() < 0.4:
            own = some_accesses(rng, 1)
            needed = [n for n, earlier in tasks.items() if n not in awaited and conflict(own, earlier)]
            body += [*awaits(*needed), *own]
            awaited.update(*(behind[n] for n in needed))
    for name in sorted(tasks, reverse=True):
        if name not in awaited:
            body += awaits(name)
            awaited |= behind[name]
    return Source("tokens", body)


def grouped_tasks(rng: Random) -> Source:
    """Tasks on cells of their own, put into a group; main or another task awaits the group and reads them all."""
    size = rng.randint(1, 3)
    body = [Stmt("group", [size], name=100)]
    for name in range(1, size + 1):
        body.append(task(name, [store(0, at(name - 1))], []))
        body.append(Stmt("add", uses=[name, 100]))
    reads = [Stmt("await_all", uses=[100]), *(load(0, at(cell)) for cell in range(size))]
    if rng.random() < 0.5:
        return Source("tokens", body + reads)
    return Source("tokens", [*body, task(50, reads, []), *awaits(50)])


def grouped_loop(rng: Random) -> Source:
    """A group filled by a loop."""
    size = rng.randint(0, 3)
    one = [task(1, [store(0, at(0, 3, 0))], []), Stmt("add", uses=[1, 100])]
    body = [Stmt("group", [size], name=100), loop(size, one), Stmt("await_all", uses=[100])]
    return Source("tokens", [*body, load(0, at(rng.randrange(3)))])


def carried_token(rng: Random) -> Source:
    """A loop that reads what the task before it wrote, and starts the next task: in place, or one slot further."""
    trips, depth = rng.randint(0, 3), rng.choice((1, 2))
    head = [Stmt("await", uses=[-9]), load(0, at(0, depth, 0))]
    following = task(2, [store(0, at(0, depth, 1))], [])
    if depth == 2 and rng.random() < 0.5:
        # The read may also come after the next task is started, which writes the other slot.
        body = [head[0], following, head[1]]
    else:
        body = [*head, following]
    pipeline = Stmt("carry", [trips], [body], name=9, uses=[1])
    return Source("tokens", [task(1, [store(0, at(0))], []), pipeline, *awaits(9), load(0, at(trips % depth))])


def nested_tasks(rng: Random) -> Source:
    """A task that starts tasks, and awaits them before it ends."""
    inner = [task(2, [store(0, at(0))], []), task(3, [store(0, at(1))], [2] if rng.random() < 0.5 else [])]
    body = [*inner, load(1, at(0)), *awaits(2, 3), load(0, at(rng.randrange(2)))]
    outer = [task(1, body, []), store(1, at(1)), *awaits(1), store(0, at(0))]
    return Source("tokens", outer)


def tasks_of_agents(rng: Random) -> Source:
    """Agents that start tasks on their own cells and await them, or leave that to an agent that has their group."""
    count = rng.randint(1, 2)
    if rng.random() < 0.5:
        bodies = [
            [task(agent + 1, [store(0, at(agent))], []), load(1, at(0)), *awaits(agent + 1), load(0, at(agent))]
            for agent in range(count + 1)
        ]
        return Source("tokens", [agents(*bodies), load(0, at(0))])
    starts = [s for name in range(1, count + 1) for s in (_started(name), Stmt("add", uses=[name, 100]))]
    reads = [Stmt("await_all", uses=[100]), *(load(0, at(cell)) for cell in range(count))]
    return Source("tokens", [Stmt("group", [count], name=100), agents(starts, reads), store(0, at(0))])


def _started(name: int) -> Stmt:
    return task(name, [store(0, at(name - 1))], [])


def random_tasks(rng: Random) -> Source:
    names = iter(range(1, 100))
    return Source("tokens", _random_tokens(rng, names, [], rng.randint(3, 6), 0))


def _random_tokens(rng: Random, names: Iterator[int], known: list[int], length: int, depth: int) -> list[Stmt]:
    body: list[Stmt] = []
    for _ in range(length):
        kind = rng.choice(VOCABULARY["tokens"])
        if kind == "task" and depth < 2:
            name = next(names)
            inner = _random_tokens(rng, names, list(known), rng.randint(1, 2), depth + 1)
            body.append(task(name, inner, [n for n in known if rng.random() < 0.3]))
            known.append(name)
        elif kind == "await" and known:
            body += awaits(rng.choice(known))
        elif kind == "loop" and depth == 0:
            body.append(loop(rng.randint(1, 2), _random_tokens(rng, names, list(known), 2, 1)))
        else:
            body += some_accesses(rng, 1)
    return body


# Functions: calls that are tasks --------------------------------------------------------------------------------------

OWN = at(0, 4, 0)
"""The cell that an asynchronous function is given."""


def calls_of_one(rng: Random) -> Source:
    """Calls of one function on cells of their own, each awaited, by its token or its value, before its cell is read."""
    helper = [*some_own_accesses(rng), store(0, OWN)]
    count = rng.randint(1, 3)
    body = [async_call(name, 0, at(name - 1)) for name in range(1, count + 1)]
    for name in rng.sample(range(1, count + 1), count):
        body += [*awaits(name + rng.choice((0, VALUE))), load(0, at(name - 1))]
    return Source("functions", body, [helper])


def some_own_accesses(rng: Random) -> list[Stmt]:
    return [load(rng.randrange(2), OWN)] if rng.random() < 0.5 else []


def chained_calls(rng: Random) -> Source:
    """Calls of one function on one cell: each is given the token of the one before, and awaits it."""
    helper = [*awaits(GIVEN), load(0, OWN), store(0, OWN)]
    kind = rng.choice((0, 1))
    count = rng.randint(2, 3)
    body = [async_call(name, kind, at(0), [name - 1]) for name in range(1, count + 1)]
    return Source("functions", [*body, *awaits(count), load(0, at(0))], [helper, deepcopy(helper)])


def functions_that_call(rng: Random) -> Source:
    """A function that calls another one, does something meanwhile, and awaits it before it ends or goes on."""
    inner = [store(0, OWN)]
    outer = [async_call(2, rng.choice((1, 2)), OWN), load(1, OWN), *awaits(2), load(0, OWN)]
    calls = [async_call(name, 0, at(name)) for name in range(1, rng.randint(1, 2) + 1)]
    ends = [s for call in calls for s in (*awaits(call.name or 0), store(0, at(call.numbers[1])))]
    return Source("functions", [*calls, store(1, at(3)), *ends], [outer, inner, deepcopy(inner)])


def grouped_calls(rng: Random) -> Source:
    """Calls in a loop, or one after the other, put into a group; all cells are read when the group is complete."""
    size = rng.randint(1, 3)
    one = [async_call(1, rng.choice((0, 1, 2)), at(0, 3, 0)), Stmt("add", uses=[1, 100])]
    one[0].numbers[0] = min(one[0].numbers[0], 1)
    helpers = [[store(0, OWN)], [*some_own_accesses(rng), store(0, OWN)]]
    body = [Stmt("group", [size], name=100), *maybe_unrolled(rng, loop(size, one)), Stmt("await_all", uses=[100])]
    return Source("functions", [*body, *(load(0, at(cell)) for cell in range(size))], helpers)


def calls_and_tasks(rng: Random) -> Source:
    """A task behind a call, and a call that is given the token of a task."""
    helper = [*awaits(GIVEN), store(0, OWN)]
    first = [async_call(1, 1, at(0)), task(2, [load(0, at(0)), store(0, at(1))], [1])]
    second = [async_call(3, rng.choice((0, 1)), at(1), [2])]
    rest = [*awaits(3), load(0, at(1)), load(0, at(0))]
    return Source("functions", [*first, load(1, at(0)), *second, *rest], [helper, deepcopy(helper)])


def random_functions(rng: Random) -> Source:
    """Helpers and a main function of anything."""
    names = iter(range(1, 100))
    helpers = [_random_calls(rng, names, [GIVEN], rng.randint(0, 2), 1) for _ in range(rng.randint(1, 3))]
    return Source("functions", _random_calls(rng, names, [], rng.randint(3, 5), 0), helpers)


def _random_calls(rng: Random, names: Iterator[int], known: list[int], length: int, depth: int) -> list[Stmt]:
    body: list[Stmt] = []
    for _ in range(length):
        kind = rng.choice(VOCABULARY["functions"])
        if kind == "async_call":
            name = next(names)
            place = OWN if depth and rng.random() < 0.5 else at(rng.randrange(3))
            body.append(async_call(name, rng.randrange(3), place, [n for n in known if rng.random() < 0.3]))
            known += [name, name + VALUE]
        elif kind == "task" and depth < 1:
            name = next(names)
            inner = _random_calls(rng, names, list(known), 1, depth + 1)
            body.append(task(name, inner, [n for n in known if rng.random() < 0.3]))
            known.append(name)
        elif kind == "await" and known:
            body += awaits(rng.choice(known))
        elif kind == "loop" and depth == 0:
            body.append(loop(rng.randint(1, 2), _random_calls(rng, names, list(known), 1, 1)))
        else:
            body += some_accesses(rng, 1)
    return body


# Queues: pipelines counted by groups ----------------------------------------------------------------------------------


def queue_pipeline(rng: Random) -> Source:
    """Copies `ahead` iterations before their use, in `ahead + 1` versions of a buffer; prologue, loop, epilogue."""
    ahead, trips = rng.randint(1, 2), rng.randint(1, 3)
    slots = ahead + 1

    def produce(iteration: int, depth: int) -> Stmt:
        return commit(at(0), [load(1, at(0)), store(0, at(0 if depth else iteration % slots, depth, iteration))])

    body = [produce(i, 0) for i in range(ahead)]
    steady = [produce(ahead, slots), wait(at(0), ahead, [load(0, at(0, slots, 0))])]
    body += maybe_unrolled(rng, loop(trips, steady))
    body += [wait(at(0), ahead - 1 - i, [load(0, at((trips + i) % slots))]) for i in range(ahead)]
    return Source("queues", body)


def two_stages(rng: Random) -> Source:
    """A copy on queue 0 feeds a copy on queue 1, which waits inside its commit; then the result is used."""
    trips = rng.randint(1, 2)
    first = commit(at(0), [load(1, at(3)), store(0, at(0, 2, 0))])
    second = commit(at(1), [load(0, at(0, 2, 0)), store(1, at(0, 2, 0))])
    second.bodies[0].insert(0, wait(at(0), 0, []))
    use = wait(at(1), 0, [load(1, at(0, 2, 0))])
    return Source("queues", maybe_unrolled(rng, loop(trips, [first, second, use])))


def queue_per_slot(rng: Random) -> Source:
    """A ring without counts: version v of the buffer has queue v."""
    trips, slots = rng.randint(1, 4), rng.randint(1, 3)
    body = [commit(at(0, slots, 0), [store(0, at(0, slots, 0))]), wait(at(0, slots, 1), 0, [load(0, at(0, slots, 1))])]
    return Source("queues", [*maybe_unrolled(rng, loop(trips, body)), *_drains(slots)])


def groups_of_several(rng: Random) -> Source:
    """Groups of no, one and two operations, and waits from the old end to the young one."""
    sizes = [rng.randrange(3) for _ in range(rng.randint(2, 3))]
    places = iter([(array, cell) for array in range(2) for cell in range(3)])
    written: list[list[tuple[int, int]]] = []
    body: list[Stmt] = []
    for size in sizes:
        cells = [next(places) for _ in range(size)]
        written.append(cells)
        body.append(commit(at(0), *([store(array, at(cell))] for array, cell in cells)))
    for number, cells in enumerate(written):
        uses = [load(array, at(cell)) for array, cell in cells]
        if rng.random() < 0.7 or number == len(written) - 1:
            body.append(wait(at(0), len(written) - 1 - number, uses))
    return Source("queues", body)


def queue_agents(rng: Random) -> Source:
    """Agents with a queue each."""
    bodies: list[list[Stmt]] = []
    for agent in range(rng.choice((2, 2, 3))):
        more = rng.random() < 0.5
        body = [commit(at(agent), [store(0, at(agent))])]
        if more:
            body.append(commit(at(agent), [load(1, at(3)), store(1, at(agent))]))
        body.append(wait(at(agent), int(more), [load(0, at(agent))]))
        bodies.append(body)
    return Source("queues", [agents(*bodies), *_drains(len(bodies))])


def open_queue(rng: Random) -> Source:
    """Agents with one queue: the groups of the others come between, and only a count of 0 is certain to do."""
    bodies: list[list[Stmt]] = []
    for agent in range(rng.choice((2, 2, 3))):
        body = [commit(at(0), [store(0, at(agent))])] if rng.random() < 0.8 else []
        if rng.random() < 0.4:
            body.append(commit(at(0), *rng.choice(([], [[load(1, at(0)), store(1, at(agent + 1))]]))))
        body.append(wait(at(0), rng.choice((0, 0, 0, 1, 2)), [load(0, at(agent))]))
        bodies.append(body)
    return Source("queues", [agents(*bodies), *_drains(1)])


def _drains(queues: int) -> list[Stmt]:
    return [wait(at(queue), 0, []) for queue in range(queues)]


def random_queues(rng: Random) -> Source:
    if rng.random() < 0.3:
        return Source("queues", [agents(*(_random_queue(rng, 3) for _ in range(2))), wait(at(0), 0, [])])
    return Source("queues", [*_random_queue(rng, rng.randint(3, 6)), wait(at(0), rng.randrange(2), [])])


def _random_queue(rng: Random, length: int, depth: int = 0) -> list[Stmt]:
    body: list[Stmt] = []
    for _ in range(length):
        match rng.choice(VOCABULARY["queues"]):
            case "commit":
                body.append(
                    commit(at(rng.choice((0, 0, 1))), *(some_accesses(rng) for _ in range(rng.choice((0, 1, 1)))))
                )
                if depth == 0 and rng.random() < 0.2:
                    body[-1].bodies[0] += _random_queue(rng, 1, 1)
            case "wait":
                inner = some_accesses(rng, 1) if rng.random() < 0.7 else []
                body.append(wait(at(rng.choice((0, 0, 1))), rng.randrange(3), inner))
            case "loop" if depth == 0:
                body.append(loop(rng.randint(1, 2), _random_queue(rng, 2, 1)))
            case _:
                body += some_accesses(rng, 1)
    return body


# Queues of tiles ------------------------------------------------------------------------------------------------------


def makes(*depths: int) -> list[Stmt]:
    """Queues 0 and 1, of these depths."""
    return [Stmt("make", [queue, depth]) for queue, depth in enumerate((*depths, 1, 1)[:2])]


def a_queue_each(rng: Random) -> Source:
    """Producers with a queue each; a consumer takes from one after the other, and reads what each has stored."""
    bodies = [[store(0, at(agent)), put(agent), *([put(agent)] if rng.random() < 0.4 else [])] for agent in range(2)]
    taker: list[Stmt] = []
    for agent in rng.sample(range(2), 2):
        taker += [*(get(agent) for s in bodies[agent] if s.kind == "put"), load(0, at(agent))]
    return Source("tiles", [*makes(rng.randint(1, 2), rng.randint(1, 2)), agents(*bodies, taker)])


def one_after_the_other(rng: Random) -> Source:
    """Two producers for one queue; the second waits, by another queue, until the first is done."""
    first = [store(0, at(0)), *[put(0)] * rng.randint(1, 2), put(1)]
    second = [get(1), rng.choice((load, store))(0, at(0)), put(0)]
    taken = sum(s.kind == "put" and s.numbers == [0] for s in [*first, *second])
    taker = [*[get(0)] * taken, load(0, at(0))]
    return Source("tiles", [*makes(rng.randint(1, 2), 1), agents(first, second, taker)])


def in_line(rng: Random) -> Source:
    """Two producers for one queue, whoever comes first; what they have stored is read when all is taken."""
    bodies = [[store(0, at(agent)), put(0), *([put(0)] if rng.random() < 0.3 else [])] for agent in range(2)]
    taken = sum(s.kind == "put" for body in bodies for s in body)
    depth = 2 if taken > 2 else rng.randint(1, 2)
    taker = [*[get(0)] * taken, *(load(0, at(agent)) for agent in range(2))]
    return Source("tiles", [*makes(depth), agents(*bodies, taker)])


def several_takers(rng: Random) -> Source:
    """One producer, and consumers that take every tile each, and read what was stored before it."""
    count, depth = rng.randint(1, 3), rng.randint(1, 2)
    producer = [s for turn in range(count) for s in (store(0, at(turn)), put(0))]
    takers = [[s for turn in range(count) for s in (get(0), load(0, at(turn)))] for _ in range(rng.choice((1, 2, 2)))]
    return Source("tiles", [*makes(depth), agents(producer, *deepcopy(takers))])


def open_line(rng: Random) -> Source:
    """Two producers for one queue, and a consumer that expects one of them to be first; or a queue of one slot."""
    bodies = [[store(0, at(agent)), *[put(0)] * rng.choice((1, 1, 2))] for agent in range(2)]
    if rng.random() < 0.4:
        bodies[0].append(put(1))
    taken = sum(s.kind == "put" and s.numbers == [0] for body in bodies for s in body)
    taker = [*[get(0)] * taken, load(0, at(1))]
    taker.insert(rng.randint(0, taken), rng.choice((load(0, at(0)), store(1, at(0)))))
    if len(bodies[0]) > 2 and bodies[0][-1].numbers == [1]:
        taker.insert(rng.randint(0, len(taker)), get(1))
    return Source("tiles", [*makes(rng.randint(1, 2), 1), agents(*bodies, taker)])


def random_tiles(rng: Random) -> Source:
    bodies = [[fresh(rng, "tiles") for _ in range(rng.randint(1, 3))] for _ in range(rng.choice((2, 2, 3)))]
    return Source("tiles", [*makes(rng.randint(1, 2), rng.randint(1, 2)), agents(*bodies)])


# Numbers in memory ----------------------------------------------------------------------------------------------------


def bump(ordering: int = 1) -> Stmt:
    return Stmt("bump", [ordering])


def _with_word(*bodies: list[Stmt]) -> Source:
    return Source("words", [Stmt("zero"), agents(*bodies)])


def flag(rng: Random) -> Source:
    """An agent writes and tells; others wait for that, and read."""
    waiter = [until(1, or_more=rng.random() < 0.5), load(0, at(0))]
    return _with_word([store(0, at(0)), bump(rng.choice((1, 2)))], *deepcopy([waiter] * rng.choice((1, 1, 2))))


def all_arrive(rng: Random) -> Source:
    """Agents write their cells, add to a counter, wait for all, and read the cells of others."""
    count = rng.choice((2, 2, 3))
    bodies = [
        [store(0, at(agent)), bump(2), until(count, or_more=rng.random() < 0.5), load(0, at((agent + 1) % count))]
        for agent in range(count)
    ]
    if rng.random() < 0.3:
        bodies[0] = [s for s in bodies[0] if s.kind != "until"][:2]
    return _with_word(*bodies)


def step_by_step(rng: Random) -> Source:
    """Two agents write and read one cell in turns, which a counter tells."""
    turns = rng.randint(2, 3)
    bodies: list[list[Stmt]] = [[], []]
    for turn in range(turns):
        bodies[turn % 2] += [until(turn), rng.choice((load, store))(0, at(0)), bump(rng.choice((1, 2)))]
    return _with_word(*bodies)


def tickets(rng: Random) -> Source:
    """Each agent takes a ticket; who has a number, or is the last, does what only one may do."""
    count = rng.choice((2, 2, 3))
    number = rng.randrange(count)
    body = [store(0, at(0))]
    bodies = [[store(1, at(agent)), Stmt("ticket", [2, number], [deepcopy(body)])] for agent in range(count)]
    if rng.random() < 0.5:
        for each in bodies:
            each[1].numbers[1] = count - 1
            each[1].bodies[0] = [load(1, at(agent)) for agent in range(count)]
    return _with_word(*bodies)


def random_words(rng: Random) -> Source:
    bodies = [[fresh(rng, "words") for _ in range(rng.randint(1, 3))] for _ in range(rng.choice((2, 2, 3)))]
    for body in bodies:
        if rng.random() < 0.3:
            body.append(Stmt("ticket", [rng.randrange(3), rng.randrange(2)], [some_accesses(rng, 1)]))
    return _with_word(*bodies)


# Marks: transfers of one thread ---------------------------------------------------------------------------------------


def mark_pipeline(rng: Random) -> Source:
    """
    The software pipeline of LLVM's "AMDGPU Asynchronous Operations", with a version of the buffer for each block in
    flight, and one in use.
    """
    ahead, trips = rng.randint(1, 3), rng.randint(0, 3)
    slots = ahead + 1
    body: list[Stmt] = []
    for block in range(ahead):
        body += [copy(at(0), at(block)), Stmt("mark")]
    steady = [wait_marks(ahead - 1), load(0, at(0, slots, 0)), copy(at(0), at(0, slots, ahead)), Stmt("mark")]
    body += maybe_unrolled(rng, loop(trips, steady))
    for block in range(ahead):
        body += [wait_marks(ahead - 1 - block), load(0, at((trips + block) % slots))]
    return Source("marks", body)


def uneven_blocks(rng: Random) -> Source:
    """Blocks of no, one and two transfers; some are waited for one by one, the last always."""
    body: list[Stmt] = []
    blocks: list[list[int]] = []
    cells = iter(range(6))
    for _ in range(rng.randint(2, 3)):
        block = [next(cells) for _ in range(rng.randrange(3))]
        body += [*(copy(at(0), at(cell)) for cell in block), Stmt("mark")]
        blocks.append(block)
    for number, block in enumerate(blocks):
        if rng.random() < 0.6 or number == len(blocks) - 1:
            body += [wait_marks(len(blocks) - 1 - number), *(load(0, at(cell)) for cell in block)]
    return Source("marks", body)


def marks_and_calls(rng: Random) -> Source:
    """A callee that transfers, marks and waits on its own account; the caller waits by its own marks."""
    helpers = [
        [copy(at(1), at(2)), Stmt("mark"), *rng.choice(([wait_marks(0), load(0, at(2))], []))],
        [*rng.choice(([wait_marks(0)], [Stmt("mark")])), load(0, at(3))],
    ]
    calls = [Stmt("call", [0]), *([Stmt("call", [1])] if rng.random() < 0.5 else [])]
    body = [copy(at(0), at(0)), Stmt("mark"), *calls, copy(at(0), at(1)), Stmt("mark")]
    body += [wait_marks(1), load(0, at(0)), wait_marks(0), load(0, at(1)), load(0, at(2))]
    return Source("marks", body, helpers)


def reused_buffers(rng: Random) -> Source:
    """A source that is written again, and a destination that is filled again, each after the transfer is complete."""
    trips = rng.randint(1, 3)
    again = [store(1, at(0)), copy(at(0), at(0)), Stmt("mark"), wait_marks(0), load(0, at(0))]
    return Source("marks", maybe_unrolled(rng, loop(trips, again)))


def mark_agents(rng: Random) -> Source:
    """Agents with destinations of their own; each waits for its own marks, and main reads after the join."""
    bodies = [
        [copy(at(0), at(agent)), Stmt("mark"), *([load(1, at(0))] if rng.random() < 0.5 else []), wait_marks(0)]
        for agent in range(2)
    ]
    return Source("marks", [agents(*bodies), load(0, at(0)), load(0, at(1))])


def random_marks(rng: Random) -> Source:
    def some(length: int) -> list[Stmt]:
        return [fresh(rng, "marks") for _ in range(length)]

    body = [copy(at(rng.randrange(2)), at(rng.randrange(3))), *some(rng.randint(3, 7)), Stmt("mark")]
    helpers = [[s for s in some(2) if s.kind != "call"] for _ in range(2)]
    return Source("marks", [*body, wait_marks(rng.choice((0, 0, 1)))], helpers)


# Barriers: rings between agents ---------------------------------------------------------------------------------------


def barrier_ring(rng: Random) -> Source:
    """A producer and one or two consumers over a ring: full barriers from 0, empty barriers behind them."""
    depth, trips = rng.randint(1, 2), rng.randint(1, 3)
    consumers = rng.choice((1, 1, 1, 2)) if trips < 3 else 1
    full, empty, slot = at(0, depth, 0), at(depth, depth, 0), at(0, depth, 0)
    announced = [Stmt("expect", [*full, 1]), Stmt("bulk", [*slot, 0, *full, 1]), arrive(full)]
    fill = rng.choice((fetch(slot, full), announced, [store(0, slot), arrive(full)]))
    producer = loop(trips, [wait_phase(empty, 1, depth), *fill])
    consumer = loop(trips, [wait_phase(full, 0, depth), load(0, slot), arrive(empty)])
    bodies = [maybe_unrolled(rng, deepcopy(body)) for body in [producer, *[consumer] * consumers]]
    return Source("barriers", [*inits(*[1] * depth, *[consumers] * depth), agents(*bodies)])


def rendezvous(rng: Random) -> Source:
    """Agents that write their own cells, meet, and read the others'; again and again on one barrier."""
    count, rounds = rng.choice((2, 2, 2, 3)), rng.randint(1, 2)
    bodies: list[list[Stmt]] = []
    for agent in range(count):
        body: list[Stmt] = []
        for turn in range(rounds):
            body += [store(0, at(agent)), arrive(at(0)), wait_phase(at(0), 0), load(0, at((agent + 1) % count))]
            if turn < rounds - 1 or rng.random() < 0.3:
                body += [arrive(at(0)), wait_phase(at(0), 1)]
        bodies.append(body)
    arrivals = {sum(s.kind == "arrive" for s in body) for body in bodies}
    if len(arrivals) > 1:
        for body in bodies:
            del body[next((n for n in range(len(body) - 1, -1, -1) if body[n].kind == "load"), 0) + 1 :]
    return Source("barriers", [*inits(count), agents(*bodies)])


def chain(rng: Random) -> Source:
    """Each agent hands one buffer on to the next; the first may begin with an asynchronous copy."""
    length = rng.randint(2, 4)
    bodies: list[list[Stmt]] = []
    for agent in range(length):
        body = [wait_phase(at(agent - 1), 0)] if agent else []
        body += [rng.choice((load, store))(0, at(0))]
        if agent < length - 1:
            body += [arrive(at(agent))]
        bodies.append(body)
    if rng.random() < 0.5:
        bodies[0] = fetch(at(0), at(0))
    return Source("barriers", [*inits(*[1] * (length - 1)), agents(*bodies)])


def copies_of_one_thread(rng: Random) -> Source:
    """One thread that fetches, waits and uses, round after round; one or two copies a phase."""
    rounds, copies = rng.randint(1, 3), rng.randint(1, 2)
    body: list[Stmt] = []
    for turn in range(rounds):
        body.append(Stmt("arrive_expect", [*at(0), copies]))
        body += [Stmt("bulk", [*at(cell), cell, *at(0), 1]) for cell in range(copies)]
        body += [wait_phase(at(0), turn % 2), *(load(0, at(cell)) for cell in range(copies))]
    return Source("barriers", [*inits(1), *body])


def open_phases(rng: Random) -> Source:
    """Agents that arrive at one barrier in any order, so that who completes which phase is left open."""
    count = rng.choice((1, 2))
    arrivers = [[*([store(0, at(agent))] if rng.random() < 0.6 else []), arrive(at(0))] for agent in range(2)]
    for body in arrivers:
        if rng.random() < 0.3:
            body.append(wait_phase(at(0), 0))
        if rng.random() < 0.3:
            body.append(arrive(at(0)))
    waiter = [wait_phase(at(0), rng.choice((0, 0, 1))), load(0, at(rng.randrange(3)))]
    return Source("barriers", [*inits(count), agents(*arrivers, waiter)])


def random_barriers(rng: Random) -> Source:
    bodies = [[fresh(rng, "barriers") for _ in range(rng.randint(1, 4))] for _ in range(rng.choice((2, 2, 3)))]
    return Source("barriers", [*inits(*[rng.choice((1, 1, 2)) for _ in range(2)]), agents(*bodies)])


Family = Callable[[Random], Source]
FAMILIES: dict[str, tuple[Family, ...]] = {
    "tokens": (
        task_graph,
        task_graph,
        grouped_tasks,
        grouped_loop,
        carried_token,
        nested_tasks,
        tasks_of_agents,
        random_tasks,
    ),
    "functions": (
        calls_of_one,
        chained_calls,
        functions_that_call,
        grouped_calls,
        grouped_calls,
        calls_and_tasks,
        random_functions,
    ),
    "queues": (queue_pipeline, two_stages, queue_per_slot, groups_of_several, queue_agents, open_queue, random_queues),
    "tiles": (a_queue_each, one_after_the_other, in_line, several_takers, open_line, random_tiles),
    "words": (flag, all_arrive, step_by_step, tickets, tickets, random_words),
    "marks": (mark_pipeline, uneven_blocks, marks_and_calls, reused_buffers, mark_agents, random_marks),
    "barriers": (barrier_ring, barrier_ring, rendezvous, chain, copies_of_one_thread, open_phases, random_barriers),
    "expectations": EXPECTATIONS,
}
