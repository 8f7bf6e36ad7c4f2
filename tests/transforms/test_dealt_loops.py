"""
Attention of the published size, and a chain of exponentials: who runs what is found without being told, and the
materialised programs do what the schedules say.

A tile of 128 keys and a head of 128, in sub-tiles of 64 queries, as in Shah et al., "FlashAttention-3" (arXiv
2407.08608): there the tensor core takes nearly as long as the softmax, so that the two have to overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from tests.support.corpora import nightly
from tests.support.ir import run_passes
from tests.support.kernel_references import Arguments, Array, wide
from tests.support.scheduled_kernels import DIRECTORY, Kernel
from tests.support.scheduled_loops import (
    GEMM,
    after,
    assert_kept,
    buffers,
    joint,
    number,
    ops_of,
    prepared,
    proof_of,
    schedule_of,
    scheduled,
)
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulation import TimedRun, simulate

TRIPS = 12
TENSOR_CORE = "tensor core"


@dataclass(frozen=True)
class WrittenKernel(Kernel):
    """A kernel whose text is here, and in no file."""

    program: str = field(default="", kw_only=True)

    @property
    def text(self) -> str:
        return self.program


def road(agents: int | str, sub_tiles: int = 1) -> str:
    """From a synchronous loop to its schedule for up to so many agents."""
    split = prepared().replace("{", f"{{sub-tiles={sub_tiles} ", 1)
    return f"{split},{scheduled(more=joint(agents))}"


def materialized(scheduled_module: ModuleOp, agents: int) -> ModuleOp:
    """The agents of a scheduled loop, of which there are so many."""
    steps = f"{buffers('sm_90')},tileas-materialize-schedule{{compute-capability=sm_90}}"
    module = run_passes(scheduled_module.clone(), steps)
    verify_dominance(module)
    (switch,) = ops_of(module, AgentSwitchOp)
    assert isinstance(switch, AgentSwitchOp)
    assert len(switch.bodies) == agents
    return module


def assert_right(kernel: Kernel, before: ModuleOp, module: ModuleOp) -> TimedRun:
    """The program computes what the loop does, and is safe for every trip count; returns how it runs in time."""
    for trips in (0, 1, 2, 5):
        assert_kept(before, module, kernel, trips)
    report = check(module, "f")
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.holds_for_every_trip_count
    return simulate(module, "f", kernel.arguments(TRIPS), kernel.target)


# Attention ------------------------------------------------------------------------------------------------------------


def softmax(given: Arguments) -> Array:
    """softmax(Q * K / 4) * V with powers of two, over `n` tiles of 128 keys."""
    keys = 128 * given["n"]
    scores = wide(given["q"]) @ wide(given["k"])[:, :keys] / 4
    weights = np.exp2(scores - scores.max(1, keepdims=True, initial=-1e30))
    return weights @ wide(given["v"])[:keys] / np.maximum(weights.sum(1, keepdims=True), 1)


def attention(queries: int) -> Kernel:
    """So many queries against tiles of 128 keys, with a head of 128."""
    text = (DIRECTORY / "attention_128.mlir").read_text()
    text = text.replace("<16x16", "<128x128").replace("<128x16x", "<128x128x")
    for name in ("q", "s", "p", "col", "row"):
        text = text.replace(f"!{name} = tensor<128", f"!{name} = tensor<{queries}")
    shapes: dict[str, tuple[int | str, ...]] = {
        "q": (queries, 128),
        "k": (128, "128n"),
        "v": ("128n", 128),
        "c": (queries, 128),
    }
    halves = dict.fromkeys("qkv", "f16")
    return WrittenKernel("attention", shapes, halves, softmax, is_exact=False, program=text)


def products(timed: TimedRun) -> list[tuple[int, str, int, int]]:
    """The products in the order in which the tensor core begins them: agent, name, begin, end."""
    turns = sorted((it for it in timed.clock.services if it.engine == TENSOR_CORE), key=lambda it: it.start)
    return [(it.agent.number, it.op.results[0].name_hint or "", it.start, it.freed) for it in turns]


@nightly("a proof for three agents, and a program of 128 by 128; below, one sub-tile of 64 has two agents")
def test_two_sub_tiles_of_attention_play_ping_pong() -> None:
    """
    A producer and two consumers, each with one sub-tile. In the program that comes of it the tensor core takes turns
    between the consumers, product by product, without a gap: the softmax of one runs while the other's products do.
    """
    kernel = attention(128)
    found = after(kernel.text, road(3, sub_tiles=2))
    entries = schedule_of(found)
    assert [number(entries, name) for name in ("agents", "ii", "lower_bound")] == [3, 2048, 2048]
    assert proof_of(entries).startswith("II = 2048 (proven: slot tensor core: ")
    assert proof_of(entries).endswith("; 3 agents (proven: with 2, II >= 2060)")
    assert "registers" not in proof_of(entries), "S, P and the output of each fit"
    timed = assert_right(kernel, found, materialized(found, 3))
    assert timed.cycles_per_iteration == 2048
    steady = products(timed)[8:-8]
    assert len({agent for agent, *_ in steady}) == 2
    assert all(end == begin for (*_, end), (_, _, begin, _) in pairwise(steady))
    turns = [len(list(turn)) for _, turn in groupby(steady, key=lambda it: it[0])]
    assert set(turns) == {1}


def test_with_one_sub_tile_the_next_product_with_k_is_issued_before_this_one_with_v() -> None:
    """The softmax of an iteration runs while the tensor core does the next product with K, so that both stay busy."""
    kernel = attention(64)
    found = after(kernel.text, road(2))
    entries = schedule_of(found)
    ii = number(entries, "ii")
    assert [number(entries, name) for name in ("agents", "lower_bound")] == [2, 1051]
    assert ii <= 1230, "two S at a time in turn with P; with one S at a time it takes more than 1287"
    assert proof_of(entries) == (
        f"II <= {ii}, >= 1051 (1051-{ii - 1} unknown); registers of computing agent: %s 64 and %half 32 words of 192 "
        "beside 64 that are kept; without regard to them, II = 1051; 2 agents"
    )
    assert entries.data["compared"] == StringAttr(
        f"heuristic 1051 with too many registers, best known {ii}, at least 1051"
    )
    with_k, with_v = [op for op in found.walk() if isinstance(op, AsyncDotOp)]
    stages, orders = ([_tag(op, name) for op in (with_k, with_v)] for name in ("stage", "order"))
    assert (stages[1] - stages[0], orders[0] < orders[1]) >= (1, True)
    timed = assert_right(kernel, found, materialized(found, 2))
    assert timed.cycles_per_iteration is not None
    assert 1051 <= timed.cycles_per_iteration <= ii
    begun = products(timed)
    k_begins = [begin for _, name, begin, _ in begun if name.startswith("s")]
    v_begins = [begin for _, name, begin, _ in begun if name.startswith("out_new")]
    assert len(k_begins) == len(v_begins) == TRIPS
    assert all(next_k < this_v for next_k, this_v in zip(k_begins[1:], v_begins, strict=False))


def test_tiles_that_never_fit_are_told_in_words() -> None:
    """A sum of 128 by 256 numbers is kept in registers; beside it one tile of input is too much for one agent."""
    wide = CHAIN.replace("64x128", "128x256")
    entries = schedule_of(after(wide, road(1)))
    assert proof_of(entries).endswith(
        "; registers do not suffice: registers of agent: convert_layout %tile needs %tile 128 at once, "
        "128 words of 192 beside 256 that are kept"
    )
    with pytest.raises(PassFailedException, match="the tiles that an agent carries take 256 words of 192"):
        after(wide, road(2))


def _tag(op: AsyncDotOp, name: str) -> int:
    value = op.attributes[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data


# GEMM -----------------------------------------------------------------------------------------------------------------


def test_registers_decide_of_auto_too() -> None:
    """256 by 128 numbers fit neither the registers of one agent nor those of one computing agent."""
    text = GEMM.replace("128x64", "256x64").replace("128x128", "256x128")
    found = after(text, road("auto", sub_tiles=2))
    entries = schedule_of(found)
    assert number(entries, "agents") == 3
    for fewer in (1, 2):
        said = f"with {fewer}, registers: the tiles that an agent carries take 256 words of 192"
        assert said in proof_of(entries)
    module = materialized(found, 3)
    loop_before = run(found, "gemm", wide_arguments(), order="eager")
    loop_after = run(module, "gemm", wide_arguments(), order="random", seed=3)
    assert loop_after.violations == ()
    assert np.array_equal(loop_before.arrays["c"], loop_after.arrays["c"])
    assert check(module, "gemm").verdict is Verdict.SAFE
    timed = simulate(module, "gemm", wide_arguments(), "sm_90")
    assert timed.cycles_per_iteration is not None
    assert number(entries, "ii") - 1 < timed.cycles_per_iteration <= number(entries, "ii")


def wide_arguments() -> dict[str, Any]:
    draw = np.random.default_rng(5)
    a, b = (draw.integers(-2, 3, shape).astype(np.float16) for shape in ((256, 64 * TRIPS), (64 * TRIPS, 128)))
    return {"n": TRIPS, "a": a, "b": b, "c": np.zeros((256, 128), np.float32)}


# Values that move -----------------------------------------------------------------------------------------------------

CHAIN = """
#smem = #nv_tileas.layout<smem>
!x = tensor<64x128xf16, #smem>
!h = tensor<64x128xf16>
!t = tensor<64x128xf32>
func.func @f(%x: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %quarter = arith.constant dense<0.25> : !t
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) {
    %xt = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf16>, index, index) -> !x
    %tile = nv_tileas.convert_layout %xt : (!x) -> !h
    %wide = arith.extf %tile : !h to !t
    %once = nv_tileaa.exp2 %wide : (!t) -> !t
    %half = arith.truncf %once : !t to !h
    %again = arith.extf %half : !h to !t
    %twice = nv_tileaa.exp2 %again : (!t) -> !t
    %small = arith.mulf %twice, %quarter : !t
    %thrice = nv_tileaa.exp2 %small : (!t) -> !t
    %sum = arith.addf %acc, %thrice : !t
    scf.yield %sum : !t
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}"""


def exponentials(given: Arguments) -> Array:
    """The sum of exp2(exp2(exp2(x)) / 4) over `n` tiles."""
    tiles = given["x"][: 64 * given["n"]].reshape(-1, 64, 128)
    once = np.exp2(tiles.astype(np.float32)).astype(np.float16)
    return np.exp2(np.exp2(once.astype(np.float32)) / 4).astype(np.float32).sum(0)


def chain() -> Kernel:
    shapes: dict[str, tuple[int | str, ...]] = {"x": ("64n", 128), "c": (64, 128)}
    return WrittenKernel("chain", shapes, {"x": "f16"}, exponentials, is_exact=False, loads=1, program=CHAIN)


def test_connected_work_is_dealt_and_the_tile_between_moves() -> None:
    """
    One computing agent has more work than each of two, although the tile between them has to move.

    The port of shared memory serves first come first served. The second agent loads the tile as soon as it is there,
    where the schedule lets the first one load its input before that: so the program takes 59 cycles more than the
    interval, in which the first agent finds the port busy. `docs/proven-schedules.md` lists that.
    """
    kernel = chain()
    found = after(kernel.text, road(3))
    entries = schedule_of(found)
    assert number(entries, "agents") == 3
    assert number(entries, "lower_bound") == number(entries, "ii")
    assert "; 3 agents between which tiles of 16384 bytes move (proven: with 2, II >= " in proof_of(entries)
    alone = schedule_of(after(kernel.text, road(2)))
    assert number(entries, "ii") < number(alone, "ii")
    timed = assert_right(kernel, found, materialized(found, 3))
    assert (number(entries, "ii"), timed.cycles_per_iteration) == (1442, 1501)
    assert any(stall.on == "shared memory: busy" for stall in timed.stalls)
    assert number(alone, "ii") > 1501
