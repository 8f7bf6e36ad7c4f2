"""`convert-queue-to-rocdl`: the same numbers under all orders, no race, counts as large as they can be."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.counting_programs import CELLS, Program, least_groups_since, random_program, waits_in
from tests.support.ir import ROOT, parse, print_custom, print_generic, run_passes
from tests.support.meaning import assert_same_meaning
from tests.support.mlir import mlir_opt
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import Diagnostic, RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.rocdl.waits import WaitAsyncmarkOp

PASS = "convert-queue-to-rocdl"
MOST_PATHS = 600

ROW = "memref<8xf32>"
SHARED = "memref<64xf32, 3>"


def converted(text: str, options: str = "") -> tuple[ModuleOp, list[Diagnostic]]:
    module = parse(text)
    with recorded_diagnostics() as said:
        run_passes(module, PASS + options)
    return module, said


def counts_in(module: ModuleOp) -> list[int]:
    return [op.count.value.data for op in module.walk() if isinstance(op, WaitAsyncmarkOp)]


def transfers_in(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("rocdl.") for op in module.walk() if ".lds" in op.name]


def function(body: str, name: str = "f", arguments: str = f"%a: {ROW}, %s: {SHARED}, %n: index") -> str:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in range(6))
    return f"func.func @{name}({arguments}) {{\n{constants}{body}\nfunc.return\n}}\n"


def commit(queue: int, cell: int) -> str:
    return f"""async_queue.commit {queue} {{
      async_queue.scope {{
        %v{cell} = memref.load %a[%c{cell}] : {ROW}
        memref.store %v{cell}, %s[%c{cell}] : {SHARED}
      }}
    }}
    """


# Random programs ------------------------------------------------------------------------------------------------------


def arguments(bits: int) -> dict[str, object]:
    source = np.arange(1, CELLS + 1, dtype=np.float32)
    return {"src": source, "ring": np.zeros(CELLS, np.float32), "out": np.zeros(CELLS, np.float32), "bits": bits}


def some_bits(program: Program, seed: int) -> list[int]:
    paths = list(program.paths(MOST_PATHS))
    return [path.bits for path in random.Random(seed).sample(paths, min(2, len(paths)))]


@each("seed", range(100, 130), 10)
def test_random_programs_keep_their_numbers_and_their_safety(seed: int) -> None:
    program = random_program(seed, chance=seed % 2 == 1)
    before, (after, _) = parse(program.text()), converted(program.text())
    sets = [arguments(bits) for bits in some_bits(program, seed)]
    assert_same_meaning(before, after, "f", sets, orders=("eager", "lazy", "random:1"))


@each("seed", range(100, 116), 6)
def test_counts_are_exact_where_a_wait_stands_alone(seed: int) -> None:
    """The least on any path, and one mark more is a race there."""
    program = random_program(seed, least_copies=1)
    expected = least_groups_since(program, MOST_PATHS) or {}
    for wait in waits_in(program.statements):
        if (count := expected.get(wait.site)) is None:
            continue
        module, _ = converted(program.text(only=wait.site), "{barriers=false}")
        first = next(op for op in module.walk() if isinstance(op, WaitAsyncmarkOp))
        assert first.count.value.data == count
        bits = next(
            path.bits
            for path in program.paths(MOST_PATHS)
            if any(v.site == wait.site and v.groups_since(wait.queue, wait.count) == count for v in path.visits)
        )
        assert check(module, "f", args={"bits": bits}).kinds == []
        first.properties["count"] = WaitAsyncmarkOp(count + 1).count
        assert check(module, "f", args={"bits": bits}).kinds == ["race"]


# By hand --------------------------------------------------------------------------------------------------------------


def test_queues_share_one_sequence_of_marks() -> None:
    module, said = converted(function(commit(0, 0) + commit(1, 1) + commit(1, 2) + "async_queue.wait 0, 0"))
    assert (counts_in(module), said) == ([2], [])
    assert [op.name for op in module.walk() if op.name.startswith("rocdl.s")] == ["rocdl.s.barrier"]


def test_marks_that_were_there_before_count() -> None:
    own = "rocdl.asyncmark\n"
    module, _ = converted(function(commit(0, 0) + own + commit(0, 1) + "rocdl.wait.asyncmark 0\nasync_queue.wait 0, 0"))
    assert counts_in(module) == [1, 0]


@pytest.mark.parametrize("example", ["cp_async_ring.mlir", "double_buffer.mlir"])
def test_examples(example: str) -> None:
    text = (ROOT / "examples" / example).read_text()
    module, said = converted(text)
    assert said == []
    assert check(module).kinds == []


def of_element(element: str) -> str:
    body = f"""async_queue.commit 0 {{
      async_queue.scope {{
        %v = memref.load %a[%c0] : memref<8x{element}>
        memref.store %v, %s[%c0] : memref<8x{element}, 3>
      }}
    }}
    async_queue.wait 0, 0"""
    return function(body, arguments=f"%a: memref<8x{element}>, %s: memref<8x{element}, 3>")


@pytest.mark.parametrize(
    ("target", "element", "transfer"),
    [
        ("gfx942", "f32", "global.load.async.lds"),
        ("gfx942", "f16", "global.load.async.lds"),
        ("gfx942", "i8", "global.load.async.lds"),
        ("gfx1250", "f32", "global.load.async.to.lds.b32"),
        ("gfx1250", "f64", "global.load.async.to.lds.b64"),
        ("gfx1250", "i8", "global.load.async.to.lds.b8"),
    ],
)
def test_transfers_by_target(target: str, element: str, transfer: str) -> None:
    module, said = converted(of_element(element), f"{{target={target}}}")
    assert (transfers_in(module), said) == ([transfer], [])
    assert_same_meaning(parse(of_element(element)), module, "f", [{}])


@pytest.mark.parametrize(
    ("target", "element", "widths"),
    [("gfx942", "f64", "1, 2, 4"), ("gfx950", "f64", "1, 2, 4, 12, 16"), ("gfx1250", "f16", "1, 4, 8, 16")],
)
def test_other_widths_stay_ordinary_stores(target: str, element: str, widths: str) -> None:
    module, said = converted(of_element(element), f"{{target={target}}}")
    assert transfers_in(module) == []
    size = {"f64": 8, "f16": 2}[element]
    assert said[0].message == (
        f"stays an ordinary store: it has {size} bytes, and {target} transfers {widths} for each lane"
    )
    assert_same_meaning(parse(of_element(element)), module, "f", [{}])


def test_wide_transfers_need_an_alignment_that_is_known() -> None:
    body = """async_queue.commit 0 {{
      async_queue.scope {{
        %v = vector.load %a[{index}] : memref<8xf32>, vector<4xf32>
        vector.store %v, %s[%c4] : memref<64xf32, 3>, vector<4xf32>
      }}
    }}
    async_queue.wait 0, 0"""
    assert transfers_in(converted(function(body.format(index="%c4")))[0]) == ["global.load.async.lds"]
    assert transfers_in(converted(function(body.format(index="%c1")))[0]) == []


def test_nothing_fills_with_zeros() -> None:
    body = f"""%zero = arith.constant 0.0 : f32
    async_queue.commit 0 {{
      async_queue.scope {{
        %inside = arith.cmpi ult, %n, %c4 : index
        %v = scf.if %inside -> (f32) {{
          %x = memref.load %a[%n] : {ROW}
          scf.yield %x : f32
        }} else {{
          scf.yield %zero : f32
        }}
        memref.store %v, %s[%c0] : {SHARED}
      }}
    }}
    async_queue.wait 0, 0"""
    module, said = converted(function(body))
    assert transfers_in(module) == []
    assert said[0].message == "stays an ordinary store: no transfer to LDS fills with zeros"
    assert_same_meaning(parse(function(body)), module, "f", [{"n": 1}, {"n": 9}])


# Calls ----------------------------------------------------------------------------------------------------------------

CALL = f"func.call @more(%a, %s, %n) : ({ROW}, {SHARED}, index) -> ()\n"


def test_calls_between_functions_with_queues_are_refused() -> None:
    middle = function("func.call @last(%a, %s, %n) : (memref<8xf32>, memref<64xf32, 3>, index) -> ()", "more")
    last = function(commit(1, 1) + "async_queue.wait 1, 0", "last")
    module = parse(last + middle + function(commit(0, 0) + CALL + "async_queue.wait 0, 0"))
    before = print_generic(module)
    with pytest.raises(RefusedError, match=r"'func.call' op calls a function that commits to queues") as error:
        run_passes(module, PASS)
    assert error.value.diagnostics[0].way_out == "inline the call"
    assert print_generic(module) == before


def test_calls_of_functions_without_queues_are_no_matter() -> None:
    other = function("", "more")
    module, _ = converted(other + function(commit(0, 0) + commit(1, 1) + CALL + "async_queue.wait 0, 0"))
    assert counts_in(module) == [1]
    calling_only = function(CALL, "main")
    module, _ = converted(calling_only + function(commit(0, 0) + "async_queue.wait 0, 0", "more"))
    assert counts_in(module) == [0]


def test_modules_without_queues_are_left_alone() -> None:
    text = "func.func @f() {\nrocdl.asyncmark\nrocdl.wait.asyncmark 7\nfunc.return\n}"
    assert print_custom(converted(text)[0]) == print_custom(parse(text))


def test_mlir_knows_what_llvm_22_knows() -> None:
    """gfx1250's transfers and the barrier come back unquoted; the marks came later and stay in quotes."""
    module, _ = converted(function(commit(0, 0) + "async_queue.wait 0, 0"), "{target=gfx1250}")
    text = mlir_opt(print_generic(module), "--allow-unregistered-dialect")
    assert "rocdl.global.load.async.to.lds.b32 %" in text
    assert "  rocdl.s.barrier" in text
    assert '"rocdl.asyncmark"()' in text
    assert '"rocdl.wait.asyncmark"() <{count = 0 : i16}>' in text


def test_turns_with_counts_of_their_own_are_peeled() -> None:
    drain = """scf.for %e = %c0 to %c3 step %c1 {
      %left = arith.subi %c3, %e : index
      async_queue.wait 0, %left
    }
    async_queue.wait 0, 0"""
    text = function("".join(commit(0, cell) for cell in range(5)) + drain)
    assert counts_in(converted(text)[0]) == [3, 2, 1, 0]
    assert counts_in(converted(text, "{peel=false}")[0]) == [1, 0]
