"""
Programs over the blocks of a cluster: right ones, a twin of each with one mistake, and small changes of the right ones.

The explorer, which executes all blocks warp by warp, and the checker say the same of each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bench.mutation.changes import Mutant, mutants
from bench.mutation.judging import Outcome, judge
from bench.mutation.programs import Program
from tests.checker.cluster_twins import NAMES, PROGRAMS, TWINS, right, wrong
from tests.checker.explorer.explorer import explore
from tests.checker.test_edges import EDGES, verdict
from tests.support.corpora import corpus, sample
from tests.support.ir import parse
from tests.support.mlir import mlir_opt
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import ORDERS, run

TRIPS = range(5)
WRONG_EDGES = ("dsmem_exchange", "multicast_half")

each = pytest.mark.parametrize("name", NAMES)


def explored(text: str, function: str) -> set[str]:
    """What the explorer finds at small trip counts."""
    trips = TRIPS if "%n" in text else range(1)
    return set().union(*(explore(parse(text), function, trips=n, stops_early=True).verdict for n in trips))


# Right programs and their twins ---------------------------------------------------------------------------------------


def test_there_are_ten_and_each_has_a_twin() -> None:
    assert len(NAMES) == 10
    assert sorted(TWINS) == NAMES


@each
def test_right_program_is_proved_for_every_trip_count(name: str) -> None:
    report = check(parse(right(name)))
    assert str(report.verdict) == "safe"
    assert report.last_line.startswith("safe for every trip count")
    assert explored(right(name), name) == set()


@each
def test_both_judges_find_the_mistake_of_the_twin(name: str) -> None:
    kind, _, _ = TWINS[name]
    assert kind in verdict(wrong(name))
    assert explored(wrong(name), name)


@pytest.mark.parametrize("name", WRONG_EDGES)
def test_the_explorer_finds_what_is_wrong_at_the_edges(name: str) -> None:
    assert explored((EDGES / f"{name}.mlir").read_text(), "k")


@pytest.mark.parametrize("text", [text for name in NAMES for text in (right(name), wrong(name))])
def test_mlir_knows_every_op(text: str) -> None:
    """Ops that it does not know would come back in quotes."""
    assert '"' not in mlir_opt(text)


# Small changes --------------------------------------------------------------------------------------------------------

AGREED = {Outcome.KILLED, Outcome.STRICTER, Outcome.EQUIVALENT}
CANNOT_TELL = {
    ("published", "nvvm.cluster.wait"),
    ("ring", "nvvm.mbarrier.init"),
    ("ring", "nvvm.mbarrier.try_wait.parity"),
}
"""
Program and op of which the explorer has too many interleavings, or the table of reasons nothing to say: a wait at the
barrier of the cluster may come behind what only concerns the own block.
"""


@cache
def changed() -> list[Mutant]:
    """Every small change of every right program."""
    found: list[Mutant] = []
    for name in NAMES:
        trips = TRIPS if "%n" in right(name) else range(1)
        found += mutants(Program(PROGRAMS / f"{name}.mlir", name, parse(right(name)), trips))
    return found


@corpus(lambda: len(changed()))
def test_no_change_that_is_wrong_is_called_safe_and_nothing_right_is_reported() -> None:
    judged = [judge(mutant) for mutant in sample(changed(), 24)]
    for judgement in judged:
        excused = (judgement.mutant.program.name, judgement.mutant.ops[0]) in CANNOT_TELL
        assert judgement.outcome in AGREED or (excused and judgement.outcome is Outcome.UNJUDGED), str(judgement)
    assert any(judgement.outcome is Outcome.KILLED for judgement in judged)


# Ranks, sizes, places -------------------------------------------------------------------------------------------------


def kernel(*lines: str, attributes: str = "", arguments: str = "%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %i: i32") -> str:
    """A kernel with these ops; `%c0` to `%c5` are constants."""
    says = f" attributes {{{attributes}}}" if attributes else ""
    head = [f"%c{n} = arith.constant {n} : i32" for n in range(6)]
    return "\n".join([f"func.func @k({arguments}){says} {{", *head, *lines, "func.return", "}"])


RANK = "%rank = nvvm.read.ptx.sreg.cluster.ctarank : i32"
SYNC = ("nvvm.cluster.arrive", "nvvm.cluster.wait")
FOUR = "nvvm.cluster_dim = array<i32: 4, 1, 1>"


def to_peer(rank: str) -> list[str]:
    return [f"%p = nvvm.mapa %s, {rank} : !llvm.ptr<3> -> !llvm.ptr<7>", "llvm.store %c1, %p : i32, !llvm.ptr<7>"]


def test_every_block_has_its_rank_and_its_own_memory() -> None:
    """Each of four blocks sends its rank to the next, and adds what it got to a place of its own in global memory."""
    text = kernel(
        RANK,
        "%up = arith.addi %rank, %c1 : i32",
        "%next = arith.remui %up, %c4 : i32",
        "%p = nvvm.mapa %s, %next : !llvm.ptr<3> -> !llvm.ptr<7>",
        *SYNC,
        "llvm.store %rank, %p : i32, !llvm.ptr<7>",
        *SYNC,
        "%v = llvm.load %s : !llvm.ptr<3> -> i32",
        "%o = llvm.getelementptr %g[%rank] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
        "llvm.store %v, %o : i32, !llvm.ptr<1>",
        attributes=FOUR,
    )
    assert verdict(text) == {"safe"}
    for order in ORDERS:
        out = run(parse(text), "k", {"g": np.zeros(4, np.int32), "i": 0}, order=order)
        assert not out.violations
        np.testing.assert_array_equal(out.arrays["g"], [3, 0, 1, 2])


def test_a_multicast_moves_the_data_to_every_block_that_it_names() -> None:
    text = right("published").replace("%v = llvm.load %tile : !llvm.ptr<3> -> f32", PUT_OUT)
    text = text.replace("%full: !llvm.ptr<3>", "%full: !llvm.ptr<3>, %out: !llvm.ptr<1>")
    source = np.arange(128, dtype=np.float32) + 7
    for order in ("eager", "lazy", "random"):
        out = run(parse(text), "published", {"src": source, "out": np.zeros(2, np.float32)}, order=order)
        assert not out.violations
        np.testing.assert_array_equal(out.arrays["out"], [7, 7])


PUT_OUT = """%v = llvm.load %tile : !llvm.ptr<3> -> f32
  %o = llvm.getelementptr %out[%rank] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %v, %o : f32, !llvm.ptr<1>"""


def test_blocks_in_two_dimensions() -> None:
    text = kernel(
        "%x = nvvm.read.ptx.sreg.cluster.ctaid.x : i32",
        "%y = nvvm.read.ptx.sreg.cluster.ctaid.y : i32",
        "%w = nvvm.read.ptx.sreg.cluster.nctaid.x : i32",
        "%all = nvvm.read.ptx.sreg.cluster.nctarank : i32",
        RANK,
        "%below = arith.muli %y, %w : i32",
        "%mine = arith.addi %below, %x : i32",
        "%is = arith.subi %mine, %rank : i32",
        "%o = llvm.getelementptr %g[%rank] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
        "%sum = arith.addi %is, %all : i32",
        *SYNC,
        "llvm.store %sum, %o : i32, !llvm.ptr<1>",
        attributes="nvvm.cluster_dim = array<i32: 3, 2, 1>",
    )
    out = run(parse(text), "k", {"g": np.zeros(6, np.int32), "i": 0})
    np.testing.assert_array_equal(out.arrays["g"], [6] * 6)


def test_the_id_of_a_block_in_the_grid_tells_blocks_of_a_cluster_apart() -> None:
    """Global memory at the id of the block is another place for each; at half of it, it is the same one for two."""
    read = "%b = nvvm.read.ptx.sreg.ctaid.x : i32"
    at = "%o = llvm.getelementptr %g[{}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"
    put = "llvm.store %c1, %o : i32, !llvm.ptr<1>"
    own = kernel(RANK, read, at.format("%b"), *SYNC, put)
    assert verdict(own) == {"safe"}
    both = kernel(RANK, "%b = nvvm.read.ptx.sreg.clusterid.x : i32", at.format("%b"), *SYNC, put)
    assert verdict(both) == {"race"}


def test_a_branch_on_the_id_of_the_block_is_followed_for_every_cluster() -> None:
    text = kernel(
        "%b = nvvm.read.ptx.sreg.ctaid.x : i32",
        "%odd = arith.andi %b, %c1 : i32",
        "%is = arith.cmpi eq, %odd, %c1 : i32",
        *SYNC,
        f"scf.if %is {{ {'; '.join(to_peer('%c0'))} }}".replace("; ", "\n"),
        *SYNC,
    )
    assert verdict(text) == {"safe"}


def test_shared_globals_are_found_in_other_blocks() -> None:
    body = [
        "%s = llvm.mlir.addressof @word : !llvm.ptr<3>",
        RANK,
        "%other = arith.xori %rank, %c1 : i32",
        *SYNC,
        *to_peer("%other"),
    ]
    word = "llvm.mlir.global internal @word() {addr_space = 3 : i32} : i32\n"
    with_sync, without = kernel(*body, *SYNC, arguments=""), kernel(*body, arguments="")
    assert verdict(word + with_sync) == {"safe"}
    assert verdict(word + without) == {"absent"}


@pytest.mark.parametrize(("rank", "blocks"), [("%c1", 2), ("%c3", 4)])
def test_a_kernel_that_says_nothing_has_as_many_blocks_as_its_ranks_name(rank: str, blocks: int) -> None:
    report = check(parse(kernel(*SYNC, f"%p = nvvm.mapa %s, {rank} : !llvm.ptr<3> -> !llvm.ptr<7>")))
    assert f"a cluster has {blocks} blocks" in report.scope.assumed


def test_kernels_that_do_not_cross_are_executed_by_one_block() -> None:
    report = check(parse(kernel(*SYNC, attributes=FOUR)))
    assert "the blocks of a cluster are executed as one" in report.scope.assumed


# The barrier of the cluster -------------------------------------------------------------------------------------------


def by_rank(*lines: str) -> str:
    return "\n".join(["%is = arith.cmpi eq, %rank, %c0 : i32", "scf.if %is {", *lines, "}"])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((RANK, by_rank(*SYNC)), {"safe"}),
        ((RANK, by_rank("nvvm.cluster.arrive"), *SYNC), {"phase", "deadlock"}),
        ((RANK, *SYNC, by_rank("nvvm.cluster.wait")), {"malformed"}),
    ],
    ids=["who has left is not waited for", "twice", "wait alone"],
)
def test_what_blocks_do_at_their_barrier_by_rank(lines: tuple[str, ...], said: set[str]) -> None:
    assert verdict(kernel(*lines)) == said


def test_threads_that_have_left_are_not_waited_for() -> None:
    """The second warp of each block leaves before the barrier."""
    text = kernel(
        RANK,
        "%t = nvvm.read.ptx.sreg.tid.x : i32",
        "%c32 = arith.constant 32 : i32",
        "%w = arith.divui %t, %c32 : i32",
        "%second = arith.cmpi eq, %w, %c1 : i32",
        "cf.cond_br %second, ^out, ^on",
        "^out:",
        "nvvm.exit",
        "func.return",
        "^on:",
        *SYNC,
        *to_peer("%c1"),
        *SYNC,
        attributes="nvvm.reqntid = array<i32: 64>",
    )
    assert verdict(text) == {"race"}
    assert verdict(text.replace("mapa %s, %c1", "mapa %s, %rank")) == {"safe"}


def test_a_block_that_leaves_by_its_only_agent_takes_its_memory_along() -> None:
    text = kernel(RANK, *SYNC, by_rank(*to_peer("%c1")), "nvvm.exit")
    assert verdict(text) == {"absent"}


@pytest.mark.parametrize("name", ["published", "halves"])
def test_a_relaxed_barrier_tells_of_blocks_and_published_barriers_only(name: str) -> None:
    """Data that blocks wrote before it are not ordered."""
    relaxed = right(name).replace("nvvm.cluster.arrive {", "nvvm.cluster.arrive.relaxed {")
    assert verdict(relaxed) == ({"safe"} if name == "published" else verdict(relaxed) - {"safe"})
    stored = kernel(
        RANK,
        "%other = arith.xori %rank, %c1 : i32",
        "llvm.store %c1, %s : i32, !llvm.ptr<3>",
        "nvvm.cluster.arrive.relaxed",
        "nvvm.cluster.wait",
        "%p = nvvm.mapa %s, %other : !llvm.ptr<3> -> !llvm.ptr<7>",
        "%v = llvm.load %p : !llvm.ptr<7> -> i32",
        *SYNC,
    )
    assert verdict(stored) == {"race"}


# Refused --------------------------------------------------------------------------------------------------------------

WAIT = "nvvm.mbarrier.try_wait.parity %q, %c0, %c1 : !llvm.ptr<3>, i32, i32"
CAST = "%q = llvm.addrspacecast %p : !llvm.ptr<7> to !llvm.ptr<3>"
MAPA = "%p = nvvm.mapa %s, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>"
INIT = "nvvm.mbarrier.init %{}, %c1 : !llvm.ptr<3>, i32"
COPY = "nvvm.cp.async.bulk.shared.cluster.global %p, %g, %s, %c16{} : !llvm.ptr<7>, <1>"
MASKED = " multicast_mask = %mask"
MASK = "%mask = arith.constant {} : i16"
SIXTEEN = "%c16 = arith.constant 16 : i32"
ON_STACK = "%a = llvm.alloca %c4 x i32 : (i32) -> !llvm.ptr"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((MAPA, CAST, *SYNC, WAIT), "waits at a barrier in another block"),
        ((MAPA, CAST, *SYNC, INIT.format("q")), "makes a barrier in another block"),
        ((MAPA, CAST, *SYNC, "nvvm.mbarrier.inval %q : !llvm.ptr<3>"), "invalidates a barrier in another block"),
        ((MAPA, INIT.format("s"), *SYNC, SIXTEEN, COPY.format("")), "copies to block 1 and tells a barrier of block"),
        ((MAPA, INIT.format("s"), MASK.format(0), SIXTEEN, COPY.format(MASKED)), "names no block in its mask"),
        ((ON_STACK, "%m = nvvm.mapa %a, %c1 : !llvm.ptr -> !llvm.ptr"), "an argument of the kernel or a global names"),
    ],
)
def test_what_blocks_may_not_do_to_each_other_is_refused(lines: tuple[str, ...], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        check(parse(kernel(*lines, attributes=FOUR)))


@pytest.mark.parametrize(
    "lines",
    [
        (MAPA.replace("%c1", "%c5"),),
        (MAPA, INIT.format("s"), "nvvm.fence.mbarrier.init", *SYNC, MASK.format(32), SIXTEEN, COPY.format(MASKED)),
    ],
)
def test_a_block_that_the_cluster_does_not_have_is_a_fault(lines: tuple[str, ...]) -> None:
    report = check(parse(kernel(*lines, attributes=FOUR)))
    assert report.verdict is Verdict.VIOLATION
    assert "fault: malformed" in str(report)
    assert "names block 5 of a cluster of 4" in str(report)


def test_clusters_are_not_larger_than_they_can_be() -> None:
    with pytest.raises(UnsupportedError, match="there are at most 16"):
        check(parse(kernel(MAPA, attributes="nvvm.cluster_dim = array<i32: 32, 1, 1>")))


# Loops over clusters --------------------------------------------------------------------------------------------------


def persistent(start: str, extent: str) -> str:
    """The exchange as a loop over the grid."""
    loop = "  scf.for %k = %c0 to %n step %c1"
    ids = f"  %b = nvvm.read.ptx.sreg.{start} : i32\n  %g = nvvm.read.ptx.sreg.{extent} : i32\n"
    return right("exchange").replace(loop, f"{ids}  scf.for %k = %b to %n step %g")


def test_a_loop_over_clusters_is_proved_and_one_over_blocks_turns_unevenly() -> None:
    over_clusters = check(parse(persistent("clusterid.x", "nclusterid.x")))
    assert over_clusters.last_line.startswith("safe for every trip count")
    assert not verdict(persistent("ctaid.x", "nctaid.x")) & {"safe", "undecided", "refused"}
