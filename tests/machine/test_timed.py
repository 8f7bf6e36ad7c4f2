"""
The order `timed`: cycles that can be computed by hand, what follows from rates and latencies, and equal results.

Hand calculations use the target `generic`: copies 64 bytes a cycle and 500 later, products of f16 2048 operations a
cycle and 20 later, 128 lanes and 4 later, an instruction 1, a signal 10.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.support.ir import ROOT, parse, run_passes
from tests.support.materialize_async import gemm, materialized, tagged
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UndecidedError, ViolationKind
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulated_time import SimulatedClock, Timed
from tileas_xdsl.machine.time.simulation import TimedRun, simulate, steady_cycles
from tileas_xdsl.targets.cycles import TABLES, TARGETS, Rate, TensorCore, timing_table

COPY, COPIED = 64, 64 + 500
"""4 KiB: occupancy of the copy engine, and when the copy is complete."""
SIGNAL, ISSUE = 10, 1

# By hand --------------------------------------------------------------------------------------------------------------


def copies(body: str) -> str:
    """A function with three buffers of 4 KiB."""
    return f"""
func.func @f(%x: memref<1024xf32>, %y: memref<1024xf32>, %z: memref<1024xf32>) {{
{body}
  func.return
}}"""


ONE = """  %a = async_region.copy %x to %y : memref<1024xf32> to memref<1024xf32>
  async.await %a : !async.token"""
TWO = """  %a = async_region.copy %x to %y : memref<1024xf32> to memref<1024xf32>
  %b = async_region.copy %x to %z : memref<1024xf32> to memref<1024xf32>
  async.await %a : !async.token
  async.await %b : !async.token"""
CHAIN = """  %a = async_region.copy %x to %y : memref<1024xf32> to memref<1024xf32>
  %b = async_region.copy [%a] %y to %z : memref<1024xf32> to memref<1024xf32>
  async.await %b : !async.token"""
AGAIN = ONE + "\n  async.await %a : !async.token"


@pytest.mark.parametrize(
    ("body", "cycles", "busy", "stalled"),
    [
        (ONE, COPIED + SIGNAL, COPY, COPIED - ISSUE),
        (TWO, COPY + COPIED + SIGNAL, 2 * COPY, COPY + COPIED - 2 * ISSUE - SIGNAL),
        (CHAIN, 2 * COPIED + SIGNAL, 2 * COPY, 2 * COPIED - 2 * ISSUE),
        (AGAIN, COPIED + 2 * SIGNAL, COPY, COPIED - ISSUE),
    ],
    ids=["one copy", "the engine takes one after the other", "a chain pays each latency", "a wait that need not stall"],
)
def test_copies_by_hand(body: str, cycles: int, busy: int, stalled: int) -> None:
    timed = simulate(parse(copies(body)))
    assert timed.violations == ()
    assert timed.cycles == cycles
    (engine,) = timed.engines
    assert (engine.name, engine.busy) == ("copy", busy)
    assert engine.share(timed.cycles) == busy / cycles
    assert timed.agents[0].stalled == stalled == sum(stall.cycles for stall in timed.stalls)
    assert timed.agents[0].working + timed.agents[0].served + stalled == cycles


@pytest.mark.parametrize(
    ("op", "cycles"),
    [
        ("%r = arith.addf %x, %y : tensor<128x128xf32>", 128 * 128 // 128 + 4),
        ("%r = math.exp %x : tensor<128x128xf32>", 128 * 128 // 16 + 20),
        ("%r = arith.addi %i, %i : index", 1),
        ("%r = arith.constant dense<0.0> : tensor<128x128xf32>", 0),
        (
            "%r = nv_tileaa.dot %a, %a, %x : (tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>)"
            " -> tensor<128x128xf32>",
            2 * 128**3 // 2048 + 20,
        ),
        (
            "%r = nv_tileaa.dot %x, %x, %x : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>)"
            " -> tensor<128x128xf32>",
            2 * 128**3 // 1024 + 20,
        ),
    ],
    ids=["lanes", "special lanes", "scalar", "constant", "product of f16", "product of f32"],
)
def test_what_an_agent_does_itself(op: str, cycles: int) -> None:
    text = f"""
func.func @f(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>, %a: tensor<128x128xf16>, %i: index) {{
  {op}
  func.return
}}"""
    assert simulate(parse(text), None, {"i": 1}).cycles == cycles


def test_two_agents_share_the_tensor_core() -> None:
    """The second starts when the first leaves the engine, not when the first is complete."""
    text = """
func.func @f(%x: tensor<128x128xf32>, %a: tensor<128x128xf16>) {
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 2>} {
    %r = nv_tileaa.dot %a, %a, %x : (tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>)
      -> tensor<128x128xf32>
  } : () -> ()
  func.return
}"""
    timed = simulate(parse(text))
    product = 2 * 128**3 // 2048
    first, second = (use for use in timed.agents if use.name != "main")
    assert (first.stalled, first.served) == (0, product + 20)
    assert second.stalled == product - 1, "it was forked one instruction later"
    assert timed.cycles == 2 * product + 20 + SIGNAL
    (stall,) = [stall for stall in timed.stalls if stall.agent == second.name]
    assert stall.on == "tensor core: busy"


def test_accesses_of_an_agent_pay_rate_and_latency_of_the_space() -> None:
    text = """
func.func @f(%x: memref<4x1024xf32>, %i: index) {
  %s = memref.alloc() : memref<1xf32, 3>
  %v = memref.load %x[%i, %i] : memref<4x1024xf32>
  %c0 = arith.constant 0 : index
  memref.store %v, %s[%c0] : memref<1xf32, 3>
  func.return
}"""
    timed = simulate(parse(text), None, {"i": 1})
    assert timed.cycles == (1 + 500) + (1 + 30)
    assert [engine.name for engine in timed.engines] == ["load/store", "shared memory"]


LOOP = """
func.func @f(%x: memref<1024xf32>, %y: memref<1024xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = async_region.copy %x to %y : memref<1024xf32> to memref<1024xf32>
    async.await %a : !async.token
  }
  func.return
}"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_cycles_per_iteration(n: int) -> None:
    timed = simulate(parse(LOOP), None, {"n": n})
    assert timed.cycles == n * (COPIED + SIGNAL)
    if n == 0:
        assert timed.loops == []
        assert timed.cycles_per_iteration is None
        return
    (loop,) = timed.loops
    assert (loop.runs, loop.iterations, loop.cycles) == (1, n, timed.cycles)
    assert loop.steady == timed.cycles_per_iteration == COPIED + SIGNAL


def test_loop_that_runs_again_is_one_loop_of_several_runs() -> None:
    nest = LOOP.replace("%a =", "scf.for %j = %c0 to %i step %c1 {\n%a =").replace("token", "token\n}")
    timed = simulate(parse(nest), None, {"n": 4})
    outer, inner = timed.loops
    assert (outer.iterations, inner.runs, inner.iterations) == (4, 3, 1 + 2 + 3)
    assert inner.steady == COPIED + SIGNAL


def test_work_that_nobody_waits_for_takes_its_time_too() -> None:
    timed = simulate(parse(copies(ONE.splitlines()[0])))
    assert timed.cycles == COPIED


# Rings ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8])
def test_deeper_rings_are_not_slower(depth: int) -> None:
    def cycles(depth: int) -> int:
        timed = simulate(parse(handshake(depth, f"{READ}\n{RELEASE}")), None, {"n": 24})
        assert timed.violations == ()
        return timed.cycles

    assert cycles(depth + 1) <= cycles(depth)
    if depth < 3:
        assert cycles(depth + 1) < cycles(depth)


def pipelined(stages: int) -> ModuleOp:
    """The GEMM, its copies issued `stages - 1` iterations ahead."""
    module = materialized((ROOT / "examples" / "gemm_loop.mlir").read_text())
    if stages > 1:
        tagged(module, stages)
        run_passes(module, f"tileas-unspecialized-pipeline{{num-stages={stages}}}")
    return module


def overlap(timed: TimedRun, first: str, second: str) -> int:
    """Cycles in which both engines are occupied."""
    turns = {name: [s for s in timed.clock.services if s.engine == name] for name in (first, second)}
    return sum(max(0, min(a.freed, b.freed) - max(a.start, b.start)) for a in turns[first] for b in turns[second])


@pytest.mark.parametrize("target", TARGETS)
def test_stages_of_the_gemm_overlap_load_and_compute(target: str) -> None:
    """At one stage nothing overlaps; at four the loop runs at the speed of its slowest engine."""
    one, four = (simulate(pipelined(stages), None, {"n": 32}, target) for stages in (1, 4))
    assert overlap(one, "tma", "tensor core") == 0
    shares = {engine.name: engine for engine in four.engines}
    assert overlap(four, "tma", "tensor core") >= 0.8 * min(shares["tma"].busy, shares["tensor core"].busy)
    assert one.cycles_per_iteration is not None
    assert four.cycles_per_iteration is not None
    slowest = max(engine.busy / engine.turns for engine in four.engines if engine.name != "load/store")
    assert slowest <= four.cycles_per_iteration < 0.75 * one.cycles_per_iteration
    assert one.violations == four.violations == ()


def test_iteration_of_the_serial_gemm_is_the_sum_of_its_parts() -> None:
    """Two copies of 16 KiB one after the other, the latency, the product; the rest are signals and instructions."""
    timed = simulate(pipelined(1), None, {"n": 8})
    parts = 2 * 256 + 500 + 2 * 128 * 128 * 64 // 2048 + 20
    assert timed.cycles_per_iteration is not None
    assert 0 < timed.cycles_per_iteration - parts < 100


# What follows from the tables -----------------------------------------------------------------------------------------


def with_table(module: ModuleOp, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch, **changes: Any) -> int:
    with monkeypatch.context() as patch:
        patch.setitem(TABLES, "generic", replace(TABLES["generic"], **changes))
        return simulate(module, None, arguments).cycles


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_more_latency_and_less_throughput_never_help(stages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, table = pipelined(stages), TABLES["generic"]
    base = simulate(module, None, {"n": 12}).cycles
    for latency in (501, 700, 2000):
        longer = {**table.copies, "tma": Rate(64, latency)}
        assert with_table(module, {"n": 12}, monkeypatch, copies=longer) >= base
    slower = {**table.copies, "tma": Rate(16, 500)}
    assert with_table(module, {"n": 12}, monkeypatch, copies=slower) > base
    slow_core = TensorCore({16: 512}, 20)
    assert with_table(module, {"n": 12}, monkeypatch, tensor_core=slow_core) > base


def test_latency_is_hidden_where_there_are_stages_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Of 500 cycles more latency, each turn of the loop with one stage takes all; with four stages only the prologue takes
    them.
    """
    table = TABLES["generic"]
    hidden = {**table.copies, "tma": Rate(64, 1000)}
    serial, deep = pipelined(1), pipelined(4)
    for module, limit in ((serial, 16 * 500), (deep, 600)):
        more = with_table(module, {"n": 16}, monkeypatch, copies=hidden) - simulate(module, None, {"n": 16}).cycles
        assert (more == limit) if module is serial else (0 <= more <= limit)


def test_tables_name_their_sources_and_know_their_names() -> None:
    assert tuple(TABLES) == TARGETS
    for name, table in TABLES.items():
        assert table.target == name
        assert table.sources
        assert "copy" in table.copies
        assert {"global", "shared", "tensor", "register"} <= set(table.memory)
    assert timing_table("sm_90a").target == "sm_90"
    assert timing_table("sm_103").target == "sm_100"
    assert timing_table("sm_86").target == "sm_80"
    for unknown in ("sm_70", "gfx942", "", "sm_x"):
        with pytest.raises(ValueError, match="choose one of generic, sm_80, sm_90, sm_100"):
            timing_table(unknown)


def test_elements_between_two_rates_go_at_the_wider_one() -> None:
    core = TensorCore({8: 400, 16: 200}, 5)
    assert [core.rate(bits).per_cycle for bits in (4, 6, 8, 12, 16, 64)] == [400, 400, 400, 200, 200, 200]


# The same results -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stages", [1, 3])
def test_results_do_not_depend_on_the_clock(target: str, stages: int) -> None:
    module = pipelined(stages)
    timed, lazy = (run(module, "gemm", gemm(3), order=order, target=target) for order in ("timed", "lazy"))
    assert timed.violations == ()
    assert timed.arrays["c"].tobytes() == lazy.arrays["c"].tobytes()


@pytest.mark.parametrize("example", ["gemm_loop", "gemm_queue", "attention_queue", "cp_async_ring", "double_buffer"])
def test_data_do_not_change_the_time(example: str) -> None:
    """Without data extents are open ones of 1024, so shapes that the types leave open must not matter, or be given."""
    module = parse((ROOT / "examples" / f"{example}.mlir").read_text())
    name = {"cp_async_ring": "scale", "attention_queue": "attention"}.get(example)
    shapes = {"gemm_loop": (128, 256), "gemm_queue": (128, 256), "attention_queue": (64, 256)}
    given: dict[str, Any] = {"n": 4}
    if example in shapes:
        rows, columns = shapes[example]
        left, right, out = ("q", "kt", "o") if name == "attention" else ("a", "b", "c")
        given |= {left: np.zeros((rows, 64 if name == "attention" else columns), np.float16)}
        given |= {right: np.zeros((64 if name == "attention" else columns, columns if name == "attention" else rows))}
        given |= {out: np.zeros((rows, 64 if name == "attention" else rows))}
        given |= {"v": np.zeros((256, 64))} if name == "attention" else {}
    else:
        given |= {"src": np.zeros((8, 4 if example == "double_buffer" else 8), np.float32)}
        given |= {"dst" if example == "double_buffer" else "out": given["src"]}
    with_data = simulate(module, name, given, with_data=True)
    assert simulate(module, name, {"n": 4}).cycles == with_data.cycles > 0


def test_time_is_deterministic() -> None:
    module = parse((ROOT / "examples" / "gemm_queue.mlir").read_text())
    first, second = (simulate(module, None, {"n": 6}, "sm_90").as_data() for _ in range(2))
    assert first == second


def test_trace_is_in_the_order_of_time() -> None:
    timed = simulate(parse(handshake(2, f"{READ}\n{RELEASE}")), None, {"n": 9})
    times = [step.time for step in timed.machine.trace.happenings if step.kind != "fork"]
    assert None not in times
    assert times == sorted(times, key=lambda time: time or 0)
    assert len(set(times)) > 9
    outcome = run(parse(copies(ONE)), None, order="lazy")
    assert {step.time for step in outcome.trace.happenings} == {None}


def test_spans_of_an_agent_do_not_overlap_and_leave_no_gap() -> None:
    timed = simulate(parse(handshake(2, f"{READ}\n{RELEASE}")), None, {"n": 9})
    for agent in timed.machine.agents:
        parts = [(s.start, s.end) for s in [*timed.clock.spans, *timed.clock.stalls] if s.agent is agent]
        parts.sort()
        for (_, end), (start, _) in pairwise(parts):
            assert end == start


def test_turns_of_an_engine_do_not_overlap() -> None:
    timed = simulate(pipelined(4), None, {"n": 9})
    for engine in timed.engines:
        turns = [s for s in timed.clock.services if s.engine == engine.name]
        assert len(turns) == engine.turns
        for before, after in pairwise(turns):
            assert before.freed <= after.start
            assert after.asked <= after.start <= after.freed <= after.complete


def test_an_agent_ends_when_its_last_access_does() -> None:
    """Its region has no terminator, so the store is the last thing in it, and the other agent ends before that."""
    text = """
func.func @f(%out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    memref.store %x, %out[%c0] : memref<4xf32>
  }, {
    %y = arith.addf %x, %x : f32
  } : () -> ()
  func.return
}"""
    timed = simulate(parse(text))
    (store,) = timed.clock.services
    steps = {step.kind: step.time for step in timed.machine.trace.happenings if step.agent == 0}
    assert steps["fork"] < store.complete == steps["wait"] < timed.cycles


# What goes wrong ------------------------------------------------------------------------------------------------------


def test_deadlock_is_a_violation_of_a_run_that_ends() -> None:
    text = (ROOT / "examples/zoo/missing-release.bad.mlir").read_text()
    timed = simulate(parse(text), None, {"n": 9})
    assert [violation.kind for violation in timed.violations] == [ViolationKind.DEADLOCK]
    assert timed.cycles > 0


def test_race_is_found_whatever_the_time() -> None:
    module = parse((ROOT / "examples" / "double_buffer_race.mlir").read_text())
    assert ViolationKind.RACE in [violation.kind for violation in simulate(module, None, {"n": 4}).violations]


def test_branch_on_data_needs_data() -> None:
    text = """
func.func @f(%x: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %b = memref.load %x[%c0] : memref<4xi1>
  scf.if %b {
  }
  func.return
}"""
    with pytest.raises(UndecidedError, match="branches on"):
        simulate(parse(text))
    assert simulate(parse(text), with_data=True).cycles > 500


def test_unknown_targets_and_functions_are_refused() -> None:
    with pytest.raises(ValueError, match="no cycles are known of the target 'sm_1'"):
        simulate(parse(LOOP), None, {"n": 1}, "sm_1")
    with pytest.raises(ArgumentError, match="there is no function @g"):
        simulate(parse(LOOP), "g", {"n": 1})


def test_other_orders_keep_no_time() -> None:
    outcome = run(parse(copies(ONE)), None, order="eager")
    assert outcome.machine.clock is None
    assert isinstance(Timed(timing_table("generic")).clock, SimulatedClock)


@pytest.mark.parametrize(
    ("durations", "cycles"),
    [
        ([500, 30, 20, 20, 20], 20.0),
        ([500, 10, 20, 10, 20, 10, 20], 15.0),
        ([532, 144, 144, 195, 176, 144, 163, 176, 176, 144, 163, 176], 164.75),
        ([9, 1, 5, 2, 7, 3], 3.0),
        ([40], 40.0),
    ],
)
def test_a_settled_loop_is_measured_over_the_pattern_that_it_repeats(durations: list[int], cycles: float) -> None:
    """Of several iterations, where long ones make up for short ones; else the median of the later half."""
    assert steady_cycles(durations) == cycles
