"""
Proofs of nests and of several loop counts (`checker.decisions`): what is right is proved, what is wrong never is, and
each rule on which that rests is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path

import pytest

from tests.checker.nest_programs import PARTS, nest
from tests.support.ir import parse
from tileas_xdsl.checker.decisions import open_loops, prove, segments
from tileas_xdsl.checker.decisions.lattice import Lattice
from tileas_xdsl.checker.snapshot.liveness import Liveness
from tileas_xdsl.checker.snapshot.settled import Reach
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.loop_bounds import bounding_arguments
from tileas_xdsl.checker.verdict.proving import reason_against_all_at_once
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import argument_at, find_function
from tileas_xdsl.machine.core.deadline import Deadline

EDGES = Path(__file__).parent / "edges"
CORNERS = (0, 1, 2, 3, 5)
PAIRS = tuple(product(CORNERS, CORNERS))


def wrong_pairs(text: str, pairs: Iterable[tuple[int, int]] = PAIRS) -> list[tuple[int, int]]:
    """The calls (n, m) that are wrong, each decided by itself."""
    verdicts = {pair: check(parse(text), args=dict(zip("nm", pair, strict=True)), prove=False) for pair in pairs}
    return [pair for pair, report in verdicts.items() if report.verdict is not Verdict.SAFE]


def is_proved(report: Report) -> bool:
    return report.verdict is Verdict.SAFE and "k" in report.proofs_by_decisions


# Right programs -------------------------------------------------------------------------------------------------------

CARRIED = {"first": "%c0", "consumer_first": "%c0"}
LOOK = "%seen = llvm.load %src : !llvm.ptr<1> -> f32"


def looking(condition: str) -> str:
    """A look at the source, if `condition` gives a true `%is`."""
    return f"{condition}\nscf.if %is {{{{\n{LOOK}\n}}}}\n"


def with_steps(bound: str) -> str:
    """Both agents take as many steps as `bound` computes from `%m`."""
    steps = {"before": f"%some = {bound} : i32", "steps": "%c0 to %some step %c1"}
    return nest(2, **steps, **{f"consumer_{name}": text for name, text in steps.items()})


RIGHT: Mapping[str, str] = {
    "two slots": nest(2),
    "three slots": nest(3),
    "both loops begin at 1": nest(2, steps="%c1 to %m step %c1", consumer_steps="%c1 to %m step %c1"),
    "steps of 2": nest(2, steps="%c0 to %m step %c2", consumer_steps="%c0 to %m step %c2"),
    "as often as the tile says": nest(2, steps="%c0 to %t step %c1", consumer_steps="%c0 to %t step %c1"),
    "a constant of many steps": nest(2, steps="%c0 to %c1024 step %c1", consumer_steps="%c0 to %c1024 step %c1"),
    "one more step in both": nest(
        2,
        before="%m1 = arith.addi %m, %c1 : i32",
        steps="%c0 to %m1 step %c1",
        consumer_before="%m1 = arith.addi %m, %c1 : i32",
        consumer_steps="%c0 to %m1 step %c1",
    ),
    "the consumer counts from 1 to one more": nest(
        2, consumer_before="%m1 = arith.addi %m, %c1 : i32", consumer_steps="%c1 to %m1 step %c1"
    ),
    "half as many steps": with_steps("arith.divui %m, %c2"),
    "twice as many steps": with_steps("arith.muli %m, %c2"),
    "at most five steps": with_steps("arith.minsi %m, %c5"),
    "what is left of m": with_steps("arith.remui %m, %c4"),
    "a look from the third step on": nest(2, copy=looking("%is = arith.cmpi sge, %k, %c2 : i32") + PARTS["copy"]),
    "a place that stays from the fourth step on": nest(
        2,
        read="%v = llvm.load %slot : !llvm.ptr<3> -> f32\n%first = arith.minsi %k, %c3 : i32\n"
        "%o = llvm.getelementptr %out[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
        "llvm.store %v, %o : f32, !llvm.ptr<1>",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_nests_are_proved(name: str) -> None:
    report = check(parse(RIGHT[name]))
    assert is_proved(report), str(report)
    assert report.verdict_line == "safe for every trip count"


def test_few_calls_are_executed_before_few_states_prove_all() -> None:
    assert check(parse(RIGHT["two slots"])).trip_counts == (0, 1, 2, 3)
    assert check(parse(RIGHT["two slots"]), prove=False).trip_counts == tuple(range(9))


@pytest.mark.parametrize("name", [name for name in RIGHT if "many" not in name])
def test_what_is_proved_is_right_call_by_call(name: str) -> None:
    assert wrong_pairs(RIGHT[name], [*PAIRS, (1, 9), (9, 1), (4, 4)]) == []


def test_the_report_tells_counts_states_and_decisions() -> None:
    data = check(parse(RIGHT["two slots"])).as_data()["proofs"]["k"]
    assert data["counts"] == ("n", "m")
    assert data["decisions"] == 2 * data["states"] > 20
    assert data["directions"] == 1


SQUARE = """
func.func @k(%src: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %ring = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %c1024 step %c1 {
    scf.for %j = %c0 to %c1024 step %c1 {
      async_queue.commit 0 {
        async_queue.scope {
          %x = memref.load %src[%j] : memref<?xf32>
          memref.store %x, %ring[%c0] : memref<1xf32, 3>
        }
      }
      async_queue.wait 0, 0
      %y = memref.load %ring[%c0] : memref<1xf32, 3>
      memref.store %y, %out[%j] : memref<?xf32>
    }
  }
  func.return
}"""


def test_a_nest_of_long_loops_is_proved_by_states_at_once() -> None:
    """An induction would execute the square of each trip count."""
    report = check(parse(SQUARE))
    assert is_proved(report), str(report)
    assert report.proofs_by_decisions["k"].states < 8
    assert report.executions < 20


PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"
ROW = re.compile(r"^\| `(\w+)`: .* \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


@pytest.mark.parametrize("row", ROW.findall(PAGE.read_text()), ids=lambda row: row[0])
def test_the_page_has_the_states_of_programs(row: tuple[str, ...]) -> None:
    name, *figures = row
    report = check(parse((EDGES / f"{name}.mlir").read_text()), timeout=60)
    (proof,) = report.proofs_by_decisions.values()
    assert [proof.states, proof.decisions, proof.directions] == [int(figure) for figure in figures]


def test_small_counts_of_an_inner_loop_are_proved_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many states: two slots with a parity come round after 4 steps, so 6 are proved apart."""
    monkeypatch.setattr(prove, "FEW_STATES", ((False, 4),))
    report = check(parse(RIGHT["two slots"]), timeout=60)
    assert is_proved(report), str(report)
    assert report.proofs_by_decisions["k"].least == {"m": 6}
    wrong, _ = WRONG["the count is reset in each tile"]
    assert not check(parse(wrong), trip_counts=[0, 1], prove=True, timeout=60).proofs_by_decisions


def test_small_numbers_of_what_is_computed_from_an_argument_are_proved_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prove, "FEW_STATES", ((False, 4),))
    report = check(parse(RIGHT["half as many steps"]), timeout=60)
    assert is_proved(report), str(report)
    assert report.proofs_by_decisions["k"].least == {"m / 2": 6}
    wrong = nest(
        2,
        before="%some = arith.divui %m, %c2 : i32",
        steps="%c0 to %some step %c1",
        consumer_before="%other = arith.divui %m, %c2 : i32\n%some = arith.maxsi %other, %c3 : i32",
        consumer_steps="%c0 to %some step %c1",
    )
    assert wrong_pairs(wrong, [(1, 5), (1, 6), (1, 7)]) == [(1, 5)], "wrong where m / 2 is less than 3"
    assert not check(parse(wrong), trip_counts=[0, 1], prove=True, timeout=60).proofs_by_decisions


def test_a_nest_of_three_is_taken_apart_from_the_inside_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (EDGES / "three_args.mlir").read_text()
    monkeypatch.setattr(prove, "FEW_STATES", ((False, 4),))
    report = check(parse(text), timeout=60)
    assert report.is_proved, str(report)
    (proof,) = report.proofs_by_decisions.values()
    innermost = proof.counts[-1]
    assert set(proof.least) == {innermost}
    monkeypatch.setattr(prove, "MANY_STATES", ((False, 2),))
    report = check(parse(text), timeout=60)
    assert "more than" in str(report), "with so few states there is no proof in parts, either"


# Wrong programs, and where each first goes wrong ----------------------------------------------------------------------

WRONG: Mapping[str, tuple[str, tuple[int, int]]] = {
    "the count is reset in each tile": (nest(2, **CARRIED), (2, 1)),
    "the consumer takes one step more": (
        nest(2, consumer_before="%m1 = arith.addi %m, %c1 : i32", consumer_steps="%c0 to %m1 step %c1"),
        (1, 0),
    ),
    "the consumer leaves out the first step": (nest(2, consumer_steps="%c1 to %m step %c1"), (1, 1)),
    "no wait for a free slot": (nest(2, wait=""), (2, 2)),
    "no fence": (nest(2, fence=""), (2, 2)),
    "no release": (nest(2, release=""), (2, 2)),
    "the other parity": (nest(2, parity="%bit"), (1, 1)),
    "a tile of 8 rows, and more steps than that": (
        nest(
            2,
            read="%row = arith.muli %t, %c8 : i32\n%place = arith.addi %row, %j : i32\n"
            "%o = llvm.getelementptr %out[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
            "llvm.store %one, %o : f32, !llvm.ptr<1>",
            copy="%row = arith.muli %t, %c8 : i32\n%place = arith.addi %row, %c8 : i32\n"
            "%o = llvm.getelementptr %out[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
            "%seen = llvm.load %o : !llvm.ptr<1> -> f32\n"
            "nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32\n"
            "nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>",
        ),
        (1, 10),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_nests_are_not_proved(name: str) -> None:
    text, call = WRONG[name]
    assert wrong_pairs(text, [call]) == [call]
    report = check(parse(text), timeout=60)
    assert not report.is_proved
    assert not report.proofs_by_decisions
    assert report.findings[0].arguments == dict(zip("nm", call, strict=True)), "the smallest call that is wrong"


@pytest.mark.parametrize("tile", [2, 40])
def test_what_goes_wrong_in_one_tile_is_found(tile: int) -> None:
    """The consumer arrives once too often, behind the last step of a tile."""
    text = nest(
        2,
        head=f"%which = arith.constant {tile} : i32",
        consumer_after_tile="%is = arith.cmpi eq, %t, %which : i32\nscf.if %is {{\n"
        "%f0 = llvm.getelementptr %full[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64\n"
        "nvvm.mbarrier.arrive %f0 : !llvm.ptr<3>\n}}",
    )
    report = check(parse(text), trip_counts=[0, 1, 2], prove=True, timeout=120)
    arguments = report.findings[0].arguments
    assert (arguments["n"], arguments["m"]) in wrong_pairs(text, product(range(tile, tile + 3), range(1, 4)))


@pytest.mark.parametrize("tile", [2, 9])
def test_what_goes_wrong_in_one_tile_of_as_many_steps_is_found(tile: int) -> None:
    """The first tiles are told apart, and have just so many steps; later ones are not."""
    text = nest(
        2,
        steps="%c0 to %t step %c1",
        consumer_steps="%c0 to %t step %c1",
        head=f"%which = arith.constant {tile} : i32",
        consumer_after_tile="%is = arith.cmpi eq, %t, %which : i32\nscf.if %is {{\n"
        "%f0 = llvm.getelementptr %full[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64\n"
        "nvvm.mbarrier.arrive %f0 : !llvm.ptr<3>\n}}",
    )
    assert not proves(text)
    assert check(parse(text), args={"n": tile + 1}, prove=False).verdict is Verdict.SAFE
    assert check(parse(text), args={"n": tile + 2}, prove=False).verdict is not Verdict.SAFE


def test_half_of_the_steps_is_another_number() -> None:
    """m steps, of which m / 2 are taken twice: right for no reason that the states know."""
    text = nest(2, consumer_before="%some = arith.divui %m, %c2 : i32", consumer_steps="%c0 to %some step %c1")
    assert not proves(text)
    assert wrong_pairs(text, [(1, 1)]) == [(1, 1)]
    assert check(parse(text), trip_counts=[0, 1], prove=True).findings


FAR: Mapping[str, str] = {
    "in tile 300": nest(
        2,
        consumer_after_tile="%is = arith.cmpi eq, %t, %c300 : i32\nscf.if %is {\n"
        "%o = llvm.getelementptr %out[%c0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
        "%f0 = llvm.getelementptr %full[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64\n"
        "nvvm.mbarrier.try_wait.parity %f0, %c0, %ticks : !llvm.ptr<3>, i32, i32\n"
        "nvvm.mbarrier.try_wait.parity %f0, %c1, %ticks : !llvm.ptr<3>, i32, i32\n}",
    ),
    "a counter of 8 bits": nest(
        2,
        consumer_after_tile="%low = arith.trunci %k1 : i32 to i8\n%zero = arith.constant 100 : i8\n"
        "%is = arith.cmpi eq, %low, %zero : i8\nscf.if %is {\n"
        "%f0 = llvm.getelementptr %full[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64\n"
        "nvvm.mbarrier.arrive %f0 : !llvm.ptr<3>\n}",
    ),
    "1028 steps, counted anew in each tile, and 4 slots": nest(
        4, **CARRIED, steps="%c0 to %c1028 step %c1", consumer_steps="%c0 to %c1028 step %c1"
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_what_goes_wrong_far_away_is_not_proved(name: str) -> None:
    report = check(parse(FAR[name]), timeout=6)
    assert not report.is_proved, str(report)


@pytest.mark.parametrize(("name", "call"), [("in tile 300", (301, 0)), ("a counter of 8 bits", (101, 1))])
def test_far_away_the_distance_between_two_numbers_tells_which_call_goes_wrong(
    name: str, call: tuple[int, int]
) -> None:
    report = check(parse(FAR[name]), timeout=120)
    assert report.findings[0].arguments == dict(zip("nm", call, strict=True))


def test_two_arguments_that_are_taken_for_each_other_are_not_linked() -> None:
    """
    n tiles of m steps, consumed as m tiles of n steps: right, for the products are equal, but not by the links. And a
    tile is more than its steps, so that the nest is not flat.
    """
    text = nest(
        2,
        consumer_tiles="%c0 to %m step %c1",
        consumer_steps="%c0 to %n step %c1",
        consumer_after_tile="%twice = arith.addi %t, %t : i32",
    )
    assert wrong_pairs(text) == []
    report = check(parse(text), timeout=10)
    assert not report.is_proved
    assert "differently often" in str(report)
    assert report.verdict is Verdict.SAFE, "no call confirms what steered executions make suspicious"


def test_an_argument_that_decides_something_else_is_refused() -> None:
    """Behind its loop `%n` is what that has counted; in front of it, it is an argument."""
    asks = "%odd = arith.andi %n, %c1 : i32\n%more = arith.cmpi sgt, %odd, %c0 : i32\nscf.if %more {\n}"
    assert check(parse(nest(2, after=asks))).is_proved
    report = check(parse(nest(2, before=asks)), timeout=10)
    assert not report.is_proved
    assert "'arith.andi' takes 'n', which also bounds loops that are left open" in str(report)


def test_the_number_of_an_agent_is_no_operand_of_a_switch_that_is_not_isolated() -> None:
    """Agents 0 and 1 turn as often as their numbers say: nothing links them, and the barrier is passed by one only."""
    text = """
func.func @k(%bar: !llvm.ptr<3>, %x: index, %y: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  nv_tileas.async.pipeline.agent_switch %x, %y, %n attributes {num_agents_per_group = array<i32: 2>, isolated = false} {
  ^bb0(%number: index):
    scf.for %i = %c0 to %number step %c1 {
    }
  } : (index, index, index) -> ()
  func.return
}"""
    _, body = find_function(parse(text), "k")
    assert open_loops.open_loops(body, {}).loops == {}
    loop = next(op for op in body.walk() if op.name == "scf.for")
    assert open_loops.open_loops(body, {"n": argument_at(body, "n")}).loops.get(loop) is None


# Ablation: without one of the rules something wrong is proved ---------------------------------------------------------


def proves(text: str) -> bool:
    """Whether all counts are proved at once, without a look at single calls."""
    op, body = find_function(parse(text), None)
    names = bounding_arguments(body)
    case = Case("k", Subject(op, body, deadline=Deadline.after(60)), {}, names, Report(["k"], ()), lambda _: None)
    return not reason_against_all_at_once(case)


def test_the_links_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proves(RIGHT["two slots"])
    original = open_loops.open_loops

    def unlinked(*arguments: object) -> open_loops.OpenLoops:
        found = original(*arguments)  # pyright: ignore[reportArgumentType]
        loops = {op: open_loops.OpenLoop(None, loop.offset) for op, loop in found.loops.items()}
        return open_loops.OpenLoops(loops, found.counts)

    monkeypatch.setattr(prove, "open_loops", unlinked)
    assert not proves(RIGHT["two slots"])


THIRDS = nest(
    2,
    read="%third = arith.remui %k, %c3 : i32\n"
    "%o = llvm.getelementptr %out[%third] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, "
    "f32\nllvm.store %one, %o : f32, !llvm.ptr<1>",
)
"""The consumer writes one of three places in turn: that the barriers come round says nothing of them."""


def test_the_residues_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proves(THIRDS)
    monkeypatch.setattr(prove, "demand", lambda *_, **__: {})  # pyright: ignore[reportUnknownLambdaType]
    assert not proves(THIRDS)


FAR_AHEAD = nest(
    2,
    head="%far = arith.constant 100000 : i32",
    read="%o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
    "llvm.store %one, %o : f32, !llvm.ptr<1>",
    copy="%there = arith.addi %t, %far : i32\n%o = llvm.getelementptr %out[%there] : (!llvm.ptr<1>, i32) "
    "-> !llvm.ptr<1>, f32\n%seen = llvm.load %o : !llvm.ptr<1> -> f32\n" + PARTS["copy"],
)
"""The producer reads element t + 100000, and the consumer writes element k, which gets there some day."""


def test_meetings_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not proves(FAR_AHEAD)
    monkeypatch.setattr(segments.Separation, "check", lambda *_: None)  # pyright: ignore[reportUnknownLambdaType]
    assert proves(FAR_AHEAD)


def test_directions_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One visit of each decision shows nothing of numbers that move."""
    original = prove.check_visits
    assert not proves(FAR["in tile 300"])
    monkeypatch.setattr(prove, "check_visits", lambda visits, findings: original(visits[:1], findings))  # pyright: ignore
    assert proves(FAR["in tile 300"])


def test_the_reach_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that does not begin again when it reaches more takes accesses for settled that are not."""
    assert not proves(FAR_AHEAD)
    monkeypatch.setattr(Reach, "__or__", lambda self, _: self)  # pyright: ignore[reportUnknownLambdaType]
    assert proves(FAR_AHEAD)


def test_the_canonical_drawing_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where states hold what nobody uses again, they tell histories apart: no state recurs, and there is no proof."""
    text = (EDGES / "tileas_token_lag.mlir").read_text()
    assert proves(text)
    monkeypatch.setattr(Liveness, "alive", lambda _, values, frames: list(values))  # pyright: ignore
    assert not proves(text)


# Lattices -------------------------------------------------------------------------------------------------------------


def test_a_lattice_has_the_sums_of_its_generators_and_no_more() -> None:
    lattice = Lattice()
    assert [lattice.add(vector) for vector in [(4, 2, 0), (6, 0, 3), (10, 2, 3), (0, 0, 0)]] == [
        True,
        True,
        False,
        False,
    ]
    members = {(4 * x + 6 * y, 2 * x, 3 * y) for x, y in product(range(-4, 5), repeat=2)}
    box = product(range(-6, 7), range(-4, 5), range(-6, 7))
    assert all((vector in lattice) == (vector in members) for vector in box)
    assert lattice.rank == 2
    assert lattice.add((2, 0, 0))
    assert lattice.rank == 3
