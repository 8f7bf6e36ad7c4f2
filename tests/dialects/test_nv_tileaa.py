"""Every op of `nv_tileaa`: both syntaxes, the way through mlir-opt, effects and interfaces."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Operation
from xdsl.traits import get_effects, is_side_effect_free, is_speculatable

from tests.dialects.nv_tileaa_samples import FUNCTIONS, SAMPLES, program
from tests.support.ir import ROOT, assert_round_trips, parse, print_custom, print_generic
from tests.support.mlir import mlir_opt
from tileas_xdsl.dialects.nv_tileaa.attributes import (
    KernelSpecAttr,
    compute_capability_of,
)
from tileas_xdsl.dialects.nv_tileaa.dialect import NvTileAA
from tileas_xdsl.dialects.nv_tileaa.opaque import OpaqueOp
from tileas_xdsl.dialects.nv_tileaa.queue import ExecuteOp, GetOp, PutOp
from tileas_xdsl.dialects.nv_tileaa.types import QueueType
from tileas_xdsl.interfaces import AgentLikeOpInterface, FunctionOpInterface


def first(name: str, text: str) -> Operation:
    """The first op called `nv_tileaa.<name>` in `text`."""
    return next(op for op in parse(text).walk() if op.name == f"nv_tileaa.{name}")


# Syntax -------------------------------------------------------------------------------------------


def test_every_op_has_a_sample() -> None:
    sampled = {op.name for name in SAMPLES for op in parse(program(name)).walk()}
    sampled |= {op.name for op in parse(FUNCTIONS).walk()}
    assert {op.name for op in NvTileAA.operations} <= sampled


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_round_trips(name: str) -> None:
    assert_round_trips(program(name))


def test_gap_table_tells_the_truth() -> None:
    page = (ROOT / "docs" / "dialects" / "gap-table-nv_tileaa.md").read_text()
    rows = re.findall(r"^\| `([a-z_0-9.]+)` \| ([ABC]?) ?\| (yes|no) \|", page, re.MULTILINE)
    assert len(rows) == 73
    assert {f"nv_tileaa.{op}" for op, _, here in rows if here == "yes"} == {op.name for op in NvTileAA.operations}
    opaque = {op.name for op in NvTileAA.operations if issubclass(op, OpaqueOp)}
    assert {f"nv_tileaa.{op}" for op, tier, _ in rows if tier == "C"} == opaque


def test_functions_round_trip() -> None:
    assert_round_trips(FUNCTIONS)


@pytest.mark.parametrize("name", SAMPLES)
def test_custom_form_is_printed(name: str) -> None:
    mnemonic = name.split(" ")[0].rstrip(",")
    printed = print_custom(parse(program(name)))
    opaque = SAMPLES[name][1].startswith('%r = "')
    assert (f'"nv_tileaa.{mnemonic}"' in printed) is opaque


def test_samples_come_back_from_mlir() -> None:
    text = "".join(program(name, number) for number, name in enumerate(SAMPLES)) + FUNCTIONS
    module = parse(text)
    returned = mlir_opt(print_generic(module), "--allow-unregistered-dialect")
    assert parse(returned).is_structurally_equivalent(module)


# Types and attributes -----------------------------------------------------------------------------

TYPES = [
    "!nv_tileaa.ptr<f16, 1>",
    "!nv_tileaa.program_id",
    "!nv_tileaa.mem_token",
    "!nv_tileaa.queue<[tensor<8xf32>]>",
    "!nv_tileaa.queue<[tensor<8xf32>, tensor<4x4xf16>], depth = 3, isolated>",
    "!nv_tileaa.memref<?x?xf16, 1>",
    "!nv_tileaa.memref<f16, 0>",
    "!nv_tileaa.memref<?x64xf16, 1, strides = [?, 1], alias_scope = 7>",
    "!nv_tileaa.tiled_view<128x64xf16>",
    "!nv_tileaa.tiled_view<128x128xi8, smem>",
    "!nv_tileaa.tiled_view<f16, 3 : i32>",
]


@pytest.mark.parametrize("spelling", TYPES)
def test_type_prints_as_written(spelling: str) -> None:
    module = assert_round_trips(f'"test.op"() {{t = {spelling}}} : () -> ()')
    assert f"t = {spelling}" in print_custom(module)


ATTRIBUTES = {
    "#nv_tileaa.compute_capability<100>": None,
    "#nv_tileaa.compute-capability<90>": "#nv_tileaa.compute_capability<90>",
    "#nv_tileaa.target_spec<compute_capability=90, slots=[1,2]>": None,
    "#nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2,1,1]>": None,
    "#nv_tileaa<mem_semantic acquire>": None,
    "#nv_tileaa<mem_semantic acquire_release>": "#nv_tileaa<mem_semantic acq_rel>",
    "#nv_tileaa<mem_scope cta>": "#nv_tileaa<mem_scope tl_blk>",
    "#nv_tileaa<mem_scope cluster>": None,
    "#nv_tileaa<cache_modifier cv>": None,
    "#nv_tileaa<eviction_policy normal>": None,
    "#nv_tileaa<rmw_mode umax>": None,
    "#nv_tileaa<rounding_mode positive_inf>": None,
    "#nv_tileaa<signedness unsigned>": None,
    "#nv_tileaa<padding_value neg_inf>": None,
    '#nv_tileaa.activation_layout<"NHWC">': None,
    "#nv_tileaa.conv_params<stride=[1,1]>": None,
    "#nv_tileaa.div_by<16>": None,
    "#nv_tileaa.div_by<16, every 4 along 1>": None,
    "#nv_tileaa.div_by<16, along 1>": None,
    "#nv_tileaa.bounded<?, -3>": None,
    "#nv_tileaa.same_elements<[1, 8]>": None,
}
"""What is written -> what is printed, None for the same."""


@pytest.mark.parametrize("spelling", ATTRIBUTES)
def test_attribute_prints_in_its_one_spelling(spelling: str) -> None:
    module = assert_round_trips(f'"test.op"() {{a = {spelling}}} : () -> ()')
    assert f"a = {ATTRIBUTES[spelling] or spelling}" in print_custom(module)


def test_types_and_attributes_come_back_from_mlir() -> None:
    entries = [*TYPES, *ATTRIBUTES]
    text = "".join(f'"test.op"() {{entry = {entry}}} : () -> ()\n' for entry in entries)
    module = parse(text)
    returned = mlir_opt(print_generic(module), "--allow-unregistered-dialect")
    assert parse(returned).is_structurally_equivalent(module)


def test_kernel_spec_answers() -> None:
    function = first("func", FUNCTIONS)
    spec = function.attributes["nv_tileaa.kernel_spec"]
    assert isinstance(spec, KernelSpecAttr)
    assert (spec.num_warps, spec.cluster_dim) == (4, (2, 1, 1))


@pytest.mark.parametrize(
    "attribute",
    [
        "nv_tileaa.compute_capability = #nv_tileaa.compute_capability<90>",
        "nv_tileaa.compute_capability = 90 : i32",
        '"nv_tileaa.compute-capability" = #nv_tileaa.compute-capability<90>',
        "nv_tileaa.target_spec = #nv_tileaa.target_spec<compute_capability=90>",
    ],
)
def test_compute_capability_is_found_around_an_op(attribute: str) -> None:
    module = parse(
        f'builtin.module attributes {{{attribute}}} {{ func.func @f() {{ "test.op"() : () -> () func.return }} }}'
    )
    assert all(compute_capability_of(op) == 90 for op in module.walk())


def test_compute_capability_may_be_unknown() -> None:
    assert compute_capability_of(ModuleOp([])) is None


# Queues -------------------------------------------------------------------------------------------


def test_put_tells_index_and_payload_apart() -> None:
    put = first("queue.put", program("queue.put at an index"))
    assert isinstance(put, PutOp)
    assert put.index is put.operands[1]
    assert list(put.payload) == [put.operands[2]]
    plain = first("queue.put", program("queue.put"))
    assert isinstance(plain, PutOp)
    assert plain.index is None
    assert list(plain.payload) == [plain.operands[1]]


def test_get_defaults_to_the_first_consumer() -> None:
    get = first("queue.get", program("queue.get"))
    assert isinstance(get, GetOp)
    assert get.consumer == 0
    assert isinstance(get.queue_type, QueueType)
    assert get.queue_type.slots == 3


def test_unspecified_depth_counts_as_one_slot() -> None:
    assert QueueType.of([TensorType(f32, [8])]).slots == 1


def test_execute_is_agent_like() -> None:
    execute = AgentLikeOpInterface.of(first("execute", program("execute")))
    assert isinstance(execute, ExecuteOp)
    assert list(execute.group_sizes) == [1, 2]
    assert len(execute.agent_regions) == 2


def test_func_is_a_function() -> None:
    function = FunctionOpInterface.of(first("func", FUNCTIONS))
    assert function is not None
    assert function.function_name == "kernel"
    assert len(function.function_body.blocks) == 1


# Effects ------------------------------------------------------------------------------------------

PURE = (
    *("view", "splat", "broadcast", "expand_dims", "permute", "cat", "extract", "extract_slice", "generate"),
    *("addf", "fma", "clampf", "mulhiui", "fp_to_fp", "bitcast", "int_to_ptr", "dot", "reduce", "scan", "block_tile"),
    *("addptr", "make_memref", "create_mem_token", "join_mem_token", "assume", "get_program_id", "conv_tile"),
)


@pytest.mark.parametrize("name", PURE)
def test_pure_on_values(name: str) -> None:
    op = first(name, program(name))
    assert is_side_effect_free(op)
    assert is_speculatable(op)


EFFECTS = {
    "create_queue": {"ALLOC"},
    "queue.put": {"READ", "WRITE"},
    "queue.get": {"READ", "WRITE"},
    "execute": {"READ", "WRITE"},
    "mark_for_reuse": {"WRITE"},
    "load of pointers": {"READ"},
    "load": {"READ", "WRITE"},  # relaxed: another thread takes part
    "store": {"WRITE"},
    "tiled_load": {"READ"},
    "tiled_store": {"WRITE"},
    "atomic_rmw": {"READ", "WRITE"},
    "atomic_cas": {"READ", "WRITE"},
    "gather_load": {"READ"},
    "scatter_store": {"WRITE"},
    "assert": {"WRITE"},
    "print": {"WRITE"},
    "pragma": {"WRITE"},
    "cancel_next_program_id": {"WRITE"},
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects(name: str) -> None:
    effects = get_effects(first(name.split(" ")[0], program(name)))
    assert effects is not None
    assert {effect.kind.name for effect in effects} == EFFECTS[name]


def test_opaque_ops_have_unknown_effects() -> None:
    assert get_effects(first("plugin", program("plugin"))) is None


SMEM = "tensor<8xf32, #nv_tileas.layout<smem>>"


def test_arithmetic_on_a_view_reads_it() -> None:
    text = f"func.func @f(%a: {SMEM}) {{ %r = nv_tileaa.addf %a, %a : ({SMEM}, {SMEM}) -> {SMEM} func.return }}"
    effects = get_effects(first("addf", text))
    assert effects is not None
    assert {effect.kind.name for effect in effects} == {"READ"}


def test_slot_arguments_are_views() -> None:
    effects = get_effects(first("addf", program("queue.get of a region")))
    assert effects is not None
    assert {effect.kind.name for effect in effects} == {"READ"}
