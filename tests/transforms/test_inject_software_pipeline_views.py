"""
`inject-software-pipeline` and buffers by other names: casts, subviews, vector transfers.

The random annotated loops of the main corpus, with accesses to temporaries led through views: what comes out must wait,
commit and version just as it does without them, and compute the same. `TILEAS_CASES=full` takes 1,000 loops.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp

from tests.support.annotated_loops import AnnotatedLoop, annotated_loop
from tests.support.corpora import corpus, sample
from tests.support.ir import parse, print_custom, print_generic
from tests.support.meaning import assert_same_meaning, run_in_order, same_bits
from tests.support.mlir import mlir_opt
from tests.support.nested_loops import nested_loop
from tests.support.queue_exactness import waits_in
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.transforms.queues.inject_software_pipeline import InjectSoftwarePipelinePass

LOOPS = sample(range(1000), 40)
NESTED = sample(range(120), 40)
TEMPORARY = "memref<2xi32>"


def pipelined(text: str) -> ModuleOp:
    module = parse(text)
    InjectSoftwarePipelinePass().apply(Context(), module)
    module.verify()
    verify_dominance(module)
    return module


# At random ------------------------------------------------------------------------------------------------------------


def cast_to(kind: str, source: str, source_kind: str) -> str:
    return f'"memref.cast"({source}) : ({source_kind}) -> {kind}'


def subview(source: str, source_kind: str, offset: int, size: int, kind: str) -> str:
    return f"memref.subview {source}[{offset}] [{size}] [1] : {source_kind} to {kind}"


def through_views(loop: AnnotatedLoop) -> str:
    """The text of `loop` with most accesses to temporaries by other names, made at random places."""
    rng = random.Random(loop.seed)
    lines = loop.text().splitlines()
    head = next(number for number, line in enumerate(lines) if "scf.for" in line)
    allocated = {m[1]: n for n, line in enumerate(lines) if (m := re.match(r"\s*(%T\d) = memref.alloc", line))}
    added: dict[int, list[str]] = {}
    access = re.compile(r"(.*)(%T\d)\[%c([01])\] : memref<2xi32>")
    for number, line in enumerate(lines):
        match = access.fullmatch(line)
        if match is None or rng.random() < 0.2:
            continue
        start, temporary, index = match[1], match[2], int(match[3])
        names, views, use = _views(rng, temporary, index, number)
        place = rng.choice([number, max(head, allocated[temporary]) + 1])
        if allocated[temporary] < head:
            place = rng.choice([number, head + 1, head])
        added.setdefault(place, []).extend(f"{name} = {view}" for name, view in zip(names, views, strict=True))
        lines[number] = start + use
    return "\n".join("\n".join([*added.get(number, ()), line]) for number, line in enumerate(lines))


def _views(rng: random.Random, temporary: str, index: int, number: int) -> tuple[list[str], list[str], str]:
    """Names and makers of one view or two, and the access through the last one."""
    names = [f"%view{number}", f"%again{number}"]
    open_kind, kind = "memref<?xi32>", f"memref<1xi32, strided<[1], offset: {index}>>"
    element = f"memref<i32, strided<[], offset: {index}>>"
    match rng.randrange(4):
        case 0:
            return names[:1], [cast_to(open_kind, temporary, TEMPORARY)], f"{names[0]}[%c{index}] : {open_kind}"
        case 1:
            return names[:1], [subview(temporary, TEMPORARY, index, 1, kind)], f"{names[0]}[%c0] : {kind}"
        case 2:
            return names[:1], [subview(temporary, TEMPORARY, index, 1, element)], f"{names[0]}[] : {element}"
        case _:
            views = [cast_to(open_kind, temporary, TEMPORARY), subview(names[0], open_kind, index, 1, kind)]
            return names, views, f"{names[1]}[%c0] : {kind}"


def versions(module: ModuleOp) -> list[Sequence[int]]:
    """The shapes of what is allocated, in some order."""
    kinds = [op.memref.type for op in module.walk() if isinstance(op, memref.AllocOp)]
    return sorted(kind.get_shape() for kind in kinds if isinstance(kind, MemRefType))


def counts(module: ModuleOp) -> list[tuple[object, object]]:
    return [(wait.queue, wait.count) for wait in waits_in(module)]


@corpus(len(LOOPS))
def test_views_change_nothing_but_names() -> None:
    """A loop through views gets the waits, versions and numbers of the loop without them, and has no race."""
    with_views = 0
    for seed in LOOPS:
        loop = annotated_loop(seed)
        text = through_views(loop)
        with_views += "memref.cast" in text or "memref.subview" in text
        plain, after = pipelined(loop.text()), pipelined(text)
        where = f"seed {seed}\n{text}\n{print_custom(after)}"
        assert counts(after) == counts(plain), where
        assert versions(after) == versions(plain), where
        outcome = run_in_order(after, "f", {**loop.numbers(), **loop.initial_arrays()}, "lazy")
        assert not outcome.violations, where
        assert all(same_bits(array, outcome.arrays[name]) for name, array in loop.run().items()), where
        assert check(after, "f", args=loop.numbers(), trip_counts=[0]).verdict is Verdict.SAFE, where
    assert 2 * with_views > len(LOOPS)


def nested_through_views(seed: int) -> str:
    """A nested pipeline whose inner loop reads the row by another name, made in the outer body or in the inner one."""
    text = nested_loop(seed).text
    load = "%v = memref.load %row[%k] : memref<3xi32>"
    assert load in text
    alias = '%alias = "memref.cast"(%row) : (memref<3xi32>) -> memref<?xi32>'
    text = text.replace(load, "%v = memref.load %alias[%k] : memref<?xi32>")
    anchor = "%element = memref.alloc()" if seed % 2 else "async_queue.block {"
    return text.replace(anchor, f"{alias}\n{anchor}", 1)


@corpus(len(NESTED))
def test_views_change_nothing_in_nested_pipelines() -> None:
    for seed in [seed for seed in NESTED if nested_loop(seed).is_legal]:
        before, text = nested_loop(seed).text, nested_through_views(seed)
        plain, after = pipelined(before), pipelined(text)
        assert counts(after) == counts(plain), f"seed {seed}\n{text}\n{print_custom(after)}"
        assert versions(after) == versions(plain), f"seed {seed}\n{text}\n{print_custom(after)}"
        assert_same_meaning(parse(before), after, "f", [{"n": 3}], ("lazy",))


def test_types_of_views_are_what_mlir_expects() -> None:
    for seed in LOOPS[:12]:
        mlir_opt(print_generic(pipelined(through_views(annotated_loop(seed)))), "--allow-unregistered-dialect")
    for text in (VECTORS, HALVES):
        mlir_opt(print_generic(pipelined(text)), "--allow-unregistered-dialect")


# Case by case ---------------------------------------------------------------------------------------------------------

HEAD = """
func.func @f(%A: memref<32x8xi32>, %C: memref<32x8xi32>, %n: index, %w: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
"""

ANNOTATIONS = """software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>"""

VECTORS = f"""{HEAD}
  %T = memref.alloc() : memref<8xi32>
  scf.for %i = %c0 to %n step %c1 {{
    async_queue.block {{
      %v = vector.transfer_read %A[%i, %c0], %zero {{in_bounds = [true]}} : memref<32x8xi32>, vector<8xi32>
      vector.transfer_write %v, %T[%c0] {{in_bounds = [true]}} : vector<8xi32>, memref<8xi32>
    }}
    async_queue.block {{
      %low = vector.load %T[%c0] : memref<8xi32>, vector<4xi32>
      %high = vector.transfer_read %T[%c4], %zero : memref<8xi32>, vector<4xi32>
      %sum = arith.addi %low, %high : vector<4xi32>
      vector.store %sum, %C[%i, %c0] : memref<32x8xi32>, vector<4xi32>
    }}
  }} {{{ANNOTATIONS}}}
  func.return
}}"""

HALVES = f"""{HEAD}
  %T = memref.alloc() : memref<8xi32>
  %low = memref.subview %T[0] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1]>>
  scf.for %i = %c0 to %n step %c1 {{
    %high = memref.subview %T[%w] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1], offset: ?>>
    async_queue.block {{
      scf.for %k = %c0 to %c4 step %c1 {{
        %k4 = arith.addi %k, %c4 : index
        %v = memref.load %A[%i, %k] : memref<32x8xi32>
        %u = memref.load %A[%i, %k4] : memref<32x8xi32>
        memref.store %v, %low[%k] : memref<4xi32, strided<[1]>>
        memref.store %u, %high[%k] : memref<4xi32, strided<[1], offset: ?>>
      }}
    }}
    async_queue.block {{
      scf.for %k = %c0 to %c4 step %c1 {{
        %v = memref.load %low[%k] : memref<4xi32, strided<[1]>>
        %u = memref.load %high[%k] : memref<4xi32, strided<[1], offset: ?>>
        %s = arith.addi %v, %u : i32
        memref.store %s, %C[%i, %k] : memref<32x8xi32>
      }}
    }}
  }} {{{ANNOTATIONS}}}
  func.return
}}"""

INSIDE = HALVES.replace("  %T = memref.alloc() : memref<8xi32>\n", "").replace(
    "  scf.for %i = %c0 to %n step %c1 {\n",
    "  scf.for %i = %c0 to %n step %c1 {\n    %T = memref.alloc() : memref<8xi32>\n",
)


def with_low_inside(text: str) -> str:
    """The view of the lower half moves into the body, behind the allocation that is there."""
    start = text.index("  %low =")
    end = text.index("  scf.for %i")
    view, rest = text[start:end], text[:start] + text[end:]
    return rest.replace("memref.alloc() : memref<8xi32>\n", f"memref.alloc() : memref<8xi32>\n{view}")


TRIPS = [{"n": n, "w": 2 + 2 * (n % 2)} for n in (0, 1, 2, 3, 7)]


@pytest.mark.parametrize(
    "text", [VECTORS, HALVES, with_low_inside(INSIDE)], ids=["vectors", "halves", "halves of what is allocated inside"]
)
def test_programs_mean_what_they_did(text: str) -> None:
    after = pipelined(text)
    assert "memref<3x8xi32>" in print_custom(after)
    assert_same_meaning(parse(text), after, "f", TRIPS, ("lazy", "random:1"))


def test_a_half_that_begins_anywhere_is_no_half() -> None:
    """A buffer in front of the loop has versions only if all that is read was written; `%w` may be 2."""
    read = "%u = memref.load %high[%k] : memref<4xi32, strided<[1], offset: ?>>"
    behind = "%k4 = arith.addi %k, %c4 : index\n%u = memref.load %T[%k4] : memref<8xi32>"
    with pytest.raises(RefusedError, match="may read what an earlier iteration left"):
        pipelined(HALVES.replace(read, behind))


def test_two_fixed_halves_make_a_whole() -> None:
    text = HALVES.replace("%T[%w]", "%T[4]").replace("offset: ?", "offset: 4")
    after = pipelined(text)
    assert "memref<3x8xi32>" in print_custom(after)
    assert_same_meaning(parse(text), after, "f", TRIPS, ("lazy", "random:1"))


def test_a_view_at_another_offset_is_not_what_was_written_in_the_same_trip() -> None:
    """`%low[%k]` was written, `%high[%k]` is read before it is."""
    text = HALVES.replace("%T[%w]", "%T[4]").replace("offset: ?", "offset: 4")
    text = text.replace("%u = memref.load %A[%i, %k4] : memref<32x8xi32>\n", "", 1)
    store = "memref.store %v, %low[%k] : memref<4xi32, strided<[1]>>\n"
    read = "%u = memref.load %high[%k] : memref<4xi32, strided<[1], offset: 4>>\n"
    with pytest.raises(RefusedError, match="may read what an earlier iteration left"):
        pipelined(text.replace(store, store + read, 1))


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (
            "memref.reinterpret_cast",
            """"memref.reinterpret_cast"(%T) <{static_offsets = array<i64: 0>,
          static_sizes = array<i64: 4>, static_strides = array<i64: 2>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> :
          (memref<8xi32>) -> memref<4xi32, strided<[2]>>""",
        ),
        (
            "memref.expand_shape",
            """"memref.expand_shape"(%T) <{reassociation = [[0, 1]],
          static_output_shape = array<i64: 2, 4>}> : (memref<8xi32>) -> memref<2x4xi32>""",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(op: str, text: str) -> None:
    loop = VECTORS.replace("      %low = vector.load", f"      %other = {text}\n      %low = vector.load")
    module = parse(loop)
    with pytest.raises(RefusedError, match=f"'{op}' op uses a buffer that needs 3 versions") as refused:
        InjectSoftwarePipelinePass().apply(Context(), module)
    assert "a memref.cast or memref.subview of it" in str(refused.value)
    assert print_custom(module) == print_custom(parse(loop))
