"""
What could go wrong in proofs of nests (`checker.decisions`), trap by trap: a right program is proved, and a wrong one
beside it is found at its smallest call, or not proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from tests.checker.nest_programs import PARTS, nest
from tests.checker.test_decisions import RIGHT, proves
from tests.support.corpora import nightly
from tests.support.ir import parse
from tileas_xdsl.checker.decisions import graph, prove
from tileas_xdsl.checker.proof.outcomes import NoProofError
from tileas_xdsl.checker.snapshot.settled import Reach
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict

TIMEOUT = 120
LOOK = "%seen = llvm.load %src : !llvm.ptr<1> -> f32"
PAIRS = [*product((0, 1, 2, 3), repeat=2), (5, 5), (1, 9), (9, 1)]
ARRIVE = "%f9 = llvm.getelementptr %full[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64\nnvvm.mbarrier.arrive %f9 : "
ARRIVE += "!llvm.ptr<3>"


def where(condition: str, then: str) -> str:
    return f"{condition} : i32\nscf.if %is {{\n{then}\n}}\n"


def assert_proved(text: str, pairs: Iterable[tuple[int, int]] = PAIRS) -> None:
    """It is proved by states, and right call by call."""
    report = check(parse(text), trip_counts=[0, 1], prove=True, timeout=TIMEOUT)
    assert report.verdict_line == "safe for every trip count", str(report)
    assert "k" in report.proofs_by_decisions
    for n, m in pairs:
        assert check(parse(text), args={"n": n, "m": m}, prove=False).verdict is Verdict.SAFE, (n, m)


def assert_found(text: str, n: int, m: int, tried: int = 1) -> None:
    """
    It is wrong, and the call with the smallest sum of arguments that is wrong is reported: beyond the numbers that are
    `tried`, by what steered executions suspect.
    """
    assert not proves(text)
    report = check(parse(text), trip_counts=range(tried + 1), prove=True, timeout=TIMEOUT)
    assert report.findings, str(report)
    assert report.findings[0].arguments == {"n": n, "m": m}
    least = 0 if n + m < 6 else n + m - 1
    for i, j in product(range(n + m), repeat=2):
        if least <= i + j < n + m:
            assert check(parse(text), args={"n": i, "m": j}, prove=False).verdict is Verdict.SAFE, (i, j)


def reason_against(text: str) -> str:
    """Why a right program is not proved by states."""
    report = check(parse(text), trip_counts=[0, 1], prove=True, timeout=TIMEOUT)
    assert report.verdict is Verdict.SAFE, str(report)
    assert not report.proofs_by_decisions
    return "; ".join(report.bounded)


# 1: counted anew in each tile ----------------------------------------------------------------------------------------


def counted_anew(steps: int) -> str:
    """A ring of four slots with parities comes round after eight steps."""
    bounds = "%c0 to %many step %c1"
    anew = {"first": "%c0", "consumer_first": "%c0", "steps": bounds, "consumer_steps": bounds}
    return nest(4, head=f"%many = arith.constant {steps} : i32", **anew)


def test_trap_1_a_count_that_begins_anew_in_each_tile() -> None:
    assert_proved(counted_anew(136), [(0, 0), (1, 0), (2, 0), (3, 0)])
    report = check(parse(counted_anew(132)), trip_counts=[0, 1], prove=True, timeout=TIMEOUT)
    assert report.findings[0].arguments == {"n": 2}
    assert_found(nest(2, first="%c0", consumer_first="%c0"), 2, 1)


# 2: loops that turn differently often --------------------------------------------------------------------------------


def test_trap_2_one_more_step_in_one_agent_or_another_argument() -> None:
    one_more, steps = "%more = arith.addi %m, %c1 : i32", "%c0 to %more step %c1"
    assert_proved(nest(2, before=one_more, steps=steps, consumer_before=one_more, consumer_steps=steps))
    assert_found(nest(2, consumer_before=one_more, consumer_steps=steps), 1, 0)
    assert_found(nest(2, consumer_steps="%c0 to %n step %c1"), 1, 0)


# 3, 5: handshakes of tiles beside those of steps ---------------------------------------------------------------------


def with_tile_buffers(slots: int, buffers: int, *, waits: bool = True, parity: str = "%tbit", late: bool = True) -> str:
    """
    Beside the ring of steps there are `buffers` for tiles: the producer fills one before the steps of its tile, and the
    consumer reads it behind them, or before them if not `late`. The producer waits for it to be free, if it `waits`.
    """

    def place(name: str) -> str:
        return f"""
      %ts = arith.remui %t, %buffers : i32
      %tr = arith.divui %t, %buffers : i32
      %tbit = arith.andi %tr, %c1 : i32
      %tturn = arith.xori %tbit, %c1 : i32
      %tf = llvm.getelementptr %tfull[%ts] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %te = llvm.getelementptr %tempty[%ts] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %{name} = llvm.getelementptr %tiles[%ts] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
"""

    wait = "nvvm.mbarrier.try_wait.parity %te, %tturn, %ticks : !llvm.ptr<3>, i32, i32\n" if waits else ""
    fill = (
        f"{place('into')}{wait}nvvm.mbarrier.arrive.expect_tx %tf, %bytes : !llvm.ptr<3>, i32\n"
        "nvvm.cp.async.bulk.shared.cluster.global %into, %src, %tf, %bytes : !llvm.ptr<3>, <1>\n"
    )
    read = (
        f"{place('from')}nvvm.mbarrier.try_wait.parity %tf, {parity}, %ticks : !llvm.ptr<3>, i32, i32\n"
        f"%tv = llvm.load %from : !llvm.ptr<3> -> f32\n{PARTS['fence'].replace('{{', '{').replace('}}', '}')}\n"
        "nvvm.mbarrier.arrive %te : !llvm.ptr<3>\n"
    )
    text = nest(
        slots,
        arguments=", %tiles: !llvm.ptr<3>, %tfull: !llvm.ptr<3>, %tempty: !llvm.ptr<3>",
        head=f"""%buffers = arith.constant {buffers} : i32
  scf.for %b = %c0 to %buffers step %c1 : i32 {{
    %f = llvm.getelementptr %tfull[%b] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %tempty[%b] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }}""",
        consumer_after_tile=read if late else "",
    )
    before_steps = "%k1 = scf.for %j"
    producer, _, consumer = text.partition(before_steps)
    consumer = consumer if late else consumer.replace(before_steps, read + before_steps)
    return producer + fill + before_steps + consumer


def test_trap_3_without_steps_nothing_keeps_the_agents_together() -> None:
    assert_proved(with_tile_buffers(2, 1))
    # With three steps in a ring of two, the producer cannot begin a tile before the consumer has begun the last one.
    careless = with_tile_buffers(2, 1, waits=False, late=False)
    assert check(parse(careless), args={"n": 4, "m": 3}, prove=False).verdict is Verdict.SAFE
    assert_found(careless, 2, 0)


def test_trap_5_a_ring_of_steps_and_one_of_tiles() -> None:
    assert_proved(with_tile_buffers(2, 2), [(0, 3), (1, 4), (2, 5), (3, 1), (5, 2), (6, 0)])
    assert_found(with_tile_buffers(2, 2, parity="%c0"), 3, 0)


# 4: counts that stay the same ----------------------------------------------------------------------------------------

SAME = (
    "%steps = arith.subi %k1, %k0 : i32\n%all = arith.muli %t, %steps : i32\n"
    f"%is = arith.cmpi ne, %all, %k0 : i32\nscf.if %is {{\n{ARRIVE}\n}}"
)
"""An arrival too many, where the tiles so far have had another number of steps than this one."""


def test_trap_4_right_while_the_count_stays_the_same() -> None:
    report = check(parse(nest(2, consumer_after_tile=SAME)), timeout=TIMEOUT)
    assert report.verdict is Verdict.SAFE, "no call has another count in each tile"
    assert not report.is_proved
    grows = nest(2, steps="%c0 to %t step %c1", consumer_steps="%c0 to %t step %c1", consumer_after_tile=SAME)
    assert check(parse(grows), timeout=TIMEOUT).findings[0].arguments["n"] == 3, (
        "behind two tiles nobody waits any more"
    )


# 6: rows of places ---------------------------------------------------------------------------------------------------

ROWS = "%row = arith.muli %t, %c8 : i32\n%place = arith.addi %row, "


def at_place(compute: str) -> str:
    return f"{compute} : i32\n%p = llvm.getelementptr %out[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"


def test_trap_6_rows_that_overlap_from_some_step_on() -> None:
    store = at_place(f"{ROWS}%j") + "llvm.store %one, %p : f32, !llvm.ptr<1>"
    assert_proved(nest(2, read=store))
    looks = at_place(f"{ROWS}%c8") + "%seen = llvm.load %p : !llvm.ptr<1> -> f32\n" + PARTS["copy"]
    assert_found(nest(2, read=store, copy=looks), 1, 10)


def stored(extent: str, index: str, tiles: str = "%n") -> str:
    """The consumer stores at `%i`, behind each tile, in an array of `extent`."""
    place, bounds = f"memref<{extent}xf32, 1>", f"%c0 to {tiles} step %c1"
    store = f"{index}\n%i = arith.index_cast %at : i32 to index\nmemref.store %one, %rows[%i] : {place}"
    loops = {"tiles": bounds, "consumer_tiles": bounds}
    return nest(2, arguments=f", %rows: {place}", consumer_after_tile=store, **loops)


SAME_TILE = "%at = arith.addi %t, %c0 : i32"
EIGHTH = "%e = arith.muli %t, %c8 : i32\n"
WITHIN = {
    "by tile": (SAME_TILE, 1024),
    "eight tiles": ("%at = arith.divui %t, %c8 : i32", 128),
    "eight in turn": (f"{EIGHTH}%r = arith.remui %k1, %c8 : i32\n%at = arith.addi %e, %r : i32", 1024 * 8),
}
"""Places of stores in tiles from 0 to 1023, and the least extent that has them all."""


LONG = nightly("two proofs of half a million pairs of states")


@pytest.mark.parametrize(
    ("index", "extent"),
    [pytest.param(*row, id=name, marks=[] if name == "by tile" else [LONG]) for name, row in WITHIN.items()],
)
def test_trap_6_rows_of_an_array_that_ends_behind_the_last_tile(index: str, extent: int) -> None:
    assert_proved(stored(str(extent), index, "%c1024"), [(0, 0), (0, 1)])
    assert not proves(stored(str(extent - 1), index, "%c1024"))


def test_trap_6_rows_of_an_array_that_ends() -> None:
    """No state says how far a nest comes, so none says whether the last place is inside, if an argument says so."""
    assert_proved(stored("?", SAME_TILE), [(3, 2)])
    assert "walks along an axis of a fixed extent: no state says how far it comes" in reason_against(
        stored("64", SAME_TILE)
    )


def test_trap_6_two_agents_at_the_places_of_tiles_and_of_steps() -> None:
    by_tile = at_place("%place = arith.addi %t, %c0") + "%seen = llvm.load %p : !llvm.ptr<1> -> f32\n"
    by_step = at_place("%place = arith.addi %j, %c0") + "llvm.store %one, %p : f32, !llvm.ptr<1>\n"
    assert_proved(nest(2, after_tile=by_tile.replace("%out[", "%src["), read=by_step.replace("%j", "%k")))
    assert_found(nest(2, read=by_step, copy=by_tile + PARTS["copy"]), 1, 2)


# 7: far calls --------------------------------------------------------------------------------------------------------


def test_trap_7_wrong_in_few_calls_only() -> None:
    nine, asked = "%c9 = arith.constant 9 : i32", "%is = arith.cmpi eq, %m, %c9"
    assert_proved(nest(2, head=nine, consumer_after_tile=where(asked, LOOK)), [(1, 9), (2, 9), (9, 2)])
    assert_found(nest(2, head=nine, consumer_after_tile=where(asked, ARRIVE)), 2, 9)


# 9: guards, peeled turns and what is left ----------------------------------------------------------------------------


def test_trap_9_guards_of_prefetches() -> None:
    ahead = "%later = arith.addi %j, %c2 : i32\n%is = arith.cmpi slt, %later, %m"
    assert_proved(nest(2, copy=where(ahead, LOOK) + PARTS["copy"]))
    assert_found(nest(2, copy=where(ahead, ARRIVE.replace("9", "8")) + PARTS["copy"]), 1, 3)


def test_trap_9_small_counts_and_what_is_left_of_them() -> None:
    assert_proved(nest(2, consumer_after_tile=where("%is = arith.cmpi sgt, %m, %c0", LOOK)))
    assert_found(nest(2, consumer_after_tile=where("%is = arith.cmpi sge, %m, %c2", ARRIVE)), 2, 2)
    left = "%left = arith.remui %m, %c4 : i32\n%is = arith.cmpi eq, %left, %c1"
    assert_proved(nest(2, consumer_after_tile=where(left, LOOK)))
    assert_found(nest(2, consumer_after_tile=where(left, ARRIVE)), 3, 1)


# 8: numbers in memory ------------------------------------------------------------------------------------------------


def with_cell(head: str, consumer_after_tile: str, **changed: str) -> str:
    """The consumer does something with memory of its own, `%cell`, behind each tile."""
    return nest(
        2,
        arguments=", %cell: !llvm.ptr<1>",
        head=head,
        read="%v = llvm.load %slot : !llvm.ptr<3> -> f32",
        consumer_after_tile=consumer_after_tile,
        **changed,
    )


def counted_in_memory(limit: int, then: str) -> str:
    """The consumer counts its tiles in memory, and does something when there have been `limit`."""
    return with_cell(
        f"%limit = arith.constant {limit} : i32\nllvm.store %c0, %cell : i32, !llvm.ptr<1>",
        "%old = llvm.load %cell : !llvm.ptr<1> -> i32\n%new = arith.addi %old, %c1 : i32\n"
        "llvm.store %new, %cell : i32, !llvm.ptr<1>\n"
        f"%is = arith.cmpi eq, %new, %limit : i32\nscf.if %is {{\n{then}\n}}",
    )


def by_table(then: str) -> str:
    """The program fills a table of 0 and 1, by which the consumer does something behind every second tile."""
    place = "%p{0} = llvm.getelementptr %cell[{0}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
    place += "llvm.store %c{0}, %p{0} : i32, !llvm.ptr<1>\n"
    return with_cell(
        place.format(0) + place.format(1),
        "%odd = arith.remui %t, %c2 : i32\n%p = llvm.getelementptr %cell[%odd] : (!llvm.ptr<1>, i32) -> "
        "!llvm.ptr<1>, i32\n%entry = llvm.load %p : !llvm.ptr<1> -> i32\n"
        f"%is = arith.cmpi ne, %entry, %c0 : i32\nscf.if %is {{\n{then}\n}}",
    )


def element(name: str, place: str) -> str:
    return f"%{name} = llvm.getelementptr %cell[{place}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"


def test_trap_8_a_number_in_memory_counts_tiles_and_decides() -> None:
    assert "as a number says that moves on" in reason_against(counted_in_memory(3, LOOK))
    assert_found(counted_in_memory(3, ARRIVE), 4, 2, tried=4)
    assert not proves(counted_in_memory(10, ARRIVE))


def test_trap_8_a_table_that_the_loop_reads() -> None:
    assert_proved(by_table(LOOK))
    assert_found(by_table(ARRIVE), 3, 1)


def test_trap_8_a_store_whose_place_a_later_tile_reads() -> None:
    store = element("to", "%next") + "llvm.store %one, %to : f32, !llvm.ptr<1>\n"
    read = element("from", "%t") + "%seen = llvm.load %from : !llvm.ptr<1> -> f32\n"
    following = "%next = arith.addi %t, %c1 : i32\n"
    first = "llvm.store %one, %cell : f32, !llvm.ptr<1>"
    assert_proved(with_cell(first, following + read + store))
    assert_found(with_cell(first, following + store, after_tile=read), 2, 0)
    far = with_cell(first, "%next = arith.addi %t, %c300 : i32\n" + store, after_tile=read)
    assert not proves(far), "tile 300 comes some day"


# 10: leftovers -------------------------------------------------------------------------------------------------------

STORE = (
    "%o = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>\n"
    "nvvm.cp.async.bulk.global.shared.cta %o, %aside, %bytes : <1>, <3>\nnvvm.cp.async.bulk.commit.group"
)


def stores(end: str) -> str:
    """A store per tile, of what nobody writes any more, for which only the end waits: `end`."""
    text = nest(
        2,
        arguments=", %aside: !llvm.ptr<3>",
        read="%v = llvm.load %slot : !llvm.ptr<3> -> f32",
        consumer_after_tile=STORE,
        consumer_after=end,
    )
    return text.replace(
        "out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array",
        "out[%far] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array",
    ).replace(
        "%o = llvm.getelementptr %out[%far]", "%far = arith.muli %t, %c1024 : i32\n%o = llvm.getelementptr %out[%far]"
    )


def test_trap_10_stores_for_which_only_the_end_waits() -> None:
    assert_proved(stores("nvvm.cp.async.bulk.wait_group 0"), [(0, 0), (1, 0), (5, 2), (9, 1)])
    assert_found(stores(""), 1, 0)


# 11 to 13: the graph itself ------------------------------------------------------------------------------------------


def test_trap_11_another_successor_of_one_state_is_an_error() -> None:
    explorer = graph.Explorer(graph.Graph(10))
    op = next(iter(parse(nest(2)).walk()))
    one, other = (graph.State(number, op, (), [((), ())]) for number in range(2))
    question: Any = type("Question", (), {"op": op})
    explorer.asked[0] = (one, True, question)
    note = explorer._note_target  # pyright: ignore[reportPrivateUsage]
    note(0, other)
    note(0, other)
    with pytest.raises(NoProofError, match="does not always come to the same state"):
        note(0, one)


def searches(monkeypatch: pytest.MonkeyPatch) -> list[Reach]:
    """What each search begins with, of those that are made from now on."""
    begun: list[Reach] = []
    original = prove._Search._explore  # pyright: ignore[reportPrivateUsage]

    def explore(self: Any, found: graph.Graph, reach: Reach) -> bool:
        begun.append(reach)
        return original(self, found, reach)

    monkeypatch.setattr(prove._Search, "_explore", explore)  # pyright: ignore[reportPrivateUsage]
    return begun


def test_trap_12_a_search_that_reaches_more_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = searches(monkeypatch)
    assert proves(RIGHT["two slots"])
    assert 2 <= len(begun) <= 3
    assert begun[0] == Reach()
    assert begun[-1].by


def test_trap_13_every_decision_is_visited_in_every_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[graph.Graph] = []
    original = prove._check  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(prove, "_check", lambda graph, *rest: (found.append(graph), original(graph, *rest)))  # pyright: ignore
    assert proves(RIGHT["two slots"])
    for state in found[0].states.values():
        for decision in state.decisions.values():
            assert decision.lattice.volume == state.lattice.volume
            assert len(decision.visits) > state.lattice.rank
    decision.visits.clear()
    decision.lattice = type(decision.lattice)()
    decision.base = None
    assert list(found[0].open_decisions())
