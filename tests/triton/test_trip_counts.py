"""Loops whose bounds are formulas: a kernel is proved in the number of turns, and a mistake is found at its turn."""

from __future__ import annotations

import operator
import re
from itertools import product

import pytest
from xdsl.dialects import scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS

from tests.triton.pairs import TRITON_KERNELS
from tests.triton.test_pairs import module_of, text_of
from tileas_xdsl.checker.verdict.bound_formulas import formula_of, number_of, turns_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.counted_turns import counted
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.checker.verdict.steering import early_returns
from tileas_xdsl.checker.verdict.turn_conditions import conditions_on
from tileas_xdsl.machine.arguments import find_function

ROUNDED_UP = """
    %size = arith.constant 64 : i32
    %least = arith.constant 63 : i32
    %padded = arith.addi %{n}, %least : i32
    %count = arith.divsi %padded, %size : i32
"""
DOUBLED = """
    %two = arith.constant 2 : i32
    %count = arith.muli %{n}, %two : i32
"""
LOADED = """
    %address = tt.int_to_ptr %where : i64 -> !tt.ptr<i32>
    %count = tt.load %address : !tt.ptr<i32>
"""


def with_bound(name: str, argument: str, formula: str) -> str:
    """The text of a kernel in which `argument` stands for the result of `formula` wherever it is used."""
    text = text_of(name)
    head, brace, body = text.partition(" attributes {noinline = false} {\n")
    assert brace
    body = re.sub(rf"%{argument}\b(?!:)", "%count", body)
    if "%where" in formula:
        head = head.removesuffix(")") + ", %where: i64)"
    return head + brace + formula.replace("%{n}", f"%{argument}") + body


def checked(text: str) -> Report:
    return check(module_of("formula", text), timeout=60)


SEQUENCES = {
    "chunk_of_sequence-80": ("turns", "N"),
    "masked_sums-80": ("turns", "turns2"),
    "two_products-80": ("turns", "turns2"),
    "two_products-90": ("turns", "turns2"),
}
"""Kernels with two loops one after the other -> what says how often these turn."""


@pytest.mark.parametrize(
    "name", [name for name in TRITON_KERNELS if name not in SEQUENCES and "persistent" not in name]
)
def test_what_triton_pipelines_is_proved_for_every_number_of_turns(name: str) -> None:
    report = check(module_of(name), timeout=60)
    assert report.findings == []
    assert report.last_line.startswith("safe for every trip count; ")
    assert "bounds computed from K are not negative and do not overflow" in report.last_line


def test_who_has_started_partitions_begins_none_of_their_loops() -> None:
    """It waits for their end; if it could still begin one, each turn would be a state of its own."""
    report = check(module_of("matmul_specialized-100"), timeout=60)
    (proof,) = report.proofs_by_decisions.values()
    assert proof.states < 32


@pytest.mark.parametrize("formula", [ROUNDED_UP, DOUBLED, LOADED], ids=["rounded up", "doubled", "loaded"])
@pytest.mark.parametrize(("name", "argument"), [("copy_ring-3-good", "n"), ("wgmma_ring-2-good", "steps")])
def test_a_right_kernel_is_proved_whatever_the_formula(name: str, argument: str, formula: str) -> None:
    """In partitions as well, which capture the bound."""
    assert checked(with_bound(name, argument, formula)).last_line.startswith("safe for every trip count; ")


@pytest.mark.parametrize(
    ("name", "argument"), [("copy_ring-4-1", "n"), ("wgmma_ring-3-4", "steps"), ("store_ring-3-2", "n")]
)
def test_a_mistake_is_found_at_an_argument_that_leads_there(name: str, argument: str) -> None:
    """After as many turns as without the formula; and the kernel goes wrong with the argument that the report names."""
    plain = check(module_of(name), timeout=60)
    text = with_bound(name, argument, ROUNDED_UP)
    report = checked(text)
    assert report.verdict is Verdict.VIOLATION
    assert report.kinds == plain.kinds
    found = report.findings[0].arguments
    assert found["turns"] == plain.findings[0].arguments[argument] == -(-found[argument] // 64)
    again = check(module_of("formula", text), args={argument: found[argument]}, timeout=60)
    assert again.kinds[0] == report.kinds[0]


def test_a_mistake_at_a_number_of_turns_that_no_argument_gives_is_none() -> None:
    """The last turn of an odd number of them waits for a phase that nobody completes; the formula gives even ones."""
    text = ODD.replace("@BOUND@", DOUBLED.replace("%{n}", "%n"))
    assert checked(text).verdict is Verdict.SAFE
    assert checked(ODD.replace("@BOUND@", ROUNDED_UP.replace("%{n}", "%n"))).verdict is Verdict.VIOLATION


ODD = """
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func public @odd(%n: i32) attributes {noinline = false} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
@BOUND@
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared, #smem, mutable>
    ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    scf.for %k = %c0 to %count step %c1  : i32 {
      ttng.arrive_barrier %bar, 1 : !ttg.memdesc<1xi64, #shared, #smem, mutable>
      %phase = arith.remsi %k, %c2 : i32
      ttng.wait_barrier %bar, %phase : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    }
    %rest = arith.remsi %count, %c2 : i32
    %odd = arith.cmpi ne, %rest, %c0 : i32
    scf.if %odd {
      ttng.wait_barrier %bar, %c1 : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    }
    ttng.inval_barrier %bar : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    tt.return
  }
}
"""


STEPS = {
    "by a constant": ("%c64 = arith.constant 64 : i32", "%c0", "%n", "%c64"),
    "by the grid": ("", "%pid", "%n", "%all"),
}


@pytest.mark.parametrize("kind", STEPS)
def test_loops_by_other_steps(kind: str) -> None:
    """`for k in range(0, n, 64)` and `for tile in range(program_id, n, num_programs)`."""
    constant, lower, upper, step = STEPS[kind]
    turn = "%first = arith.subi %k, " + lower + " : i32\n      %turn = arith.divsi %first, " + step + " : i32"
    grid = "%pid = tt.get_program_id x : i32\n    %all = tt.get_num_programs x : i32"
    text = ODD.replace("@BOUND@", f"{grid}\n    {constant}")
    text = text.replace("%c0 to %count step %c1", f"{lower} to {upper} step {step}")
    text = text.replace("arith.remsi %k, %c2", "arith.remsi %turn, %c2").replace("%phase =", turn + "\n      %phase =")
    text = text.replace("    %rest = arith.remsi %count, %c2 : i32\n", "").replace(
        "arith.cmpi ne, %rest, %c0", "arith.cmpi ne, %c0, %c0"
    )
    general = counted(find_function(module_of("steps", text), None)[0])
    assert general is not None
    assert general.arguments_for({"turns": 3}) == {"n": 192 if "64" in constant else 3}
    report = checked(text)
    assert report.findings == []


@pytest.mark.parametrize("name", SEQUENCES)
def test_loops_one_after_the_other_are_proved_for_all_numbers_of_turns_at_once(name: str) -> None:
    """Each loop has a ring of slots of its own, and conditions that ask for turns two ahead."""
    report = check(module_of(name), timeout=60)
    assert report.last_line.startswith("safe for every trip count; ")
    (proof,) = report.proofs_by_decisions.values()
    assert proof.counts == SEQUENCES[name]


EXIT = """
    %odd_count = arith.remsi %n, %c2 : i32
    %none = arith.cmpi eq, %odd_count, %c1 : i32
    cf.cond_br %none, ^bb1, ^bb2
  ^bb1:
    tt.return
  ^bb2:
"""


def test_a_mistake_behind_a_return_is_one_where_the_kernel_gets_there() -> None:
    """The copy never returns early; where that goes wrong, the kernel is checked as it stands."""
    plain = ODD.replace("@BOUND@", "").replace("%count", "%n")
    assert checked(plain).verdict is Verdict.VIOLATION
    assert checked(plain.replace("    %bar =", EXIT + "    %bar =")).last_line.startswith("safe for every trip count")
    returns = plain.replace("    %bar =", EXIT.replace("eq", "ne") + "    %bar =")
    assert checked(returns).findings[0].arguments == {"n": 1}


BEGUN_IN_A_LOOP = """
    scf.for %j = %c0 to %c1 step %c1  : i32 {
      %early = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared, #smem, mutable>
      ttng.init_barrier %early, 1 : !ttg.memdesc<1xi64, #shared, #smem, mutable>
    }
"""


@pytest.mark.parametrize(
    ("before", "place", "found"), [("", "    %bar =", 1), ("", "    scf.for", 0), (BEGUN_IN_A_LOOP, "    %bar =", 0)]
)
def test_what_is_done_before_a_return_counts(before: str, place: str, found: int) -> None:
    """A barrier that is not undone there, be it made in a loop: such a branch decides something, and stays."""
    text = ODD.replace("@BOUND@", "").replace("%count", "%n").replace(place, before + EXIT + place)
    assert len(list(early_returns(find_function(module_of("exit", text), None)[0]))) == found


@pytest.mark.parametrize("name", ["masked_sums-80", "two_products-90"])
def test_a_mistake_in_the_second_of_two_loops_is_found(name: str) -> None:
    """A wait in it leaves one copy more in flight: the tile of this turn."""
    before, loop, second = text_of(name).rpartition("scf.for")
    text = before + loop + second.replace("{num = 2 : i32}", "{num = 4 : i32}")
    report = checked(text)
    assert report.kinds == ["race"]
    assert report.findings[0].arguments["turns2"] > 0


CONDITIONS = """
    %a16 = arith.addi %a, %c16 : i32
    %b32 = arith.subi %b, %c32 : i32
    %b8 = arith.subi %b, %c8 : i32
    %p0 = arith.cmpi slt, %a16, %b : i32
    %p1 = arith.cmpi sge, %a16, %b32 : i32
    %p2 = arith.cmpi sgt, %b32, %a : i32
    %p3 = arith.cmpi sle, %b, %a : i32
    %odd0 = arith.cmpi slt, %a, %b8 : i32
    %odd1 = arith.cmpi sle, %a, %b : i32
    %odd2 = arith.cmpi slt, %b, %a : i32
    scf.for %k = %a to %b step %c16 : i32 {
      %k48 = arith.addi %c48, %k : i32
      %q0 = arith.cmpi slt, %k, %b32 : i32
      %q1 = arith.cmpi sle, %b32, %k : i32
      %q2 = arith.cmpi sgt, %b, %k48 : i32
      %q3 = arith.cmpi sge, %k48, %b32 : i32
      %odd3 = arith.cmpi slt, %k, %b8 : i32
      %odd4 = arith.cmpi slt, %k, %a : i32
      %odd5 = arith.cmpi ult, %k, %b32 : i32
    }
"""


def test_conditions_ask_for_the_turns_that_a_loop_has() -> None:
    """Whatever its bounds are; and a distance that is no multiple of the step is no number of turns."""
    constants = "".join(f"    %c{n} = arith.constant {n} : i32\n" for n in (8, 16, 32, 48))
    text = f"tt.func public @asks(%a: i32, %b: i32) {{\n{constants}{CONDITIONS}    tt.return\n}}\n"
    function = find_function(module_of("asks", text), None)[0]
    (loop,) = (op for op in function.walk() if isinstance(op, scf.ForOp))
    count = (formula_of(loop.lb), formula_of(loop.ub), formula_of(loop.step))
    found = conditions_on(function, [loop], count)
    assert [each.op.result.name_hint for each in found] == ["p0", "p1", "p2", "p3", "q0", "q1", "q2", "q3"]
    for a, b in product(range(-40, 40, 7), range(-70, 130)):
        given = {("argument", 0): a, ("argument", 1): b}
        turns = turns_of(count, given)
        assert turns is not None
        for each in found:
            for turn in range(1 if each.loop is None else turns):
                numbers = {**given, ("data", loop.body.block.args[0]): a + 16 * turn}
                left, right = (number_of(formula_of(value), numbers) for value in each.op.operands)
                says = PREDICATES[CMPI_COMPARISON_OPERATIONS[each.op.predicate.value.data]](left, right)
                assert says == ((turn + each.later < turns) != each.negated)


PREDICATES = {"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}


def test_a_loop_that_another_loop_bounds_stays() -> None:
    """How often it turns differs from iteration to iteration of the outer loop."""
    text = ODD.replace("@BOUND@", "").replace("%count step", "%n step")
    inner = "scf.for %j = %c0 to %m step %c1  : i32 {\n      }\n"
    text = text.replace(
        "      ttng.arrive_barrier", f"      %m = arith.addi %k, %c2 : i32\n      {inner}      ttng.arrive_barrier"
    )
    text = text.replace("%count", "%n")
    assert counted(find_function(module_of("nested", text), None)[0]) is None


@pytest.mark.parametrize("name", [name for name in TRITON_KERNELS if "persistent" in name])
def test_a_persistent_kernel_is_right_as_far_as_it_is_executed(name: str) -> None:
    """Of a nest, the number of programs and that of steps are two numbers of turns."""
    general = counted(find_function(module_of(name), None)[0])
    assert general is not None
    assert set(general.behind) == {"K", "M", "N"}
    report = check(module_of(name), timeout=10)
    assert report.findings == []
    assert report.verdict is Verdict.SAFE


def test_a_branch_on_data_that_only_stores_decides_nothing() -> None:
    """Whichever side runs, shared memory is the same."""
    branch = "%flag = tt.load %where : !tt.ptr<i1>\n    scf.if %flag {{\n      {}\n    }}\n"
    store = "%one = arith.constant 1.0 : f32\n      tt.store %out, %one : !tt.ptr<f32>"
    arrive = "ttng.arrive_barrier %bar, 1 : !ttg.memdesc<1xi64, #shared, #smem, mutable>"
    text = ODD.replace("%n: i32)", "%n: i32, %where: !tt.ptr<i1>, %out: !tt.ptr<f32>)").replace("@BOUND@", "")
    text = (
        text.replace("    %rest = arith.remsi %count, %c2 : i32\n", "")
        .replace("ne, %rest, %c0", "ne, %c0, %c0")
        .replace("%count", "%n")
    )
    idle = text.replace("    scf.for", "    " + branch.format(store) + "    scf.for")
    assert checked(idle).last_line.startswith("safe for every trip count")
    assert (
        checked(text.replace("    scf.for", "    " + branch.format(arrive) + "    scf.for")).verdict
        is Verdict.UNDECIDED
    )
