"""
Pipelines whose slots hold tiles become queues and named buffers: of one agent, and of two of which one only loads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import ROOT, parse, print_custom, print_generic, run_passes
from tests.support.meaning import ORDERS, run_in_order, same_bits
from tests.support.mlir import mlir_opt
from tests.support.queue_exactness import waits_in, with_count
from tests.support.tile_pipelines import one_agent, two_agents
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError

MAKE, THERE, BACK = "tileas-queue-to-pipeline", "convert-pipeline-to-queue", "convert-queue-to-pipeline"
A = np.arange(80, dtype=np.float32).reshape(20, 4)
ARRAYS = {"a": A, "b": -A - 1, "out": np.zeros((64, 4), np.float32)}
TRIP_COUNTS = (0, 1, 2, 3, 6)


def verdict(module: ModuleOp, n: int) -> Verdict:
    return check(module, "f", args={"n": n}, trip_counts=[0]).verdict


def results(module: ModuleOp, n: int, order: str) -> np.ndarray:
    outcome = run_in_order(module, "f", {"n": n, **ARRAYS}, order)
    assert not outcome.violations
    return outcome.arrays["out"]


@each("first", range(0, 40, 4), 2, programs=4)
@pytest.mark.parametrize("program", [one_agent, two_agents])
def test_numbers_and_safety_are_kept_there_and_back(program: Callable[[int], str], first: int) -> None:
    for seed in range(first, first + 4):
        pipelines = run_passes(parse(program(seed)), MAKE)
        queues = run_passes(pipelines.clone(), THERE)
        assert "nv_tileas.async" not in print_custom(queues)
        back = run_passes(queues.clone(), BACK)
        assert not waits_in(back)
        tokens = run_passes(queues.clone(), "convert-queue-to-async")
        for n in TRIP_COUNTS:
            wanted = results(pipelines, n, "lazy")
            assert n == 0 or wanted.any()
            for module in (queues, back, tokens):
                assert verdict(module, n) is Verdict.SAFE, f"{seed}, {n}\n{print_custom(module)}"
                for order in ORDERS:
                    assert same_bits(wanted, results(module, n, order)), f"{seed}, {n}, {order}"


@pytest.mark.parametrize("seed", range(4))
def test_the_counts_of_two_agents_are_exact(seed: int) -> None:
    """One group more unfinished, and a tile is read before it is there; those behind the loop force empty groups."""
    queues = run_passes(run_passes(parse(two_agents(seed)), MAKE), THERE)
    waits = waits_in(queues)
    in_loop = [number for number, wait in enumerate(waits) if wait.parent_op() is not waits[-1].parent_op()]
    assert in_loop
    for number in in_loop:
        count = waits[number].count
        assert isinstance(count, int)
        report = check(with_count(queues, number, count + 1), "f", args={"n": 6}, trip_counts=[0])
        assert "race" in report.kinds


def test_the_matrix_product_of_the_examples() -> None:
    pipelines = run_passes(parse((ROOT / "examples" / "gemm_queue.mlir").read_text()), MAKE)
    queues = run_passes(pipelines.clone(), THERE)
    assert [wait.count for wait in waits_in(queues)] == [2, 2, 0, 0]
    mlir_opt(print_generic(queues), "--allow-unregistered-dialect")
    assert check(queues).verdict_line == "safe for every trip count"
    back = run_passes(queues.clone(), BACK)
    assert check(back).verdict_line == "safe for every trip count"
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((100, 200), (200, 120)))
    arguments = {"n": 4, "a": a, "b": b, "c": np.zeros((100, 120), np.float32)}
    wanted = run_in_order(pipelines, "gemm", arguments, "lazy").arrays["c"]
    assert wanted.any()
    for module in (queues, back):
        for order in ("eager", "lazy", "random:0"):
            outcome = run_in_order(module, "gemm", arguments, order)
            assert not outcome.violations
            assert same_bits(wanted, outcome.arrays["c"])


# What is refused ------------------------------------------------------------------------------------------------------

TILE = "tensor<1x4xf32>"
QUEUE = f"!nv_tileaa.queue<[{TILE}], depth = 2>"
LOAD = f"%t = nv_tileaa.tiled_load %a[%k, %c0] : (memref<?x?xf32>, index, index) -> {TILE}"
PUT = f"nv_tileaa.queue.put %q, %t : ({QUEUE}, {TILE}) -> ()"
GET = f"%u = nv_tileaa.queue.get %q : ({QUEUE}) -> {TILE}"
STORE = f"nv_tileaa.tiled_store %out[%k, %c0], %u : (memref<64x4xf32>, {TILE}, index, index) -> ()"
LOOP = "scf.for %k = %c0 to %n step %c1 {{ {} }}"


def switch(producer: str, consumer: str, groups: str = "1, 1") -> str:
    attributes = f"attributes {{num_agents_per_group = array<i32: {groups}>}}"
    return f"nv_tileaa.execute {attributes} {{ {producer} }}, {{ {consumer} }} : () -> ()"


def program(body: str) -> str:
    return (
        "func.func @f(%n: index, %m: index, %a: memref<?x?xf32>, %b: memref<?x?xf32>, %out: memref<64x4xf32>) {\n"
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%c2 = arith.constant 2 : index\n"
        f"%zero = arith.constant dense<0.0> : {TILE}\n%q = nv_tileaa.create_queue : () -> {QUEUE}\n{body}\n"
        "func.return\n}"
    )


FILL, USE = LOOP.format(f"{LOAD} {PUT}"), LOOP.format(f"{GET} {STORE}")

REFUSALS = {
    "a producer that computes": (
        switch(LOOP.format(f"{LOAD} %s = arith.addf %t, %t : {TILE} {PUT.replace('%t', '%s', 1)}"), USE),
        "puts a tile into the slot that is computed by its agent",
    ),
    "a producer that stores": (
        switch(
            LOOP.format(f"{LOAD} {PUT} {STORE.replace('%out', '%b').replace('64x4', '?x?').replace('%u', '%zero')}"),
            USE,
        ),
        "is something else that the producer does",
    ),
    "a producer that carries a number": (
        switch(
            f"%r = scf.for %k = %c0 to %n step %c1 iter_args(%j = %c0) -> (index) {{ {LOAD.replace('%k', '%j')} {PUT} "
            "%j2 = arith.addi %j, %c2 : index scf.yield %j2 : index }",
            USE,
        ),
        "carries values from transfer to transfer",
    ),
    "a consumer that writes the source": (
        switch(FILL, LOOP.format(f"{GET} {STORE.replace('%out', '%a').replace('64x4', '?x?')}")),
        "may write what the producer loads",
    ),
    "loops of different length": (
        switch(FILL, USE.replace("to %n", "to %m")),
        "is not known to turn as often as the loop of the producer",
    ),
    "groups of several agents": (switch(FILL, USE, "1, 2"), "does not run two single agents side by side"),
    "both directions": (
        f"%r = nv_tileaa.create_queue : () -> {QUEUE} "
        + switch(f"{FILL} {USE.replace('%q', '%r')}", f"{USE} {FILL.replace('%q', '%r')}"),
        "has agents that produce and consume alike",
    ),
    "turns in a branch": (
        switch(LOOP.format(f"%is = arith.cmpi eq, %k, %c0 : index scf.if %is {{ {LOAD} {PUT} }}"), USE),
        "has an agent whose turns are not those of one loop",
    ),
    "two turns in an iteration": (
        switch(LOOP.format(f"{LOAD} {PUT} {PUT}"), LOOP.format(f"{GET} {STORE} {GET.replace('%u', '%v')}")),
        "is turned 2 times in an iteration of an agent",
    ),
    "a tile that the producer keeps": (
        switch(LOOP.format(f"{LOAD} {PUT} %s = arith.addf %t, %t : {TILE}"), USE),
        "brings a tile that the producer needs itself",
    ),
    "one agent that takes more than it puts": (
        f"{LOAD.replace('%k', '%c0')} {PUT} {GET} {GET.replace('%u', '%v')}",
        "waits for a stage",
    ),
    "one agent whose loop only puts": (FILL, "is reached with any number of full stages"),
}


@pytest.mark.parametrize(("body", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_what_one_thread_cannot_say_is_refused(body: str, reason: str) -> None:
    module = run_passes(parse(program(body)), MAKE)
    before = print_custom(module)
    with pytest.raises(RefusedError) as refusal:
        run_passes(module, THERE)
    assert reason in str(refusal.value)
    assert "help: " in str(refusal.value)
    assert print_custom(module) == before


def test_a_stage_that_is_not_the_next_is_refused() -> None:
    """Iterators that do not count the turns: the second turn takes the first slot again."""
    load = LOAD.replace("%k", "%c0")
    body = f"{load} {PUT} {GET} {PUT} {GET.replace('%u', '%v')}"
    text = print_custom(run_passes(parse(program(body)), MAKE))
    lines = text.splitlines()
    first = next(line for line in lines if "create_iterator %q_p" in line).split()[0]
    steps = [line.split()[0] for line in lines if f"inc_iter {first} " in line]
    assert steps
    wrong = text.replace(f"produce_one %q_p, {steps[0]} ", f"produce_one %q_p, {first} ")
    assert wrong != text
    with pytest.raises(RefusedError, match="takes an iterator that is not seen to be the one for its turn"):
        run_passes(parse(wrong), THERE)


def by_hand(body: str) -> str:
    pipeline = "nv_tileas.async.pipeline"
    creates = "\n".join(
        f"%p{n}, %c{n} = {pipeline}.create_pipeline attributes {{numStages = 2 : i32, producerGroupId = 0 : i8, "
        "consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)"
        for n in (3, 4)
    )
    return (
        "func.func @f(%n: index, %a: memref<?x?xf32>, %out: memref<64x4xf32>) {\n"
        f"%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n{creates}\n"
        f"scf.for %k = %c0 to %n step %c1 {{\n{LOAD}\n{body}\n}}\nfunc.return\n}}"
    )


def put_by_hand(number: int) -> str:
    return (
        f"%d{number} = nv_tileas.async.pipeline.produce_one %p{number}, %k "
        f"attributes {{producer_types = [{TILE}]}} {{\n^bb0(%slot: {TILE}):\n"
        f"nv_tileas.async.pipeline.yield %t : ({TILE}) -> ()\n"
        "} : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token"
    )


def get_by_hand(number: int) -> str:
    return (
        f"%g{number}, %r{number} = nv_tileas.async.pipeline.consume_one %c{number}, %k "
        f"attributes {{consumer_types = [{TILE}]}} {{\n^bb0(%slot: {TILE}):\n"
        f"nv_tileas.async.pipeline.yield %slot : ({TILE}) -> ()\n"
        f"}} : (!nv_tileas.consumer_token, index) -> ({TILE}, !nv_tileas.consumer_token)"
    )


BOTH = "\n".join(
    [
        *(put_by_hand(n) for n in (3, 4)),
        *(get_by_hand(n) for n in (3, 4)),
        f"%sum = arith.addf %g3, %g4 : {TILE}",
        "nv_tileas.async.pipeline.consumer_release %r3, %r4 "
        ": (!nv_tileas.consumer_token, !nv_tileas.consumer_token) -> ()",
        STORE.replace("%u", "%sum"),
    ]
)


def test_one_release_may_give_back_the_stages_of_several_pipelines() -> None:
    pipelines = parse(by_hand(BOTH))
    queues = run_passes(pipelines.clone(), THERE)
    assert "nv_tileas.async" not in print_custom(queues)
    for n in (0, 1, 5):
        for module in (pipelines, queues):
            assert verdict(module, n) is Verdict.SAFE
        arrays = {"a": A, "out": ARRAYS["out"]}
        wanted, found = (
            run_in_order(m, "f", {"n": n, **arrays}, "random:0").arrays["out"] for m in (pipelines, queues)
        )
        assert same_bits(wanted, found)
        assert n == 0 or wanted.any()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("yield %t :", "yield %slot :", "puts into the slot what is in the slot"),
        ("consume_one %c3, %k", "consume_one %c3", "does not say the number of its slot"),
    ],
)
def test_what_is_wrong_with_turns_by_hand_is_refused(old: str, new: str, reason: str) -> None:
    text = by_hand(BOTH).replace(old, new)
    if old == "consume_one %c3, %k":
        text = text.replace(
            "(!nv_tileas.consumer_token, index) -> (tensor", "(!nv_tileas.consumer_token) -> (tensor", 1
        )
    with pytest.raises(RefusedError, match=reason):
        run_passes(parse(text), THERE)
