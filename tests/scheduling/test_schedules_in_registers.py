"""
Attention whose tiles do not fit their registers under the schedule of the heuristic: what runs one turn later, that
every schedule is right for the problem, and that the programs compute what they did.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, run_passes
from tileas_xdsl.analysis.target import model_of_target
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.tiles.numerics import Array
from tileas_xdsl.scheduling.loaded_schedules import fits
from tileas_xdsl.scheduling.loop_problem import LoopProblem, loop_problem
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy
from tileas_xdsl.scheduling.modulo.search import schedule
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters
from tileas_xdsl.scheduling.schedules_in_registers import fitting, has_room
from tileas_xdsl.scheduling.shared_loops import tiles_of_agent

QUERIES = KEYS = COLUMNS = 128
TEXT = (ROOT / "bench" / "gpu" / "programs" / "attention_128_128_128.mlir").read_text()
SCALE = np.float32(0.12751743)
CONSUMER = 232
"""Registers of a thread."""
TO_SCHEDULE = (
    "tileas-materialize-async,tileas-assign-layouts{compute-capability=sm_90a num-warps=8},"
    "tileas-remove-layout-conversions,tileas-materialize-convert-layout{compute-capability=sm_90a},"
    "tileas-assign-load-store-layouts{compute-capability=sm_90a num-warps=8},tileas-remove-layout-conversions,"
    "tileas-prepare-for-scheduling{compute-capability=sm_90a async-products=true}"
)
DRIVER = "tileir{{compute-capability=sm_90a pipeline-strategy={strategy} layouts=true num-warps={warps}}}"


@cache
def scheduled(strategy: str, warps: int) -> ModuleOp:
    return run_passes(parse(TEXT), DRIVER.format(strategy=strategy, warps=warps))


@cache
def problem_of_attention() -> tuple[LoopProblem, ModuloSchedule]:
    """The loop with two warpgroups, and the schedule of the heuristic."""
    module = run_passes(parse(TEXT), TO_SCHEDULE)
    (function,) = functions_in(module)
    (loop,) = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    found = loop_problem(loop, model_of_target(function, "sm_90a"), most_stages=4)
    return found, schedule(found.problem, Strategy.COST_BASED)


def tiles() -> TilesInRegisters:
    return tiles_of_agent(problem_of_attention()[0], CONSUMER)


def test_the_second_product_runs_one_turn_later() -> None:
    found, before = problem_of_attention()
    after = fitting(found, before, tiles())
    assert not has_room(before, tiles())
    assert has_room(after, tiles())
    assert not faults(found.problem, after.ii, after.starts)
    first, second = (after.starts[n] for n, op in enumerate(found.ops) if isinstance(op, AsyncDotOp))
    loads = [after.stage(n) for n, op in enumerate(found.ops) if isinstance(op, ProduceOneAsyncOp)]
    assert loads == [0, 0]
    assert (first // after.ii, second // after.ii) == (1, 2)
    assert first % after.ii < second % after.ii


def test_waits_come_when_nothing_else_is_left() -> None:
    """Softmax stands between the wait for its product and the one for the product that goes on beside it."""
    found, before = problem_of_attention()
    after = fitting(found, before, tiles())
    rows = {n: after.row(n) for n in range(len(found.ops))}
    one, other = sorted(rows[n] for n, op in enumerate(found.ops) if isinstance(op, AsyncWaitOp))
    names = [op.name for n, op in sorted(enumerate(found.ops), key=lambda it: rows[it[0]]) if one < rows[n] < other]
    assert {"nv_tileaa.reduce", "nv_tileaa.exp2"} <= set(names)
    assert "arith.truncf" not in names


def test_what_no_cut_can_hold_stays() -> None:
    """What one turn needs at once is too much."""
    found, before = problem_of_attention()
    few = tiles_of_agent(found, 100)
    assert fitting(found, before, few) is before


def test_what_has_room_stays_unless_others_hide_its_waits() -> None:
    """Alone a warpgroup wants deep stages; where several share the tensor core, each tile is there once."""
    found, before = problem_of_attention()
    roomy = tiles_of_agent(found, 1 << 20)
    assert fits(before, found)
    assert fitting(found, before, roomy) is before
    assert fitting(found, before, roomy, is_alone=False) == fitting(found, before, tiles())


@pytest.mark.parametrize("stages", [1, 2])
def test_a_limit_of_stages_holds(stages: int) -> None:
    """One stage leaves no turn between loads and products, two leave one, or one between the products."""
    found, before = problem_of_attention()
    limited = replace(found, problem=replace(found.problem, most_stages=stages))
    after = fitting(limited, before, tiles())
    assert after.peeled_stages == stages
    assert not faults(limited.problem, after.ii, after.starts)


@pytest.mark.parametrize("trips", range(6))
@pytest.mark.parametrize(("strategy", "warps"), [("warp-specialize", 8), ("warp-specialize", 4), ("unspecialize", 8)])
def test_numbers(strategy: str, warps: int, trips: int) -> None:
    rng = np.random.default_rng(trips)
    keys = max(trips, 1) * KEYS
    q, kt, v = (rng.standard_normal(extents).astype(np.float16) for extents in _extents(keys))
    given = {"q": q, "kt": kt, "v": v, "c": np.full_like(q, np.nan)}
    found = run(scheduled(strategy, warps), "attention", {**given, "n": trips}, order="random", seed=trips).arrays["c"]
    assert np.allclose(found, _attention(q, kt, v) if trips else 0, atol=2e-3)


SMALL = {
    "128x128xf16, #smem>": "128x16xf16, #smem>",
    "!k = tensor<128x16": "!k = tensor<16x16",
    "!v = tensor<128x16": "!v = tensor<16x16",
    "!s = tensor<128x128": "!s = tensor<128x16",
    "!p = tensor<128x128": "!p = tensor<128x16",
    "!o = tensor<128x128": "!o = tensor<128x16",
    "!oh = tensor<128x128": "!oh = tensor<128x16",
}
"""Two warpgroups still, with 16 keys and columns."""


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_numbers_of_threads(trips: int) -> None:
    """Two warpgroups share the slots of keys and values, and each has 64 rows of all else."""
    text = TEXT
    for before, after in SMALL.items():
        text = text.replace(before, after)
    module = run_passes(parse(text), DRIVER.format(strategy="warp-specialize", warps=8)[:-1] + " threads=true}")
    rng = np.random.default_rng(trips)
    keys = max(trips, 1) * 16
    q, kt, v = (rng.standard_normal(it).astype(np.float16) for it in ((QUERIES, 16), (16, keys), (keys, 16)))
    given = {"q": q, "kt": kt, "v": v, "c": np.full_like(q, np.nan), "n": trips}
    found = np.asarray(run(module, "attention", given, order="random", seed=trips).arrays["c"]).reshape(q.shape)
    assert np.allclose(found, _attention(q, kt, v) if trips else 0, atol=2e-3)


def _extents(keys: int) -> tuple[tuple[int, int], ...]:
    return (QUERIES, COLUMNS), (COLUMNS, keys), (keys, COLUMNS)


def _attention(q: Array, kt: Array, v: Array) -> Array:
    scores = (q.astype(np.float32) @ kt.astype(np.float32)) * SCALE
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    return weights @ v.astype(np.float32) / weights.sum(axis=1, keepdims=True)


def test_it_is_safe_for_every_trip_count() -> None:
    report = check(scheduled("warp-specialize", 8), timeout=None)
    assert report.verdict_line.startswith("safe for every trip count"), str(report)
