"""
`inject-software-pipeline`: what it refuses, what it warns of, what it accepts; nested pipelines; programs of the
examples and of the documentation run before and after.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from tests.support.corpora import corpus, sample
from tests.support.ir import ROOT, chunks, context, parse, print_custom, print_generic, run_passes
from tests.support.meaning import assert_same_meaning, difference_between, run_in_order
from tests.support.mlir import mlir_opt
from tests.support.nested_loops import nested_loop
from tests.support.queue_exactness import waits_in, with_count, without_wait
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, Severity, recorded_diagnostics
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import is_annotated, read_annotations
from tileas_xdsl.tools.located_parser import LocatedParser
from tileas_xdsl.transforms.queues.inject_software_pipeline import InjectSoftwarePipelinePass
from tileas_xdsl.transforms.queues.inject_software_pipeline.plan import SourceCapture

PASS = "inject-software-pipeline"
FOLDER = ROOT / "tests/filecheck/transforms"
REFUSED = chunks(FOLDER / "inject-software-pipeline-invalid.mlir")
LISTINGS = chunks(FOLDER / "inject-software-pipeline.mlir")
DEFAULT = chunks(FOLDER / "inject-software-pipeline-completion.mlir")
NESTED = sample(range(400), 40)


def pipelined(text: str, capture: SourceCapture = "completion", *, merge: bool = True) -> ModuleOp:
    module = parse(text)
    InjectSoftwarePipelinePass(source_capture=capture, merge_waits=merge).apply(Context(), module)
    module.verify()
    verify_dominance(module)
    return module


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusal_names_the_op_and_its_place_and_leaves_the_ir(number: int) -> None:
    text = REFUSED[number]
    module = LocatedParser(context(), text, "loop.mlir").parse_module()
    before = print_generic(module)
    with pytest.raises(RefusedError) as refused, recorded_diagnostics() as said:
        run_passes(module, PASS)
    assert print_generic(module) == before
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.way_out
    location = diagnostic.op.location
    assert isinstance(location, FileLineColLoc)
    assert diagnostic.op.name in text.splitlines()[location.line.data - 1]
    expected = re.findall(r"// CHECK: *(.*)", text)
    said_without_places = re.sub(r" at loop\.mlir:\d+:\d+", "", str(diagnostic))
    assert [line for line in expected if line not in said_without_places] == []
    assert said == []


TWO_BLOCKS = """
func.func @f(%A: memref<16xi32>, %C: memref<16xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {{
    %T = memref.alloc() : memref<1xi32>
    {unused}
    async_queue.block {{
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }}
    async_queue.block {{
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }}
  }} {{{annotations}}}
  func.return
}}"""

STAGES = "software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>"


def warnings_of(annotations: str) -> tuple[ModuleOp, list[str]]:
    with recorded_diagnostics() as said:
        module = pipelined(TWO_BLOCKS.format(unused="", annotations=annotations))
    assert all(diagnostic.severity is Severity.WARNING for diagnostic in said)
    return module, [diagnostic.message for diagnostic in said]


def test_warns_of_an_unknown_asynchronous_stage_and_goes_on() -> None:
    module, said = warnings_of(f"{STAGES}, software_pipeline_async_stages = array<i64: 0, 7>")
    assert said == ["names stage 7 in software_pipeline_async_stages, and no component is in that stage"]
    assert {op.queue for op in module.walk() if isinstance(op, CommitOp)} == {0}


def test_warns_of_asynchronous_stages_alone_and_leaves_the_loop() -> None:
    module, said = warnings_of("software_pipeline_async_stages = array<i64: 0>")
    assert said == ["has software_pipeline_async_stages alone, which does nothing"]
    assert not any(isinstance(op, CommitOp) for op in module.walk())


@pytest.mark.parametrize("numbers", ["0", "0, 1, 2"])
def test_lists_of_another_length_name_the_components(numbers: str) -> None:
    text = TWO_BLOCKS.format(unused="", annotations=STAGES.replace("0, 1", numbers))
    with pytest.raises(RefusedError, match=r"has 2 components \(0: async_queue.block, 1: async_queue.block\)"):
        pipelined(text)


def test_a_refusal_leaves_the_other_functions_too() -> None:
    good, bad = (TWO_BLOCKS.format(unused="", annotations=text) for text in (STAGES, STAGES.replace("0, 1", "1, 0", 1)))
    module = parse(good.replace("@f", "@good") + bad)
    before = print_custom(module)
    with pytest.raises(RefusedError, match="cannot depends on statement 0 in a later stage 1"):
        InjectSoftwarePipelinePass().apply(Context(), module)
    assert print_custom(module) == before


def test_unused_buffer_is_legal() -> None:
    text = TWO_BLOCKS.format(unused="%unused = memref.alloc() : memref<4xi32>", annotations=STAGES)
    assert "memref.alloc() : memref<4xi32>" in print_custom(pipelined(text))


def test_one_component_is_legal_and_trivial() -> None:
    text = """
func.func @f(%C: memref<16xi32>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 3>, software_pipeline_order = array<i64: 0>}
  func.return
}"""
    printed = print_custom(pipelined(text))
    assert "async_queue" not in printed
    assert "scf.for %i = %c0 to %c16 step %c1" in printed


def test_empty_body_loses_its_annotations() -> None:
    text = """
func.func @f(%n: index, %s: index) {
  scf.for %i = %n to %n step %s {
  } {software_pipeline_stage = array<i64>, software_pipeline_order = array<i64>, kept}
  func.return
}"""
    assert "{kept}" in print_custom(pipelined(text))


# Flattening -----------------------------------------------------------------------------------------------------------


def flattened(body: str, count: int) -> str:
    numbers = ", ".join(map(str, range(count)))
    return f"""
func.func @f(%A: memref<16xi32>, %C: memref<16xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {{
    {body}
  }} {{software_pipeline_stage = array<i64: {numbers}>, software_pipeline_order = array<i64: {numbers}>,
     software_pipeline_async_stages = array<i64: 0>}}
  func.return
}}"""


COPY = """async_queue.block {
  %v = memref.load %A[%i] : memref<16xi32>
  memref.store %v, %T[%c0] : memref<1xi32>
}
async_queue.block {
  %v = memref.load %T[%c0] : memref<1xi32>
  memref.store %v, %C[%i] : memref<16xi32>
}"""
BUFFER = "%T = memref.alloc() : memref<1xi32>"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (f"{BUFFER}\n{COPY}", 2),
        (f"async_queue.block {{\n{BUFFER}\n{COPY}\n}}", 2),
        (f"async_queue.block {{\nasync_queue.block {{\n{BUFFER}\n{COPY}\n}}\n}}", 2),
        # Two levels where the block is the whole body; a third one would be within a component.
        (f"async_queue.block {{\nasync_queue.block {{\nasync_queue.block {{\n{BUFFER}\n{COPY}\n}}\n}}\n}}", 1),
        (f"{BUFFER}\nasync_queue.block {{\n{COPY}\n}}\nasync_queue.block {{\n}}", 3),
        # With something else in it, a block is a component.
        (f"async_queue.block {{\n{BUFFER}\n{COPY}\nmemref.store %w, %C[%i] : memref<16xi32>\n}}", 1),
    ],
)
def test_a_block_of_blocks_is_flattened_one_level(body: str, count: int) -> None:
    body = body.replace("memref.store %w", "%w = memref.load %A[%c0] : memref<16xi32>\nmemref.store %w")
    text = flattened(body, count)
    after = pipelined(text)
    assert_same_meaning(parse(text), after, "f", [{}], ("eager", "lazy"))
    assert "async_queue.block" not in print_custom(after)


def test_double_buffer_of_a_flattened_block() -> None:
    body = f"async_queue.block attributes {{double_buffer_scope = 0 : i64}} {{\n{COPY}\n}}\nasync_queue.block {{\n}}"
    text = flattened(f"{BUFFER}\n{body}", 3).replace("array<i64: 0, 1, 2>", "array<i64: 0, 0, 0>", 1)
    assert "memref<2x1xi32>" in print_custom(pipelined(text))


# Meaning --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", DEFAULT + LISTINGS, ids=lambda text: re.findall(r"@(\w+)", text)[0])
def test_examples_mean_what_they_did(text: str) -> None:
    """
    The examples of the filecheck files, with small trip counts and `completion`, whatever the file runs them with.
    """
    text = re.sub(r"%c128 = arith.constant 128", "%c128 = arith.constant 9", text)
    name = re.findall(r"func.func @(\w+)", text)[0]
    before = parse(text)
    sets = [{"lo": lo, "hi": lo + n} for lo in (0, 3) for n in (0, 1, 2, 3, 4, 7)] if "%lo" in text else [{}]
    arrays = {"A": np.arange(20, dtype=np.int32), "C": np.zeros(20, np.int32)} if "%lo" in text else {}
    assert_same_meaning(before, pipelined(text), name, [{**numbers, **arrays} for numbers in sets])


@pytest.mark.parametrize("text", LISTINGS, ids=lambda text: re.findall(r"@(\w+)", text)[0])
def test_listings_are_safe_where_sources_are_read_at_issue(text: str) -> None:
    assert check(pipelined(text, "issue"), capture="issue", trip_counts=[0, 1, 5]).verdict is Verdict.SAFE


@pytest.mark.parametrize("text", LISTINGS, ids=lambda text: re.findall(r"@(\w+)", text)[0])
def test_listings_compute_the_same_where_sources_are_read_at_issue(text: str) -> None:
    text = re.sub(r"%c128 = arith.constant 128", "%c128 = arith.constant 9", text)
    name = re.findall(r"func.func @(\w+)", text)[0]
    before, after = parse(text), pipelined(text, "issue")
    arrays = {"A": np.arange(20, dtype=np.int32), "C": np.zeros(20, np.int32)}
    for trips in (0, 2, 7) if "%lo" in text else (None,):
        arguments = {} if trips is None else {"lo": 3, "hi": 3 + trips, **arrays}
        for order in ("eager", "lazy", "random:1"):
            outcomes = [run_in_order(module, name, arguments, order, "issue") for module in (before, after)]
            assert difference_between(*outcomes) is None, f"{trips}, {order}\n{print_custom(after)}"


def test_interleaved_example_avoids_the_race_of_the_rfc() -> None:
    """With one commit in each prologue slot, as the RFC prints it, the checker finds the race that ours has not."""
    text = next(text for text in LISTINGS if "@interleaved_producers" in text)
    module = pipelined(text, "issue")
    assert check(module, capture="issue").verdict is Verdict.SAFE
    function = next(iter(module.body.block.ops))
    commits = [op for op in function.regions[0].block.ops if isinstance(op, CommitOp)]
    for first, second in zip(commits[::2], commits[1::2], strict=True):
        for op in list(second.body.block.ops):
            op.detach()
            first.body.block.add_op(op)
        second.detach()
        second.erase()
    assert check(module, capture="issue").verdict is Verdict.VIOLATION


@pytest.mark.parametrize("text", DEFAULT + LISTINGS, ids=lambda text: re.findall(r"@(\w+)", text)[0])
def test_erased_queues_compute_the_same(text: str) -> None:
    text = re.sub(r"%c128 = arith.constant 128", "%c128 = arith.constant 9", text)
    name = re.findall(r"func.func @(\w+)", text)[0]
    module = run_passes(parse(text), f"{PASS},erase-async-queue")
    assert not any(isinstance(op, ScopeOp | CommitOp | WaitOp) for op in module.walk())
    arguments = {"lo": 2, "hi": 9, "A": np.arange(20, dtype=np.int32), "C": np.zeros(20, np.int32)}
    assert_same_meaning(parse(text), module, name, [arguments if "%lo" in text else {}], ("eager",))


@pytest.mark.parametrize("text", DEFAULT + LISTINGS, ids=lambda text: re.findall(r"@(\w+)", text)[0])
def test_mlir_opt_accepts_what_comes_out(text: str) -> None:
    mlir_opt(print_generic(pipelined(text)), "--allow-unregistered-dialect")


ANNOTATIONS = (
    "{software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>, "
    "software_pipeline_async_stages = array<i64: 0>}"
)

PROGRAMS: dict[str, tuple[str, list[dict[str, int]]]] = {
    "a step that is not known": (
        """
func.func @f(%A: memref<64xi32>, %C: memref<64xi32>, %lo: index, %hi: index, %st: index) {
  %c0 = arith.constant 0 : index
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %lo to %hi step %st {
    async_queue.block {
      %v = memref.load %A[%i] : memref<64xi32>
      memref.store %v, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<64xi32>
    }
  } ANNOTATIONS
  func.return
}""",
        [{"lo": 2, "hi": upper, "st": step} for upper in (0, 3, 20, 33) for step in (1, 3)],
    ),
    "tiles of a size that is not known, filled by linalg": (
        """
func.func @f(%A: memref<8x4xi32>, %C: memref<8x4xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 {
    %w = arith.muli %c4, %c1 : index
    %T = memref.alloc(%w) : memref<?xi32>
    async_queue.block {
      linalg.fill ins(%one : i32) outs(%T : memref<?xi32>)
      %v = memref.load %A[%i, %c1] : memref<8x4xi32>
      memref.store %v, %T[%c1] : memref<?xi32>
    }
    async_queue.block {
      %row = memref.subview %C[%i, 0] [1, 4] [1, 1] : memref<8x4xi32> to memref<4xi32, strided<[1], offset: ?>>
      %d = memref.dim %T, %c0 : memref<?xi32>
      scf.for %k = %c0 to %d step %c1 {
        %v = memref.load %T[%k] : memref<?xi32>
        memref.store %v, %row[%k] : memref<4xi32, strided<[1], offset: ?>>
      }
    }
  } ANNOTATIONS
  func.return
}""",
        [{"n": n} for n in (0, 1, 2, 3, 6)],
    ),
    "a pipeline inside a component": (
        """
func.func @f(%A: memref<8x4xi32>, %C: memref<8x4xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c1 {
    %T = memref.alloc() : memref<4xi32>
    async_queue.block {
      scf.for %k = %c0 to %c4 step %c1 {
        %v = memref.load %A[%i, %k] : memref<8x4xi32>
        memref.store %v, %T[%k] : memref<4xi32>
      }
    }
    async_queue.block {
      %u = memref.load %T[%c0] : memref<4xi32>
      scf.for %k = %c0 to %c4 step %c1 {
        %S = memref.alloc() : memref<1xi32>
        async_queue.block {
          %v = memref.load %T[%k] : memref<4xi32>
          memref.store %v, %S[%c0] : memref<1xi32>
        }
        async_queue.block {
          %v = memref.load %S[%c0] : memref<1xi32>
          %w = arith.addi %v, %u : i32
          memref.store %w, %C[%i, %k] : memref<8x4xi32>
        }
      } ANNOTATIONS
    }
  } ANNOTATIONS
  func.return
}""",
        [{"n": n} for n in (0, 1, 2, 3, 6)],
    ),
    "a loop under a branch in a loop, its buffer outside of both": (
        """
func.func @f(%A: memref<16xi32>, %C: memref<16xi32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = memref.alloc() : memref<1xi32>
  scf.for %o = %c0 to %m step %c1 {
    %p = arith.cmpi ne, %o, %c1 : index
    scf.if %p {
      scf.for %i = %o to %n step %c1 {
        async_queue.block {
          %v = memref.load %A[%i] : memref<16xi32>
          memref.store %v, %B[%c0] : memref<1xi32>
        }
        async_queue.block {
          %v = memref.load %B[%c0] : memref<1xi32>
          memref.store %v, %C[%i] : memref<16xi32>
        }
      } ANNOTATIONS
    }
  }
  memref.dealloc %B : memref<1xi32>
  func.return
}""",
        [{"n": n, "m": m} for n in (0, 1, 2, 5) for m in (0, 1, 3)],
    ),
    "views and subscripts of one version, from a lower bound that is not 0": (
        """
func.func @f(%A: memref<16x4xi32>, %C: memref<16x4xi32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %T = memref.alloc() : memref<4xi32>
  scf.for %i = %lo to %hi step %c1 {
    async_queue.block {
      %row = memref.subview %A[%i, 0] [1, 4] [1, 1] : memref<16x4xi32> to memref<4xi32, strided<[1], offset: ?>>
      "memref.copy"(%row, %T) : (memref<4xi32, strided<[1], offset: ?>>, memref<4xi32>) -> ()
    }
    async_queue.block {
      %row = memref.subview %C[%i, 0] [1, 4] [1, 1] : memref<16x4xi32> to memref<4xi32, strided<[1], offset: ?>>
      "memref.copy"(%T, %row) : (memref<4xi32>, memref<4xi32, strided<[1], offset: ?>>) -> ()
      %v = memref.load %T[%c1] : memref<4xi32>
      memref.store %v, %C[%i, %c1] : memref<16x4xi32>
    }
  } ANNOTATIONS
  func.return
}""",
        [{"lo": lo, "hi": lo + n} for lo in (1, 5) for n in (0, 1, 2, 3, 7)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_mean_what_they_did(name: str) -> None:
    text, sets = PROGRAMS[name]
    text = text.replace("ANNOTATIONS", ANNOTATIONS)
    assert_same_meaning(parse(text), pipelined(text), "f", sets, ("lazy", "random:1"))


# Pipelines in pipelines -----------------------------------------------------------------------------------------------


@corpus(len(NESTED))
def test_nested_random_pipelines() -> None:
    """
    Those that keep every dependence are accepted, and most of the others are not; what is accepted computes the same
    and is free of races, and every queue belongs to one pipeline.
    """
    accepted = with_inner_queue = 0
    for seed in NESTED:
        program = nested_loop(seed)
        before, after = parse(program.text), parse(program.text)
        refusal = refusal_of(after)
        if refusal is not None:
            assert not program.is_legal, f"seed {seed}: {refusal}"
            assert print_custom(after) == print_custom(before)
            continue
        accepted += 1
        with_inner_queue += "async_queue.commit 1" in print_custom(after)
        sets = [{"n": n} for n in ((0, 1, 2, 4) if seed % 4 == 0 else (3,))]
        assert_same_meaning(before, after, "f", sets, ("lazy", f"random:{seed}"))
    assert 8 * accepted >= 7 * len(NESTED), f"{accepted} of {len(NESTED)}"
    assert 4 * with_inner_queue > len(NESTED)


NESTED_IN_ONE_STAGE = """
func.func @f(%A: memref<8x4xi32>, %C: memref<8x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %k = %c0 to %c4 step %c1 {
      async_queue.block {
        %v = memref.load %A[%i, %k] : memref<8x4xi32>
        memref.store %v, %C[%i, %k] : memref<8x4xi32>
      }
    } {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>,
       software_pipeline_async_stages = array<i64: 0>}
  } {software_pipeline_stage = array<i64: 0, 0, 0>, software_pipeline_order = array<i64: 0, 2, 1>}
  func.return
}
"""


def test_the_drain_of_a_nested_pipeline_stays_behind_its_body() -> None:
    """
    The parts of a nested pipeline count on each other's commits. Here the third, which drains, would run before the
    second.
    """
    refusal = refusal_of(parse(NESTED_IN_ONE_STAGE))
    assert refusal is not None
    assert "statement 2 would run before statement 1" in str(refusal)
    assert "control through the queues of one nested pipeline" in str(refusal)


def test_a_part_of_a_nested_pipeline_that_is_empty_goes_anywhere() -> None:
    """One stage has no prologue, so nobody minds where it stands."""
    text = NESTED_IN_ONE_STAGE.replace("order = array<i64: 0, 2, 1>", "order = array<i64: 2, 0, 1>")
    assert_same_meaning(parse(text), pipelined(text), "f", [{}], ("lazy", "random:1"))


def refusal_of(module: ModuleOp) -> RefusedError | None:
    """Run the pass on `module`; what it says if it refuses."""
    try:
        InjectSoftwarePipelinePass().apply(Context(), module)
    except RefusedError as error:
        return error
    return None


@corpus(len(NESTED[::3]))
def test_waits_of_nested_random_pipelines_are_exact() -> None:
    """
    Unmerged, and judged alone: one group more races, unless the wait is not needed at all. All for the queues of the
    outer pipeline are; an inner queue may hold groups of two of its runs, which no constant tells apart, so few of its
    waits are not.
    """
    exact = slack = 0
    for seed in NESTED[::3]:
        program = nested_loop(seed)
        if not program.is_legal:
            continue
        module = parse(program.text)
        inner = first_inner_queue(module)
        InjectSoftwarePipelinePass(merge_waits=False).apply(Context(), module)
        waits = waits_in(module)
        for number in random.Random(seed).sample(range(len(waits)), min(3, len(waits))):
            queue, count = waits[number].queue, waits[number].count
            assert isinstance(queue, int)
            assert isinstance(count, int)
            if not is_safe(with_count(module, number, count + 1)) or is_safe(without_wait(module, number)):
                exact += 1
                continue
            assert queue >= inner, f"seed {seed}, wait {number}\n{print_custom(module)}"
            slack += 1
    assert exact > len(NESTED) // 4
    assert 10 * slack <= exact


def first_inner_queue(module: ModuleOp) -> int:
    """The queues of the outer pipeline are below it."""
    outer = next(op for op in module.walk() if isinstance(op, scf.ForOp) and is_annotated(op))
    annotations = read_annotations(outer)
    assert annotations is not None
    return annotations.async_stages[-1] + 1 if annotations.async_stages else 0


def is_safe(module: ModuleOp) -> bool:
    return check(module, "f", trip_counts=range(6)).verdict is Verdict.SAFE
