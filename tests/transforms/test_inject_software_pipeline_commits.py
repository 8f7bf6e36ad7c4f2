"""
Components that commit by themselves: counts where they are known, wait 0 where not, counters with `dynamic-counts`.

The number of groups may depend on data here, so programs run on numbers, with all kinds of flags, and the machine
notices races as they happen.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.ir import parse, print_custom
from tests.support.meaning import difference_between, run_in_order
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_queue import WaitOp
from tileas_xdsl.transforms.queues.inject_software_pipeline import InjectSoftwarePipelinePass

COMMIT = """async_queue.commit 5 {{
  async_queue.scope {{
    %v = memref.load %A[%i] : memref<16xi32>
    memref.store %v, %T[{to}] : memref<2xi32>
  }}
}}
"""
BOTH = COMMIT.format(to="%c0") + COMMIT.format(to="%c1")
FLAG = """%h = memref.load %flags[%i] : memref<16xi32>
%hit = arith.cmpi ne, %h, %zero : i32
"""
CLEAR = """memref.store %zero, %T[%c0] : memref<2xi32>
memref.store %zero, %T[%c1] : memref<2xi32>
"""

PRODUCERS = {
    "branch": f"{FLAG}scf.if %hit {{\n{BOTH}}} else {{\n{CLEAR}}}",
    "one group or two": f"""{FLAG}scf.if %hit {{
{BOTH}}} else {{
memref.store %zero, %T[%c1] : memref<2xi32>
{COMMIT.format(to="%c0")}}}""",
    "loop": f"""{FLAG}{CLEAR}%times = arith.index_cast %h : i32 to index
scf.for %t = %c0 to %times step %c1 {{
  async_queue.wait 5, 0 {{
    {COMMIT.format(to="%t")}
  }}
}}""",
    "branch in a loop": f"""{FLAG}{CLEAR}scf.for %t = %c0 to %c2 step %c1 {{
  %skips = arith.cmpi eq, %i, %t : index
  scf.if %skips {{
  }} else {{
    {COMMIT.format(to="%t")}
  }}
}}""",
    "always two": BOTH,
    "two in a loop": f"scf.for %t = %c0 to %c2 step %c1 {{\n{COMMIT.format(to='%t')}}}",
    "as many in both branches": f"{FLAG}scf.if %hit {{\n{BOTH}}} else {{\n{BOTH}}}",
}
STATIC = ("always two", "two in a loop", "as many in both branches")
SCHEDULES = (((0, 1), (0, 1)), ((0, 2), (0, 1)), ((0, 3), (1, 0)), ((1, 2), (0, 1)), ((0, 0), (0, 1)))


def program(producer: str, stages: tuple[int, ...], order: tuple[int, ...], upper: str = "%n") -> str:
    return f"""
func.func @f(%A: memref<16xi32>, %C: memref<16xi32>, %flags: memref<16xi32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to {upper} step %c1 {{
    %T = memref.alloc() : memref<2xi32>
    async_queue.block {{
      {PRODUCERS[producer]}
    }}
    async_queue.block {{
      async_queue.wait 5, 0 {{
        %a = memref.load %T[%c0] : memref<2xi32>
        %b = memref.load %T[%c1] : memref<2xi32>
        %s = arith.addi %a, %b : i32
        memref.store %s, %C[%i] : memref<16xi32>
      }}
    }}
  }} {{software_pipeline_stage = array<i64: {stages[0]}, {stages[1]}>,
     software_pipeline_order = array<i64: {order[0]}, {order[1]}>}}
  func.return
}}"""


def pipelined(text: str, *, dynamic: bool) -> ModuleOp:
    module = parse(text)
    InjectSoftwarePipelinePass(dynamic_counts=dynamic).apply(Context(), module)
    module.verify()
    verify_dominance(module)
    return module


def arguments(trips: int, seed: int) -> dict[str, object]:
    flags = np.random.default_rng(seed).integers(0, 2, 16).astype(np.int32)
    return {"n": trips, "A": np.arange(1, 17, dtype=np.int32), "C": np.zeros(16, np.int32), "flags": flags}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_same_numbers(producer: str, dynamic: bool) -> None:
    for (stages, order), upper in product(SCHEDULES, ("%n", "%c4")):
        if order == (1, 0) and stages[0] == stages[1]:
            continue
        text = program(producer, stages, order, upper)
        before, after = parse(text), pipelined(text, dynamic=dynamic)
        for trips in (0, 1, 2, 3, 5, 8) if upper == "%n" else (4,):
            given = arguments(trips, seed=trips)
            expected = run_in_order(before, "f", given, "eager")
            for name in ("lazy", "random:1"):
                difference = difference_between(expected, run_in_order(after, "f", given, name))
                assert difference is None, f"{stages}, {order}, {trips} trips: {difference}\n{print_custom(after)}"


def waits_of_the_body(producer: str, *, dynamic: bool) -> list[str]:
    module = pipelined(program(producer, (0, 2), (0, 1)), dynamic=dynamic)
    waits = [op for op in module.walk() if isinstance(op, WaitOp)]
    return ["computed" if not isinstance(op.count, int) else str(op.count) for op in waits]


@pytest.mark.parametrize("producer", PRODUCERS)
def test_counts(producer: str) -> None:
    """Two executions of two groups each are younger than the one that is needed: 4 in the body, 2 and 0 behind it."""
    consumers = slice(-3, None)
    if producer in STATIC:
        assert waits_of_the_body(producer, dynamic=False)[consumers] == ["4", "2", "0"]
        assert waits_of_the_body(producer, dynamic=True)[consumers] == ["4", "2", "0"]
    else:
        assert waits_of_the_body(producer, dynamic=False)[consumers] == ["0", "0", "0"]
        assert waits_of_the_body(producer, dynamic=True)[consumers] == ["computed", "computed", "0"]


def test_computed_counts_are_exact() -> None:
    """One more than is computed lets a group pass that is needed."""
    module = pipelined(program("branch", (0, 2), (0, 1)), dynamic=True)
    for wait in [op for op in module.walk() if isinstance(op, WaitOp) and not isinstance(op.count, int)]:
        assert not isinstance(wait.count, int)
        one = arith.ConstantOp.from_int_and_width(1, IndexType())
        more = arith.AddiOp(wait.count, one.result)
        Rewriter.insert_op([one, more], InsertPoint.before(wait))
        wait.operands = [more.result]
    given = {**arguments(6, 0), "flags": np.ones(16, np.int32)}
    assert run_in_order(module, "f", given, "lazy").violations


def test_nested_pipelines_wait_for_all() -> None:
    """The parts of a nested pipeline are components, which share no values, so a count cannot be handed on."""
    inner = program("branch", (0, 1), (0, 1), "%c4").split("step %c1 {\n", 1)[1]
    text = program("branch", (0, 1), (0, 1)).split("  scf.for", 1)[0]
    text += "  scf.for %k = %c0 to %n step %c1 {\n  scf.for %i = %c0 to %c4 step %c1 {\n"
    text += inner.replace(
        "  func.return",
        "  } {software_pipeline_stage = array<i64: 0, 0, 0>, software_pipeline_order = array<i64: 0, 1, 2>}\n"
        "  func.return",
    )
    after = pipelined(text, dynamic=True)
    assert all(isinstance(op.count, int) for op in after.walk() if isinstance(op, WaitOp))
    given = arguments(3, 1)
    expected = run_in_order(parse(text), "f", given, "eager")
    assert difference_between(expected, run_in_order(after, "f", given, "lazy")) is None


def blocks(*bodies: str, annotations: str) -> str:
    """A loop whose components are these."""
    components = "\n".join(f"async_queue.block {{\n{body}\n}}" for body in bodies)
    return f"""
func.func @f(%A: memref<16xi32>, %C: memref<16xi32>, %q: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {{
    {components}
  }} {{{annotations}}}
  func.return
}}"""


def copy(queue: str, target: str = "%C") -> str:
    return f"""async_queue.commit {queue} {{
  async_queue.scope {{
    %v = memref.load %A[%i] : memref<16xi32>
    memref.store %v, {target}[%i] : memref<16xi32>
  }}
}}"""


TWO = "software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>"
STORE = "%v = memref.load %A[%i] : memref<16xi32>\nmemref.store %v, %C[%i] : memref<16xi32>"

REFUSED = [
    (
        "commits to queue 1, and so does a pipeline",
        blocks(copy("1"), STORE, annotations=f"{TWO}, software_pipeline_async_stages = array<i64: 1>"),
    ),
    ("commits to queue 5, and so does statement 0", blocks(copy("5"), copy("5"), annotations=TWO)),
    ("commits to a queue that is computed", blocks(copy("%q"), STORE, annotations=TWO)),
    ("commits to queue 6, and its component to queue 5", blocks(copy("5") + copy("6"), STORE, annotations=TWO)),
    (
        "waits for a queue that is computed",
        blocks(copy("5"), f"async_queue.wait %q, 0 {{\n{STORE}\n}}", annotations=TWO),
    ),
]


@pytest.mark.parametrize(("reason", "text"), REFUSED)
def test_refuses_queues_whose_groups_cannot_be_told_apart(reason: str, text: str) -> None:
    module = parse(text)
    before = print_custom(module)
    with pytest.raises(RefusedError, match=reason):
        InjectSoftwarePipelinePass().apply(Context(), module)
    assert print_custom(module) == before


def test_waits_for_queues_of_nobody_here_stay() -> None:
    """A group that was committed in front of the loop."""
    text = blocks(f"async_queue.wait 9, 0 {{\n{STORE}\n}}", STORE.replace("%C", "%A"), annotations=TWO)
    assert print_custom(pipelined(text, dynamic=False)).count("async_queue.wait 9, 0") == 2
