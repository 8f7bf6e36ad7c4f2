"""
Families of random kernels of `tcgen05`: works of the tensor core that are performed in order, or are made to wait.

In those that are right, what overlaps is a pair that forms a pipeline (with both fences between two threads), or waits
behind a commit (with the fence behind the wait, before what is made is loaded), or behind `wait::ld` or `wait::st`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.checker.explorer.listings import Line, Listing, Part, elected, lines, of_block

D, A, BESIDE = "%d0", "%a0", "%d1"
"""Where sums and an operand lie in tensor memory: D and another one 32 columns each, A 8."""
TILE, OTHER_TILE = "%m0", "%m1"
NARROW, WIDE = (1 << 4 | columns // 8 << 17 | 128 // 16 << 24 for columns in (32, 64))
SIGNATURE = "%bar: !llvm.ptr<3>, %g: !llvm.ptr<1>"
MODULE = """
llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : i32
llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32768 x i8>
"""
BYTES = 16384
SHAPE = "{shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>}"
BARRIERS = range(4)


def kernel(warps: int, *parts: Part) -> Listing:
    """The barriers are made, and columns are there, before `parts`."""
    also = [
        "%zero8 = arith.constant 0 : i8",
        "%swizzle = arith.constant 2 : i8",
        "%yes = arith.constant true",
        "%no = arith.constant false",
        f"%narrow = arith.constant {NARROW} : i32",
        f"%wide = arith.constant {WIDE} : i32",
        f"%bytes = arith.constant {BYTES} : i32",
        "%v = arith.constant dense<0> : vector<8xi32>",
        "%slot = llvm.mlir.addressof @slot : !llvm.ptr<3>",
        *(f"%b{n} = llvm.getelementptr %bar[{n}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64" for n in BARRIERS),
        "%tiles = llvm.mlir.addressof @tiles : !llvm.ptr<3>",
        *(_tile(n) for n in range(2)),
        "scf.if %is0 {",
        "nvvm.tcgen05.alloc %slot, %c128 : !llvm.ptr<3>, i32",
        "%e = nvvm.elect.sync -> i1",
        "scf.if %e {",
        *(f"nvvm.mbarrier.init %b{n}, %c1 : !llvm.ptr<3>, i32" for n in BARRIERS),
        "nvvm.fence.mbarrier.init",
        "}\n}",
        "nvvm.barrier0",
        "%address = llvm.load %slot : !llvm.ptr<3> -> i32",
        "%c21 = arith.constant 21 : i32",
        "%lanes = llvm.shl %warp, %c21 : i32",
        "%d0 = llvm.inttoptr %address : i32 to !llvm.ptr<6>",
        "%own_address = llvm.add %address, %lanes : i32",
        *(_place(name, column) for name, column in (("a0", 64), ("d1", 96))),
        "%own_d0 = llvm.inttoptr %own_address : i32 to !llvm.ptr<6>",
    ]
    end = [
        "nvvm.barrier0",
        "scf.if %is0 {",
        "nvvm.tcgen05.dealloc %d0, %c128 : !llvm.ptr<6>, i32",
        "}",
        "func.return",
    ]
    head = of_block(SIGNATURE, warps, also="\n".join(also))
    return Listing(head, list(parts), "\n".join(end), MODULE)


def _tile(n: int) -> str:
    return "\n".join(
        (
            f"%tile{n} = llvm.getelementptr %tiles[{n * BYTES}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8",
            f"%where{n} = llvm.ptrtoint %tile{n} : !llvm.ptr<3> to i32",
            f"%start{n} = llvm.lshr %where{n}, %c4 : i32",
            f"%m{n} = nvvm.tcgen05.mma_smem_desc(%start{n}, %c1, %c64, %zero8, %no, %swizzle)"
            " : (i32, i32, i32, i8, i1, i8) -> i64",
        )
    )


def _place(name: str, column: int) -> str:
    return "\n".join(
        (
            f"%at_{name} = llvm.add %address, %c{column} : i32",
            f"%{name} = llvm.inttoptr %at_{name} : i32 to !llvm.ptr<6>",
            f"%own_at_{name} = llvm.add %own_address, %c{column} : i32",
            f"%own_{name} = llvm.inttoptr %own_at_{name} : i32 to !llvm.ptr<6>",
        )
    )


# Works ----------------------------------------------------------------------------------------------------------------


def _multiply(d: str = D, a: str = TILE, b: str = TILE, shape: str = "%narrow") -> str:
    type_ = "!llvm.ptr<6>" if a == A else "i64"
    return (
        f"nvvm.tcgen05.mma {d}, {a}, {b}, {shape}, %yes {{ctaGroup = #nvvm.cta_group<cta_1>, kind = "
        f"#nvvm.tcgen05_mma_kind<f16>}} : (!llvm.ptr<6>, {type_}, i64, i32, i1)"
    )


def _copy(place: str = A, tile: str = TILE, shape: str = "128x256b") -> str:
    return f"nvvm.tcgen05.cp {place}, {tile} {{shape = #nvvm.tcgen05_cp_shape<shape_{shape}>}}"


SMALL = "4x256b"


def _shift(place: str = A) -> str:
    return f"nvvm.tcgen05.shift {place} : !llvm.ptr<6>"


def _commit(barrier: int) -> str:
    return f"nvvm.tcgen05.commit %b{barrier} : !llvm.ptr<3>"


def _wait(barrier: int, parity: int = 0) -> str:
    return f"nvvm.mbarrier.try_wait.parity %b{barrier}, %c{parity}, %ticks : !llvm.ptr<3>, i32, i32"


def _arrive(barrier: int) -> str:
    return f"nvvm.mbarrier.arrive %b{barrier} : !llvm.ptr<3>"


def _fetch(tile: int, barrier: int) -> str:
    """An asynchronous copy of a whole tile, announced to a barrier."""
    return (
        f"nvvm.mbarrier.arrive.expect_tx %b{barrier}, %bytes : !llvm.ptr<3>, i32\n"
        f"nvvm.cp.async.bulk.shared.cluster.global %tile{tile}, %g, %b{barrier}, %bytes : !llvm.ptr<3>, <1>"
    )


BEFORE, AFTER = Line("nvvm.tcgen05.fence <before>"), Line("nvvm.tcgen05.fence <after>")


def by_one(*works: str, others: tuple[str, ...] = ()) -> Line:
    """By one thread of a warp; others are in the place of the first."""
    return Line(elected(*works), tuple(elected(other, *works[1:]) for other in others))


def commit(barrier: int) -> Line:
    return by_one(_commit(barrier), others=(_commit(barrier + 1),))


def wait(barrier: int, parity: int = 0) -> Line:
    """By all of a warp."""
    return Line(_wait(barrier, parity), (_wait(barrier, 1 - parity), _wait(barrier + 1, parity)))


def get(place: str = D, columns: int = 8) -> Line:
    own, type_ = f"%own_{place[1:]}", f"vector<{columns}xi32>"
    read = f"%r{{n}} = nvvm.tcgen05.ld {own} {SHAPE} : {type_}"
    waited = f"{read}\nnvvm.tcgen05.wait <load>"
    return Line(waited, (read, f"{read}\nnvvm.tcgen05.wait <store>"))


def put(place: str = D) -> Line:
    write = f"nvvm.tcgen05.st %own_{place[1:]}, %v {SHAPE} : vector<8xi32>"
    return Line(f"{write}\nnvvm.tcgen05.wait <store>", (write, f"{write}\nnvvm.tcgen05.wait <load>"))


# Families -------------------------------------------------------------------------------------------------------------


def pipeline_of_one(rng: Random) -> Listing:
    """Works of one thread of which each forms a pipeline with the next that overlaps; a commit behind them all."""
    beginnings = (
        [_copy(), _multiply(a=A)],
        [_multiply(), _multiply()],
        [_copy(shape=SMALL), _multiply(a=A), _multiply(a=A)],
        [_shift(), _multiply(a=A)],
        [_multiply(d=A, a=TILE, shape="%narrow"), _shift()],
        [_shift(), _copy(shape=SMALL), _multiply(a=A)],
        [_multiply(), _multiply(d=BESIDE)],
    )
    works = rng.choice(beginnings)
    others = (_copy(), _multiply(a=A), _multiply(shape="%wide"), _shift())
    body = [by_one(work, others=(rng.choice(others),)) for work in works]
    body += lines(commit(0), wait(0))
    if rng.random() < 0.6:
        body += lines(AFTER, get())
    return kernel(1, Part(None, body))


def waits_between(rng: Random) -> Listing:
    """Works that form no pipeline, with a wait behind a commit between them."""
    first, second = rng.choice(
        (
            (_multiply(a=A), _copy()),
            (_multiply(), _multiply(shape="%wide")),
            (_copy(), _copy()),
            (_copy(), _shift()),
            (_multiply(a=A), _multiply(d=A)),
        )
    )
    body = lines(by_one(first), commit(0), wait(0), by_one(second), commit(1), wait(1))
    if rng.random() < 0.4:
        body += lines(AFTER, get(rng.choice((D, A)), 8))
    return kernel(1, Part(None, body))


def registers_and_core(rng: Random) -> Listing:
    """A warp stores an operand, one of its threads multiplies, and the warp loads the sum."""
    body = lines(put(A))
    if rng.random() < 0.5:
        body += lines(get(A))
    body += lines(by_one(_multiply(a=A)), commit(0), wait(0), AFTER, get())
    if rng.random() < 0.5:
        body += lines(put(A), by_one(_multiply(a=A)), commit(1), wait(1), AFTER, get())
    return kernel(1, Part(None, body))


def handed_over(rng: Random) -> Listing:
    """One thread starts the first of a pair, another one the second, with both fences around the handshake."""
    first, second = rng.choice(
        ((_copy(), _multiply(a=A)), (_multiply(), _multiply()), (_shift(), _multiply(a=A)), (_multiply(d=A), _shift()))
    )
    others = (_multiply(shape="%wide"), _copy())
    one = [by_one(first, others=others), by_one(BEFORE.text), by_one(_arrive(0))]
    two = [by_one(_wait(0)), by_one(AFTER.text), by_one(second, others=others), commit(1), wait(1)]
    return kernel(2, Part("%is0", one), Part("%is1", two))


def epilogue(rng: Random) -> Listing:
    """One warp multiplies, and others load the sum behind the commit; the sum may be made again afterwards."""
    readers = rng.randint(1, 3)
    turns = rng.randint(1, 2) if readers == 1 else 1
    core, other = lines(), lines()
    for turn in range(turns):
        core += lines(by_one(_multiply()), commit(0))
        other += lines(wait(0, turn), AFTER, get())
        if turn + 1 < turns:
            other += lines(BEFORE, by_one(_arrive(1)))
            core += lines(wait(1), AFTER)
    if rng.random() < 0.4 and turns == 1:
        core += lines(wait(0), AFTER, get())
    parts = [Part("%is0", core), *(Part(f"%is{warp}", other) for warp in range(1, readers + 1))]
    return kernel(1 + readers, *parts)


def through_registers(rng: Random) -> Listing:
    """A warp stores an operand for the product of another one, or loads what it must not overwrite yet."""
    first = lines(put(A)) if rng.random() < 0.5 else lines(get(A))
    first += lines(BEFORE, by_one(_arrive(0)))
    use = _multiply(a=A) if rng.random() < 0.6 else _copy()
    second = lines(wait(0), AFTER, by_one(use), commit(1), wait(1))
    return kernel(2, Part("%is0", first), Part("%is1", second))


def relayed(rng: Random) -> Listing:
    """What one thread has done in tensor memory a second one hands on to a third: fences are in the first and last."""
    first = lines(rng.choice((put(A), get(A))), BEFORE, by_one(_arrive(0)))
    second = lines(wait(0), by_one(_arrive(1)))
    if rng.random() < 0.3:
        second[1:1] = lines(AFTER, BEFORE)
    third = lines(wait(1), AFTER, by_one(rng.choice((_multiply(a=A), _copy()))), commit(2), wait(2))
    return kernel(3, Part("%is0", first), Part("%is1", second), Part("%is2", third))


def tiles(rng: Random) -> Listing:
    """Tiles are fetched into shared memory, multiplied behind the wait, and fetched again behind the commit."""
    turns, slots = rng.randint(1, 3), rng.randint(1, 2)
    body: list[Line] = []
    for turn in range(turns):
        slot = turn % slots
        if turn >= slots:
            body += lines(by_one(_wait(2 + slot, (turn // slots - 1) % 2)))
        body += lines(by_one(_fetch(slot, slot)), by_one(_wait(slot, turn // slots % 2)))
        body += lines(by_one(_multiply(a=f"%m{slot}", b=f"%m{slot}"), others=(_multiply(a="%m0", b="%m1"),)))
        body += lines(by_one(_commit(2 + slot), others=(_commit(3 - slot),)))
    last = (turns - 1) % slots
    body += lines(wait(2 + last, (turns - 1) // slots % 2))
    if rng.random() < 0.6:
        body += lines(AFTER, get())
    return kernel(1, Part(None, body))


def open_works(rng: Random) -> Listing:
    """Two works of one thread or of two, whatever they are."""
    works = (
        _multiply(),
        _multiply(a=A),
        _copy(),
        _copy(shape=SMALL),
        _shift(),
        _multiply(d=A),
        _multiply(shape="%wide"),
    )
    one, two = (by_one(rng.choice(works), others=works) for _ in range(2))
    if rng.random() < 0.5:
        return kernel(1, Part(None, lines(one, two, commit(0), wait(0), AFTER, get(rng.choice((D, A))))))
    first = lines(one, by_one(BEFORE.text), by_one(_arrive(0)))
    second = lines(by_one(_wait(0)), by_one(AFTER.text), two, commit(1), wait(1))
    return kernel(2, Part("%is0", first), Part("%is1", second))


FAMILIES: tuple[Callable[[Random], Listing], ...] = (
    pipeline_of_one,
    waits_between,
    registers_and_core,
    handed_over,
    epilogue,
    through_registers,
    relayed,
    tiles,
    open_works,
)
