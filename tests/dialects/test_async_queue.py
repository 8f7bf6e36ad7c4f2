"""`async_queue` from Python: construction, accessors, effects, and the loop annotations with each of their errors."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.builder import Builder
from xdsl.dialects import scf, test
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import VerifyException

from tests.support.ir import assert_round_trips, parse, print_generic
from tests.support.mlir import mlir_opt
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.async_queue import (
    BlockOp,
    CommitOp,
    ScopeOp,
    WaitOp,
    possibly_written_buffers,
)
from tileas_xdsl.dialects.async_queue_annotations import (
    Annotations,
    annotate,
    erase_annotations,
    is_annotated,
    read_annotations,
    require_components,
)


def body_of(*ops: CommitOp | ScopeOp | WaitOp | BlockOp) -> Region:
    return Region(Block(ops))


# Ops ------------------------------------------------------------------------------------------------------------------


def test_numbers_are_properties_and_values_are_operands():
    queue, count = test.TestOp(result_types=[IndexType(), IndexType()]).results
    wait = WaitOp(queue, 3)
    assert (wait.queue, wait.count, list(wait.computed)) == (queue, 3, [queue])
    wait = WaitOp(2, count)
    assert (wait.queue, wait.count, list(wait.computed)) == (2, count, [count])
    wait = WaitOp(queue, count)
    assert (wait.queue, wait.count, list(wait.computed)) == (queue, count, [queue, count])
    wait = WaitOp(1, 0)
    assert (wait.queue, wait.count, list(wait.computed)) == (1, 0, [])
    assert CommitOp(4).queue == 4
    assert CommitOp(queue).queue is queue


def test_built_ops_verify_and_round_trip():
    module = ModuleOp(
        [
            CommitOp(0, body_of(WaitOp(1, 2, body_of(ScopeOp(body_of()))))),
            BlockOp(body_of(BlockOp())),
        ]
    )
    module.verify()
    assert assert_round_trips(str(module)).is_structurally_equivalent(module)


@pytest.mark.parametrize("queue", ["0", "%q"])
@pytest.mark.parametrize("count", ["1", "%n"])
@pytest.mark.parametrize("body", ["", "{\n}", '{\n  "test.op"() : () -> ()\n}'])
def test_every_shape_of_a_wait_goes_through_mlir_and_back(queue: str, count: str, body: str):
    text = f'%q, %n = "test.op"() : () -> (index, index)\nasync_queue.wait {queue}, {count} {body}'
    module = assert_round_trips(text)
    back = parse(mlir_opt(print_generic(module), "--allow-unregistered-dialect"))
    assert back.is_structurally_equivalent(module)


def test_scope_commit_and_wait_touch_memory_and_a_block_does_what_its_body_does():
    for op in (ScopeOp(), CommitOp(0), WaitOp(0, 0)):
        effects = get_effects(op)
        assert effects is not None
        assert {effect.kind for effect in effects} == {MemoryEffectKind.READ, MemoryEffectKind.WRITE}
    assert get_effects(BlockOp()) == set()
    inner = BlockOp(body_of(CommitOp(0)))
    assert get_effects(inner) == get_effects(CommitOp(0))


def test_unknown_effects_stay_unknown():
    region = Region(Block([test.TestOp()]))
    assert get_effects(CommitOp(0, region)) is None


def test_a_scope_on_its_own_is_uncommitted():
    with pytest.raises(VerifyException, match=r"stands outside any async_queue\.commit"):
        ScopeOp().verify()


def test_an_asynchronous_region_is_another_thread():
    """A commit around `async.execute` is open on the thread outside, not on the one that runs the region."""
    text = """
    async_queue.commit 0 {
      %t = async.execute {
        async_queue.scope
        async.yield
      }
    }
    """
    with pytest.raises(VerifyException, match=r"stands outside any async_queue\.commit"):
        parse(text)


def test_written_buffers_are_found_in_nested_control_flow():
    module = parse(
        """
        %a, %b, %c, %i, %v, %p = "test.op"() : () -> (memref<4xf32>, memref<4xf32>, memref<4xf32>, index, f32, i1)
        async_queue.block attributes {double_buffer_scope = 1} {
          %x = memref.load %a[%i] : memref<4xf32>
          scf.if %p {
            memref.store %v, %c[%i] : memref<4xf32>
          }
          memref.store %v, %b[%i] : memref<4xf32>
          memref.store %v, %c[%i] : memref<4xf32>
        }
        """
    )
    block = next(op for op in module.walk() if isinstance(op, BlockOp))
    assert [buffer.name_hint for buffer in possibly_written_buffers(block.body)] == ["c", "b"]


def test_ops_of_unknown_dialects_are_looked_through_and_may_write_whatever_they_take():
    parse(
        """
        %a = "test.op"() : () -> memref<4xf32>
        async_queue.commit 0 {
          "unknown.region"() ({
            async_queue.scope
          }) : () -> ()
        }
        async_queue.block attributes {double_buffer_scope = 0} {
          "unknown.write"(%a) : (memref<4xf32>) -> ()
        }
        """,
        allow_unregistered=True,
    )


# Annotations ----------------------------------------------------------------------------------------------------------

LOOP = """
%lo, %hi, %step = "test.op"() : () -> (index, index, index)
scf.for %i = %lo to %hi step %step {{
  async_queue.block
  async_queue.block
  async_queue.block
}} {{{}}}
"""


def loop(annotations: str) -> scf.ForOp:
    module = parse(LOOP.format(annotations))
    return next(op for op in module.walk() if isinstance(op, scf.ForOp))


def stages(*values: int) -> str:
    return f"software_pipeline_stage = array<i64: {', '.join(map(str, values))}>"


def order(*values: int) -> str:
    return f"software_pipeline_order = array<i64: {', '.join(map(str, values))}>"


def async_stages(*values: int) -> str:
    return f"software_pipeline_async_stages = array<i64: {', '.join(map(str, values))}>"


def test_a_loop_without_annotations_asks_for_nothing():
    assert read_annotations(loop("unroll")) is None
    assert not is_annotated(loop("unroll"))


def test_annotations_are_read():
    read = read_annotations(loop(f"{stages(0, 3, 0)}, {order(0, 2, 1)}, {async_stages(0)}"))
    assert read == Annotations((0, 3, 0), (0, 2, 1), (0,))
    assert read.last_stage == 3
    assert read.emission == (0, 2, 1)
    assert [read.is_async(component) for component in range(3)] == [True, False, True]


def test_emission_inverts_the_order():
    """`order` gives the place of each component; `emission` gives the component at each place."""
    assert Annotations((0, 0, 0), (1, 2, 0)).emission == (2, 0, 1)


def test_stages_are_values_and_not_numbers_of_components():
    read = read_annotations(loop(f"{stages(5, 2, 2)}, {order(0, 1, 2)}, {async_stages(2, 2)}"))
    assert read is not None
    assert read.async_stages == (2,)
    assert [read.is_async(component) for component in range(3)] == [False, True, True]


def test_no_components_are_a_pipeline_too():
    empty = read_annotations(loop("software_pipeline_stage = array<i64>, software_pipeline_order = array<i64>"))
    assert empty == Annotations((), ())
    assert empty.last_stage == 0


@pytest.mark.parametrize(
    "annotations",
    [
        Annotations(stage, place, queue)
        for stage, place, queue in product([(0, 1, 2), (4, 4, 0)], [(0, 1, 2), (2, 0, 1)], [(), (0,)])
    ],
)
def test_what_is_written_is_read(annotations: Annotations):
    target = loop("unroll")
    annotate(target, annotations)
    assert read_annotations(target) == annotations
    erase_annotations(target)
    assert list(target.attributes) == ["unroll"]


REFUSED = {
    "order missing": (
        stages(0, 1, 1),
        "has software_pipeline_stage but no software_pipeline_order: Order of the software pipeline is not defined.",
    ),
    "stage missing": (
        order(0, 1, 2),
        "has software_pipeline_order but no software_pipeline_stage: Stage of the software pipeline is not defined.",
    ),
    "type: a list of attributes": (
        f"software_pipeline_stage = [0, 1, 1], {order(0, 1, 2)}",
        "has software_pipeline_stage = [0 : i64, 1 : i64, 1 : i64], which is not a list of 64-bit integers",
    ),
    "type: 32 bits": (
        f"software_pipeline_stage = array<i32: 0, 1, 1>, {order(0, 1, 2)}",
        "which is not a list of 64-bit integers",
    ),
    "type: floats": (
        f"{stages(0, 1, 1)}, software_pipeline_order = array<f64: 0.0, 1.0, 2.0>",
        "2.000000e+00>, which is not a list of 64-bit integers",
    ),
    "type: asynchronous stages": (
        f"{stages(0, 1, 1)}, {order(0, 1, 2)}, software_pipeline_async_stages = 0 : i64",
        "has software_pipeline_async_stages = 0 : i64, which is not a list of 64-bit integers",
    ),
    "lists of different length": (
        f"{stages(0, 1, 1)}, {order(0, 1)}",
        "has 3 entries in software_pipeline_stage and 2 in software_pipeline_order, with different size",
    ),
    "negative stage": (
        f"{stages(0, -1, 1)}, {order(0, 1, 2)}",
        "puts component 1 in stage -1, and a stage is not negative",
    ),
    "order out of range": (f"{stages(0, 1, 1)}, {order(0, 1, 5)}", "has order 5, which is outside 0 to 2"),
    "negative order": (f"{stages(0, 1, 1)}, {order(0, -1, 1)}", "has order -1, which is outside 0 to 2"),
    "repeated order": (
        f"{stages(0, 1, 1)}, {order(0, 1, 1)}",
        "uses order 1 2 times: Two statements in the software pipeline cannot have the same order",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_malformed_annotations_are_refused_on_the_loop(case: str):
    written, message = REFUSED[case]
    target = loop(written)
    with pytest.raises(RefusedError) as refusal:
        read_annotations(target)
    (diagnostic,) = refusal.value.diagnostics
    assert diagnostic.op is target
    assert message in diagnostic.message
    assert diagnostic.way_out


def test_only_a_sequential_loop_is_pipelined():
    module = parse(
        """
        %lo, %hi, %step = "test.op"() : () -> (index, index, index)
        "scf.parallel"(%lo, %hi, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
        ^bb0(%i: index):
          scf.reduce
        }) {software_pipeline_stage = array<i64>, software_pipeline_order = array<i64>} : (index, index, index) -> ()
        """
    )
    parallel = next(op for op in module.walk() if op.name == "scf.parallel")
    with pytest.raises(RefusedError, match="only a sequential loop can"):
        read_annotations(parallel)


def test_a_loop_that_carries_values_is_refused():
    module = parse(
        """
        %lo, %hi, %step = "test.op"() : () -> (index, index, index)
        %sum = scf.for %i = %lo to %hi step %step iter_args(%acc = %lo) -> (index) {
          scf.yield %acc : index
        } {software_pipeline_stage = array<i64>, software_pipeline_order = array<i64>}
        """
    )
    carrying = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    with pytest.raises(RefusedError, match="carries 1 values from iteration to iteration"):
        read_annotations(carrying)


def test_an_asynchronous_list_alone_does_nothing_and_says_so():
    with recorded_diagnostics() as said:
        assert read_annotations(loop(async_stages(0))) is None
    assert [d.message for d in said] == ["has software_pipeline_async_stages alone, which does nothing"]


def test_an_asynchronous_stage_that_nobody_is_in_is_dropped_with_a_warning():
    with recorded_diagnostics() as said:
        read = read_annotations(loop(f"{stages(0, 0, 3)}, {order(0, 1, 2)}, {async_stages(0, 1)}"))
    assert read is not None
    assert read.async_stages == (0,)
    assert [d.message for d in said] == [
        "names stage 1 in software_pipeline_async_stages, and no component is in that stage"
    ]


def test_components_are_counted_and_named():
    target = loop(f"{stages(0, 0, 3)}, {order(0, 1, 2)}")
    read = read_annotations(target)
    assert read is not None
    require_components(target, read, ["copy", "copy", "dot"])
    with pytest.raises(RefusedError) as refusal:
        require_components(target, read, ["copy", "dot"])
    assert "has 2 components (0: copy, 1: dot), but pipeline annotation is [0, 0, 3] with different size" in str(
        refusal.value
    )


def test_a_builder_can_nest_scopes():
    """The ops are usable through xDSL's implicit builders: regions are plain regions."""

    @Builder.implicit_region
    def inner():
        ScopeOp()

    commit = CommitOp(0, inner)
    commit.verify()
    assert [op.name for op in commit.body.block.ops] == ["async_queue.scope"]
