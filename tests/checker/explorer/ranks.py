"""
Families of random programs that compute with what depends on who comes first: the rank of a member in a group of
tokens, and the columns of tensor memory.

In those that are right no two use one place, whoever comes first, or happens-before says who does.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.checker.explorer.listings import Line, Listing, Part, branch, lines, numbers, of_block

# Ranks in a group -----------------------------------------------------------------------------------------------------

MEMREF = "memref<8xi32>"


def tasks(size: int, body: list[Line]) -> Listing:
    """A function that makes a group of `size` members, and does `body`."""
    head = f"""func.func @main(%a: {MEMREF}, %b: {MEMREF}) {{
{numbers(range(8), "index")}
%x = arith.constant 7 : i32
%group = async.create_group %c{size} : !async.group"""
    return Listing(head, [Part(None, body)])


def store(place: str, array: str = "%a") -> str:
    return f"memref.store %x, {array}[{place}] : {MEMREF}"


def load(place: str, array: str = "%a") -> str:
    return f"%v{{n}} = memref.load {array}[{place}] : {MEMREF}"


RANK = "%part{n} = async.execute {\nasync.yield\n}\n%rank{n} = async.add_to_group %part{n}, %group : !async.token"
SECOND_HALF = "%place{n} = arith.addi %rank{n}, %c4 : index"


def use_of_rank(rng: Random) -> tuple[str, ...]:
    """What a task does with its rank, without mistake, and with one."""
    only_first = "%is{n} = arith.cmpi eq, %rank{n}, %c0 : index"
    right = rng.choice(
        (
            store("%rank{n}"),
            f"{store('%rank{n}')}\n{load('%rank{n}')}",
            f"{SECOND_HALF}\n{store('%place{n}')}",
            f"{only_first}\n{branch('%is{n}', store('%c0'))}",
            load("%rank{n}", "%b"),
        )
    )
    wrong = (store("%c0"), load("%c1"), f"%next{{n}} = arith.divui %rank{{n}}, %c2 : index\n{store('%next{n}')}")
    return right, *wrong


def task(name: str, uses: tuple[str, ...], after: str | None = None) -> Line:
    """A task that becomes a member, and uses its rank."""
    gates = f" [{after}]" if after else ""
    right, *others = (f"{name} = async.execute{gates} {{\n{RANK}\n{use}\nasync.yield\n}}" for use in uses)
    if after:
        others.append(right.replace(gates, ""))
    return Line(right, tuple(others))


def await_(name: str) -> Line:
    return Line(f"async.await {name} : !async.token")


AWAIT_ALL = Line("async.await_all %group")


def each_its_own(rng: Random) -> Listing:
    """Tasks use places by their ranks; all are awaited before anything is read."""
    size = rng.randint(2, 3)
    uses = use_of_rank(rng)
    body = [task(f"%t{number}", uses) for number in range(size)]
    body += [await_(f"%t{number}") for number in rng.sample(range(size), size)]
    body.insert(rng.randint(size + 1, len(body)), AWAIT_ALL)
    reads = [Line(load(f"%c{place}"), (load("%c7"),)) for place in range(size)]
    return tasks(size, [*body, *reads])


def in_order(rng: Random) -> Listing:
    """Each task waits for the one before, so the ranks are known, and what they name is read as soon as it is there."""
    size = rng.randint(2, 3)
    uses = (store("%rank{n}"), store("%c0"), load("%rank{n}"))
    body: list[Line] = []
    is_awaited = rng.random() < 0.5
    for number in range(size):
        after = f"%t{number - 1}" if number and not is_awaited else None
        body.append(task(f"%t{number}", uses, after))
        if is_awaited or number == size - 1:
            body.append(await_(f"%t{number}"))
            body.append(Line(load(f"%c{number}"), (load(f"%c{number + 1}"),)))
    if not is_awaited:
        early = rng.randrange(size)
        body.insert(size, await_(f"%t{early}"))
        body.insert(size + 1, Line(load(f"%c{early}"), (load(f"%c{early + 1}"),)))
    return tasks(size, [*body, AWAIT_ALL])


def unused(rng: Random) -> Listing:
    """Tasks that use their names, not their ranks; one that uses its rank has another array."""
    size = rng.randint(2, 3)
    body = [task(f"%t{number}", (store(f"%c{number}"), store("%rank{n}"))) for number in range(size)]
    body[0] = task("%t0", (f"{store('%c0')}\n{store('%rank{n}', '%b')}", store("%rank{n}")))
    for number in rng.sample(range(size), size):
        body += [await_(f"%t{number}"), Line(load(f"%c{number}"), (load(f"%c{(number + 1) % size}"),))]
    return tasks(size, [*body, AWAIT_ALL])


def members_of_main(rng: Random) -> Listing:
    """The function itself adds all members: it knows their ranks."""
    size = rng.randint(2, 3)
    body = [Line(f"{RANK}\n{store('%rank{n}')}", (RANK,)) for _ in range(size)]
    body.insert(rng.randint(1, size), Line(load("%c0"), (store("%c1"),)))
    body += [task("%t9", (load("%c0"), load("%rank{n}")))] if rng.random() < 0.3 else []
    if len(body) > size + 1:
        return tasks(size + 1, [*body, await_("%t9"), AWAIT_ALL])
    return tasks(size, [*body, AWAIT_ALL])


def open_ranks(rng: Random) -> Listing:
    """Some tasks are awaited before what they may have written is read."""
    size = rng.randint(2, 3)
    uses = use_of_rank(rng)
    body = [task(f"%t{number}", uses) for number in range(size)]
    body.insert(rng.randint(1, size), rng.choice((Line(load("%c0")), await_("%t0"), Line(store("%c5")))))
    body += [await_("%t0"), Line(load(f"%c{rng.randrange(size)}"))]
    body += [await_(f"%t{number}") for number in range(1, size)]
    return tasks(size, [*body, AWAIT_ALL])


# Columns of tensor memory ---------------------------------------------------------------------------------------------

SHAPE = "{shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>}"
SLOTS = "%s: !llvm.ptr<3>"


def kernel(warps: int, parts: list[Part]) -> Listing:
    also = "\n".join(
        (
            *(
                f"%slot{slot} = llvm.getelementptr %s[{slot}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32"
                for slot in range(warps)
            ),
            "%c21 = arith.constant 21 : i32",
            "%lanes = llvm.shl %warp, %c21 : i32",
            "%zero = llvm.inttoptr %lanes : i32 to !llvm.ptr<6>",
        )
    )
    return Listing(of_block(SLOTS, warps, also=also), parts)


def allocate(slot: int, count: int) -> Line:
    text = f"nvvm.tcgen05.alloc %slot{slot}, %c{count} : !llvm.ptr<3>, i32"
    return Line(text, (text.replace(f"%c{count}", "%c96"),), is_kept=True)


def _with_address(slot: int, use: str) -> str:
    """`use` of `%place{n}`, the first column in the lanes of the warp, and of `%whole{n}`, in the first lane."""
    return "\n".join(
        (
            f"%a{{n}} = llvm.load %slot{slot} : !llvm.ptr<3> -> i32",
            "%whole{n} = llvm.inttoptr %a{n} : i32 to !llvm.ptr<6>",
            "%own{n} = llvm.add %a{n}, %lanes : i32",
            "%place{n} = llvm.inttoptr %own{n} : i32 to !llvm.ptr<6>",
            use,
        )
    )


def put(slot: int) -> Line:
    write = f"nvvm.tcgen05.st %place{{n}}, %c1 {SHAPE} : i32"
    wait = "nvvm.tcgen05.wait <store>"
    return Line(
        _with_address(slot, f"{write}\n{wait}"),
        (_with_address(slot, write), _with_address((slot + 1) % 2, f"{write}\n{wait}")),
    )


def get(slot: int) -> Line:
    read = f"%r{{n}} = nvvm.tcgen05.ld %place{{n}} {SHAPE} : i32\nnvvm.tcgen05.wait <load>"
    return Line(_with_address(slot, read), (_with_address((slot + 1) % 2, read),))


AT_ZERO = Line(f"%r{{n}} = nvvm.tcgen05.ld %zero {SHAPE} : i32\nnvvm.tcgen05.wait <load>")


def free(slot: int, count: int) -> Line:
    text = _with_address(slot, f"nvvm.tcgen05.dealloc %whole{{n}}, %c{count} : !llvm.ptr<6>, i32")
    return Line(text, (text.replace(f"%c{count}", "%c128"), text.replace(f"%slot{slot}", f"%slot{(slot + 1) % 2}")))


RELINQUISH = Line("nvvm.tcgen05.relinquish_alloc_permit")
MEET = Line(
    "nvvm.tcgen05.fence <before>\nnvvm.barrier0\nnvvm.tcgen05.fence <after>",
    ("nvvm.barrier0", "nvvm.tcgen05.fence <before>\nnvvm.tcgen05.fence <after>"),
)
COUNTS = (32, 64, 256, 512)


def own_columns(rng: Random) -> Listing:
    """Each warp allocates columns, uses them, and gives them back, whoever comes first."""
    counts = [rng.choice(COUNTS) for _ in range(2)]
    parts: list[Part] = []
    for warp, count in enumerate(counts):
        parts.append(Part(f"%is{warp}", lines(allocate(warp, count), put(warp), get(warp), free(warp, count))))
    return kernel(2, parts)


def one_for_all(rng: Random) -> Listing:
    """One warp allocates, all use the columns, and one gives them back when they have."""
    count, giver = rng.choice(COUNTS), rng.randrange(2)
    first = lines(allocate(0, count), *([RELINQUISH] if rng.random() < 0.5 else []))
    both = lines(MEET, put(0), get(0), MEET)
    return kernel(2, [Part("%is0", first), Part(None, both), Part(f"%is{giver}", lines(free(0, count)))])


def in_order_of_barriers(rng: Random) -> Listing:
    """A barrier says who allocates first, so that it has the first columns."""
    counts = [rng.choice((32, 64, 128)) for _ in range(2)]
    parts = [
        Part("%is0", lines(allocate(0, counts[0]), AT_ZERO)),
        Part(None, lines(MEET)),
        Part("%is1", lines(allocate(1, counts[1]), put(1))),
        Part(None, lines(MEET)),
        Part("%is0", lines(get(0), free(0, counts[0]))),
        Part("%is1", lines(get(1), free(1, counts[1]))),
    ]
    return kernel(2, parts)


def again(rng: Random) -> Listing:
    """A warp allocates, gives back, and allocates again; another one has allocated before, or does so meanwhile."""
    counts = [rng.choice((32, 64, 256)) for _ in range(3)]
    twice = [
        lines(allocate(slot, count), put(slot), free(slot, count)) for slot, count in zip((0, 1), counts, strict=False)
    ]
    parts = [Part("%is0", lines(*twice))]
    if rng.random() < 0.5:
        parts.append(Part("%is1", lines(allocate(2, counts[2]), put(2), free(2, counts[2]))))
    return kernel(3, parts)


def open_columns(rng: Random) -> Listing:
    """Who takes the first columns for its own, and need not have them."""
    counts = [rng.choice((32, 64, 512)) for _ in range(2)]
    parts = [
        Part("%is0", lines(allocate(0, counts[0]), AT_ZERO, free(0, counts[0]))),
        Part("%is1", lines(allocate(1, counts[1]), rng.choice((AT_ZERO, put(1))), free(1, counts[1]))),
    ]
    if rng.random() < 0.3:
        parts.insert(1, Part(None, lines(MEET)))
    return kernel(2, parts)


FAMILIES: tuple[Callable[[Random], Listing], ...] = (
    each_its_own,
    in_order,
    unused,
    members_of_main,
    open_ranks,
    own_columns,
    one_for_all,
    in_order_of_barriers,
    again,
    open_columns,
)
