"""
Families of random kernels whose warpgroups move registers (`nvvm.setmaxregister`).

In those that are right, what is given covers what is taken, in every order; warpgroups meet before they move registers
again. Numbers are multiples of 8 registers for each thread.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.checker.explorer.listings import WARP, Line, Listing, Part, branch, lines, of_block

GROUP = 4
"""Warps of a warpgroup."""


def up(count: int) -> Line:
    return _move("increase", count)


def down(count: int) -> Line:
    return _move("decrease", count)


def _move(action: str, count: int) -> Line:
    turned = "decrease" if action == "increase" else "increase"
    near = [each for each in (count - 8, count + 8) if 24 <= each <= 256]
    others = [f"nvvm.setmaxregister {action} {each}" for each in near]
    others.append(f"nvvm.setmaxregister {turned} {count}")
    others.append(branch("%is_first", f"nvvm.setmaxregister {action} {count}"))
    return Line(f"nvvm.setmaxregister {action} {count}", tuple(others))


def meet(group: int, warps: int) -> Line:
    """The warps of one group meet."""
    text = f"nvvm.barrier id = %c{group + 1} number_of_threads = %c{warps * WARP}"
    return Line(text, (text.replace(f"%c{warps * WARP}", f"%c{96}"),))


ALL = Line("nvvm.barrier0", ("nvvm.barrier id = %c7 number_of_threads = %c96",))


def store(cell: int) -> Line:
    return _access(cell, "llvm.store %c1, %p{n} : i32, !llvm.ptr<3>")


def load(cell: int) -> Line:
    return _access(cell, "%v{n} = llvm.load %p{n} : !llvm.ptr<3> -> i32")


def _access(cell: int, access: str) -> Line:
    """By one thread of the first warp of a group."""
    place = f"%p{{n}} = llvm.getelementptr %s[{cell}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32"
    return Line(branch("%is_first", "%e{n} = nvvm.elect.sync -> i1", branch("%e{n}", place, access)))


def kernel(registers: int, warps: list[int], bodies: list[list[Line]]) -> Listing:
    """Group n has so many warps and does `bodies[n]`; all but the last have four."""
    total = sum(warps)
    also = "\n".join(
        (
            "%group = arith.divui %tid, %c128 : i32",
            *(f"%g{group} = arith.cmpi eq, %group, %c{group} : i32" for group in range(len(warps))),
            "%in_group = arith.remui %tid, %c128 : i32",
            "%is_first = arith.cmpi ult, %in_group, %c32 : i32",
        )
    )
    head = of_block("%s: !llvm.ptr<3>", total, attributes=f", nvvm.maxnreg = {registers} : i32", also=also)
    return Listing(head, [Part(f"%g{group}", body) for group, body in enumerate(bodies)])


def _sizes(rng: Random) -> list[int]:
    return rng.choice(([4, 4], [4, 4], [4, 2], [4, 1], [4, 4, 1], [4, 4, 2]))


def _registers(rng: Random, warps: int) -> int:
    most = (1 << 16) // (warps * WARP) // 8 * 8
    return min(rng.choice((96, 128, 160, 168)), most)


def _share(given: int, givers: int, takers: int) -> int:
    """How much more each thread of `takers` warps may have, of what each of `givers` warps gives, in units of 8."""
    return given * givers // takers // 8 * 8


def producers_and_consumers(rng: Random) -> Listing:
    """Some groups give registers back, and one or two take them; values go through shared memory."""
    warps = _sizes(rng)
    each = _registers(rng, sum(warps))
    giver = rng.randrange(len(warps))
    takers = [group for group in range(len(warps)) if group != giver]
    low = rng.choice((24, 40, 48))
    high = min(each + _share(each - low, warps[giver], sum(warps[group] for group in takers)), 256)
    bodies: list[list[Line]] = []
    for group in range(len(warps)):
        body = lines(down(low) if group == giver else up(high))
        body.insert(rng.randint(0, 1), store(group))
        bodies.append([*body, *lines(ALL, load((group + 1) % len(warps)))])
    return kernel(each, warps, bodies)


def given_and_taken_again(rng: Random) -> Listing:
    """Each group gives some back, does something, and takes that much again."""
    warps = _sizes(rng)
    each = _registers(rng, sum(warps))
    bodies = [
        lines(down(rng.choice((24, 40, 64))), store(group), meet(group, size), up(each))
        for group, size in enumerate(warps)
    ]
    return kernel(each, warps, bodies)


def one_after_the_other(rng: Random) -> Listing:
    """A group takes what there is, gives it back, and lets the next one have it."""
    warps = rng.choice(([4, 4], [4, 2], [4, 4, 2]))
    each = _registers(rng, sum(warps))
    low, extra = rng.choice((24, 40)), len(warps) == 3
    high = min(each + (_share(each - low, warps[2], 4) if extra else 0), 256)
    first = lines(down(low), meet(0, 4), ALL)
    second = lines(ALL, up(min(each + _share(each - low, 4, warps[1]), 256)))
    if extra:
        first = lines(up(high), store(0), meet(0, 4), down(each), ALL)
        second = lines(ALL, load(0), up(min(each + _share(each - low, warps[2], 4), 256)))
        return kernel(each, warps, [first, second, lines(down(low), ALL)])
    return kernel(each, warps, [first, second])


def only_less(rng: Random) -> Listing:
    """Nobody takes more than it has: increases to what a warp has do nothing."""
    warps = _sizes(rng)
    each = _registers(rng, sum(warps))
    moves = (down(24), down(each), up(each), up(each - 8), down(40))
    return kernel(each, warps, [lines(rng.choice(moves), ALL, load(group)) for group in range(len(warps))])


def twice(rng: Random) -> Listing:
    """A producer gives in two steps; who takes does it in two as well."""
    warps = rng.choice(([4, 4], [4, 2]))
    each = _registers(rng, sum(warps))
    middle, low = each - 24, each - 48
    halves = [min(each + _share(step, 4, warps[1]), 256) for step in (24, 48)]
    giver = lines(down(middle), meet(0, 4), down(low))
    if rng.random() < 0.5:
        giver.insert(2, ALL)
        taker = lines(up(halves[0]), meet(1, warps[1]), ALL, up(halves[1]))
    else:
        taker = lines(up(halves[0]), meet(1, warps[1]), up(halves[1]))
    return kernel(each, warps, [giver, taker])


def open_pool(rng: Random) -> Listing:
    """Two groups ask for more than there is at once; whether both get theirs depends on what they do."""
    warps = rng.choice(([4, 4], [4, 2], [4, 4, 1]))
    each = _registers(rng, sum(warps))
    wanted = min(each + rng.choice((8, 24, 40)), 256)
    bodies = [
        lines(up(wanted), meet(group, size), rng.choice((down(each), down(wanted - 8), down(24))))
        for group, size in enumerate(warps)
    ]
    giver = rng.randrange(len(warps))
    bodies[giver] = lines(down(rng.choice((24, 40, each - 8))))
    if rng.random() < 0.4:
        bodies[giver] = lines(down(each - 16), meet(giver, warps[giver]), rng.choice((up(each), down(24))))
    return kernel(each, warps, bodies)


FAMILIES: tuple[Callable[[Random], Listing], ...] = (
    producers_and_consumers,
    producers_and_consumers,
    given_and_taken_again,
    one_after_the_other,
    only_less,
    twice,
    open_pool,
)
