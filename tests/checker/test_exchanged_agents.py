"""Exchanging agents never changes a verdict: of every example, of the zoo, and of the edges."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tests.checker.test_edges import EDGES, THREADS
from tests.support.corpora import each
from tests.support.exchanged_agents import exchanges
from tests.support.ir import ROOT, print_custom
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.front_door import parse
from tileas_xdsl.machine.core.violations import UnsupportedError

PROGRAMS = sorted([*(ROOT / "examples").rglob("*.mlir"), *(ROOT / "examples").rglob("*.ttgir"), *EDGES.glob("*.mlir")])
TIMEOUT = 120
"""Seconds of processor time for a check: many times what one takes."""
SLOW = [EDGES / "gemm_persistent_arg.mlir"]
"""In the whole corpus only."""
NOT_YET = {
    "reinit_race": "a barrier is made over a valid one: which of the two the later uses mean is not followed",
    "reinit_inval_race": "the same where it was invalidated before",
}
"""What still depends on the order, and why: only which kinds are found beside the first mistake."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def verdict(module: ModuleOp, threads: int | None) -> str:
    try:
        return check(module, threads=threads, judge_waits=False, timeout=TIMEOUT).verdict_line
    except UnsupportedError:
        return "refused"


@each("path", PROGRAMS, 40, ids=name, slow=SLOW)
def test_exchanging_agents_changes_no_verdict(path: Path) -> None:
    text, threads = path.read_text(), THREADS.get(path.stem)
    as_written = verdict(parse(text), threads)
    for exchange in exchanges(text):
        with exchange.on_machine():
            found = verdict(exchange.of(text), threads)
        if path.stem in NOT_YET:
            found, as_written = found.partition(":")[0], as_written.partition(":")[0]
        assert found == as_written, exchange.name


TWO_AGENTS = """
func.func @f(%l: !llvm.ptr<3>, %bar: !llvm.ptr<3>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 2>, num_warps = array<i32: 4, 1>} {
    nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32
  }, {
    nvvm.mbarrier.arrive %bar : !llvm.ptr<3>
  } : () -> ()
  func.return
}
"""
PARTITIONS = """
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @f() {
    ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 40>, warpGroupStartIds = array<i32: 4, 8>}
    default {
      ttg.warp_yield
    }
    partition0() num_warps(4) {
      ttg.warp_return
    }
    partition1() num_warps(2) {
      %c = arith.constant 1 : i32
      ttg.warp_return
    } : () -> ()
    tt.return
  }
}
"""


def test_regions_take_their_attributes_along() -> None:
    first, *on_machine = exchanges(TWO_AGENTS)
    text = print_custom(first.of(TWO_AGENTS))
    assert text.index("mbarrier.arrive") < text.index("try_wait")
    assert "num_agents_per_group = array<i32: 2, 1>" in text
    assert "num_warps = array<i32: 1, 4>" in text
    assert len(on_machine) == 2


def test_partitions_take_their_attributes_along() -> None:
    text = print_custom(exchanges(PARTITIONS)[0].of(PARTITIONS))
    assert text.index("arith.constant") < text.index("partition1")
    assert "partition0() num_warps(2)" in text
    assert "requestedRegisters = array<i32: 40, 24>" in text
    assert "warpGroupStartIds = array<i32: 8, 4>" in text


def test_every_permutation_of_three_agents_but_their_own_is_among_the_texts() -> None:
    three = (
        TWO_AGENTS.replace("1, 2>", "1, 1, 1>")
        .replace("4, 1>", "4, 1, 2>")
        .replace("} : () -> ()", "}, {\n  ^bb0:\n} : () -> ()")
    )
    texts = {print_custom(exchange.of(three)) for exchange in exchanges(three)[:3]}
    assert len(texts) == 3
    assert print_custom(parse(three)) not in texts
