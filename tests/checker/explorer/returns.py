"""
Families of random kernels in which warps return before the others have met for the last time.

A barrier of the block waits for the threads that have not returned (PTX ISA, "barrier": non-exited threads). One that
is given a number of threads waits for so many, returned or not.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.checker.explorer.listings import WARP, Line, Listing, Part, elected, lines, of_block

ALL = Line("nvvm.barrier0", ("nvvm.barrier id = %c0 number_of_threads = %c64", "nvvm.barrier id = %c1"))
BARRIERS = range(3)


def kernel(warps: int, *parts: Part, barriers: tuple[int, ...] = ()) -> Listing:
    also = [
        *(f"%b{n} = llvm.getelementptr %bar[{n}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64" for n in BARRIERS),
        *(f"%first{n} = arith.cmpi ult, %warp, %c{n} : i32" for n in range(warps + 1)),
        *(f"%from{n} = arith.cmpi uge, %warp, %c{n} : i32" for n in range(warps + 1)),
    ]
    made: list[Part] = []
    if barriers:
        inits = [f"nvvm.mbarrier.init %b{n}, %c{count} : !llvm.ptr<3>, i32" for n, count in enumerate(barriers)]
        made = [Part("%is0", [Line(elected(*inits, "nvvm.fence.mbarrier.init"), is_kept=True)])]
        made.append(Part(None, [Line("nvvm.barrier0")]))
    return Listing(of_block("%s: !llvm.ptr<3>, %bar: !llvm.ptr<3>", warps, also="\n".join(also)), [*made, *parts])


def store(cell: int) -> Line:
    return _access(cell, "llvm.store %c1, %p{n} : i32, !llvm.ptr<3>")


def load(cell: int) -> Line:
    return _access(cell, "%v{n} = llvm.load %p{n} : !llvm.ptr<3> -> i32")


def _access(cell: int, access: str) -> Line:
    def at(cell: int) -> str:
        return elected(f"%p{{n}} = llvm.getelementptr %s[{cell}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32", access)

    return Line(at(cell), (at(cell + 1),))


def meet(number: int, warps: int) -> Line:
    """So many warps meet."""
    return _named("nvvm.barrier", number, warps)


def announce(number: int, warps: int) -> Line:
    """Arrive there, and do not wait."""
    return _named("nvvm.barrier.arrive", number, warps)


def _named(name: str, number: int, warps: int) -> Line:
    def of(count: int) -> str:
        return f"{name} id = %c{number} number_of_threads = %c{count * WARP}"

    return Line(of(warps), tuple(of(count) for count in (warps - 1, warps + 1) if 1 <= count <= 4))


def some_return_at_once(rng: Random) -> Listing:
    """The first warps meet, once or twice, and exchange values; the others return, and may have done something."""
    warps = rng.randint(2, 4)
    staying = rng.randint(1, warps - 1)
    parts = [Part(f"%is{warp}", [store(warp)]) for warp in range(staying)]
    if rng.random() < 0.5:
        parts.append(Part(f"%is{warps - 1}", [store(7)]))
    together = rng.choice((ALL, meet(1, staying)))
    parts.append(Part(f"%first{staying}", lines(together)))
    parts += [Part(f"%is{warp}", [load((warp + 1) % staying)]) for warp in range(staying)]
    if rng.random() < 0.5:
        parts.append(Part(f"%first{staying}", lines(together)))
        parts.append(Part("%is0", [store(rng.randrange(staying))]))
    return kernel(warps, *parts)


def after_a_meeting(rng: Random) -> Listing:
    """All meet, some return, and the others meet again."""
    warps = rng.randint(2, 4)
    staying = rng.randint(1, warps - 1)
    parts = [Part(f"%is{warp}", [store(warp)]) for warp in range(warps)]
    parts += [Part(None, [ALL]), Part(f"%is{warps - 1}", [load(0)])]
    parts += [Part(f"%first{staying}", [ALL]), Part(f"%is{staying - 1}", [store(staying)])]
    if rng.random() < 0.5:
        parts[-1] = Part(f"%is{staying - 1}", [load(warps - 1)])
    elif staying == warps - 1:
        parts[-1] = Part(f"%is{staying - 1}", [load(staying)])
    return kernel(warps, *parts)


def one_after_the_other(rng: Random) -> Listing:
    """After each meeting one warp more returns."""
    warps = rng.randint(2, 4)
    parts = [Part(f"%is{warp}", [store(warp)]) for warp in range(warps)]
    for left in range(warps, 0, -1):
        parts.append(Part(f"%first{left}", [ALL]))
        if left > 1:
            parts.append(Part(f"%is{left - 2}", [load(left - 1)]))
    return kernel(warps, *parts)


def announced(rng: Random) -> Listing:
    """Warps that return arrive at a barrier before; the others wait there for what these have written."""
    warps = rng.randint(2, 4)
    staying = rng.randint(1, warps - 1)
    parts = [Part(f"%is{warp}", lines(store(warp), announce(1, warps))) for warp in range(staying, warps)]
    parts += [Part(f"%is{warp}", lines(meet(1, warps), load(rng.randrange(staying, warps)))) for warp in range(staying)]
    if rng.random() < 0.5:
        parts.append(Part(f"%first{staying}", [ALL]))
    return kernel(warps, *parts)


def by_phases(rng: Random) -> Listing:
    """Warps that return arrive at a barrier in memory before; the others wait for its phase, and meet."""
    warps = rng.randint(2, 4)
    staying = rng.randint(1, warps - 1)
    arrival = Line(
        elected("nvvm.mbarrier.arrive %b0 : !llvm.ptr<3>"), (elected("nvvm.mbarrier.arrive %b1 : !llvm.ptr<3>"),)
    )
    wait = "nvvm.mbarrier.try_wait.parity %b0, %c0, %ticks : !llvm.ptr<3>, i32, i32"
    waiting = Line(wait, (wait.replace("%c0", "%c1"), wait.replace("%b0", "%b1")))
    parts = [Part(f"%is{warp}", lines(store(warp), arrival)) for warp in range(staying, warps)]
    parts += [Part(f"%is{warp}", lines(waiting, load(rng.randrange(staying, warps)))) for warp in range(staying)]
    parts += [Part(f"%first{staying}", [ALL]), Part("%is0", [store(warps - 1)])]
    return kernel(warps, *parts, barriers=(warps - staying, 1))


def open_returns(rng: Random) -> Listing:
    """Warps meet so often as it comes."""
    warps = rng.randint(2, 3)
    parts: list[Part] = []
    for warp in range(warps):
        ways = (ALL, meet(1, 2), announce(1, 2), store(0), load(0), ALL)
        parts.append(Part(f"%is{warp}", [rng.choice(ways) for _ in range(rng.randint(0, 3))]))
    return kernel(warps, *parts)


FAMILIES: tuple[Callable[[Random], Listing], ...] = (
    some_return_at_once,
    after_a_meeting,
    one_after_the_other,
    announced,
    by_phases,
    open_returns,
)
