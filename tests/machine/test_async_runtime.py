"""
Upstream `async` on our machine and on MLIR's own runtime: the same numbers, on random programs and on one of the RFC.

Random programs have tasks with and without promises, tasks that start tasks, waits of the function, and, half of them,
everything in an `async.func` that the function calls and whose members of a group it awaits.
"""

from __future__ import annotations

import re

import numpy as np

from tests.support.async_runtime import Native, arguments_of, contents, run_natively
from tests.support.corpora import corpus, sample
from tests.support.ir import parse, print_custom, run_passes
from tests.support.safe_token_programs import safe_program
from tests.support.token_meaning import numbers_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

EXECUTE = re.compile(r"^  (%\w+)(?:, %\w+)* = async\.execute \[(.*?)\]", re.MULTILINE)
SEEDS = sample(range(80), 20)


def as_called(text: str) -> str:
    """
    The program as an `async.func` that awaits its tasks by a group, and a function that calls it and awaits it.

    A token for which the `async.func` has waited does not join the group, nor does one that this implies: LLVM 22's
    runtime holds the locks of all of them while it resumes the function, and would take them again.
    """
    head, names = re.findall(r"func\.func @f\((.*?)\) ->", text)[0], re.findall(r"%(m\d)", text.split(")")[0])
    returned = re.findall(r"%\w+", text.splitlines()[-2].split(":")[0])
    complete = implied_by_awaits(text)
    tokens = [token for token in returned if token not in complete]
    body = text.splitlines()[1:-2]
    group = [f"  %size = arith.constant {len(tokens)} : index", "  %group = async.create_group %size : !async.group"]
    group += [f"  %rank{n} = async.add_to_group {token}, %group : !async.token" for n, token in enumerate(tokens)]
    group = [*group, "  async.await_all %group"] if tokens else []
    kinds = ", ".join(["memref<2xf32>"] * len(names))
    given = ", ".join(f"%{name}" for name in names)
    lines = [f"async.func @task({head}) -> !async.token {{", *body, *group, "  return", "}"]
    lines += [f"func.func @f({head}) {{", f"  %done = async.call @task({given}) : ({kinds}) -> !async.token"]
    return "\n".join([*lines, "  async.await %done : !async.token", "  return", "}"])


def implied_by_awaits(text: str) -> set[str]:
    """The tokens that are awaited outside tasks, and those that they depend on."""
    depends_on = {token: re.findall(r"%\w+", edges) for token, edges in re.findall(EXECUTE, text)}
    complete: set[str] = set()
    stack = re.findall(r"^  async\.await (%\w+) :", text, re.MULTILINE)
    while stack:
        if (token := stack.pop()) not in complete:
            complete.add(token)
            stack += depends_on.get(token, [])
    return complete


def programs() -> list[str]:
    texts = [safe_program(seed, upstream=True) for seed in SEEDS]
    return [as_called(text) if seed % 2 else text for seed, text in zip(SEEDS, texts, strict=True)]


@corpus(len(SEEDS))
def test_random_programs_are_safe_here_and_compute_the_same_in_every_order() -> None:
    for text in programs():
        assert check(parse(text), "f").verdict is Verdict.SAFE, text
        expected = numbers_of(run(parse(text), "f"))
        for order, seed in (("eager", 0), ("random", 1), ("random", 2)):
            assert numbers_of(run(parse(text), "f", order=order, seed=seed)) == expected, text


@corpus(len(SEEDS))
def test_mlir_s_runtime_computes_the_same() -> None:
    """Without waits that others imply: see `compiled` in tests/transforms/test_async_region_to_execute.py."""
    texts = programs()
    natives = [Native(print_custom(run_passes(parse(text), "async-simplify")), "f") for text in texts]
    for text, native, found in zip(texts, natives, run_natively(natives), strict=True):
        assert found == numbers_of(run(parse(text), "f", arguments_of(native))), text


RFC_WITH_PROMISES = """
async.func @f_async(%a: memref<6x4xf32>, %b: memref<4x6xf32>, %c: memref<4x6xf32>, %bias: memref<6xf32>)
    -> (!async.token, !async.value<memref<6x6xf32>>) {
  %zero = arith.constant 0.0 : f32
  %t0, %left = async.execute -> !async.value<memref<6x6xf32>> {
    %m = memref.alloc() : memref<6x6xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<6x6xf32>)
    linalg.matmul ins(%a, %b : memref<6x4xf32>, memref<4x6xf32>) outs(%m : memref<6x6xf32>)
    async.yield %m : memref<6x6xf32>
  }
  %t1, %right = async.execute -> !async.value<memref<6x6xf32>> {
    %m = memref.alloc() : memref<6x6xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<6x6xf32>)
    linalg.matmul ins(%a, %c : memref<6x4xf32>, memref<4x6xf32>) outs(%m : memref<6x6xf32>)
    async.yield %m : memref<6x6xf32>
  }
  %t2, %sum = async.execute (%left as %x: !async.value<memref<6x6xf32>>, %right as %y: !async.value<memref<6x6xf32>>)
      -> !async.value<memref<6x6xf32>> {
    %m = memref.alloc() : memref<6x6xf32>
    linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%x, %y, %bias : memref<6x6xf32>, memref<6x6xf32>, memref<6xf32>) outs(%m : memref<6x6xf32>) {
    ^bb0(%u: f32, %v: f32, %w: f32, %old: f32):
      %uv = arith.addf %u, %v : f32
      %uvw = arith.addf %uv, %w : f32
      linalg.yield %uvw : f32
    }
    async.yield %m : memref<6x6xf32>
  }
  %result = async.await %sum : !async.value<memref<6x6xf32>>
  return %result : memref<6x6xf32>
}
func.func @f(%a: memref<6x4xf32>, %b: memref<4x6xf32>, %c: memref<4x6xf32>, %bias: memref<6xf32>) -> memref<6x6xf32> {
  %t, %sum = async.call @f_async(%a, %b, %c, %bias)
    : (memref<6x4xf32>, memref<4x6xf32>, memref<4x6xf32>, memref<6xf32>)
    -> (!async.token, !async.value<memref<6x6xf32>>)
  %result = async.await %sum : !async.value<memref<6x6xf32>>
  return %result : memref<6x6xf32>
}
"""
"""The first program of the RFC as upstream has it: an `async.func`, and promises in place of tokens and memrefs."""


def test_the_rfc_s_first_program_with_promises() -> None:
    a, b, c, bias = (contents(place, shape) for place, shape in enumerate(((6, 4), (4, 6), (4, 6), (6,))))
    for order in ("eager", "lazy", "random"):
        outcome = run(parse(RFC_WITH_PROMISES), "f", [a, b, c, bias], order=order)
        np.testing.assert_array_equal(outcome.results[0], a @ b + a @ c + bias)
    assert check(parse(RFC_WITH_PROMISES), "f").verdict is Verdict.SAFE
    assert run_natively([Native(RFC_WITH_PROMISES, "f")]) == [numbers_of(outcome)]
