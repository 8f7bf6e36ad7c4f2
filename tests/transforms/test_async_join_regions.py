"""`async-join-regions`: fewer tokens, the same numbers, still safe; chains lose no concurrency."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.checker.test_async_random import generated
from tests.support.corpora import corpus, sample_with
from tests.support.ir import ROOT, chunks, parse, run_passes
from tests.support.safe_token_programs import safe_program
from tests.support.token_meaning import assert_safe_and_equal, changed
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.interfaces import AsyncOpInterface

SEEDS = sample_with([26], range(240), 50)
"""Few programs without anything of upstream have siblings that can be joined; one of them is always there."""

CHAINS, SIBLINGS = "async-join-regions", "async-join-regions{siblings=true}"
FILES = {
    CHAINS: ROOT / "tests/filecheck/transforms/async-join-regions.mlir",
    SIBLINGS: ROOT / "tests/filecheck/transforms/async-join-regions-siblings.mlir",
}
TEXTS = [(passes, text) for passes, path in FILES.items() for text in chunks(path)]


def tokens(module: ModuleOp) -> int:
    views = [AsyncOpInterface.of(op) for op in module.walk()]
    return sum(view is not None and view.async_token is not None for view in views)


@corpus(len(SEEDS))
@pytest.mark.parametrize("upstream", [False, True])
def test_random_programs_stay_safe_and_compute_the_same(upstream: bool) -> None:
    before = chains = siblings = 0
    for seed in SEEDS:
        text = safe_program(seed, upstream=upstream, returns_all=seed % 4 == 0)
        joined, more = changed(text, CHAINS), changed(text, SIBLINGS)
        assert_safe_and_equal(text, joined)
        assert_safe_and_equal(text, more)
        before += tokens(parse(text))
        chains += tokens(joined)
        siblings += tokens(more)
    assert siblings < chains < before


@corpus(len(SEEDS))
def test_verdicts_on_programs_with_mistakes_are_no_worse() -> None:
    """What raced may be in order now, since there is less concurrency; what did not race does not."""
    for seed in SEEDS:
        text, _, _ = generated(seed)
        for passes in (CHAINS, SIBLINGS):
            assert set(check(changed(text, passes)).kinds) <= set(check(parse(text)).kinds), f"{seed}\n{text}"


@corpus(len(SEEDS))
def test_chains_keep_every_race() -> None:
    """A chain loses no concurrency, so that what raced still does."""
    for seed in SEEDS:
        text, races, _ = generated(seed)
        assert ("race" in check(changed(text, CHAINS)).kinds) is races, f"{seed}\n{text}"


@pytest.mark.parametrize(("passes", "text"), TEXTS, ids=range(len(TEXTS)))
def test_programs_of_the_text_files_stay_safe_and_compute_the_same(passes: str, text: str) -> None:
    (name,) = re.findall(r"func\.func @(\w+)\(.*\{", text.split("// CHECK")[0])
    assert_safe_and_equal(text, changed(text, passes), name)


ESCAPES = """
func.func private @g(!async.token) -> ()
func.func @f(%a: memref<8xf32>, %x: f32) -> !async.token {
  %c0 = arith.constant 0 : index
  %s = async_region.region {
    memref.store %x, %a[%c0] : memref<8xf32>
    async_region.yield
  }
  %t = async_region.region [%s] {
    memref.store %x, %a[%c0] : memref<8xf32>
    async_region.yield
  }
  func.call @g(%t) : (!async.token) -> ()
  func.return %t : !async.token
}"""


def test_a_token_that_escapes_is_refused() -> None:
    module = parse(ESCAPES)
    with pytest.raises(RefusedError, match=r"(?s)'func.call' op gives the token %t to @g.*help: define @g"):
        run_passes(module, CHAINS)
    assert module.is_structurally_equivalent(parse(ESCAPES))


TWO = """
func.func @f(%a: memref<8xf32>, %x: f32, %go: !async.token, %n: index, %p: !async.value<f32>) -> !async.token {
  %c0 = arith.constant 0 : index
  FIRST
  BETWEEN
  %t = async_region.region [%s] {
    memref.store %x, %a[%c0] : memref<8xf32>
    async_region.yield
  }
  return %t : !async.token
}"""
BODY = "memref.store %x, %a[%c0] : memref<8xf32>"
FIRST = f"%s = async_region.region {{ {BODY} async_region.yield }}"


@pytest.mark.parametrize(
    ("first", "between", "left"),
    [
        pytest.param(FIRST, "", 1, id="a chain"),
        pytest.param(FIRST, "async.await %go : !async.token", 2, id="a wait in between"),
        pytest.param(FIRST, "%y = memref.load %a[%c0] : memref<8xf32>", 2, id="an access in between"),
        pytest.param(FIRST, "%y = arith.addf %x, %x : f32", 1, id="arithmetic in between"),
        pytest.param(FIRST, "%u = async_region.region [%go] { async_region.yield }", 2, id="another task in between"),
        pytest.param(FIRST, "%u = async_region.region [%s] { async_region.yield }", 3, id="another that waits"),
        pytest.param(
            f"%s = async_region.region [%go as %r] {{ %u = async_region.region [%r] {{ {BODY} async_region.yield }} "
            "async_region.yield after [%u] }",
            "",
            3,
            id="a region that is issued at once",
        ),
        pytest.param(
            f"%s, %e = async_region.region -> !async.token {{ {BODY} async_region.yield after [], [] }}",
            "",
            2,
            id="a region that completes in parts",
        ),
        pytest.param(
            "%s = async_region.launch (%a as %a1: memref<8xf32>, %x as %x1: f32, %c0 as %i: index) "
            "{ memref.store %x1, %a1[%i] : memref<8xf32> async_region.yield }",
            "",
            2,
            id="a launch",
        ),
        pytest.param(f"%s = async.execute {{ {BODY} async.yield }}", "", 2, id="a task of another kind"),
        pytest.param(
            f"%g = async.create_group %n : !async.group %s = async_region.region {{ async.await_all %g {BODY} "
            "async_region.yield }",
            "",
            2,
            id="a task that waits for a group",
        ),
    ],
)
def test_what_is_joined(first: str, between: str, left: int) -> None:
    assert tokens(changed(TWO.replace("FIRST", first).replace("BETWEEN", between), CHAINS)) == left
