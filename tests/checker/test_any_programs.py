"""Persistent kernels are proved for however many programs a block computes, and traps for that proof are not."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.any_programs import is_proved_for_any_programs, with_any_programs
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.deciding import Assumptions, Subject
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.arguments import find_function

PIPELINE = "tileir{{compute-capability=sm_90a pipeline-strategy=warp-specialize persistent=true group-programs={rows}}}"


@cache
def product(rows: int = 0) -> str:
    """A persistent product of 16 x 16 tiles, with an agent that loads and one that computes and stores."""
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text().replace("@gemm", "@f")
    for old, new in (("128x64x", "16x16x"), ("64x128x", "16x16x"), ("128x128x", "16x16x")):
        text = text.replace(old, new)
    return print_custom(run_passes(parse(text), PIPELINE.format(rows=rows)))


def is_proved(text: str, **assumptions: object) -> bool:
    op, body = find_function(parse(text), "f")
    report = Report(["f"], (0, 1), tries_every_trip_count=True)
    subject = Subject(op, body, Assumptions(**assumptions))  # pyright: ignore[reportArgumentType]
    return is_proved_for_any_programs("f", subject, {}, report, lambda _: None)


@pytest.mark.parametrize("rows", [0, 1, 8])
def test_a_persistent_product_is_proved_for_any_grid(rows: int) -> None:
    report = check(parse(product(rows)))
    assert report.last_line.startswith("safe for every trip count; assumed: n >= 0; ")
    assert report.last_line.endswith("blocks do not race with each other")
    assert report.holds_for_every_trip_count


def test_an_argument_may_be_fixed() -> None:
    report = check(parse(product()), args={"n": 3})
    assert report.verdict_line == "safe for every trip count, with n = 3"


def test_the_copy_knows_no_numbers_of_programs() -> None:
    op, _ = find_function(parse(product()), "f")
    general = with_any_programs(op, "f")
    assert general is not None
    assert (general.turns, general.programs) == ("turns", ("program", "program0"))
    assert not {"arith.remui", "arith.divui", "nv_tileaa.get_program_id"} & {op.name for op in general.op.walk()}


STORE = "nv_tileaa.tiled_store %c[%row_1, %col_1], %product"
KIND = ": (memref<?x?xf32>, tensor<16x16xf32>, index, index) -> ()"


def stored(line: str) -> str:
    """The product with another store."""
    assert STORE in product()
    return product().replace(f"{STORE} {KIND}", line)


def stored_by_elements(step: int) -> str:
    """With a store at multiples of `step` elements in place of whole tiles."""
    return stored(f"""
      %s = arith.constant {step} : index
      %i = arith.muli %row_1, %s : index
      %j = arith.muli %col_1, %s : index
      nv_tileaa.store %c[%i, %j], %product {KIND}""")


RIGHT = {
    "places by elements": stored_by_elements(16),
    "places further apart than tiles": stored_by_elements(32),
    "one tile of all programs, which one agent stores": stored(f"""
      nv_tileaa.tiled_store %c[%c0, %c0], %product {KIND}"""),
    "two tiles of a row, one beside the other": stored(f"""
      %two = arith.constant 2 : index
      %j = arith.muli %col_1, %two : index
      %next = arith.addi %j, %c1 : index
      nv_tileaa.tiled_store %c[%row_1, %j], %product {KIND}
      nv_tileaa.tiled_store %c[%row_1, %next], %product {KIND}"""),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_stays_in_its_cell_is_proved(name: str) -> None:
    assert is_proved(RIGHT[name])


def with_loads(line: str) -> str:
    """The product, in which the agent that loads does something at the head of each program."""
    head = "%col = arith.index_cast %3 : i32 to index"
    assert product().count(head) == 1
    return product().replace(head, f"{head}\n{line}")


def carried() -> str:
    """A store to the tile of the last program: what is carried to the next turn is not of that turn."""
    text = re.sub(
        r"(scf.for %program_1 = .*?iter_args\()(.*?)\) -> \(", r"\1%last = %c0, \2) -> (index, ", product(), count=1
    )
    text = text.replace("%at_out_1, %bt_out_1 = scf.for", "%end, %at_out_1, %bt_out_1 = scf.for")
    text = text.replace(STORE, STORE.replace("%row_1", "%last"))
    yielded = "scf.yield %at_out_3, %bt_out_3 : "
    return text.replace(yielded, "scf.yield %row_1, %at_out_3, %bt_out_3 : index, ")


TRAPS = {
    "tiles that overlap those of other programs": stored_by_elements(8),
    "places between two tiles": stored(f"""
      %s = arith.constant 16 : index
      %i = arith.muli %row_1, %s : index
      %j = arith.addi %i, %c1 : index
      nv_tileaa.store %c[%j, %col_1], %product {KIND}"""),
    "the tile of the next program, too": stored(f"""
      %next = arith.addi %col_1, %c1 : index
      nv_tileaa.tiled_store %c[%row_1, %col_1], %product {KIND}
      nv_tileaa.tiled_store %c[%row_1, %next], %product {KIND}"""),
    "a tile and its mirror image": stored(f"""
      nv_tileaa.tiled_store %c[%row_1, %col_1], %product {KIND}
      nv_tileaa.tiled_store %c[%col_1, %row_1], %product {KIND}"""),
    "a branch": stored(f"""
      %is = arith.cmpi eq, %row_1, %c0 : index
      scf.if %is {{
        {STORE} {KIND}
      }}"""),
    "a bound": re.sub("%k(_1|) = %c0 to %n", r"%k\1 = %c0 to %row\1", product()),
    "a tile that is carried to the next program": carried(),
    "a store of the other agent to the tile": with_loads(f"""
      %none = arith.constant dense<0.0> : tensor<16x16xf32>
      nv_tileaa.tiled_store %c[%row, %col], %none {KIND}"""),
    "a load of the other agent of what programs store": with_loads("""
      %old = nv_tileaa.tiled_load %c[%row, %col] : (memref<?x?xf32>, index, index) -> tensor<16x16xf32>"""),
    "a step that may be no step": product().replace("step %blocks", "step %n"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_traps_are_not_proved(name: str) -> None:
    """The program as it was is proved, and so are changes of the same kind above."""
    assert not is_proved(TRAPS[name])


def test_arrays_that_may_overlap_are_not_proved() -> None:
    assert is_proved(product())
    assert not is_proved(product(), may_alias=(("a", "c"),))
    assert is_proved(product(), may_alias=(("a", "b"),))


SEQUENTIAL = """
func.func @f(%c: memref<?x?xi32>, %n: index, %rows: index, %columns: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %scratch = memref.alloc() : memref<64xi32, #nv_tileas.layout<smem>>
  %first = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %blocks = nv_tileaa.get_num_programs attributes {axis = 0 : i32} : () -> index
  %all = arith.muli %rows, %columns : index
  scf.for %program = %first to %all step %blocks {
    %row = arith.remui %program, %rows : index
    %column = arith.divui %program, %rows : index
    scf.for %k = %c0 to %n step %c1 {
      BODY
    }
  }
  func.return
}""".replace(", #nv_tileas.layout<smem>", ", 3")
BODIES = {
    "a cell": ("memref.store %one, %c[%row, %column] : memref<?x?xi32>", True),
    "places that the steps walk through": ("memref.store %one, %c[%row, %k] : memref<?x?xi32>", False),
    "a slot": ("memref.store %one, %scratch[%row] : memref<64xi32, 3>", False),
    "a number that is stored": (
        """%number = arith.index_cast %row : index to i32
      memref.store %number, %c[%row, %column] : memref<?x?xi32>""",
        False,
    ),
    "a number that an earlier program may have stored elsewhere": (
        """memref.store %one, %c[%row, %column] : memref<?x?xi32>
      %was = memref.load %c[%row, %column] : memref<?x?xi32>
      %is = arith.cmpi eq, %was, %one : i32
      scf.if %is {
        memref.store %one, %scratch[%c0] : memref<64xi32, 3>
      }""",
        False,
    ),
    "a product of two of them": (
        """%place = arith.muli %row, %column : index
      memref.store %one, %c[%place, %column] : memref<?x?xi32>""",
        True,
    ),
}


def test_blocks_of_a_cluster_may_turn_differently_often() -> None:
    """One that turns once more waits for the others for ever."""
    text = SEQUENTIAL.replace("BODY", "nvvm.cluster.arrive\n      nvvm.cluster.wait")
    assert not is_proved(text)


@pytest.mark.parametrize("name", BODIES)
def test_one_agent_computes_programs(name: str) -> None:
    body, proved = BODIES[name]
    assert is_proved(SEQUENTIAL.replace("BODY", body)) is proved
