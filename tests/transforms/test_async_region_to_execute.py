"""
`async-region-to-execute` by meaning: numbers and verdicts stay, mlir-opt accepts what comes out, and MLIR's own runtime
computes the same numbers from it.
"""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.checker.test_async_random import generated
from tests.machine.test_async_region_machine import BROKEN, RUNS
from tests.support.async_runtime import Native, arguments_of, run_natively
from tests.support.corpora import corpus, sample_with
from tests.support.ir import ROOT, chunks, parse, print_custom, run_passes
from tests.support.mlir import mlir_opt
from tests.support.safe_token_programs import safe_program
from tests.support.token_meaning import assert_safe_and_equal, numbers_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.machine.running import run

SEEDS = sample_with([154, 168], range(300), 120)
"""Two of them always: what they hold is rare."""

ORDERS = [("eager", 0), ("lazy", 0), *(("random", seed) for seed in range(5))]


def flattened(text: str) -> ModuleOp:
    with recorded_diagnostics():
        module = run_passes(parse(text), "async-region-to-execute")
    assert not [op.name for op in module.walk() if op.name.startswith("async_region.")]
    return module


def compiled(text: str) -> str:
    """
    What MLIR is given to run. Waits that others imply go first: LLVM 22's runtime holds a token's lock while it resumes
    who waits for it, so that a task that then waits for the same token again waits for ever.
    """
    return print_custom(run_passes(flattened(text), "async-simplify"))


# Verdicts -------------------------------------------------------------------------------------------------------------


@corpus(len(SEEDS))
def test_verdicts_on_random_programs_stay() -> None:
    """Races too: no order is added and none is lost."""
    for seed in SEEDS:
        text, races, undrained = generated(seed)
        expected = {kind for kind, found in (("race", races), ("undrained", undrained)) if found}
        after = check(flattened(text))
        assert set(after.kinds) == expected, f"{seed}\n{text}\n{after}"


NO_MISTAKE_ANY_MORE = {
    ("dots_on_tensors", "[%t0, %t1]"),
    ("dots_on_buffers", "[%t0, %t1]"),
    ("dots_on_buffers", "return %sum, %t2 :"),
    ("sum_on_a_device", "[%t3, %t5, %t7, %t9]", "[%t5, %t7, %t9]"),
    ("sum_on_a_device", "copy [%t4] %left"),
    ("sum_on_a_device", "copy [%t10, %t11] %out", "copy [%t10] %out"),
    ("launch_on_a_device", "launch [%allocated]"),
    ("promises", " after [%allocated]"),
    ("partial_completion", "async_region.copy [%t1]"),
}
"""A use too early of a value that comes later waits for its promise now, and memory is there from its issue on."""


@pytest.mark.parametrize(("name", "before", "after", "kind"), BROKEN)
def test_missing_edges_are_still_missing(name: str, before: str, after: str, kind: str) -> None:
    broken = RUNS[name][0].replace(before, after, 1)
    report = check(flattened(broken), name)
    forgiven = {(name, before), (name, before, after)} & NO_MISTAKE_ANY_MORE
    assert (kind in report.kinds) is (not forgiven), str(report)


@pytest.mark.parametrize("name", RUNS)
def test_programs_of_the_rfc_are_safe_and_compute_what_they_did(name: str) -> None:
    text, arguments, _ = RUNS[name]
    module = flattened(text)
    report = check(module, name, args={"n": 1024} if name == "generic" else None)
    assert report.verdict is Verdict.SAFE, str(report)
    expected = run(parse(text), name, arguments)
    for order, seed in ORDERS:
        outcome = run(module, name, arguments, order=order, seed=seed)
        assert outcome.violations == ()
        assert numbers_of(outcome) == numbers_of(expected), (order, seed)


@corpus(len(SEEDS))
def test_random_programs_compute_what_they_did() -> None:
    compared = 0
    for seed in SEEDS:
        text, races, undrained = generated(seed)
        if not races and not undrained:
            compared += 1
            expected = numbers_of(run(parse(text), "f"))
            for order in ("eager", "lazy", "random"):
                assert numbers_of(run(flattened(text), "f", order=order, seed=seed)) == expected, f"{seed}\n{text}"
    assert compared >= len(SEEDS) // 6


# MLIR -----------------------------------------------------------------------------------------------------------------


@corpus(len(SEEDS))
def test_mlir_accepts_what_comes_out() -> None:
    """The result is printed in custom form, in which mlir-opt accepts nothing of `async` that it does not know."""
    texts = [print_custom(flattened(text)) for text, _, _ in RUNS.values()]
    texts += [print_custom(flattened(generated(seed)[0])) for seed in SEEDS]
    printed = mlir_opt("\n// -----\n".join(texts), "--split-input-file")
    assert printed.count("async.execute") == sum(text.count("async.execute") for text in texts)
    assert "async_region" not in printed


NUMBERS = {"launch_on_a_device": {1: 2.5}, "second_then_third": {1: 1.5}, "third_then_second": {1: 1.5}}
NOT_COMPILED = {
    "dots_on_tensors": "tensors have no memory yet",
    "loop_that_issues": "MLIR 22 does not lower tokens that a loop carries",
    "generic": "its arrays have no size",
}


@pytest.mark.parametrize("name", [name for name in RUNS if name not in NOT_COMPILED])
def test_mlir_s_runtime_computes_the_numbers_of_the_rfc_s_programs(name: str) -> None:
    text = RUNS[name][0]
    program = Native(compiled(text), name, NUMBERS.get(name, {}))
    expected = numbers_of(run(parse(text), name, arguments_of(program)))
    assert run_natively([program]) == [expected]


@corpus(len(SEEDS))
def test_mlir_s_runtime_computes_the_numbers_of_random_programs() -> None:
    safe = [generated(seed)[0] for seed in SEEDS if not any(generated(seed)[1:])]
    programs = [Native(compiled(text), "f") for text in safe]
    for text, program, found in zip(safe, programs, run_natively(programs), strict=True):
        assert found == numbers_of(run(parse(text), "f", arguments_of(program))), text


@corpus(len(SEEDS) // 6)
def test_values_and_memory_on_mlir_s_runtime() -> None:
    """Programs with memory of their own, values that come later, promises and parts, here and there."""
    texts = [safe_program(seed) for seed in SEEDS[: len(SEEDS) // 6]]
    programs = [Native(compiled(text), "f") for text in texts]
    for text, program, found in zip(texts, programs, run_natively(programs), strict=True):
        assert_safe_and_equal(text, flattened(text))
        assert found == numbers_of(run(parse(text), "f", arguments_of(program))), text


IN_AN_ASYNC_FUNC = """
async.func @g(%a: memref<8xf32>, %b: memref<8xf32>, %x: f32) -> (!async.token, !async.value<f32>) {
  %c0 = arith.constant 0 : index
  %t, %v = async_region.region -> f32 attributes {tag = "first"} {
    memref.store %x, %a[%c0] : memref<8xf32>
    %y = arith.addf %x, %x : f32
    %u = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    async_region.yield %y : f32 after [%u]
  }
  await %t : !async.token
  return %v : f32
}
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %x: f32) -> f32 {
  %t, %v = async.call @g(%a, %b, %x) : (memref<8xf32>, memref<8xf32>, f32) -> (!async.token, !async.value<f32>)
  %r = async.await %v : !async.value<f32>
  return %r : f32
}
"""


def test_asynchronous_functions_may_have_regions_too() -> None:
    with recorded_diagnostics() as remarks:
        run_passes(parse(IN_AN_ASYNC_FUNC), "async-region-to-execute")
    assert not remarks  # it is suspended, nobody is blocked
    module = flattened(IN_AN_ASYNC_FUNC)
    assert check(module, "f").verdict is Verdict.SAFE
    assert 'tag = "first"' in print_custom(module)
    program = Native(compiled(IN_AN_ASYNC_FUNC), "f", {2: 2.5})
    assert run_natively([program]) == [numbers_of(run(parse(IN_AN_ASYNC_FUNC), "f", arguments_of(program)))]


# What does not happen -------------------------------------------------------------------------------------------------

REFUSED = chunks(ROOT / "tests/filecheck/transforms/async-region-to-execute-invalid.mlir")


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_leaves_everything_as_it_was(text: str) -> None:
    other = "func.func @other(%a: memref<2xf32>, %b: memref<2xf32>) -> !async.token {\n" + (
        "%t = async_region.copy %a to %b : memref<2xf32> to memref<2xf32>\nfunc.return %t : !async.token\n}\n"
    )
    module = parse(other + text)
    with pytest.raises(RefusedError):
        run_passes(module, "async-region-to-execute")
    assert module.is_structurally_equivalent(parse(other + text))


def test_a_second_time_there_is_nothing_to_do() -> None:
    for text, _, _ in RUNS.values():
        once = flattened(text)
        assert run_passes(once.clone(), "async-region-to-execute").is_structurally_equivalent(once)


# Order and concurrency ------------------------------------------------------------------------------------------------

IN_PARTS = """
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %x: f32)
    -> (!async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %done, %early, %sum = async_region.region -> (!async.token, f32) {
    %old = memref.load %a[%c0] : memref<8xf32>
    %z = arith.addf %old, %x : f32
    memref.store %z, %a[%c0] : memref<8xf32>
    %first = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    %second = async_region.copy %a to %c : memref<8xf32> to memref<8xf32>
    async_region.yield %z : f32 after [%second], [%first]
  }
  %used = async_region.region [%early] {
    memref.store %sum, %d[%c0] : memref<8xf32>
    async_region.yield
  }
  func.return %done, %used : !async.token, !async.token
}"""


def test_a_consumer_of_a_part_still_starts_before_the_rest_is_done() -> None:
    """The last task that starts stands for the consumer, the one before it for the second copy."""
    first: set[bool] = set()
    module = flattened(IN_PARTS)
    assert check(module).verdict is Verdict.SAFE
    for seed in range(40):
        outcome = run(module, "f", {"x": 2.0}, order="random", seed=seed)
        finished = [h.agent_name for h in outcome.trace.happenings if h.kind == "finish"]
        first.add(finished.index("task 3") < finished.index("task 2"))
        assert numbers_of(outcome) == numbers_of(run(parse(IN_PARTS), "f", {"x": 2.0}))
    assert first == {True, False}


def test_mlir_s_runtime_completes_in_parts() -> None:
    program = Native(compiled(IN_PARTS), "f", {4: 2.0})
    assert run_natively([program]) == [numbers_of(run(parse(IN_PARTS), "f", arguments_of(program)))]


def test_a_value_that_the_function_returns_too_early_is_remarked_on() -> None:
    with recorded_diagnostics() as remarks:
        run_passes(parse(RUNS["dots_on_buffers"][0]), "async-region-to-execute")
    assert [str(remark) for remark in remarks if "returns a value that is not there yet" in str(remark)]


@pytest.mark.parametrize("count", [50, 400])
def test_edges_are_written_once(count: int) -> None:
    """A token of many dependencies with many users: the cost is that of the program, not its square."""
    copies = "\n".join(f"%t{n} = async_region.copy %a to %b : memref<2xf32> to memref<2xf32>" for n in range(count))
    names = ", ".join(f"%t{n}" for n in range(count))
    users = "\n".join(
        f"%u{n} = async_region.copy [%ready] %a to %b : memref<2xf32> to memref<2xf32>" for n in range(count)
    )
    after = ", ".join(f"%u{n}" for n in range(count))
    text = f"""func.func @f(%a: memref<2xf32>, %b: memref<2xf32>) -> !async.token {{
      {copies}
      %all = async_region.region [{names} as %ready] {{
        {users}
        async_region.yield after [{after}]
      }}
      func.return %all : !async.token
    }}"""
    edges = sum(len(op.operands) for op in flattened(text).walk() if op.name == "async.execute")
    assert edges <= 4 * count
