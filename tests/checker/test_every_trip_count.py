"""
Proofs for every trip count: found where they should be, and never for a program that is wrong at some trip count.

The programs of `growing_programs` are wrong at trip counts beyond those that are executed, each for another reason;
those of `looping_programs` are random, and their proofs are compared with the execution of all trip counts up to 40.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, i32

from tests.checker.growing_programs import CASES, NEVER, Case, copying, in_sequence, in_turn
from tests.checker.looping_programs import damaged, random_program
from tests.checker.ring_programs import AS_COUNTED, RIGHT, WRONG, get, put, random_relay, relay
from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.support.corpora import FULL, corpus, sample
from tests.support.corpora import each as each_of
from tests.support.ir import parse, run_passes
from tests.tools import programs
from tileas_xdsl.checker.proof.shifts import Growth, near_power, overflows_at
from tileas_xdsl.checker.verdict.blocks import is_extent
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.long_loops import generalised
from tileas_xdsl.checker.verdict.loop_bounds import bounding_arguments
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import find_function, public_functions
from tileas_xdsl.machine.core.moving_numbers import IrregularError, Moving
from tileas_xdsl.machine.core.orders import Lazy, Order, Prompt
from tileas_xdsl.machine.core.violations import BlockDependentError, UndecidedError, UnsupportedError

ZOO = Path(__file__).parents[2] / "examples" / "zoo"
EVERY = "safe for every trip count"
MOST_EXECUTED = 500
"""Trip counts up to which a test executes what is claimed."""

each = each_of("case", CASES, 25, ids=lambda case: case.name)


@each
def test_no_proof_of_what_goes_wrong_somewhere(case: Case) -> None:
    report = check(parse(case.text))
    if case.wrong_at is not None:
        assert report.verdict_line != EVERY
        # What is wrong within reach is found, and nothing else is called wrong.
        assert report.verdict is Verdict.SAFE or case.wrong_at <= max(report.findings[0].arguments.values())
    else:
        assert report.verdict is Verdict.SAFE, str(report)
        assert report.verdict_line == EVERY or not case.provable, str(report)
        assert bool(report.bounded) == (report.verdict_line != EVERY)


@corpus(1)
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.wrong_at is not None and case.wrong_at <= (MOST_EXECUTED if FULL else 60)],
    ids=lambda case: case.name,
)
def test_these_programs_go_wrong_where_they_say(case: Case) -> None:
    """Else they would test nothing."""
    assert case.wrong_at is not None
    module = parse(case.text)
    assert check(module, trip_counts=[case.wrong_at]).verdict is Verdict.VIOLATION
    assert check(module, trip_counts=[case.wrong_at - 1]).verdict is Verdict.SAFE


@corpus(1)
@pytest.mark.parametrize("depth", range(1, 9) if FULL else [1, 2, 3, 8])
def test_handshake_is_proved_at_every_depth(depth: int) -> None:
    report = check(parse(handshake(depth, f"{READ}\n{RELEASE}")))
    assert report.verdict_line == EVERY, str(report)
    # The slots take turns, and differ by nothing else.
    assert report.proofs["handshake"].period == 1
    assert report.trip_counts == tuple(range(max(8, 2 * depth + 2) + 1))


@pytest.mark.parametrize("name", RIGHT)
def test_rings_are_proved_by_the_turns_of_their_slots(name: str) -> None:
    report = check(parse(RIGHT[name]))
    assert report.verdict_line == EVERY, str(report)
    assert report.proofs["relay"].period == PERIODS.get(name, 1)


DEEP = 1_000_000


@pytest.mark.parametrize(
    "text", [handshake(DEEP, f"{READ}\n{RELEASE}"), relay([DEEP], put(0, DEEP, None), get(0, DEEP, None))]
)
def test_rings_that_are_too_deep_for_a_proof_are_reported(text: str) -> None:
    """Two rounds of the ring would have to be executed before the proof begins."""
    report = check(parse(text))
    assert report.verdict_line == "safe for trip counts 0..8"
    (reason,) = report.bounded
    assert reason.partition(": ")[2] == (
        "a ring has 1000000 slots, so that trip counts up to 2000002 would have to be tried; fix the depth or ask with "
        "--trip-counts"
    )
    assert check(parse(text), args={"n": 300}).verdict_line == "safe, with n = 300"
    assert check(parse(text), trip_counts=[300]).bounded == []


def test_a_ring_that_is_too_deep_may_have_a_constant_number_of_stages() -> None:
    """It is executed as it stands: a proof for every trip count would take longer."""
    report = check(parse(with_constant(relay([DEEP], put(0, DEEP, None), get(0, DEEP, None)), 300)))
    assert report.verdict_line == EVERY
    assert not report.proofs


def test_functions_with_rings_of_different_depths_share_the_trip_counts_of_the_shallowest() -> None:
    """One is proved; the verdict on both names the trip counts that the other was tried with."""
    deep = relay([20], put(0, 20, None), get(0, 20, None))
    alone = check(parse(deep))
    assert (alone.verdict_line, alone.trip_counts[-1]) == (EVERY, 42)
    for text in (deep + programs.queue(0), programs.queue(0) + deep):
        assert check(parse(text)).verdict_line == "safe for trip counts 0..8"


def test_a_proof_starts_from_what_was_executed() -> None:
    """Trip count 11 is wrong. Of a ring of five slots more than the nine that were asked for would be tried else."""
    wrong = """
    %far = arith.constant 11 : index
    %is = arith.cmpi eq, %n, %far : index
    scf.if %is {
      %weight = arith.constant 1.0 : f32
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %weight, %src[%c0, %c0] : memref<?x?xf32>
        }
      }
    }"""
    module = parse(relay([5], put(0, 5, None), get(0, 5, None), last=wrong))
    report = check(module, trip_counts=range(9), prove=True)
    assert report.verdict is Verdict.VIOLATION
    assert report.findings[0].arguments == {"n": 11}


PERIODS = {"a table with a place for each slot": 3}
"""Where the program counts slots by itself, these and their parities come round after two turns of the ring."""


def test_a_stage_that_is_past_is_not_forgotten() -> None:
    """Where there is a slot for every stage, the first is looked at again after the loop, which no turn does."""
    again = get(0, 0, "%stage = arith.addi %c0, %c0 : index")
    last = f"%some = arith.cmpi ult, %c0, %n : index\nscf.if %some {{\n{again}\n}}"
    text = relay([0], put(0, 0, AS_COUNTED), get(0, 0, AS_COUNTED), last=last)
    report = check(parse(text))
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.verdict_line != EVERY


@pytest.mark.parametrize("name", WRONG)
def test_slots_in_the_wrong_order_are_noticed(name: str) -> None:
    text, wrong_at = WRONG[name]
    report = check(parse(text))
    assert report.verdict_line != EVERY
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert report.findings[0].arguments["n"] == wrong_at
    if wrong_at < 8 or FULL:
        assert check(parse(text), trip_counts=[wrong_at]).verdict is Verdict.VIOLATION
    if wrong_at:
        assert check(parse(text), trip_counts=[wrong_at - 1]).verdict is Verdict.SAFE


@each_of("seed", range(120), 12)
def test_random_rings_agree_with_brute_force(seed: int) -> None:
    """Some name stages out of order, or leave some out."""
    module = parse(random_relay(seed))
    report = check(module)
    assert report.verdict is check(module, trip_counts=range(25)).verdict, str(report)
    assert report.verdict is not Verdict.SAFE or report.verdict_line == EVERY, str(report)


GEMM = (ZOO.parent / "gemm_queue.mlir").read_text()


@pytest.mark.parametrize("text", [RIGHT["stages that nobody names"], GEMM], ids=["relay", "gemm"])
def test_pipelines_made_of_queues_are_proved_as_they_were(text: str) -> None:
    for module in (parse(text), run_passes(parse(text), "tileas-queue-to-pipeline")):
        report = check(module)
        assert report.verdict_line == EVERY, str(report)
        assert [proof.period for proof in report.proofs.values()] == [1]


def is_right(module: ModuleOp, name: str, trip_count: int, order: Order) -> bool:
    """Whether one execution finds nothing wrong, and speaks for all of that block: the second, where that matters."""
    subject = Subject(*find_function(module, name))
    machine = subject.machine(order)
    counts = dict.fromkeys(bounding_arguments(subject.body), trip_count)
    try:
        subject.execute(machine, counts)
    except BlockDependentError as error:
        grid = {number: 2 if is_extent(number) else 1 for number in error.names}
        subject, machine = replace(subject, numbers=frozenset(grid)), subject.machine(order)
        subject.execute(machine, {**counts, **grid})
    except (UndecidedError, UnsupportedError):
        return False
    return machine.is_right_beyond_doubt


SAMPLES = {
    **{path.name: path.read_text() for path in sorted(ZOO.glob("*.mlir"))},
    **{f"relay {seed}": random_relay(seed) for seed in sample(range(40), 8)},
    **{f"looping {seed}": random_program(seed).text for seed in sample(range(40), 8)},
}


@corpus(1)
@pytest.mark.parametrize("name", SAMPLES)
def test_agents_in_step_find_what_the_lazy_order_finds(name: str) -> None:
    """Proofs use the order `Prompt`: one execution speaks for every interleaving, whatever its order."""
    module = parse(SAMPLES[name])
    for function in public_functions(module):
        for trip_count in (0, 1, 2, 3, 5):
            lazily = is_right(module, function, trip_count, Lazy())
            assert is_right(module, function, trip_count, Prompt()) == lazily, trip_count


@each_of("seed", range(200), 8)
def test_proofs_agree_with_brute_force(seed: int) -> None:
    """What is proved is right at all trip counts up to 40, and what is found is there."""
    program = random_program(seed)
    module = parse(program.text)
    report = check(module)
    brute = check(module, trip_counts=range(41))
    assert report.verdict is brute.verdict, f"{program.family}: {report}\n\n{brute}"
    assert report.kinds == brute.kinds or report.verdict is Verdict.SAFE
    assert report.verdict is not Verdict.SAFE or report.verdict_line == EVERY, f"{program.family}: {report}"


@each_of("seed", range(50), 8)
def test_what_fails_at_one_trip_count_is_caught(seed: int) -> None:
    program, at = damaged(seed)
    module = parse(program.text)
    assert check(module, trip_counts=[at]).verdict is Verdict.VIOLATION, program.family
    assert check(module, trip_counts=[at - 1]).verdict is Verdict.SAFE, program.family
    assert check(module).verdict is Verdict.VIOLATION, program.family


# What the report says -------------------------------------------------------------------------------------------------


def test_trip_counts_that_were_asked_for_are_not_left() -> None:
    report = check(parse(copying(NEVER)), trip_counts=[0, 1, 5])
    assert report.verdict_line == "safe for trip counts 0, 1, 5"
    assert report.bounded == []
    assert report.executions == 3


def test_a_function_without_loops_that_grow_needs_no_proof() -> None:
    report = check(parse("func.func @nothing(%x: memref<4xi32>) {\n  func.return\n}"))
    assert report.verdict_line == EVERY
    assert report.executions == 1


def test_a_verdict_names_trip_counts_only_where_an_argument_takes_them() -> None:
    still = "func.func @still(%n: index) {\n  func.return\n}"
    assert check(parse(still), trip_counts=range(9)).verdict_line == "safe"
    assert check(parse(still + copying(NEVER)), trip_counts=range(9)).verdict_line == "safe for trip counts 0..8"
    assert check(parse(copying(NEVER)), args={"n": 4}, trip_counts=[0]).verdict_line == "safe, with n = 4"
    assert check(parse(programs.CALL)).verdict_line == "undecided"
    assert check(parse(programs.CALL + copying(NEVER))).verdict_line == "undecided for trip counts 0..8"


def test_a_verdict_names_extents_that_are_made_up() -> None:
    """A loop to the end of an array of any size."""
    text = STORES.replace("%n = arith.constant {turns} : index", "%n = memref.dim %a, %c0 : memref<{shape}xi32>")
    open_extent = check(parse(text.format(shape="?", indices="%i")))
    assert open_extent.verdict_line == "safe for open extents of 1024"
    assert "give the array a fixed size" in open_extent.bounded[0]
    assert check(parse(text.format(shape="8", indices="%i")), trip_counts=[0]).verdict_line == "safe"


def test_an_extent_that_is_made_up_is_no_proof_beside_two_arguments() -> None:
    loop = "scf.for %i = %c0 to %{} step %c1 {{ memref.store %v, %{}[%{}] : memref<{}xf32> }}"
    loops = [loop.format(*each) for each in (("n", "x", "c0", "?"), ("m", "x", "c0", "?"), ("d", "y", "i", "4000"))]
    report = check(
        parse(f"""
        func.func @f(%x: memref<?xf32>, %y: memref<4000xf32>, %n: index, %m: index) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %v = arith.constant 1.0 : f32
          %d = memref.dim %x, %c0 : memref<?xf32>
          {" ".join(loops)}
          func.return
        }}""")
    )
    assert not report.is_proved
    assert "is taken to be 1024" in report.bounded[0]


def test_two_arguments_are_proved_at_once() -> None:
    """Where the second loop begins is what the first has counted."""
    text = in_sequence("%begin = arith.addi %n, %c0 : index", arguments=", %m: index", second="%m")
    report = check(parse(text))
    assert (report.verdict_line, report.bounded) == (EVERY, [])


def test_each_of_two_arguments_is_proved_by_itself() -> None:
    """In front of the first loop nothing has been counted that a remainder could be taken of."""
    text = in_sequence("", arguments=", %m: index", second="%m").replace(
        "  scf.for %i", "  %begin = arith.remui %n, %c3 : index\n  scf.for %i"
    )
    report = check(parse(text))
    assert report.verdict_line == "safe for trip counts 0..8"
    assert report.bounded == [
        "@two: 2 arguments bound loops (n, m), and not all at once are proved: 'arith.addi' takes 'n mod 3', which "
        "also bounds loops that are left open; every n is proved where m is 0..8; every m is proved where n is 0..8; "
        "fix all but one with --arg to prove the rest",
    ]
    assert check(parse(text), args={"m": 4}).verdict_line == "safe for every n, with m = 4"


def test_what_goes_wrong_at_a_larger_value_of_one_of_two_arguments_is_found() -> None:
    """The last wait is too weak from m = 14 on."""
    text = in_sequence(
        "%begin = arith.addi %n, %c0 : index\n%far = arith.constant 14 : index\n"
        "%is = arith.cmpi uge, %m, %far : index\n%last = arith.select %is, %c1, %c0 : index",
        arguments=", %m: index",
        second="%m",
        last="%last",
    )
    report = check(parse(text))
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert report.findings[0].arguments == {"n": 0, "m": 14}, str(report)


def test_the_report_as_data() -> None:
    data = check(parse(copying(NEVER))).as_data()
    assert data["every_trip_count"] is True
    assert data["bounded"] == []
    assert data["proofs"]["copies"]["period"] == 2
    assert data["line"].startswith(f"{EVERY}; assumed: ")
    assert data["scope"]["assumed"]


def test_trip_counts_on_the_way_to_a_crossing_are_executed() -> None:
    """The program counts to 40: a comparison comes closer to it, so the search goes on until it is passed."""
    case = next(case for case in CASES if case.name == "turn 40")
    report = check(parse(case.text))
    assert report.kinds == ["race"]
    assert report.findings[0].arguments == {"n": 41}


def with_constant(text: str, turns: int) -> str:
    """The program with a constant in place of its argument `n`."""
    head, brace, rest = text.replace(", %n: index", "").partition("{\n")
    return f"{head}{brace}  %n = arith.constant {turns} : index\n{rest}"


def test_a_million_turns_are_proved_not_executed() -> None:
    report = check(parse(with_constant(copying(NEVER), 1_000_000)))
    assert report.verdict_line == EVERY
    assert report.proofs["copies"].executed < 20


@pytest.mark.parametrize("turns", [300, 301])
def test_what_goes_wrong_in_general_may_be_right_as_it_stands(turns: int) -> None:
    """Turn 300 is the first that is wrong."""
    report = check(parse(with_constant(copying(in_turn(300)), turns)))
    assert report.verdict is (Verdict.SAFE if turns == 300 else Verdict.VIOLATION)


@pytest.mark.parametrize("upper", [602, 601])
def test_long_loops_may_begin_and_step_as_they_like(upper: int) -> None:
    """601 is no multiple of the step away from the lower bound: that loop is executed."""
    text = copying(NEVER, low="%c2", step="%three", before="%three = arith.constant 3 : index")
    report = check(parse(with_constant(text, upper)))
    assert report.verdict_line == EVERY
    assert bool(report.proofs) == (upper == 602)


def test_long_loops_of_different_lengths_are_executed() -> None:
    text = in_sequence("%begin = arith.constant 300 : index", second="%m").replace(
        "%c0 = arith", "%m = arith.constant 200 : index\n  %c0 = arith", 1
    )
    report = check(parse(with_constant(text, 300)))
    assert report.verdict_line == EVERY
    assert not report.proofs


def test_loops_of_one_length_are_proved_together() -> None:
    """Producer and consumer: the constant stands in both loops."""
    report = check(parse(with_constant(RIGHT["one ring"], 100_000)))
    assert report.verdict_line == EVERY
    assert report.proofs["relay"].period == 1


def test_a_guard_by_the_same_constant_is_generalised_with_the_loop() -> None:
    """The last turns bring nothing: they compare with the bound."""
    weak = "%left = arith.subi %n, %i : index\n%weak = arith.cmpi ult, %left, %c0 : index"
    report = check(parse(with_constant(copying(weak), 5_000)))
    assert report.proofs["copies"].executed < 60


@pytest.mark.parametrize(("turns", "proved"), [(100_000_000, True), (200_000_000, False)])
def test_numbers_must_not_overflow_before_the_last_turn(turns: int, proved: bool) -> None:
    """32 bits hold 16 times the number of turns, or do not."""
    weak = (
        "%k = arith.index_cast %i : index to i32\n%many = arith.constant 16 : i32\n%far = arith.muli %k, %many : i32\n"
        "%low = arith.constant 0 : i32\n%weak = arith.cmpi slt, %far, %low : i32"
    )
    general = generalised(next(iter(parse(with_constant(copying(weak), turns)).ops)))
    assert general is not None
    module = general.op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    assert general.number == turns
    growth = Growth(9, 2, target=turns)
    moving = Moving(16 * 9, (32,))
    if proved:
        overflows_at(module, moving, i32, growth)
    else:
        with pytest.raises(IrregularError, match="overflows 32 bits before trip count 200000000"):
            overflows_at(module, moving, i32, growth)


def scaled(lower: int, factor: int, kind: str = "i32") -> str:
    """Waits for each copy as long as `factor` times the turn is not negative, which it is when it has overflowed."""
    return f"""
func.func @scaled(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: {kind}) {{
  %c0 = arith.constant 0 : {kind}
  %lower = arith.constant {lower} : {kind}
  %c1 = arith.constant 1 : {kind}
  %factor = arith.constant {factor} : {kind}
  scf.for %k = %lower to %n step %c1 : {kind} {{
    nvvm.cp.async.shared.global %tile, %src, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    %offset = arith.muli %k, %factor : {kind}
    %inside = arith.cmpi sge, %offset, %c0 : {kind}
    scf.if %inside {{
      nvvm.cp.async.wait.group 0
    }}
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
  }}
  nvvm.cp.async.wait.group 0
  func.return
}}
"""


@pytest.mark.parametrize(
    ("factor", "kind", "bound"),
    [(1024, "i32", "2^21"), (1000, "i32", "2^21"), (1, "i32", None), (1024, "i64", None), (1 << 20, "i64", "2^43")],
)
def test_the_verdict_names_the_trip_count_at_which_an_integer_overflows(
    factor: int, kind: str, bound: str | None
) -> None:
    report = check(parse(scaled(0, factor, kind)), judge_waits=False)
    assert report.verdict_line == EVERY
    named = [clause for clause in report.scope.assumed if "overflows" in clause]
    assert named == ([] if bound is None else [f"n < {bound}, where an integer overflows"])
    assert report.as_data()["scope"]["assumed"] == list(report.scope.assumed)


def test_what_overflows_early_is_not_proved() -> None:
    report = check(parse(scaled(0, 1 << 12)), judge_waits=False)
    assert report.verdict_line == "safe for trip counts 0..8"
    assert "overflows 32 bits before trip count 1048576" in report.bounded[0]
    assert not any("overflows" in clause for clause in report.scope.assumed)


@pytest.mark.parametrize(
    ("number", "text"), [(1 << 21, "2^21"), ((1 << 21) + 1, "2^21"), ((1 << 31) - 2, "2^31 - 2"), (3 << 20, "2^21")]
)
def test_a_bound_is_written_by_powers_of_two(number: int, text: str) -> None:
    assert near_power(number) == text


STORES = """
func.func @stores(%a: memref<{shape}xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1 : i32
  %n = arith.constant {turns} : index
  scf.for %i = %c0 to %n step %c1 {{
    memref.store %v, %a[{indices}] : memref<{shape}xi32>
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("shape", "indices", "turns", "proved"),
    [
        ("?", "%i", 300, True),
        ("300", "%i", 300, True),
        ("299", "%i", 300, False),
        ("300x2", "%i, %c1", 300, True),
        ("299x2", "%i, %c1", 300, False),
        ("2x?", "%c1, %i", 300, True),
        ("2x299", "%c0, %i", 300, False),
        ("1", "%c0", 300, True),
    ],
)
def test_a_long_loop_that_leaves_its_array_is_refused(shape: str, indices: str, turns: int, proved: bool) -> None:
    """A few turns see the beginning of the array only: what comes after its end has to be worked out."""
    module = parse(STORES.format(shape=shape, indices=indices, turns=turns))
    if proved:
        assert check(module).proofs
    else:
        report = check(module)
        assert report.kinds == ["malformed"]
        assert "which has 299" in report.findings[0].violation.parties[0].role


def test_what_cannot_be_followed_to_the_end_of_its_array_is_executed() -> None:
    report = check(parse(STORES.format(shape="2x300", indices="%c1, %i", turns=300)))
    assert report.verdict_line == EVERY
    assert not report.proofs


@pytest.mark.parametrize(
    ("shape", "indices", "ends"),
    [("64xi32", "%k", 65), ("?xi32", "%k", None), ("64x4xi32", "%k, %c3", 65), ("4x64xi32", "%c3, %k", 65)],
)
def test_where_an_array_ends_is_said(shape: str, indices: str, ends: int | None) -> None:
    """What is proved holds as far as arrays reach; from there on the program reaches outside."""
    text = f"""
func.func @walk(%x: memref<{shape}>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 {{
    memref.store %one, %x[{indices}] : memref<{shape}>
  }}
  func.return
}}
"""
    report = check(parse(text))
    end = report.proofs["walk"].end
    assert (None if end is None else end.trip_count) == ends
    assert report.is_proved
    assert report.holds_for_every_trip_count == (ends is None)
    limit = "" if ends is None else f" as far as arrays reach: @walk up to trip count {ends - 1}"
    assert report.verdict_line == f"{EVERY}{limit}"
    if ends is not None:
        assert check(parse(text), trip_counts=[ends - 1]).verdict is Verdict.SAFE
        assert check(parse(text), trip_counts=[ends]).kinds == ["malformed"]


def test_of_a_loop_that_ends_before_its_array_nothing_is_said() -> None:
    """Its trip count is what it is."""
    text = """
func.func @walk(%x: memref<60000xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 {
    memref.store %one, %x[%k] : memref<60000xi32>
  }
  func.return
}
"""
    report = check(parse(text))
    assert report.verdict_line == EVERY
    assert "walk" in report.proofs
    assert not report.ends
