"""
`async-simplify` by meaning: what comes after what stays, verdicts and numbers stay, and nothing more can go.

The order of everything is asked of the view of who waits for whom, which knows nothing of the analysis behind the pass;
the verdicts are the machine's.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.checker.test_async_random import generated
from tests.machine.async_programs import PROGRAMS as TASKS
from tests.machine.test_async_region_machine import RUNS
from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.analysis.completion import Completions
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface, functions_in
from tileas_xdsl.machine.parts.tasks import does_nothing
from tileas_xdsl.machine.running import run
from tileas_xdsl.views.dependences import BLOCKS, COMPLETES, NEXT, WaitEdge, WaitGraph, dependences

SEEDS = range(300)


def simplified(text: str) -> ModuleOp:
    return run_passes(parse(text), "async-simplify")


def count(module: ModuleOp) -> tuple[int, int]:
    """Waits, and dependencies that ops and yields name."""
    views = [view for op in module.walk() if (view := AsyncOpInterface.of(op)) is not None]
    regions = [view for op in module.walk() if (view := AsyncRegionOpInterface.of(op)) is not None]
    waits = sum(view.only_waits for view in views)
    yielded = sum(len(region.async_region_dependencies(0)) for region in regions)
    return waits, sum(len(view.async_dependencies) for view in views if not view.only_waits) + yielded


# The order of everything ---------------------------------------------------------------------------------------------


def ways(graph: WaitGraph) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.kind != NEXT:
            found.setdefault(edge.source, []).append(edge.target)
    return found


def is_by_nature(graph: WaitGraph, edge: WaitEdge) -> bool:
    """Whether it leads from the start of an op to its completion, or from that of a part to that of the whole."""
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    inside_one = target.kind == COMPLETES and source.kind == COMPLETES and source.cluster == target.cluster
    return target.cluster[-1:] == (edge.source,) or (inside_one and " of " in source.label)


def after(targets: dict[int, list[int]], source: int, without: WaitEdge | None = None) -> set[int]:
    """What comes to pass only after `source`, not counting what only the edge `without` says."""
    stack, seen = [source], set[int]()
    while stack:
        here = stack.pop()
        for target in targets.get(here, []):
            skipped = without is not None and here == without.source and target == without.target
            if target not in seen and not skipped:
                seen.add(target)
                stack.append(target)
    return seen


def order(module: ModuleOp) -> set[tuple[str, str]]:
    """All pairs of ops and completions, but for waits, of which the second comes after the first."""
    pairs: set[tuple[str, str]] = set()
    for function in functions_in(module):
        graph = dependences(function)
        targets = ways(graph)
        lasting = [node for node in graph.nodes if node.kind != BLOCKS]
        for node in lasting:
            reached = after(targets, node.number)
            pairs |= {(node.label, other.label) for other in lasting if other.number in reached}
    return pairs


@pytest.mark.parametrize("first", SEEDS[::50])
def test_the_order_of_everything_stays(first: int) -> None:
    for seed in range(first, first + 50):
        text, _, _ = generated(seed)
        assert order(simplified(text)) == order(parse(text)), f"{seed}\n{text}\n{print_custom(simplified(text))}"


@pytest.mark.parametrize("first", SEEDS[::50])
def test_no_edge_that_is_left_could_go(first: int) -> None:
    """Transitive reduction: without any one edge, something would come after something else no more."""
    for seed in range(first, first + 50):
        module = simplified(generated(seed)[0])
        (function,) = functions_in(module)
        graph = dependences(function)
        targets = ways(graph)
        for edge in graph.edges:
            if edge.kind == "token" and not is_by_nature(graph, edge):
                assert edge.target not in after(targets, edge.source, without=edge), (
                    f"{seed}: {graph.nodes[edge.source].label} -> {graph.nodes[edge.target].label}\n"
                    f"{print_custom(module)}"
                )


def test_much_of_what_is_written_carelessly_goes() -> None:
    before = np.sum([count(parse(generated(seed)[0])) for seed in SEEDS[:100]], axis=0)
    left = np.sum([count(simplified(generated(seed)[0])) for seed in SEEDS[:100]], axis=0)
    assert left[0] < 0.9 * before[0]
    assert left[1] < 0.7 * before[1]


def test_a_second_time_finds_nothing() -> None:
    for seed in SEEDS[:100]:
        once = simplified(generated(seed)[0])
        twice = run_passes(once.clone(), "async-simplify")
        assert twice.is_structurally_equivalent(once)


# Verdicts and numbers ------------------------------------------------------------------------------------------------


def idle_tasks(module: ModuleOp) -> int:
    tasks = [op for op in module.walk() if AsyncRegionOpInterface.of(op) is not None]
    return sum(all(map(does_nothing, op.regions)) for op in tasks)


UNAWAITED = "a task may be unfinished when the function ends"


@pytest.mark.parametrize("first", SEEDS[::100])
def test_verdicts_stay(first: int) -> None:
    """A task that does nothing but wait does nothing once its waits are gone, and need not be awaited then."""
    for seed in range(first, first + 100):
        text, _, _ = generated(seed)
        before, left = check(parse(text)), check(simplified(text))
        gone = Counter(f.violation.message for f in before.findings)
        gone.subtract(f.violation.message for f in left.findings)
        assert {message for message, times in gone.items() if times} <= {UNAWAITED}, seed
        assert 0 <= gone[UNAWAITED] <= idle_tasks(simplified(text)) - idle_tasks(parse(text)), seed


@pytest.mark.parametrize("name", RUNS)
def test_programs_of_the_rfc_compute_what_they_did(name: str) -> None:
    text, arguments, _ = RUNS[name]
    module = simplified(text)
    args = {"n": 1024} if name == "generic" else None
    assert check(module, name, args=args).kinds == []
    for order_name in ("eager", "lazy", "random"):
        before = run(parse(text), name, arguments, order=order_name)
        left = run(module, name, arguments, order=order_name)
        for found, expected in zip(left.results, before.results, strict=True):
            np.testing.assert_array_equal(found, expected)
        for array, expected in before.arrays.items():
            np.testing.assert_array_equal(left.arrays[array], expected)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_compute_what_they_did(name: str) -> None:
    program = TASKS[name]
    results, arrays = program.answer
    module = simplified(program.text)
    assert check(module, "f", trip_counts=range(5)).kinds == []
    outcome = run(module, "f", program.arguments, order="random")
    assert list(outcome.results) == results
    for found, expected in zip(outcome.arrays.values(), arrays, strict=True):
        np.testing.assert_array_equal(found, expected)


# What goes and what stays --------------------------------------------------------------------------------------------


def body(text: str) -> list[str]:
    """The lines of the body of the function around `text`, simplified."""
    module = simplified(f"""
        func.func private @use(f32)
        func.func @f(%a: !async.token, %b: !async.token, %p: !async.value<f32>, %q: !async.value<f32>, %c: i1,
                     %n: index, %x: memref<8xf32>, %y: memref<8xf32>, %g: !async.group) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          {text}
          return
        }}""")
    lines = [line.strip() for line in print_custom(module).splitlines()]
    start = next(number for number, line in enumerate(lines) if "%c1 = arith.constant 1" in line)
    return [
        line for line in lines[start + 1 :] if line not in ("}", "func.return", "async_region.yield", "async.yield")
    ]


COPY = "async_region.copy %x to %y : memref<8xf32> to memref<8xf32>"
AFTER_A = COPY.replace("copy", "copy [%a]")
AWAIT_A = "async.await %a : !async.token"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"{AWAIT_A} {AWAIT_A}", [AWAIT_A], id="waited for before"),
        pytest.param(f"{AWAIT_A} %t = {AFTER_A}", [AWAIT_A, f"%t = {COPY}"], id="known at issue"),
        pytest.param(
            f"%t = async_region.region [%a] {{ {AWAIT_A} memref.dealloc %x : memref<8xf32> async_region.yield }}",
            ["%t = async_region.region [%a] {", "memref.dealloc %x : memref<8xf32>"],
            id="dependency of the region around",
        ),
        pytest.param(
            f"%t = async.execute [%a] {{ %u = async.execute {{ {AWAIT_A} memref.dealloc %x : memref<8xf32>"
            " async.yield } async.yield }",
            ["%t = async.execute [%a] {", "%u = async.execute {", "memref.dealloc %x : memref<8xf32>"],
            id="dependency of a region further out",
        ),
        pytest.param(
            "%t = async.execute (%p as %v: !async.value<f32>) { %w = async.await %p : !async.value<f32>"
            " func.call @use(%w) : (f32) -> () async.yield }",
            ["%t = async.execute (%p as %v: !async.value<f32>) {", "func.call @use(%v) : (f32) -> ()"],
            id="operand of the region around, with its payload",
        ),
        pytest.param(
            "%v = async.await %p : !async.value<f32> %w = async.await %p : !async.value<f32>"
            " func.call @use(%w) : (f32) -> ()",
            ["%v = async.await %p : !async.value<f32>", "func.call @use(%v) : (f32) -> ()"],
            id="payload of an earlier wait",
        ),
        pytest.param(
            f"scf.if %c {{ {AWAIT_A} scf.yield }} else {{ {AWAIT_A} scf.yield }} {AWAIT_A}",
            ["scf.if %c {", AWAIT_A, "} else {", AWAIT_A],
            id="on every path before",
        ),
        pytest.param(
            f"scf.if %c {{ {AWAIT_A} scf.yield }} {AWAIT_A}",
            ["scf.if %c {", AWAIT_A, AWAIT_A],
            id="on one path only",
        ),
        pytest.param(
            f"scf.for %i = %c0 to %n step %c1 {{ {AWAIT_A} scf.yield }} {AWAIT_A}",
            ["scf.for %i = %c0 to %n step %c1 {", AWAIT_A, AWAIT_A],
            id="in a loop that may not run",
        ),
        pytest.param(
            f"{AWAIT_A} scf.for %i = %c0 to %n step %c1 {{ {AWAIT_A} %t = {AFTER_A} async.await %t : !async.token"
            " scf.yield }",
            [AWAIT_A, "scf.for %i = %c0 to %n step %c1 {", f"%t = {COPY}", "async.await %t : !async.token"],
            id="before the loop around",
        ),
        pytest.param(
            f"%t = {AFTER_A} async.await %t : !async.token {AWAIT_A}",
            [f"%t = {AFTER_A}", "async.await %t : !async.token"],
            id="implied by what was waited for",
        ),
        pytest.param(
            f"%t = {AFTER_A} {AWAIT_A} async.await %t : !async.token",
            [f"%t = {AFTER_A}", "async.await %t : !async.token"],
            id="implied by what is waited for next",
        ),
        pytest.param(
            f"%t = {AFTER_A} {AWAIT_A} memref.dealloc %x : memref<8xf32> async.await %t : !async.token",
            [f"%t = {AFTER_A}", AWAIT_A, "memref.dealloc %x : memref<8xf32>", "async.await %t : !async.token"],
            id="implied by what is waited for later",
        ),
        pytest.param(
            f"%t = {AFTER_A} %u = {COPY.replace('copy', 'copy [%a, %t, %b]')}",
            [f"%t = {AFTER_A}", f"%u = {COPY.replace('copy', 'copy [%t, %b]')}"],
            id="transitive edge",
        ),
        pytest.param(
            f"%u = {COPY.replace('copy', 'copy [%a, %a]')}",
            [f"%u = {AFTER_A}"],
            id="the same edge twice",
        ),
        pytest.param(
            "%t = async_region.region [%p: !async.value<f32>] (%p as %v: !async.value<f32>)"
            " { func.call @use(%v) : (f32) -> () async_region.yield }",
            ["%t = async_region.region (%p as %v: !async.value<f32>) {", "func.call @use(%v) : (f32) -> ()"],
            id="an edge to what is unwrapped",
        ),
        pytest.param(
            f"%t = async_region.region [%a as %r] {{ %u = {COPY.replace('copy', 'copy [%r, %a]')}"
            " async_region.yield after [%r, %u] }",
            [
                "%t = async_region.region [%a as %r] {",
                f"%u = {COPY.replace('copy', 'copy [%r]')}",
                "async_region.yield after [%u]",
            ],
            id="region tokens",
        ),
        pytest.param(
            f"%t = async_region.region {{ %u = {COPY} async.await %u : !async.token async_region.yield after [%u] }}",
            ["%t = async_region.region {", f"%u = {COPY}", "async.await %u : !async.token"],
            id="yielded and waited for",
        ),
        pytest.param(
            f"%t, %early = async_region.region -> !async.token {{ %u = {COPY} %v = {COPY.replace('copy', 'copy [%u]')}"
            " async_region.yield after [%u], [%v, %u] }",
            [
                "%t, %early = async_region.region -> !async.token {",
                f"%u = {COPY}",
                f"%v = {COPY.replace('copy', 'copy [%u]')}",
                "async_region.yield after [], [%v]",
            ],
            id="groups of a yield",
        ),
        pytest.param(
            f"%t, %early = async_region.region -> !async.token {{ %u = {COPY} %v = {COPY.replace('copy', 'copy [%u]')}"
            " async_region.yield after [%v], [%u] }",
            [
                "%t, %early = async_region.region -> !async.token {",
                f"%u = {COPY}",
                f"%v = {COPY.replace('copy', 'copy [%u]')}",
                "async_region.yield after [%v], [%u]",
            ],
            id="what a partial token needs",
        ),
        pytest.param("async.await_all %g async.await_all %g", ["async.await_all %g"] * 2, id="groups are left alone"),
        pytest.param(
            "%t, %v = async.execute -> !async.value<f32> { %k = arith.constant 1.0 : f32 async.yield %k : f32 }"
            " async.await %t : !async.token %w = async.await %v : !async.value<f32> func.call @use(%w) : (f32) -> ()",
            [
                "%t, %v = async.execute -> !async.value<f32> {",
                "%k = arith.constant 1.000000e+00 : f32",
                "async.yield %k : f32",
                "%w = async.await %v : !async.value<f32>",
                "func.call @use(%w) : (f32) -> ()",
            ],
            id="a token and the value that comes with it",
        ),
        pytest.param(
            "%t = async_region.launch [%a] (%a as %k: !async.token, %x as %z: memref<8xf32>)"
            " { async.await %k : !async.token memref.dealloc %z : memref<8xf32> async_region.yield }",
            [
                "%t = async_region.launch [%a] (%a as %k: !async.token, %x as %z: memref<8xf32>) {",
                "memref.dealloc %z : memref<8xf32>",
            ],
            id="a token by another name",
        ),
        pytest.param(
            '%t = "gpu.wait"() : () -> !gpu.async.token "gpu.wait"(%t) : (!gpu.async.token) -> ()'
            ' "gpu.wait"(%t) : (!gpu.async.token) -> () "gpu.wait"() : () -> ()',
            [
                '%t = "gpu.wait"() : () -> !gpu.async.token',
                '"gpu.wait"(%t) : (!gpu.async.token) -> ()',
                '"gpu.wait"() : () -> ()',
            ],
            id="foreign ops",
        ),
        pytest.param(
            '%t = "gpu.wait"() : () -> !gpu.async.token'
            ' %u = "gpu.wait"(%t) : (!gpu.async.token) -> !gpu.async.token'
            ' %v = "gpu.memcpy"(%t, %u, %x, %y) {operandSegmentSizes = array<i32: 2, 1, 1>}'
            " : (!gpu.async.token, !gpu.async.token, memref<8xf32>, memref<8xf32>) -> !gpu.async.token",
            [
                '%t = "gpu.wait"() : () -> !gpu.async.token',
                '%u = "gpu.wait"(%t) : (!gpu.async.token) -> !gpu.async.token',
                '%v = "gpu.memcpy"(%u, %x, %y) {operandSegmentSizes = array<i32: 1, 1, 1>}'
                " : (!gpu.async.token, memref<8xf32>, memref<8xf32>) -> !gpu.async.token",
            ],
            id="edges of foreign ops",
        ),
    ],
)
def test_what_goes_and_what_stays(text: str, expected: list[str]) -> None:
    assert body(text) == expected


def test_a_wait_for_a_deferred_value_stays_where_the_value_is_used_before_the_next_wait() -> None:
    text = """
        %t, %v = async_region.region -> f32 {
          %k = arith.constant 1.0 : f32
          async_region.yield %k : f32
        }
        %u = async_region.region [%t] { memref.dealloc %x : memref<8xf32> async_region.yield }
        async.await %t : !async.token
        %w = arith.addf %v, %v : f32
        async.await %u : !async.token
        func.call @use(%w) : (f32) -> ()"""
    assert "async.await %t : !async.token" in body(text)


def test_a_promise_that_is_only_handed_on_says_nothing() -> None:
    """%v is %p by another name, not a promise that completes with %t."""
    text = """
        %t, %v = async_region.region -> !async.value<f32> { async_region.yield %p : !async.value<f32> }
        async.await %t : !async.token
        %w = async.await %v : !async.value<f32>"""
    assert "%w = async.await %v : !async.value<f32>" in body(text)


def test_blocks_of_a_graph_know_only_what_was_known_before_all_of_them() -> None:
    module = simplified("""
        func.func @f(%a: !async.token, %c: i1) {
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          async.await %a : !async.token
          cf.br ^bb2
        ^bb2:
          async.await %a : !async.token
          return
        }""")
    assert sum(op.name == "async.await" for op in module.walk()) == 2


def test_facts_cost_one_union_an_op() -> None:
    """A chain of 2000: as many bits for the last token, and an answer within a second."""
    lines = [
        f"%t{i} = async_region.copy {f'[%t{i - 1}]' if i else ''} %x to %y : memref<8xf32> to memref<8xf32>"
        for i in range(2000)
    ]
    module = parse(f"func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {{ {' '.join(lines)} return }}")
    (function,) = functions_in(module)
    facts = Completions(function)
    copies: list[Operation] = [op for op in function.walk() if op.name == "async_region.copy"]
    assert facts.past(copies[-1].results[0]).bit_count() == 2000
    assert facts.past(copies[0].results[0]).bit_count() == 1
