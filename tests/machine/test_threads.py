"""Threads of an agent: who reads which number, who takes which branch, who arrives how often, what is touched."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.threads.hardware import PerThread, Varies
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.tiles.pointers import Pointer, byte_object
from tileas_xdsl.machine.twins import Twins

NUMBERS = ["%c0 = arith.constant 0 : i32", "%c1 = arith.constant 1 : i32", "%c32 = arith.constant 32 : i32"]
TID = "%tid = nvvm.read.ptx.sreg.tid.x : i32"
WARP = "%warp = arith.divui %tid, %c32 : i32"


def kernel(*lines: str, says: str = "", arguments: str = "%x: !llvm.ptr<1>, %s: !llvm.ptr<3>") -> str:
    attributes = f" attributes {{{says}}}" if says else ""
    return "\n".join([f"func.func @k({arguments}){attributes} {{", *NUMBERS, *lines, "func.return", "}"])


def block(*lines: str, threads: int = 64) -> str:
    return kernel(*lines, says=f"nvvm.reqntid = array<i32: {threads}>")


def kinds(text: str, threads: int | None = None) -> set[str]:
    """What is found, `safe` or `undecided`."""
    return words(check(parse(text), "k", threads=threads))


def words(report: Report) -> set[str]:
    return set(report.kinds) or {str(report.verdict)}


def stored(register: str, text: str = "nvvm.reqntid = array<i32: 8, 4, 2>", type_: str = "i32") -> list[int]:
    """What each of 64 threads reads from `register`, as it stores it at its place."""
    linear = [
        "%l = nvvm.read.ptx.sreg.laneid : i32",
        "%w = nvvm.read.ptx.sreg.warpid : i32",
        "%f = arith.muli %w, %c32 : i32",
        "%at = arith.addi %f, %l : i32",
    ]
    read = (
        f"%v = {register} : {type_}" if type_ == "i32" else f"%u = {register}\n%v = arith.index_cast %u : index to i32"
    )
    place = "%p = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"
    program = kernel(*linear, read, place, "llvm.store %v, %p : i32, !llvm.ptr<1>", says=text)
    outcome = run(parse(program), "k", {"x": np.zeros(64, np.int32)})
    assert not outcome.violations
    return outcome.arrays["x"].tolist()


# Numbers --------------------------------------------------------------------------------------------------------------


def test_registers_tell_threads_apart() -> None:
    """A block of 8 x 4 x 2 threads: x counts fastest, warps are 32 in a row."""
    assert stored("nvvm.read.ptx.sreg.tid.x") == [t % 8 for t in range(64)]
    assert stored("nvvm.read.ptx.sreg.tid.y") == [t // 8 % 4 for t in range(64)]
    assert stored("nvvm.read.ptx.sreg.tid.z") == [t // 32 for t in range(64)]
    assert stored("nvvm.read.ptx.sreg.laneid") == [t % 32 for t in range(64)]
    assert stored("nvvm.read.ptx.sreg.warpid") == [t // 32 for t in range(64)]
    assert stored("nvvm.read.ptx.sreg.ntid.y") == [4] * 64
    assert stored("nvvm.read.ptx.sreg.lanemask.lt") == [
        int(np.int64((1 << t % 32) - 1).astype(np.int32)) for t in range(64)
    ]
    assert stored('"gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index', type_="index") == [
        t % 8 for t in range(64)
    ]
    assert stored('"gpu.subgroup_size"() : () -> index', type_="index") == [32] * 64


@pytest.mark.parametrize(
    "says",
    [
        "nvvm.reqntid = array<i32: 64>",
        "rocdl.reqd_work_group_size = array<i32: 64, 1, 1>",
        'rocdl.flat_work_group_size = "64,64"',
        "gpu.known_block_size = array<i32: 64, 1, 1>",
    ],
)
def test_a_function_says_how_many_threads_run_it(says: str) -> None:
    assert stored("nvvm.read.ptx.sreg.tid.x", says) == list(range(64))


def test_a_wave_of_gfx9_has_64_threads() -> None:
    says = 'rocdl.reqd_work_group_size = array<i32: 64, 1, 1>, target = "gfx942"'
    program = kernel(
        "%l = nvvm.read.ptx.sreg.laneid : i32",
        "%p = llvm.getelementptr %x[%l] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
        "llvm.store %l, %p : i32, !llvm.ptr<1>",
        says=says,
    )
    assert run(parse(program), "k", {"x": np.zeros(64, np.int32)}).arrays["x"].tolist() == list(range(64))


def test_without_a_number_of_threads_nobody_knows_which_one_it_is() -> None:
    text = kernel(TID)
    report = check(parse(text))
    assert report.verdict is Verdict.UNDECIDED
    assert "nothing says how many there are" in report.undecided[0]
    with pytest.raises(UndecidedError, match="--threads"):
        run(parse(text), "k")
    assert kinds(text, threads=64) == {"safe"}


def test_a_number_of_threads_must_not_contradict() -> None:
    with pytest.raises(UnsupportedError, match="says itself that 64 threads run it, not 32"):
        check(parse(block(TID)), threads=32)
    with pytest.raises(ArgumentError, match="1 to 1024 threads, not 0"):
        check(parse(kernel()), threads=0)


# Branches -------------------------------------------------------------------------------------------------------------


def on_warp(number: int, yes: str, no: str = "") -> list[str]:
    chosen = f"%n = arith.constant {number} : i32"
    return [TID, WARP, chosen, "%p = arith.cmpi eq, %warp, %n : i32", f"scf.if %p {{ {yes} }} else {{ {no} }}"]


MAKE = """%first = arith.cmpi eq, %tid, %c0 : i32
scf.if %first { nvvm.mbarrier.init %s, %count : !llvm.ptr<3>, i32 }
nvvm.barrier0"""


def arriving(count: int, arrive: str) -> str:
    """The first warp arrives at a barrier made by one thread for `count` arrivals, and the second waits."""
    wait = "nvvm.mbarrier.try_wait.parity %s, %c0, %c1 : !llvm.ptr<3>, i32, i32"
    made = f"%count = arith.constant {count} : i32\n{TID}\n{MAKE}"
    return block(made, *on_warp(0, arrive, wait)[1:])


def test_a_branch_on_the_warp_makes_agents() -> None:
    arrive = "nvvm.mbarrier.arrive %s : !llvm.ptr<3>"
    assert kinds(arriving(32, arrive)) == {"safe"}
    assert kinds(arriving(1, arrive)) == {"phase"}
    assert "safe" not in kinds(arriving(33, arrive))


def test_a_wait_of_a_warp_for_copies_of_each_thread_says_what_it_rests_on() -> None:
    """A wait covers the copies of one thread; that others use them only behind a barrier is not looked for."""
    for wait in ("nvvm.cp.async.wait.group 0", "nvvm.cp.async.bulk.wait_group 0"):
        said = check(parse(block(wait, threads=32))).last_line
        assert "threads of a warp use each other's copies only behind a barrier of theirs" in said
        assert "barrier of theirs" not in check(parse(block(wait, threads=1))).last_line


STEP = "the threads of a warp run in step where one touches what another writes"
PLACES = [
    "%next = arith.addi %tid, %c1 : i32",
    "%mine = llvm.getelementptr %s[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32",
    "%theirs = llvm.getelementptr %s[%next] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32",
]
WRITE_MINE = "llvm.store %tid, %mine : i32, !llvm.ptr<3>"
ALL, SOME = "%mask = arith.constant -1 : i32", "%mask = arith.constant 0xff : i32"
SYNC = "nvvm.bar.warp.sync %mask : i32"


@pytest.mark.parametrize(
    ("between", "read", "rests"),
    [
        ([], "%theirs", True),
        ([], "%mine", False),
        ([], "%s", True),
        (["nvvm.barrier0"], "%theirs", False),
        ([ALL, SYNC], "%theirs", False),
        ([SOME, SYNC], "%theirs", True),
        (["nvvm.barrier0", WRITE_MINE], "%theirs", True),
    ],
)
def test_threads_of_a_warp_that_use_each_others_data_are_said_to_run_in_step(
    between: list[str], read: str, rests: bool
) -> None:
    """Unless each keeps to its place, or they met since."""
    load = f"%v = llvm.load {read} : !llvm.ptr<3> -> i32"
    report = check(parse(block(TID, *PLACES, WRITE_MINE, *between, load, threads=32)))
    assert report.verdict is Verdict.SAFE
    assert (STEP in report.scope.assumed) == rests


def test_one_thread_exchanges_nothing() -> None:
    load = "%v = llvm.load %theirs : !llvm.ptr<3> -> i32"
    assert STEP not in check(parse(block(TID, *PLACES, WRITE_MINE, load, threads=1))).scope.assumed


@pytest.mark.parametrize("threads", [1, 32, 64])
def test_init_and_inval_are_ops_of_one_thread(threads: int) -> None:
    """All but the first of several find a valid barrier where they make one, or none where they end it."""
    init, inval = "nvvm.mbarrier.init %s, %c1 : !llvm.ptr<3>, i32", "nvvm.mbarrier.inval %s : !llvm.ptr<3>"
    first = f"{TID}\n%first = arith.cmpi eq, %tid, %c0 : i32\n"
    by_one = f"{first}scf.if %first {{ {init} }}\nscf.if %first {{ {inval} }}"
    assert kinds(block(by_one, threads=threads)) == {"safe"}
    for op in (init, inval):
        said = kinds(block(by_one.replace(f"scf.if %first {{ {op} }}", op), threads=threads))
        assert said == {"safe"} if threads == 1 else "phase" in said


COPY = "nvvm.cp.async.shared.global {}, {}, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>"
WAIT = "nvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 0"


def copying(*rest: str, target: str = "%tid", source: str = "%tid") -> str:
    """Each thread of a warp copies 4 bytes, and waits for them."""
    address = "{} = llvm.getelementptr {}[{}] : (!llvm.ptr<{}>, i32) -> !llvm.ptr<{}>, i32"
    places = [address.format("%to", "%s", target, 3, 3), address.format("%from", "%x", source, 1, 1)]
    return block(TID, *places, COPY.format("%to", "%from"), WAIT, *rest, threads=32)


def test_each_thread_copies_its_own_bytes() -> None:
    """`cp.async` with an address of each thread moves the bytes of each, when it runs."""
    put = "%p = llvm.getelementptr %x[%there] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"
    rest = ["%there = arith.addi %tid, %c32 : i32", put, "%v = llvm.load %to : !llvm.ptr<3> -> i32"]
    text = copying(*rest, "llvm.store %v, %p : i32, !llvm.ptr<1>")
    arrays = {"x": np.arange(64, dtype=np.int32), "s": np.zeros(32, np.int32)}
    outcome = run(parse(text), "k", arrays)
    assert not outcome.violations
    assert outcome.arrays["x"].tolist() == [*range(32), *range(32)]


def test_two_threads_copy_to_one_place() -> None:
    """From two places that is a race; from one it is one value."""
    assert kinds(copying()) == {"safe"}
    assert kinds(copying(target="%c0")) == {"race"}
    assert kinds(copying(target="%c0", source="%c0")) == {"safe"}


def test_a_thread_uses_what_it_has_waited_for_itself() -> None:
    """Other bytes of its warp only when they have met; whoever has met others in another way is given the benefit."""
    read, mine = "%w = llvm.load %s : !llvm.ptr<3> -> i32", "%v = llvm.load %to : !llvm.ptr<3> -> i32"
    all_threads = "%all = arith.constant -1 : i32\nnvvm.bar.warp.sync %all : i32"
    assert kinds(copying(mine)) == {"safe"}
    assert kinds(copying(read)) == {"race"}
    assert kinds(copying(mine, read)) == {"race"}
    assert kinds(copying(all_threads, read)) == {"safe"}
    assert kinds(copying("nvvm.barrier0", read)) == {"safe"}
    assert kinds(copying(read, source="%c0", target="%c0")) == {"safe"}


def test_stores_of_an_elected_thread_are_waited_for_by_it_alone() -> None:
    store = "nvvm.cp.async.bulk.global.shared.cta %x, %s, %c32 : <1>, <3>\nnvvm.cp.async.bulk.commit.group"
    wait, reuse = "nvvm.cp.async.bulk.wait_group 0", "llvm.store %c0, %s : i32, !llvm.ptr<3>"
    elect = "%e = nvvm.elect.sync -> i1"
    assert kinds(block(elect, f"scf.if %e {{ {store} }}", wait, reuse, threads=32)) == {"race"}
    assert kinds(block(elect, f"scf.if %e {{ {store}\n{wait} }}", reuse, threads=32)) == {"safe"}
    assert kinds(block(elect, f"scf.if %e {{ {store} }}", wait, f"scf.if %e {{ {reuse} }}", threads=32)) == {"safe"}


def test_one_of_a_warp_is_elected() -> None:
    arrive = "%e = nvvm.elect.sync -> i1\nscf.if %e { nvvm.mbarrier.arrive %s : !llvm.ptr<3> }"
    assert kinds(arriving(1, arrive)) == {"safe"}
    assert "safe" not in kinds(arriving(32, arrive))


def test_zeros_of_both_signs_are_two_values() -> None:
    """They compare equal. A warp in which some threads have one and some the other has no common value."""
    program = block(
        TID,
        "%two = arith.constant 2 : i32",
        "%zero = arith.constant 0.0 : f32",
        "%one = arith.constant 1.0 : f32",
        "%bit = arith.remui %tid, %two : i32",
        "%is = arith.cmpi eq, %bit, %c0 : i32",
        "%minus = arith.negf %one : f32",
        "%factor = arith.select %is, %one, %minus : f32",
        "%signed = arith.mulf %zero, %factor : f32",
        "%p = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32",
        "llvm.store %signed, %p : f32, !llvm.ptr<1>",
    )
    stored_zeros = run(parse(program), "k", {"x": np.ones(64, np.float32)}).arrays["x"]
    assert list(np.signbit(stored_zeros)) == [False, True] * 32


def test_conditions_are_combined_thread_by_thread() -> None:
    """`warp == 0 and elected`, `not elected`, and a selection, as kernels write them."""
    both = """%w = arith.cmpi eq, %warp, %c0 : i32
    %e = nvvm.elect.sync -> i1
    %b = arith.andi %w, %e : i1
    scf.if %b { nvvm.mbarrier.arrive %s : !llvm.ptr<3> }"""
    assert kinds(arriving(1, both)) == {"safe"}
    nobody = both.replace("%w = arith.cmpi eq", "%w = arith.cmpi ne")
    assert "safe" not in kinds(arriving(1, nobody))
    others = """%e = nvvm.elect.sync -> i1
    %true = arith.constant true
    %b = arith.xori %e, %true : i1
    scf.if %b { nvvm.mbarrier.arrive %s : !llvm.ptr<3> }"""
    assert kinds(arriving(31, others)) == {"safe"}


def test_some_threads_of_a_warp() -> None:
    """Sixteen of them arrive."""
    half = """%sixteen = arith.constant 16 : i32
    %b = arith.cmpi ult, %tid, %sixteen : i32
    scf.if %b { nvvm.mbarrier.arrive %s : !llvm.ptr<3> }"""
    assert kinds(arriving(16, half)) == {"safe"}
    assert "safe" not in kinds(arriving(32, half))


def test_two_arms_that_act_are_undecided() -> None:
    text = block(
        TID,
        "%half = arith.cmpi ult, %tid, %c1 : i32",
        "%z = arith.constant 0 : i32",
        "scf.if %half { llvm.store %z, %x : i32, !llvm.ptr<1> } else { llvm.store %c1, %x : i32, !llvm.ptr<1> }",
    )
    report = check(parse(text))
    assert report.verdict is Verdict.UNDECIDED
    assert "take both arms" in report.undecided[0]


def test_who_is_elected_is_open() -> None:
    """What depends on which thread it is, is undecided."""
    elected = "%e = nvvm.elect.sync -> i1\n"
    place = "%p = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
    own = block(TID, place, elected, "scf.if %e { llvm.store %c1, %p : i32, !llvm.ptr<1> }")
    assert kinds(own) == {"undecided"}
    first = "%f = arith.cmpi eq, %tid, %c0 : i32\n%b = arith.andi %e, %f : i1\n"
    mixed = block(TID, elected, first, "scf.if %b { llvm.store %c1, %x : i32, !llvm.ptr<1> }")
    assert kinds(mixed) == {"undecided"}


def test_loops_and_barriers_need_one_value_for_a_warp() -> None:
    loop = block(TID, "scf.for %i = %c0 to %tid step %c1 : i32 { llvm.store %c1, %x : i32, !llvm.ptr<1> }")
    assert kinds(loop) == {"undecided"}
    barrier = block(
        TID,
        "%p = llvm.getelementptr %s[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64",
        "nvvm.mbarrier.init %p, %c1 : !llvm.ptr<3>, i32",
    )
    assert kinds(barrier) == {"undecided"}


# Accesses -------------------------------------------------------------------------------------------------------------


def at(index: str, base: str = "%s", space: int = 3) -> str:
    pointer = f"!llvm.ptr<{space}>"
    return f"llvm.getelementptr {base}[{index}] : ({pointer}, i32) -> {pointer}, i32"


STORE = "llvm.store %c1, %own : i32, !llvm.ptr<3>"
LOAD = "%v = llvm.load %theirs : !llvm.ptr<3> -> i32"


@pytest.mark.parametrize("meets", [True, False])
def test_what_another_thread_wrote(meets: bool) -> None:
    """Each thread writes its own element and reads that of a thread of the other warp."""
    other = ["%o = arith.xori %tid, %c32 : i32", f"%own = {at('%tid')}", f"%theirs = {at('%o')}"]
    text = block(TID, *other, STORE, *(["nvvm.barrier0"] if meets else []), LOAD)
    assert kinds(text) == ({"safe"} if meets else {"race"})


def test_each_thread_reads_what_it_wrote() -> None:
    text = block(TID, f"%own = {at('%tid')}", f"%theirs = {at('%tid')}", STORE, LOAD)
    assert kinds(text) == {"safe"}


def test_places_at_uneven_distances() -> None:
    """A swizzle: threads of a warp write 32 elements in another order, and the other warp others."""
    swizzle = ["%c5 = arith.constant 5 : i32", "%sw = arith.xori %tid, %c5 : i32", f"%own = {at('%sw')}"]
    assert kinds(block(TID, *swizzle, STORE)) == {"safe"}


def test_threads_that_store_different_values_to_one_place() -> None:
    """All may store the same value; they race where values differ."""
    assert kinds(block(TID, "llvm.store %c1, %x : i32, !llvm.ptr<1>")) == {"safe"}
    assert kinds(block(TID, "llvm.store %tid, %x : i32, !llvm.ptr<1>")) == {"race"}
    assert kinds(block(TID, WARP, "llvm.store %warp, %x : i32, !llvm.ptr<1>")) == {"race"}
    loaded = [f"%own = {at('%warp')}", "%v = llvm.load %own : !llvm.ptr<3> -> i32"]
    assert kinds(block(TID, WARP, *loaded, "llvm.store %v, %x : i32, !llvm.ptr<1>")) == {"race"}
    same = "%v = llvm.load %s : !llvm.ptr<3> -> i32"
    assert kinds(block(same, "llvm.store %v, %x : i32, !llvm.ptr<1>")) == {"safe"}


def test_a_store_that_every_warp_repeats() -> None:
    """Without a barrier a fast warp overwrites what a slow one has still to write in the turn before."""
    loop = "scf.for %i = %c0 to %n step %c1 : i32 {{ llvm.store %i, %s : i32, !llvm.ptr<3> {} }}"
    arguments = "%s: !llvm.ptr<3>, %n: i32"
    says = "nvvm.reqntid = array<i32: 64>"
    report = check(parse(kernel(loop.format("nvvm.barrier0"), says=says, arguments=arguments)))
    assert report.verdict_line.startswith("safe for every trip count")
    assert kinds(kernel(loop.format(""), says=says, arguments=arguments)) == {"race"}


def test_places_that_move_on_are_proved() -> None:
    """Each thread walks an array with a stride of its own."""
    body = "%at = arith.addi %o, %tid : i32\n%p = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"
    store = "llvm.store %c1, %p : i32, !llvm.ptr<1>"
    loop = f"scf.for %i = %c0 to %n step %c1 : i32 {{ %o = arith.muli %i, %c64 : i32\n{body}\n{store} }}"
    says, arguments = "nvvm.reqntid = array<i32: 64>", "%x: !llvm.ptr<1>, %n: i32"
    right = kernel("%c64 = arith.constant 64 : i32", TID, loop, says=says, arguments=arguments)
    assert check(parse(right)).verdict_line.startswith("safe for every trip count")
    wrong = right.replace("constant 64", "constant 32")
    assert kinds(wrong) == {"race"}


def test_numbers_of_all_threads() -> None:
    """A run computes for each thread: y[t] = x[t] + t."""
    text = kernel(
        TID,
        f"%p = {at('%tid', '%x', 1)}",
        "%v = llvm.load %p : !llvm.ptr<1> -> i32",
        "%u = arith.addi %v, %tid : i32",
        "llvm.store %u, %p : i32, !llvm.ptr<1>",
        says="nvvm.reqntid = array<i32: 96>",
    )
    outcome = run(parse(text), "k", {"x": np.arange(96, dtype=np.int32)})
    assert outcome.arrays["x"].tolist() == [2 * t for t in range(96)]
    assert not outcome.violations


def test_memrefs_and_selections() -> None:
    text = """
    func.func @k(%x: memref<64xi32>) attributes {nvvm.reqntid = array<i32: 64>} {
      %c7 = arith.constant 7 : i32
      %c8 = arith.constant 8 : index
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %i = arith.index_cast %t : index to i32
      %small = arith.cmpi ult, %t, %c8 : index
      %v = arith.select %small, %c7, %i : i32
      %w = scf.if %small -> (i32) { scf.yield %i : i32 } else { scf.yield %v : i32 }
      memref.store %w, %x[%t] : memref<64xi32>
      func.return
    }"""
    outcome = run(parse(text), "k", {"x": np.zeros(64, np.int32)})
    assert outcome.arrays["x"].tolist() == list(range(64))


# Agents ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["nv_tileaa.execute", "nv_tileas.async.pipeline.agent_switch"])
def test_agents_of_several_warps(op: str) -> None:
    """Warps of one agent race with each other, and count for themselves."""
    said = "num_agents_per_group = array<i32: 1, 1>, num_warps = array<i32: 1, 2>, isolated = false"
    text = kernel(
        f"{op} attributes {{{said}}} {{",
        "^bb0:",
        "}, {",
        TID,
        "%l = nvvm.read.ptx.sreg.laneid : i32",
        f"%own = {at('%l')}",
        "llvm.store %tid, %own : i32, !llvm.ptr<3>",
        "} : () -> ()",
    )
    assert kinds(text) == {"race"}
    assert kinds(text.replace("at %l", "").replace("[%l]", "[%tid]")) == {"safe"}


def test_code_for_tiles_is_one_agent() -> None:
    """
    A compiler shares it out among the warps and adds the barriers, so nothing is counted but arrivals of all its
    threads. Any other mixture is undecided.
    """
    text = """
    func.func @k(%x: memref<64xi32>) {{
      nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1>, num_warps = array<i32: 4>}} {{
        %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
        {}
      }} : () -> ()
      func.return
    }}"""
    assert kinds(text.format("")) == {"safe"}
    assert kinds(text.format("nvvm.barrier0")) == {"safe"}
    assert kinds(text.format("%l = nvvm.read.ptx.sreg.laneid : i32")) == {"undecided"}


def test_execute_says_its_warps_for_each_region() -> None:
    said = "num_agents_per_group = array<i32: 1, 1>, num_warps = array<i32: 4>"
    text = f"nv_tileaa.execute attributes {{{said}}} {{\n}}, {{\n}} : () -> ()"
    with pytest.raises(VerifyException, match="one entry of num_warps for each region"):
        parse(kernel(text))
    with pytest.raises(VerifyException, match="expects every agent to have a warp"):
        parse(kernel(text.replace("i32: 4", "i32: 4, 0")))


def test_addresses_of_threads_are_made_when_asked_for() -> None:
    base = byte_object("slots", 256, "shared", with_data=False)
    offsets = (8, 72, 136)
    found = PerThread.of_addresses(Pointer(base, 8), offsets, Varies.BY_THREAD)
    assert [(value.base, value.offset) for value in found.values] == [(base, offset) for offset in offsets]
    twin = Twins().of((base, found))
    assert twin[1].offsets == offsets
    assert all(value.base is twin[0] is not base for value in twin[1].values)
    with pytest.raises(AttributeError):
        _ = found.lanes  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
