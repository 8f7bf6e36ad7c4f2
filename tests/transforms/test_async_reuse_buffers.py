"""
`async-reuse-buffers`: fewer buffers, the same numbers, still safe; and not safe without any one of the edges it adds.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import corpus, sample
from tests.support.ir import ROOT, chunks, parse, run_passes
from tests.support.safe_token_programs import safe_program
from tests.support.token_meaning import assert_safe_and_equal, changed
from tileas_xdsl.analysis.buffer_touches import allocated_buffer
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.interfaces import AsyncOpInterface, functions_in
from tileas_xdsl.transforms.tokens.async_reuse_buffers import apply_reuse, plan_reuse

SEEDS = sample(range(300), 60)
FILE = ROOT / "tests/filecheck/transforms/async-reuse-buffers.mlir"


def buffers(module: ModuleOp) -> int:
    return sum(allocated_buffer(op) is not None for op in module.walk())


@corpus(len(SEEDS))
def test_random_programs_stay_safe_and_compute_the_same() -> None:
    before = with_edges = without = 0
    for seed in SEEDS:
        text = safe_program(seed)
        everything, free = changed(text, "async-reuse-buffers"), changed(text, "async-reuse-buffers{new-edges=false}")
        assert_safe_and_equal(text, everything)
        assert_safe_and_equal(text, free)
        assert buffers(everything) <= buffers(free) <= buffers(parse(text))
        before += buffers(parse(text))
        with_edges += buffers(everything)
        without += buffers(free)
    assert with_edges < without < before


@corpus(len(SEEDS))
def test_every_new_edge_is_needed() -> None:
    """Without any one of the new edges the program that shares the memory has a race."""
    tried = 0
    for seed in SEEDS:
        text = safe_program(seed)
        planned = [reuse for function in functions_in(parse(text)) for reuse in plan_reuse(function, new_edges=True)]
        for number, reuse in enumerate(planned):
            for place in range(len(reuse.edges)):
                module = parse(text)
                (function,) = functions_in(module)
                plan = plan_reuse(function, new_edges=True)
                del plan[number].edges[place]
                apply_reuse(plan)
                assert "race" in check(module).kinds, f"{seed}\n{text}"
                tried += 1
    assert tried > len(SEEDS) // 10


@pytest.mark.parametrize("text", chunks(FILE), ids=range(len(chunks(FILE))))
def test_programs_of_the_text_file_stay_safe_and_compute_the_same(text: str) -> None:
    if "@g" in text:
        return
    (name,) = re.findall(r"func\.func @(\w+)\(.*\{", text.split("// CHECK")[0])
    assert_safe_and_equal(text, changed(text, "async-reuse-buffers"), name)


@corpus(len(SEEDS[:40]))
def test_a_second_time_there_is_nothing_to_do() -> None:
    for seed in SEEDS[:40]:
        once = changed(safe_program(seed), "async-reuse-buffers{new-edges=false}")
        again = run_passes(once.clone(), "async-reuse-buffers{new-edges=false}")
        assert again.is_structurally_equivalent(once)


ESCAPES = """
func.func @f(%x: memref<8xf32>, %box: memref<1x!async.token>) -> !async.token {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %s = async_region.copy %x to %a : memref<8xf32> to memref<8xf32>
  memref.store %s, %box[%c0] : memref<1x!async.token>
  %t = async_region.copy %x to %b : memref<8xf32> to memref<8xf32>
  func.return %t : !async.token
}"""


def test_a_token_that_escapes_is_refused() -> None:
    module = parse(ESCAPES)
    with pytest.raises(RefusedError, match=r"(?s)'memref.store' op takes the token %s .*help: hand it on"):
        run_passes(module, "async-reuse-buffers")
    assert module.is_structurally_equivalent(parse(ESCAPES))


TWO_TASKS = """
func.func @f(%x: memref<8xf32>, %n: index, %i: index) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  BEFORE
  FIRST
  SECOND
  async.await %s : !async.token
  async.await %t : !async.token
  func.return
}"""
COPY = "async_region.copy %x to %a : memref<8xf32> to memref<8xf32>"
FIRST, SECOND = f"%s = {COPY}", f"%t = {COPY}".replace("%a", "%b")


@pytest.mark.parametrize(
    ("before", "first", "second", "left"),
    [
        pytest.param("", FIRST, SECOND, 1, id="tasks that could overlap"),
        pytest.param("", SECOND.replace("%t", "%s"), FIRST.replace("%s", "%t"), 1, id="the later buffer is used first"),
        pytest.param(
            "",
            f"%s = async_region.region {{ %u = {COPY} async_region.yield }}",
            SECOND,
            2,
            id="a task that does not wait for what it starts",
        ),
        pytest.param(
            "",
            f"%s = async_region.region {{ %u = {COPY} async_region.yield after [%u] }}",
            SECOND,
            1,
            id="a task that waits for what it starts",
        ),
        pytest.param(
            "",
            FIRST,
            f"%t = async_region.region [as %ready] {{ %u = {SECOND[5:]} async_region.yield after [%u] }}",
            2,
            id="a region that is issued at once, and what it starts does not wait",
        ),
        pytest.param(
            "",
            FIRST,
            f"%t = async_region.region [as %r] {{ %u = {SECOND[5:].replace('copy', 'copy [%r]')} "
            "async_region.yield after [%u] }",
            1,
            id="a region that is issued at once, and what it starts waits",
        ),
        pytest.param(
            "%group = async.create_group %n : !async.group",
            '%s = async.execute { async.await_all %group "memref.copy"(%x, %a) : (memref<8xf32>, memref<8xf32>) -> () '
            "async.yield }",
            f"{SECOND} %rank = async.add_to_group %t, %group : !async.token",
            2,
            id="a task that waits for a group, to which the other may belong",
        ),
        pytest.param(
            "",
            FIRST,
            "memref.dealloc %a : memref<8xf32> " + SECOND,
            2,
            id="one that is deallocated and one that is not",
        ),
        pytest.param(
            "",
            "%end = scf.for %j = %c0 to %n step %i iter_args(%e = %a) -> (memref<8xf32>) "
            "{ scf.yield %e : memref<8xf32> } %s = async_region.copy %x to %end : memref<8xf32> to memref<8xf32>",
            SECOND,
            2,
            id="a buffer that a loop carries",
        ),
        pytest.param(
            "",
            "%s = async_region.region { linalg.add ins(%x, %x : memref<8xf32>, memref<8xf32>) outs(%a : memref<8xf32>) "
            "async_region.yield }",
            SECOND,
            1,
            id="a buffer that a linalg op fills",
        ),
        pytest.param(
            "%view = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>",
            "%s = async.execute { %v = memref.load %view[%c0] : memref<4xf32, strided<[1]>> async.yield }",
            SECOND,
            1,
            id="a buffer that is touched through a view",
        ),
    ],
)
def test_what_is_reused(before: str, first: str, second: str, left: int) -> None:
    text = TWO_TASKS.replace("BEFORE", before).replace("FIRST", first).replace("SECOND", second)
    assert buffers(changed(text, "async-reuse-buffers")) == left


def test_the_edge_is_added_and_not_a_wait() -> None:
    module = changed(
        TWO_TASKS.replace("BEFORE", "").replace("FIRST", FIRST).replace("SECOND", SECOND), "async-reuse-buffers"
    )
    first, second = [op for op in module.walk() if op.name == "async_region.copy"]
    view = AsyncOpInterface.of(second)
    assert view is not None
    assert list(view.async_dependencies) == [first.results[0]]
