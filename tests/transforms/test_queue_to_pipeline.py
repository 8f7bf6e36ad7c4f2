"""
The queue rewrite by meaning: equal numbers under every order, safe before and after, the same turns on each side; and
by its refusals, after each of which the IR is as it was. The text of what it makes is the subject of
`tests/filecheck/transforms/queue-to-pipeline.mlir`.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from tests.support.corpora import each
from tests.support.ir import ROOT, chunks, parse, print_custom, print_generic, run_passes
from tests.support.meaning import assert_same_meaning, difference_between, run_in_order
from tests.support.mlir import mlir_opt
from tests.support.queue_programs import queue_program
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, Severity, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileaa.queue import CreateQueueOp, ExecuteOp, GetOp, PutOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp, IncIterOp, ProduceOneOp

PASS = "tileas-queue-to-pipeline"
FOLDER = ROOT / "tests" / "filecheck" / "transforms"
TILE = "tensor<4xf32>"
SHARED = "tensor<4xf32, #smem>"


def rewritten(text: str, spec: str = PASS) -> ModuleOp:
    with recorded_diagnostics():
        return run_passes(parse(text), spec)


def assert_rewrite_keeps_meaning(text: str, argument_sets: list[dict[str, object]], *orders: str) -> ModuleOp:
    """The rewrite keeps the meaning of `@f`, leaves no queue, and does nothing when it runs again."""
    after = rewritten(text)
    assert not any(isinstance(op, CreateQueueOp | PutOp | GetOp | ExecuteOp) for op in after.walk())
    assert_same_meaning(parse(text), after, "f", argument_sets, orders or ("eager", "lazy", "random:0", "random:1"))
    once = print_custom(after)
    assert print_custom(run_passes(after, PASS)) == once
    return after


# Producer and consumer, every trip count around the depth -------------------------------------------------------------


def two_agents(depth: int, producer: str, consumer: str, payload: str = TILE, group: int = 1) -> str:
    """
    A producer agent and a group of consumer agents around one queue `%q` of type `!queue`.

    `producer` may use `%n`, the tile `%x`, the constants `%c0` to `%c7`. `consumer` starts from the tile `%x` and
    leaves its sum in `%sum`, which the agent stores in its row of `%out`.
    """
    constants = "\n".join(f"  %c{k} = arith.constant {k} : index" for k in range(8))
    number = "^bb0(%number: index):" if group > 1 else ""
    row = "%number" if group > 1 else "%c0"
    return f"""
#smem = #nv_tileas.layout<smem>
!queue = !nv_tileaa.queue<[{payload}], depth = {depth}>
func.func @f(%n: index, %out: memref<2x4xf32>) {{
{constants}
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : {TILE}
  %half = arith.constant dense<0.5> : {TILE}
  %q = nv_tileaa.create_queue : () -> !queue
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, {group}>}} {{
{producer}
  }}, {{
{number}
{consumer}
    %row = nv_tileaa.view %sum : ({TILE}) -> tensor<1x4xf32>
    nv_tileaa.tiled_store %out[{row}, %c0], %row : (memref<2x4xf32>, tensor<1x4xf32>, index, index) -> ()
  }} : () -> ()
  func.return
}}"""


def tile_of(counter: str) -> str:
    """A tile `%t` that depends on the iteration."""
    return f"""
      %number32 = arith.index_cast {counter} : index to i32
      %value = arith.sitofp %number32 : i32 to f32
      %spread = nv_tileaa.splat %value : (f32) -> {TILE}
      %t = arith.addf %spread, %x : {TILE}"""


PUT = "nv_tileaa.queue.put %q, %t : (!queue, tensor<4xf32>) -> ()"
GET = "%v = nv_tileaa.queue.get %q : (!queue) -> tensor<4xf32>"
FOLD = """%scaled = arith.mulf %acc, %half : tensor<4xf32>
      %new = arith.addf %scaled, %v : tensor<4xf32>"""


def putting(put: str = PUT, bounds: str = "%c0 to %n step %c1") -> str:
    return f"    scf.for %i = {bounds} {{\n{tile_of('%i')}\n      {put}\n    }}"


def summing(get: str = GET, bounds: str = "%c0 to %n step %c1", fold: str = FOLD) -> str:
    return f"""    %sum = scf.for %i = {bounds} iter_args(%acc = %x) -> ({TILE}) {{
      {get}
      {fold}
      scf.yield %new : {TILE}
    }}"""


OFFSET_BOUNDS = """    %tripled = arith.muli %n, %c3 : index
    %end = arith.addi %tripled, %c2 : index
"""

REGION_PUT = f"""nv_tileaa.queue.put %q {{
      ^bb0(%slot: {TILE}):
        %doubled = arith.addf %t, %t : {TILE}
        nv_tileaa.queue.yield %doubled : ({TILE}) -> ()
      }} : (!queue) -> ()"""

REGION_GET = f"""%v = nv_tileaa.queue.get %q {{
      ^bb0(%slot: {TILE}):
        %squared = arith.mulf %slot, %slot : {TILE}
        nv_tileaa.queue.yield %squared : ({TILE}) -> ()
      }} : (!queue) -> {TILE}"""


def nested(body: str, *, carried: bool) -> str:
    """`body`, a loop over `%i`, in a loop that runs it twice."""
    if not carried:
        return f"    scf.for %j = %c0 to %c2 step %c1 {{\n{body}\n    }}"
    inner = body.replace("%sum = ", "%inner = ").replace("%acc = %x", "%acc = %outer")
    return f"""    %sum = scf.for %j = %c0 to %c2 step %c1 iter_args(%outer = %x) -> ({TILE}) {{
{inner}
      scf.yield %inner : {TILE}
    }}"""


CONDITION = """%bit = arith.andi %i, %c1 : index
      %odd = arith.cmpi eq, %bit, %c1 : index"""
CONDITIONAL_PUT = f"{CONDITION}\n      scf.if %odd {{\n        {PUT}\n      }}"
CONDITIONAL_GET = f"""{CONDITION}
      %new = scf.if %odd -> ({TILE}) {{
        {GET}
        %folded = arith.addf %acc, %v : {TILE}
        scf.yield %folded : {TILE}
      }} else {{
        scf.yield %acc : {TILE}
      }}"""

VIEW_PUT = f"""%s = nv_tileas.convert_layout %t : ({TILE}) -> {SHARED}
      nv_tileaa.queue.put %q, %s : (!queue, {SHARED}) -> ()"""
VIEW_GET = f"%s = nv_tileaa.queue.get %q : (!queue) -> {SHARED}"
VIEW_FOLD = f"""%seen = nv_tileas.view %s : ({SHARED}) -> tensor<2x2xf32, #smem>
      %halves = nv_tileas.convert_layout %seen : (tensor<2x2xf32, #smem>) -> tensor<2x2xf32>
      %v = nv_tileaa.view %halves : (tensor<2x2xf32>) -> {TILE}
      {FOLD}"""

THREE_PUT = f"""%s = nv_tileas.convert_layout %t : ({TILE}) -> {SHARED}
      nv_tileaa.queue.put %q, %t, %s, %x : (!queue, {TILE}, {SHARED}, {TILE}) -> ()"""
THREE_GET = f"""%v0, %s, %v1 = nv_tileaa.queue.get %q : (!queue) -> ({TILE}, {SHARED}, {TILE})
      %v2 = nv_tileas.convert_layout %s : ({SHARED}) -> {TILE}
      %v01 = arith.mulf %v0, %v1 : {TILE}
      %v = arith.addf %v01, %v2 : {TILE}"""

GET_TWICE = f"""    %a = nv_tileaa.queue.get %q : (!queue) -> {TILE}
    %sum0 = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %a) -> ({TILE}) {{
      {GET}
      {FOLD}
      scf.yield %new : {TILE}
    }}
    %sum = arith.addf %sum0, %x : {TILE}"""

PROGRAMS = {
    "rotating": lambda depth: two_agents(depth, putting(), summing()),
    "region forms": lambda depth: two_agents(depth, putting(REGION_PUT), summing(REGION_GET)),
    "both by index": lambda depth: two_agents(
        depth,
        putting(PUT.replace("%q,", "%q[%i],").replace("(!queue,", "(!queue, index,")),
        summing(GET.replace("%q :", "%q[%i] :").replace("(!queue)", "(!queue, index)")),
    ),
    "put by index, get rotating": lambda depth: two_agents(
        depth, putting(PUT.replace("%q,", "%q[%i],").replace("(!queue,", "(!queue, index,")), summing()
    ),
    "lower bound 2, step 3": lambda depth: two_agents(
        depth,
        OFFSET_BOUNDS + putting(bounds="%c2 to %end step %c3"),
        OFFSET_BOUNDS + summing(bounds="%c2 to %end step %c3"),
    ),
    "nested loops": lambda depth: two_agents(depth, nested(putting(), carried=False), nested(summing(), carried=True)),
    "put and get in branches": lambda depth: two_agents(
        depth, putting(CONDITIONAL_PUT), summing(CONDITIONAL_GET, fold="")
    ),
    "views": lambda depth: two_agents(depth, putting(VIEW_PUT), summing(VIEW_GET, fold=VIEW_FOLD), SHARED),
    "three tiles a slot": lambda depth: two_agents(
        depth, putting(THREE_PUT), summing(THREE_GET), f"{TILE}, {SHARED}, {TILE}"
    ),
    "two consumer agents": lambda depth: two_agents(depth, putting(), summing(), group=2),
}


@pytest.mark.parametrize("depth", range(1, 5))
@pytest.mark.parametrize("program", PROGRAMS)
def test_rewrite_keeps_numbers_verdict_and_turns(program: str, depth: int):
    trips = sorted({0, 1, 2, depth - 1, depth, depth + 1, 7})
    assert_rewrite_keeps_meaning(PROGRAMS[program](depth), [{"n": n} for n in trips], "eager", "lazy", "random:0")


@pytest.mark.parametrize("depth", range(1, 5))
def test_two_gets_of_one_agent_share_its_iterator(depth: int):
    trips = sorted({1, 2, depth, depth + 1, 7})
    assert_rewrite_keeps_meaning(two_agents(depth, putting(), GET_TWICE), [{"n": n} for n in trips])


def test_a_queue_of_each_agent_counts_for_itself():
    """A queue made inside an agent region belongs to each agent of the group; its iterators start there."""
    body = f"""
      %own = nv_tileaa.create_queue : () -> !queue
      nv_tileaa.queue.put %own, %x : (!queue, {TILE}) -> ()
      %w = nv_tileaa.queue.get %own : (!queue) -> {TILE}
"""
    text = two_agents(2, putting(), body + summing(), group=2)
    assert_rewrite_keeps_meaning(text, [{"n": 3}])


def test_gets_of_a_loop_are_counted_anew_for_each_queue_that_is_made():
    """The queue and its agents are made in each iteration of a loop: every time a new pipeline, every time from 0."""
    text = two_agents(2, putting(), summing())
    start = text.index("  %q = nv_tileaa.create_queue")
    end = text.index("  func.return")
    text = f"{text[:start]}scf.for %again = %c0 to %c2 step %c1 {{\n{text[start:end]}}}\n{text[end:]}"
    assert_rewrite_keeps_meaning(text, [{"n": 3}])


def test_puts_before_the_agents_and_gets_inside():
    """The producer's group is then 0, as outside of agents."""
    before = "\n".join(f"%t{k} = arith.addf %x, %x : {TILE}\n{PUT.replace('%t', f'%t{k}')}" for k in range(2))
    text = two_agents(2, "    %idle = arith.constant 0 : i32", summing(bounds="%c0 to %c2 step %c1"))
    text = text.replace("  nv_tileaa.execute", f"{before}\n  nv_tileaa.execute")
    after = assert_rewrite_keeps_meaning(text, [{"n": 0}])
    assert "producerGroupId = 0 : i8, consumerGroupId = 1 : i8" in print_custom(after)


def test_turns_in_an_agent_switch_that_is_there_already():
    """The regions of the switch see the iterators from outside; each side starts at the entry of its region."""
    text = two_agents(2, putting(), summing()).replace("nv_tileaa.execute", "nv_tileas.async.pipeline.agent_switch")
    assert_rewrite_keeps_meaning(text, [{"n": n} for n in (0, 1, 5)])


def test_agents_in_a_branch():
    text = two_agents(2, putting(), summing())
    start, end = text.index("  nv_tileaa.execute"), text.index("  func.return")
    branch = f"%few = arith.cmpi slt, %n, %c5 : index\nscf.if %few {{\n{text[start:end]}}}\n"
    assert_rewrite_keeps_meaning(text[:start] + branch + text[end:], [{"n": n} for n in (0, 1, 4, 5)])


# Views ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [2, 3])
def test_two_slots_of_one_queue_held_at_once(depth: int):
    gets = f"""{VIEW_GET}
      %s1 = nv_tileaa.queue.get %q : (!queue) -> {SHARED}
      %v1 = nv_tileas.convert_layout %s1 : ({SHARED}) -> {TILE}
      %v0 = nv_tileas.convert_layout %s : ({SHARED}) -> {TILE}
      %v = arith.subf %v0, %v1 : {TILE}"""
    producer = f"    %twice = arith.muli %n, %c2 : index\n{putting(VIEW_PUT, '%c0 to %twice step %c1')}"
    text = two_agents(depth, producer, summing(gets), SHARED)
    assert_rewrite_keeps_meaning(text, [{"n": n} for n in (0, 1, 2, 5)])


def test_a_view_that_an_inner_loop_carries_is_released_behind_the_last_use_of_the_loops_result():
    fold = f"""%carried = scf.for %k = %c0 to %c2 step %c1 iter_args(%w = %s) -> ({SHARED}) {{
        scf.yield %w : {SHARED}
      }}
      %v = nv_tileas.convert_layout %carried : ({SHARED}) -> {TILE}
      {FOLD}"""
    after = assert_rewrite_keeps_meaning(
        two_agents(1, putting(VIEW_PUT), summing(VIEW_GET, fold=fold), SHARED), [{"n": 4}]
    )
    release = next(op for op in after.walk() if isinstance(op, ConsumerReleaseOp))
    assert release.prev_op is not None
    assert release.prev_op.name == "nv_tileas.convert_layout"


def test_an_awaited_copy_out_of_a_slot():
    fold = f"""%target = nv_tileas.alloc_tensor : () -> {SHARED}
      %copied = nv_tileas.async.copy %s, %target : ({SHARED}, {SHARED}) -> !nv_tileas.token
      nv_tileas.async.wait %copied : (!nv_tileas.token) -> ()
      %v = nv_tileas.convert_layout %target : ({SHARED}) -> {TILE}
      {FOLD}"""
    after = assert_rewrite_keeps_meaning(
        two_agents(1, putting(VIEW_PUT), summing(VIEW_GET, fold=fold), SHARED), [{"n": 4}]
    )
    release = next(op for op in after.walk() if isinstance(op, ConsumerReleaseOp))
    assert release.prev_op is not None
    assert release.prev_op.name == "nv_tileas.async.wait"


def test_a_view_that_is_put_into_another_queue_is_read_by_the_put():
    """The put copies the bytes, so the view does not escape; its slot is released behind the put."""
    text = two_agents(1, putting(VIEW_PUT), summing(VIEW_GET.replace("%q", "%r"), fold=VIEW_FOLD), SHARED)
    relay = f"""scf.for %i = %c0 to %n step %c1 {{
      %s = nv_tileaa.queue.get %q : (!queue) -> {SHARED}
      nv_tileaa.queue.put %r, %s : (!queue, {SHARED}) -> ()
    }}"""
    text = text.replace("array<i32: 1, 1>", "array<i32: 1, 1, 1>").replace("  }, {", f"  }}, {{\n{relay}\n  }}, {{")
    text = text.replace("  %q = nv", "  %r = nv_tileaa.create_queue : () -> !queue\n  %q = nv")
    after = assert_rewrite_keeps_meaning(text, [{"n": n} for n in (0, 1, 2, 5)])
    releases = [op for op in after.walk() if isinstance(op, ConsumerReleaseOp)]
    assert any(op.prev_op is not None and op.prev_op.name.endswith("inc_iter") for op in releases)


# What the comparison is worth -----------------------------------------------------------------------------------------


def test_a_release_in_front_of_the_last_use_would_be_noticed():
    text = PROGRAMS["views"](2)
    after = rewritten(text)
    release = next(op for op in after.walk() if isinstance(op, ConsumerReleaseOp))
    block = release.parent_block()
    assert block is not None
    use = next(op for op in block.ops if op.name == "nv_tileas.convert_layout")
    release.detach()
    block.insert_op_before(release, use)
    assert check(after, "f", args={"n": 5}, trip_counts=[0]).kinds == ["race"]
    before = run_in_order(parse(text), "f", {"n": 5}, "lazy")
    assert difference_between(before, run_in_order(after, "f", {"n": 5}, "lazy")) is not None


def test_an_iterator_that_is_not_advanced_would_be_noticed():
    text = PROGRAMS["rotating"](2)
    after = rewritten(text)
    advance = next(op for op in after.walk() if isinstance(op, IncIterOp))
    advance.next_iterator.replace_all_uses_with(advance.iterator)
    (violation,) = run_in_order(after, "f", {"n": 2}, "lazy").violations
    assert "second time" in str(violation)


# Random programs ------------------------------------------------------------------------------------------------------

PER_CHUNK = 10


@each("chunk", range(25), 3, programs=PER_CHUNK)
def test_random_queue_programs(chunk: int):
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        program = queue_program(seed)
        assert_rewrite_keeps_meaning(program.text, program.argument_sets, "eager", "lazy", f"random:{seed}")


def test_random_programs_have_everything():
    """What the generator is there for occurs among the programs of a full run."""
    texts = [queue_program(seed).text for seed in range(250)]
    after = [print_custom(rewritten(text)) for text in texts[:30]]
    features = {
        "isolated": r"isolated = true",
        "numbered agents": r"\^bb0\(%number\d: index",
        "captured queues": r"execute [^\n]*%q0",
        "a get in a put": r"queue\.put [^\n]* \{\n\^bb0[^\n]*\n(%\S+(, %\S+)* = )?nv_tileaa\.queue\.get",
        "an index": r"queue\.(put|get) %\w+\[",
        "no results": r"\n *nv_tileaa\.queue\.get",
        "no depth": r"queue<\[[^\]]*\]>",
        "while": r"scf\.while",
        "one armed branch": r"scf\.if[^\n]*\{\n[^}]*\n\}\n(?! else)",
        "storage that is reused": r"mark_for_reuse",
        "no agents": r"\A(?![\s\S]*execute)",
    }
    missing = [name for name, pattern in features.items() if not any(re.search(pattern, text) for text in texts)]
    assert missing == []
    assert any(re.search(r"consumer_release %consumed", text) for text in after)


# The examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trips", [0, 1, 3, 4])
def test_gemm_computes_the_product(trips: int):
    text = (ROOT / "examples" / "gemm_queue.mlir").read_text()
    rng = np.random.default_rng(trips)
    a = rng.integers(-3, 4, (128, 64 * max(trips, 1))).astype(np.float16)
    b = rng.integers(-3, 4, (64 * max(trips, 1), 128)).astype(np.float16)
    arguments = {"n": trips, "a": a, "b": b, "c": np.zeros((128, 128), np.float32)}
    before, after = parse(text), rewritten(text)
    assert_same_meaning(before, after, "gemm", [arguments], ["eager", "lazy", "random:0"])
    product = a.astype(np.float32) @ b.astype(np.float32)
    found = run_in_order(after, "gemm", arguments, "random:1").arrays["c"]
    assert np.array_equal(found, product if trips else np.zeros_like(product))


def test_attention_keeps_its_meaning():
    text = (ROOT / "examples" / "attention_queue.mlir").read_text()
    rng = np.random.default_rng(0)
    sets = [
        {
            "n": trips,
            "q": rng.integers(-2, 3, (64, 64)).astype(np.float16),
            "kt": rng.integers(-2, 3, (64, 64 * max(trips, 1))).astype(np.float16),
            "v": rng.integers(-2, 3, (64 * max(trips, 1), 64)).astype(np.float16),
        }
        for trips in (0, 1, 3)
    ]
    assert_same_meaning(parse(text), rewritten(text), "attention", sets, ["lazy", "random:0"])


@pytest.mark.parametrize("name", ["gemm_queue", "attention_queue"])
def test_mlir_reads_what_comes_out(name: str):
    after = rewritten((ROOT / "examples" / f"{name}.mlir").read_text())
    returned = parse(mlir_opt(print_generic(after), "--allow-unregistered-dialect"), allow_unregistered=True)
    assert returned.is_structurally_equivalent(after)


# Twice is once --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(chunks(FOLDER / "queue-to-pipeline.mlir"))))
def test_second_run_changes_nothing(number: int):
    after = rewritten(chunks(FOLDER / "queue-to-pipeline.mlir")[number])
    once = print_generic(after)
    assert print_generic(run_passes(after, PASS)) == once


# Refusals and remarks -------------------------------------------------------------------------------------------------

REFUSED = chunks(FOLDER / "queue-to-pipeline-invalid.mlir")


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_after_a_refusal_the_ir_is_as_it_was(number: int):
    text = REFUSED[number]
    module = parse(text)
    before = print_generic(module)
    with pytest.raises(RefusedError) as refused, recorded_diagnostics() as said:
        run_passes(module, PASS)
    assert print_generic(module) == before
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.way_out
    expected = re.findall(r"// CHECK: (.*)", text)
    assert [line for line in expected if line not in str(diagnostic)] == []
    assert said == []


def test_refusals_name_the_place_of_the_use():
    text = next(chunk for chunk in REFUSED if "carries into the next iteration" in chunk)
    module = parse(text)
    for op in module.walk():
        if op.name in ("scf.yield", "nv_tileaa.queue.get"):
            line = 7 if op.name == "scf.yield" else 6
            op.location = FileLineColLoc(StringAttr("attention.mlir"), IntAttr(line), IntAttr(5))
    with pytest.raises(RefusedError, match=r"attention.mlir:6:5: error: .* that 'scf.yield' \(attention.mlir:7:5\) "):
        run_passes(module, PASS)


NO_DEPTH = f"""func.func @f(%x: {TILE}) {{
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[{TILE}]>
  nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[{TILE}]>, {TILE}) -> ()
  func.return
}}"""


@pytest.mark.parametrize(("option", "depth"), [("", 2), ("{default-depth=5}", 5)])
def test_a_queue_without_depth_gets_the_default_and_a_remark(option: str, depth: int):
    with recorded_diagnostics() as said:
        after = run_passes(parse(NO_DEPTH), PASS + option)
    assert f"numStages = {depth} : i32" in print_custom(after)
    (remark,) = said
    assert remark.severity is Severity.REMARK
    assert str(remark) == (
        f"remark: 'nv_tileaa.create_queue' op has no depth: its pipeline gets default-depth={depth} slots\n"
        "  help: write the depth into the queue's type"
    )


def test_a_queue_with_depth_gets_no_remark():
    with recorded_diagnostics() as said:
        run_passes(parse(PROGRAMS["rotating"](3)), f"{PASS}{{default-depth=5}}")
    assert said == []


@pytest.mark.parametrize("depth", [0, -1])
def test_no_pipeline_without_slots(depth: int):
    module = parse(NO_DEPTH)
    before = print_generic(module)
    with pytest.raises(RefusedError, match=f"cannot have pipelines of {depth} slots"):
        run_passes(module, f"{PASS}{{default-depth={depth}}}")
    assert print_generic(module) == before


# What comes along -----------------------------------------------------------------------------------------------------


def test_new_ops_stand_where_the_old_ones_came_from():
    module = parse(PROGRAMS["rotating"](2))
    put = next(op for op in module.walk() if isinstance(op, PutOp))
    put.location = FileLineColLoc(StringAttr("kernel.mlir"), IntAttr(3), IntAttr(7))
    where = put.location
    run_passes(module, PASS)
    produce = next(op for op in module.walk() if isinstance(op, ProduceOneOp))
    assert all(op.location == where for op in produce.walk() if op.name.startswith("nv_tileas.async.pipeline.produce"))


def test_resources_of_a_wrapped_fragment_come_along():
    text = PROGRAMS["rotating"](2).replace("array<i32: 1, 1>}", "array<i32: 1, 1>, resources = {smem = 4096 : i32}}")
    assert "resources = {smem = 4096 : i32}" in print_custom(rewritten(text))


def test_a_put_into_a_queue_from_outside_may_hold_a_get():
    """The put stays; the get inside becomes a consume op, and its iterator is advanced behind the put."""
    text = f"""
!queue = !nv_tileaa.queue<[{TILE}], depth = 2>
func.func @f(%outer: !queue, %x: {TILE}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !queue
  scf.for %i = %c0 to %n step %c1 {{
    nv_tileaa.queue.put %q, %x : (!queue, {TILE}) -> ()
    nv_tileaa.queue.put %outer {{
    ^bb0(%slot: {TILE}):
      %v = nv_tileaa.queue.get %q : (!queue) -> {TILE}
      nv_tileaa.queue.yield %v : ({TILE}) -> ()
    }} : (!queue) -> ()
  }}
  func.return
}}"""
    after = rewritten(text)
    assert_same_meaning(parse(text), after, "f", [{"n": 5}])
    advances = [op for op in after.walk() if isinstance(op, IncIterOp)]
    assert [op.parent_op().name if (op.parent_op()) else None for op in advances] == ["scf.for", "scf.for"]
