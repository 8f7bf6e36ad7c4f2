"""The dialect nv_tileas: every op in both syntaxes, through MLIR and back, effects, interfaces, builders."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    BoolAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free, is_speculatable
from xdsl.utils.exceptions import VerifyException

from tests.dialects.nv_tileas_samples import FUNCTIONS, SAMPLES, program
from tests.support.ir import ROOT, assert_round_trips, parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tileas_xdsl.dialects.nv_tileaa.types import MemTokenType, ProgramIdType
from tileas_xdsl.dialects.nv_tileas import compute, control, memory, pipeline, slices, structure, tma, tokens
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.attributes import AtomAttr, AtomFamily, AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.dialect import NvTileAS
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.dialects.nv_tileas.types import (
    AsyncTokenType,
    ConsumerTokenType,
    PipelineIteratorType,
    ProducerTokenType,
    TiledViewType,
    TmaDescriptorType,
)
from tileas_xdsl.dialects.scalars import Float4E0M3Type
from tileas_xdsl.dialects.tiles.traits import MemoryConsistency, TileStructure, is_view
from tileas_xdsl.interfaces import AgentLikeOpInterface, AllocationOpInterface, FunctionOpInterface, enclosing_function

TILE = TensorType(f16, [8])
SMEM = TensorType(f16, [8], LayoutAttr.of("smem"))
RMEM = TensorType(f16, [8], LayoutAttr.of("rmem", "wgmma_a"))
BUFFER, ROW = TensorType(f16, [2, 8]), TensorType(f16, [1, 8])
TOKEN, PRODUCER, CONSUMER = AsyncTokenType(), ProducerTokenType(), ConsumerTokenType()
ITERATOR = PipelineIteratorType.of(TILE)


# Both syntaxes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_round_trips_in_both_syntaxes(name: str) -> None:
    module = assert_round_trips(program(*SAMPLES[name]))
    assert "nv_tileas." in print_custom(module)


def test_functions_round_trip() -> None:
    module = assert_round_trips(FUNCTIONS)
    assert "nv_tileas.func private @declared(memref<8xf16>)" in print_custom(module)


@cache
def all_samples() -> ModuleOp:
    """One module with every sample."""
    functions = [program(*sample, name=f"f{number}") for number, sample in enumerate(SAMPLES.values())]
    return parse("\n".join(functions) + FUNCTIONS)


def test_every_op_has_a_sample() -> None:
    used = {op.name for op in all_samples().walk()}
    assert [op.name for op in NvTileAS.operations if op.name not in used] == []


def test_generic_form_comes_back_from_mlir_equal() -> None:
    module = all_samples()
    printed = mlir_opt(print_generic(module), "--allow-unregistered-dialect")
    assert parse(printed).is_structurally_equivalent(module)


def test_the_four_produce_and_consume_ops_have_no_properties() -> None:
    four = (pipeline.ProduceOneOp, pipeline.ProduceOneAsyncOp, pipeline.ConsumeOneOp, pipeline.ConsumeOneAsyncOp)
    seen = [op for op in all_samples().walk() if isinstance(op, four)]
    assert {type(op) for op in seen} == set(four)
    for op in seen:
        assert op.properties == {}
        assert type(op).get_irdl_definition().options == []
        assert type(op).get_irdl_definition().properties == {}


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ('#nv_tileas.layout<"smem", "">', "#nv_tileas.layout<smem>"),
        ('#nv_tileas.layout<"smem", "swizzled">', '#nv_tileas.layout<smem, "swizzled">'),
        ("#nv_tileas.layout<tmem>", "#nv_tileas.layout<tmem>"),
        ("#nv_tileas<atom tma_load>", "#nv_tileas<atom tma_load>"),
        ('#nv_tileas<atom "wgmma.m64">', "#nv_tileas<atom wgmma.m64>"),
        ('#nv_tileas<atom "Tiled<x>">', '#nv_tileas<atom "Tiled<x>">'),
        ("#nv_tileas<atom mma {k = 64 : i32}>", "#nv_tileas<atom mma {k = 64 : i32}>"),
        ("#nv_tileas.atom_plan<tag = 0>", "#nv_tileas.atom_plan<tag = 0>"),
        (
            "#nv_tileas.atom_plan<tag = 1, atom_layout = 2 : i32, smem = 1 : i32>",
            "#nv_tileas.atom_plan<tag = 1, smem = 1 : i32, atom_layout = 2 : i32>",
        ),
        ("#nv_tileas<mem_semantic acquire_release>", "#nv_tileas<mem_semantic acq_rel>"),
        ("#nv_tileas<mem_scope cta>", "#nv_tileas<mem_scope tl_blk>"),
        ("#nv_tileas<rmw_mode fadd>", "#nv_tileas<rmw_mode addf>"),
        ('#nv_tileas<swizzle_mode "64B">', '#nv_tileas<swizzle_mode "64B">'),
        ("#nv_tileas<oob_mode constant>", "#nv_tileas<oob_mode constant>"),
        ("#nv_tileas<padding_value neg_inf>", "#nv_tileas<padding_value neg_inf>"),
        ('#cute<atom "TiledCopy<...>">', '#cute<atom "TiledCopy<...>">'),
    ],
)
def test_attribute_prints_as(written: str, printed: str) -> None:
    module = assert_round_trips(f'"builtin.module"() ({{^bb0:}}) {{x = {written}}} : () -> ()')
    assert f"x = {printed}}}" in print_custom(module)


@pytest.mark.parametrize(
    ("label", "family"),
    [
        ("tma_load", AtomFamily.TMA_LOAD),
        ("sm90_tma_load_2d_f16_mcast", AtomFamily.TMA_LOAD),
        ("atom.tma_store", AtomFamily.TMA_STORE),
        ("tma_reduce", AtomFamily.TMA_REDG),
        ("sm80_cp_async_4_f16", AtomFamily.LDGSTS),
        ("atom.simt_async_copy", AtomFamily.LDGSTS),
        ("sm70_ldg_128_f16", AtomFamily.LDG),
        ("sm90a_stg", AtomFamily.STG),
        ("atom.universal_copy", AtomFamily.UNKNOWN_COPY),
        ("atom.ldsm", None),
    ],
)
def test_atom_family(label: str, family: AtomFamily | None) -> None:
    assert AtomAttr.of(label).family is family


def test_four_bit_float_is_a_type_of_four_bits() -> None:
    assert Float4E0M3Type().bitwidth == 4
    assert Float4E0M3Type().compile_time_size == 1
    assert_round_trips("func.func private @f(tensor<8x!nv_tileas.f4E0M3>) -> ()")


def test_types_and_attributes_made_in_python() -> None:
    view = TiledViewType.of([2, 8], f16, "gmem")
    assert str(view) == "!nv_tileas.tiled_view<2x8xf16, gmem>"
    assert view.get_num_dims() == 2
    assert view.get_element_type() == f16
    assert str(PipelineIteratorType.of(i32, 3)) == "!nv_tileas.pipeline_iter<i32, depth = 3>"
    plan = AtomPlanAttr.of(1, LayoutAttr.of("smem"), atom_descriptor=AtomAttr.of("ldsm", k=IntegerAttr(4, i32)))
    assert str(plan) == (
        "#nv_tileas.atom_plan<tag = 1, smem = #nv_tileas.layout<smem>, "
        "atom_descriptor = #nv_tileas<atom ldsm {k = 4 : i32}>>"
    )
    with pytest.raises(VerifyException, match="a pipeline iterator wraps a type"):
        PipelineIteratorType.of(IntegerAttr(1, i32))


# Classified operands -----------------------------------------------------------------------------


def values(*types: Attribute) -> list[SSAValue]:
    """One value of each type, from an op of no meaning."""
    return list(test.TestOp(result_types=types).results)


def test_operands_and_results_are_told_apart_by_type() -> None:
    token, stage, first, second = values(PRODUCER, IndexType(), TILE, f32)
    write = pipeline.ProducerWriteOp(token, stage, first, second)
    assert (write.token, write.tokens, write.stage, write.values) == (token, (token,), stage, (first, second))
    assert write.ownership_result is write.results[0]
    assert write.async_result is None

    commit = pipeline.ProducerCommitOp(*values(TOKEN, TOKEN))
    assert len(commit.tokens) == 2
    assert commit.stage is None

    consume = pipeline.ConsumeOneAsyncOp(values(CONSUMER)[0], value_types=[TILE, ITERATOR])
    assert [result.type for result in consume.value_results] == [TILE, ITERATOR]
    assert consume.ownership_result is consume.results[2]
    assert consume.async_result is consume.results[3]


def body_of(*yielded: SSAValue, arguments: tuple[Attribute, ...] = ()) -> Region:
    return Region(Block([pipeline.PipelineYieldOp(*yielded)], arg_types=arguments))


# Builders ----------------------------------------------------------------------------------------


def combiner() -> Region:
    block = Block(arg_types=[f32, f32])
    block.add_op(control.YieldOp(block.args[0]))
    return Region(block)


def generator() -> Region:
    block = Block(arg_types=[TensorType(i32, [])])
    block.add_op(control.YieldOp(block.args[0]))
    return Region(block)


SCALES = (TensorType(f32, [2]), TensorType(f32, [2]))
A, B, C = TensorType(f16, [8, 4]), TensorType(f16, [4, 8]), TensorType(f32, [8, 8])
VIEW = TiledViewType.of([8], f16)
LOAD, STORE = AtomAttr.of("tma_load"), AtomAttr.of("tma_store")

BUILDERS: dict[str, tuple[Callable[[], Operation], list[Attribute]]] = {
    "create_pipeline": (lambda: pipeline.CreatePipelineOp(3, consumer_group=255), [PRODUCER, CONSUMER]),
    "create_pipeline, buffer": (
        lambda: pipeline.CreatePipelineOp(
            2, buffer=values(TensorType(f16, [2, 8]))[0], shared_memory=True, dynamic=False
        ),
        [PRODUCER, CONSUMER],
    ),
    "create_iterator": (lambda: pipeline.CreateIteratorOp(values(PRODUCER)[0], TILE), [ITERATOR]),
    "inc_iter": (lambda: pipeline.IncIterOp(values(ITERATOR)[0]), [ITERATOR]),
    "produce_one": (lambda: pipeline.ProduceOneOp(*values(PRODUCER, ITERATOR)), [PRODUCER]),
    "produce_one, token": (lambda: pipeline.ProduceOneOp(values(TOKEN)[0]), [TOKEN]),
    "produce_one, body": (
        lambda: pipeline.ProduceOneOp(
            stage=values(IndexType())[0], body=body_of(*values(TILE), arguments=(TILE,)), producer_types=[TILE]
        ),
        [PRODUCER],
    ),
    "produce_one_async": (lambda: pipeline.ProduceOneAsyncOp(stage=values(IndexType())[0]), [PRODUCER, TOKEN]),
    "produce_one_async, token": (
        lambda: pipeline.ProduceOneAsyncOp(values(TOKEN)[0], attributes={"producer_kind": StringAttr("tma")}),
        [PRODUCER, TOKEN],
    ),
    "consume_one": (
        lambda: pipeline.ConsumeOneOp(*values(CONSUMER, ITERATOR), value_types=[TILE], consumer_idx=0),
        [TILE, CONSUMER],
    ),
    "consume_one, token": (lambda: pipeline.ConsumeOneOp(values(TOKEN)[0], value_types=[TILE]), [TILE, TOKEN]),
    "consume_one_async": (
        lambda: pipeline.ConsumeOneAsyncOp(values(CONSUMER)[0], consumer_types=[TILE]),
        [CONSUMER, TOKEN],
    ),
    "consume_one_async, token": (lambda: pipeline.ConsumeOneAsyncOp(values(TOKEN)[0]), [TOKEN]),
    "producer_acquire": (lambda: pipeline.ProducerAcquireOp(*values(PRODUCER, ITERATOR)), [PRODUCER]),
    "producer_write": (lambda: pipeline.ProducerWriteOp(*values(PRODUCER, ITERATOR, TILE)), [PRODUCER]),
    "producer_commit": (lambda: pipeline.ProducerCommitOp(*values(TOKEN, TOKEN)), []),
    "producer_commit, returning": (lambda: pipeline.ProducerCommitOp(*values(TOKEN), returns=True), [TOKEN]),
    "consumer_wait": (lambda: pipeline.ConsumerWaitOp(values(TOKEN)[0]), [TOKEN]),
    "consumer_read": (lambda: pipeline.ConsumerReadOp(values(CONSUMER)[0], value_types=[TILE]), [TILE, CONSUMER]),
    "consumer_read, last": (
        lambda: pipeline.ConsumerReadOp(values(TOKEN)[0], value_types=[TILE], returns=False, consumer_idx=1),
        [TILE],
    ),
    "consumer_release": (lambda: pipeline.ConsumerReleaseOp(*values(TOKEN, TOKEN)), []),
    "agent_switch": (
        lambda: AgentSwitchOp([], [Region(Block()), Region(Block())], [1, 2], max_regs=[40, -1], num_warps=[1, 4]),
        [],
    ),
    "agent_switch, isolated": (
        lambda: AgentSwitchOp(values(TILE), [Region(Block(arg_types=[TILE]))], [1], isolated=True),
        [],
    ),
    "create_none": (tokens.CreateNoneOp, [TOKEN]),
    "create_none, value": (lambda: tokens.CreateNoneOp(TILE), [TILE]),
    "to_async, storage": (lambda: tokens.ToAsyncOp(values(TILE)[0], tokens.STORAGE), [TILE]),
    "to_async, token": (lambda: tokens.ToAsyncOp(values(TILE)[0], tokens.TOKEN), [TOKEN]),
    "token_to_async": (lambda: tokens.TokenToAsyncOp(values(PRODUCER)[0]), [TOKEN]),
    "wait": (lambda: tokens.AsyncWaitOp(values(TOKEN)[0]), []),
    "future_wait": (lambda: tokens.FutureWaitOp(values(TOKEN)[0]), []),
    "alloc_tensor": (lambda: structure.AllocTensorOp(SMEM, 3), [SMEM]),
    "view": (lambda: structure.ViewOp(*_view_operands(), TILE), [TILE]),
    "copy": (lambda: structure.CopyOp(*values(RMEM, SMEM), atom=AtomAttr.of("stsm")), []),
    "copy to a value": (lambda: structure.CopyOp(values(SMEM)[0], result_type=RMEM), [RMEM]),
    "convert_layout": (
        lambda: structure.ConvertLayoutOp(
            values(SMEM)[0], RMEM, atom_plan=AtomPlanAttr.of(1, LayoutAttr.of("smem")), reinterpret_byte=True
        ),
        [RMEM],
    ),
    "shuffle": (lambda: structure.ShuffleOp(values(RMEM)[0], values(TensorType(i32, [8]))[0]), [RMEM]),
    "extract_slice": (
        lambda: slices.ExtractSliceOp(values(TILE)[0], values(IndexType()), TensorType(f16, [4])),
        [TensorType(f16, [4])],
    ),
    "insert_slice": (
        lambda: slices.InsertSliceOp(*values(TensorType(f16, [4]), TILE), values(IndexType())),
        [TILE],
    ),
    "async.extract_slice": (
        lambda: slices.AsyncExtractSliceOp(*values(TILE, TOKEN), values(IndexType()), TensorType(f16, [4])),
        [TensorType(f16, [4]), TOKEN],
    ),
    "tiled_load": (lambda: memory.TiledLoadOp(values(VIEW)[0], values(IndexType()), TILE), [TILE]),
    "tiled_load, token": (
        lambda: memory.TiledLoadOp(values(VIEW)[0], values(IndexType()), TILE, token=values(MemTokenType())[0]),
        [TILE, MemTokenType()],
    ),
    "tiled_store": (
        lambda: memory.TiledStoreOp(*values(VIEW, TILE), values(IndexType()), token=values(TOKEN)[0]),
        [TOKEN],
    ),
    "async.tiled_load": (lambda: memory.AsyncTiledLoadOp(*values(VIEW, SMEM), values(IndexType())), [TOKEN]),
    "make_tiled_tma_desc": (lambda: tma.MakeTiledTmaDescOp(values(VIEW)[0], LOAD, box=[8]), [TmaDescriptorType()]),
    "async.tiled_tma_load": (
        lambda: tma.TiledTmaLoadOp(*values(TmaDescriptorType(), SMEM), values(IndexType()), LOAD),
        [TOKEN],
    ),
    "async.tiled_tma_store": (
        lambda: tma.TiledTmaStoreOp(*values(TmaDescriptorType(), SMEM), values(IndexType()), STORE),
        [TOKEN],
    ),
    "async.dot": (lambda: compute.AsyncDotOp(*values(A, B, C)), [C, TOKEN]),
    "pragma": (lambda: control.PragmaOp(["enter"], ["leave"]), []),
    "cancel_next_program_id": (control.CancelNextProgramIdOp, [ProgramIdType()]),
}
"""What is built -> (how, the types of its results)."""


def _view_operands() -> tuple[SSAValue, list[SSAValue]]:
    return values(BUFFER)[0], values(IndexType())


@pytest.mark.parametrize("name", BUILDERS)
def test_builder_gives_the_canonical_results(name: str) -> None:
    build, expected = BUILDERS[name]
    op = build()
    op.verify()
    assert [result.type for result in op.results] == expected


def test_group_numbers_are_unsigned_bytes() -> None:
    op = pipeline.CreatePipelineOp(3, producer_group=0, consumer_group=255)
    assert op.consumer_group_number == 255
    assert op.producer_group_number == 0


# Functions ---------------------------------------------------------------------------------------


def test_function_is_found_through_the_interface() -> None:
    returned = control.ReturnOp()
    function = control.FuncOp(
        "kernel", FunctionType.from_lists([], []), Region(Block([returned])), visibility="private"
    )
    function.verify()
    view = FunctionOpInterface.of(function)
    assert view is function
    assert view.function_name == "kernel"
    assert view.function_body is function.body
    assert enclosing_function(returned) is function


# Interfaces --------------------------------------------------------------------------------------


def test_allocations_name_their_storage() -> None:
    for op in (pipeline.CreatePipelineOp(2), structure.AllocTensorOp(SMEM)):
        allocation = AllocationOpInterface.of(op)
        assert allocation is not None
        assert list(allocation.allocated_values) == list(op.results)
    assert AllocationOpInterface.of(tokens.CreateNoneOp()) is None


def test_agents_and_their_groups() -> None:
    op = AgentSwitchOp([], [Region(Block()), Region(Block())], [1, 2], num_warps=[1, 4, 4])
    agents = AgentLikeOpInterface.of(op)
    assert agents is not None
    assert list(agents.agent_regions) == list(op.regions)
    assert list(agents.group_sizes) == [1, 2]
    assert op.warps_per_group() == [(1,), (4, 4)]
    assert AgentSwitchOp([], [Region(Block())], [2]).warps_per_group() == [(-1,)]


def test_a_lone_agent_count_holds_for_every_region() -> None:
    (op,) = (op for op in sample("agent_switch of equal groups").walk() if isinstance(op, AgentSwitchOp))
    assert list(op.group_sizes) == [2, 2]


def sample(name: str) -> ModuleOp:
    return parse(program(*SAMPLES[name]))


# Effects -----------------------------------------------------------------------------------------

SYNCHRONISING = {
    "async.pipeline.agent_switch",
    "async.pipeline.consume_one",
    "async.pipeline.consume_one_async",
    "async.pipeline.consumer_release",
    "async.pipeline.consumer_wait",
    "async.pipeline.produce_one",
    "async.pipeline.produce_one_async",
    "async.pipeline.producer_acquire",
    "async.pipeline.producer_commit",
    "async.pipeline.producer_write",
    "async.wait",
    "async.future_wait",
    "async.cancel_next_program_id",
    "cancel_next_program_id",
    "pragma",
}
WRITING = {
    "async.copy",
    "async.dot",
    "async.gather_tma_load",
    "async.insert_slice",
    "async.load",
    "async.scatter_tma_store",
    "async.store",
    "async.tiled_atomic_rmw",
    "async.tiled_load",
    "async.tiled_tma_load",
    "async.tiled_tma_store",
    "copy",
    "scatter_store",
    "store",
    "tiled_atomic_rmw",
    "tiled_store",
}
READING = {"async.pipeline.consumer_read", "gather_load", "load", "tiled_load", "convert_layout", "copy"}
ALLOCATING = {"alloc_tensor", "async.pipeline.create_pipeline"}
UNORDERED = {"func"}


def kinds(op: Operation) -> set[MemoryEffectKind]:
    effects = get_effects(op)
    assert effects is not None
    return {effect.kind for effect in effects}


def short_name(op: Operation) -> str:
    return op.name.removeprefix("nv_tileas.")


def test_every_op_says_what_it_does_to_memory() -> None:
    for op in all_samples().walk():
        if not op.name.startswith("nv_tileas.") or short_name(op) in UNORDERED:
            continue
        found, name = kinds(op), short_name(op)
        if name in SYNCHRONISING:
            assert found == {MemoryEffectKind.READ, MemoryEffectKind.WRITE}, name
        elif name in ALLOCATING:
            assert found == {MemoryEffectKind.ALLOC}, name
        elif name in WRITING and not (name == "copy" and op.results):
            assert MemoryEffectKind.WRITE in found, name
        elif name in READING:
            assert MemoryEffectKind.READ in found, name


PURE = (
    *("create_none", "create_iterator", "inc_iter", "create_null_token", "to_async, storage", "to_async, token"),
    *("token_to_async", "view", "reinterpret", "expand_dims", "shuffle", "extract_slice", "insert_slice"),
    *("async.extract_slice", "generate", "dot", "block_scaled_mma", "reduce", "scan"),
)


@pytest.mark.parametrize("name", PURE)
def test_pure_on_values(name: str) -> None:
    ops = [op for op in sample(name).walk() if op.name.startswith("nv_tileas.") and op.results]
    assert ops
    for op in ops:
        assert is_side_effect_free(op)
        assert is_speculatable(op)


def dce(arguments: str, body: str) -> str:
    """What is left of the body, without the line of the function's type, when nobody uses its results."""
    return print_custom(run_passes(parse(program(arguments, body)), "dce")).split("\n", 2)[2]


@pytest.mark.parametrize(
    "name",
    [
        "create_pipeline",
        "create_iterator",
        "inc_iter",
        "create_none",
        "to_async, token",
        "alloc_tensor",
        "tiled_load",
        "consumer_read",
        "dot",
        "reduce",
    ],
)
def test_unused_op_goes_away(name: str) -> None:
    assert "nv_tileas." not in dce(*SAMPLES[name])


@pytest.mark.parametrize(
    "name",
    [
        "produce_one",
        "produce_one_async",
        "consume_one_async",
        "producer_acquire",
        "producer_write",
        "producer_commit",
        "consumer_wait",
        "consumer_release",
        "wait",
        "future_wait",
        "agent_switch",
        "copy",
        "async.copy",
        "async.tiled_tma_load",
        "tiled_load with everything",
        "cancel_next_program_id",
        "pragma without a body",
    ],
)
def test_effecting_op_stays(name: str) -> None:
    assert "nv_tileas." in dce(*SAMPLES[name])


def test_a_read_with_effects_inside_stays() -> None:
    body = """%v = nv_tileas.async.pipeline.consumer_read %c {
        nv_tileas.async.wait %t : ($TOK) -> ()
        %x = nv_tileas.create_none : () -> $T
        nv_tileas.async.pipeline.yield %x : ($T) -> ()
      } : ($CONS) -> $T"""
    assert "consumer_read" in dce("%c: $CONS, %t: $TOK", body)


@pytest.mark.parametrize(
    ("arguments", "body", "reads"),
    [
        ("%a: $S", "%b = nv_tileas.convert_layout %a : ($S) -> $R", True),
        ("%a: $R", "%b = nv_tileas.convert_layout %a : ($R) -> $T", False),
        (
            "%a: $SMEM, %b: tensor<16x8xf16>, %c: $C",
            "%d = nv_tileas.dot %a, %b, %c : ($SMEM, tensor<16x8xf16>, $C) -> $C",
            True,
        ),
        (
            "",
            "%t = nv_tileas.alloc_tensor : () -> $T\n%b = nv_tileas.copy %t : ($T) -> $T",
            True,
        ),
        (
            "%i: index",
            """%t = nv_tileas.alloc_tensor : () -> $BUF
               %v = nv_tileas.view %t[%i] : ($BUF, index) -> $T
               %e = nv_tileas.extract_slice %v[%i] : ($T, index) -> tensor<4xf16>
               %b = nv_tileas.shuffle %e : (tensor<4xf16>) -> tensor<4xf16>""",
            True,
        ),
        (
            "%d: $T, %a: tensor<4xf16>, %i: index",
            "%b = nv_tileas.insert_slice %a, %d[%i] : (tensor<4xf16>, $T, index) -> $T",
            False,
        ),
    ],
)
def test_reads_exactly_when_an_operand_is_a_view(arguments: str, body: str, reads: bool) -> None:
    module = parse(program(arguments, body))
    *_, op = (op for op in module.walk() if op.name.startswith("nv_tileas."))
    assert (MemoryEffectKind.READ in kinds(op)) is reads


def test_inserting_into_storage_writes() -> None:
    body = """%t = nv_tileas.alloc_tensor : () -> $T
              %b = nv_tileas.insert_slice %a, %t[%i] : (tensor<4xf16>, $T, index) -> $T"""
    *_, op = (op for op in parse(program("%a: tensor<4xf16>, %i: index", body)).walk() if op.results)
    assert kinds(op) == {MemoryEffectKind.WRITE}


def test_slot_arguments_are_views_and_other_arguments_are_not() -> None:
    (op,) = (op for op in sample("consume_one with producer types").walk() if isinstance(op, pipeline.ConsumeOneOp))
    assert is_view(op.body.block.args[0])
    (copy,) = (op for op in sample("copy").walk() if isinstance(op, structure.CopyOp))
    assert not is_view(copy.source)
    assert copy.destination is not None
    assert is_view(copy.destination)


def test_reads_of_storage_are_not_merged_across_a_write() -> None:
    text = program(
        "%a: $R, %s: $S",
        """%b = nv_tileas.convert_layout %s : ($S) -> $R
           nv_tileas.copy %a, %s : ($R, $S) -> ()
           %c = nv_tileas.convert_layout %s : ($S) -> $R
           nv_tileas.copy %b, %s : ($R, $S) -> ()
           nv_tileas.copy %c, %s : ($R, $S) -> ()""",
    )
    assert print_custom(run_passes(parse(text), "cse")).count("convert_layout") == 2


def test_marks_of_structure_and_consistency() -> None:
    structure_ops = {op.name for op in NvTileAS.operations if op.has_trait(TileStructure)}
    assert structure_ops == {f"nv_tileas.{n}" for n in ("alloc_tensor", "view", "extract_slice", "insert_slice")}
    consistent = {short_name_of(op) for op in NvTileAS.operations if op.has_trait(MemoryConsistency)}
    assert consistent == {
        *("async.copy", "async.dot", "async.gather_tma_load", "async.load", "async.scatter_tma_store", "async.store"),
        *("async.tiled_atomic_rmw", "async.tiled_load", "async.tiled_tma_load", "async.tiled_tma_store", "async.wait"),
        *("copy", "make_tiled_tma_desc", "reduce", "scan"),
    }


def short_name_of(op: type[Operation]) -> str:
    return op.name.removeprefix("nv_tileas.")


def test_boolean_properties_read_as_booleans() -> None:
    op = AgentSwitchOp([], [Region(Block())], [1], isolated=True)
    assert op.isolated == BoolAttr.from_bool(True)
    assert op.is_isolated
    assert not AgentSwitchOp([], [Region(Block())], [1]).is_isolated


# Documentation -----------------------------------------------------------------------------------


def test_gap_table_lists_exactly_the_ops_of_the_dialect() -> None:
    table = (ROOT / "docs/dialects/gap-table-nv_tileas.md").read_text()
    rows = re.findall(r"^\| (`.*`) \| ([AB]) \| yes \|", table, re.MULTILINE)
    tiers = {name: tier for names, tier in rows for name in re.findall(r"`([^`]+)`", names)}
    pipeline_ops = {short_name_of(op) for op in NvTileAS.operations if op.name.startswith("nv_tileas.async.pipeline.")}
    others = {short_name_of(op) for op in NvTileAS.operations} - pipeline_ops
    assert set(tiers) == others
    assert len(pipeline_ops) == 16
    beside = {"block_scaled_mma", "func", "return"}
    in_tier_a = sum(tier == "A" for name, tier in tiers.items() if name not in beside) + len(pipeline_ops)
    in_tier_b = sum(tier == "B" for tier in tiers.values())
    assert f"{in_tier_a} are here in tier A" in table
    assert f"{in_tier_b} in tier B" in table
    assert in_tier_a + in_tier_b == 58
