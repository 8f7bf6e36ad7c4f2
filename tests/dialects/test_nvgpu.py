"""
The dialect `nvgpu` against mlir-opt 22: same text in both forms, same refusals.

MLIR crashes on elements that have no fixed width (index, vectors); ours are refused with a message.
"""

from __future__ import annotations

import pytest
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.support.ir import assert_round_trips, parse, print_custom, run_passes
from tests.support.mlir import mlir_opt, mlir_opt_rejects
from tests.support.upstream import OpTable, op_text
from tileas_xdsl.dialects.nvgpu import (
    NVGPU,
    DeviceAsyncCopyOp,
)

ARGUMENTS = (
    "%a: memref<128x128xf32>, %s: memref<3x16x128xf32, 3>, %i: index, %n: index, %t: !nvgpu.device.async.token, "
    "%h: memref<16xf16>, %hs: memref<16xf16, 3>, %b: memref<16xi8>, %bs: memref<16xi8, 3>, %z: memref<f32>, "
    "%zs: memref<f32, 3>, %st: memref<16x16xf32, strided<[32, 2]>>, %sts: memref<16x16xf32, strided<[32, 2]>, 3>, "
    "%dy: memref<?x?xf32, strided<[?, 1], offset: ?>>, %dn: memref<?x?xf32, strided<[?, ?]>>, "
    "%x: memref<16xindex>, %xs: memref<16xindex, 3>, %m: memref<16xi1>, %ms: memref<16xi1, 3>, %k: i32"
)

COPY = "nvgpu.device_async_copy"
TYPES = "memref<128x128xf32> to memref<3x16x128xf32, 3>"
AT = "%a[%i, %i], %s[%i, %i, %i]"

TABLE = OpTable(
    ARGUMENTS,
    [
        f"%0 = {COPY} {AT}, 4 : {TYPES}",
        f"%0 = {COPY} {AT}, 1 : {TYPES}",
        f"%0 = {COPY} {AT}, 4 {{bypassL1}} : {TYPES}",
        f"%0 = {COPY} {AT}, 4, %n {{a, bypassL1, z = 1 : i32}} : {TYPES}",
        f"%0 = {COPY} %h[%i], %hs[%i], 8 : memref<16xf16> to memref<16xf16, 3>",
        f"%0 = {COPY} %b[%i], %bs[%i], 16 {{bypassL1}} : memref<16xi8> to memref<16xi8, 3>",
        f"%0 = {COPY} %z[], %zs[], 1 : memref<f32> to memref<f32, 3>",
        f"%0 = {COPY} %dy[%i, %i], %s[%i, %i, %i], 2 : memref<?x?xf32, strided<[?, 1], offset: ?>>"
        " to memref<3x16x128xf32, 3>",
        f"%0 = {COPY} %m[%i], %ms[%i], 128 : memref<16xi1> to memref<16xi1, 3>",
        "%0 = nvgpu.device_async_create_group",
        "%0 = nvgpu.device_async_create_group %t {tag}",
        "%0 = nvgpu.device_async_create_group %t, %t",
        "nvgpu.device_async_wait %t",
        "nvgpu.device_async_wait %t {numGroups = 1 : i32}",
        "nvgpu.device_async_wait %t {a, numGroups = -1 : i32, z}",
    ],
)


@pytest.mark.parametrize("line", TABLE.lines)
def test_prints_what_mlir_prints(line: str) -> None:
    TABLE.assert_same_text(line)


@pytest.mark.parametrize("line", TABLE.lines)
def test_custom_and_generic_form_read_back(line: str) -> None:
    assert_round_trips(TABLE.function(line))


@pytest.mark.parametrize("line", TABLE.lines)
def test_nothing_is_removed_or_merged(line: str) -> None:
    """Two equal groups are not merged: each closes the copies before it."""
    module = parse(TABLE.function(line))
    (twin,) = (op for op in module.walk() if op.name.startswith("nvgpu."))
    Rewriter.insert_op(twin.clone(), InsertPoint.after(twin))
    run_passes(module, "cse,dce,canonicalize")
    assert sum(op.name.startswith("nvgpu.") for op in module.walk()) == 2


def test_every_op_has_a_line() -> None:
    written = {op.name for line in TABLE.lines for op in parse(TABLE.function(line)).walk()}
    assert {op.name for op in NVGPU.operations} <= written


def test_a_copy_reads_its_source_and_writes_its_destination() -> None:
    (copy,) = (op for op in parse(TABLE.function(TABLE.lines[0])).walk() if isinstance(op, DeviceAsyncCopyOp))
    effects = get_effects(copy)
    assert effects is not None
    assert {(effect.kind, effect.value) for effect in effects} == {
        (MemoryEffectKind.READ, copy.src),
        (MemoryEffectKind.WRITE, copy.dst),
    }


def test_an_empty_group_does_not_swallow_the_next_result() -> None:
    """MLIR cannot read back its own text of this, but we can; our text can be read by both."""
    generic = """func.func @f() {
      %0 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
      %1 = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
      nvgpu.device_async_wait %1
      func.return
    }"""
    module = assert_round_trips(generic)
    assert "device_async_create_group {}\n" in print_custom(module)
    assert parse(mlir_opt(print_custom(module), "--mlir-print-op-generic")).is_structurally_equivalent(module)
    mlir_opt_rejects(mlir_opt(generic))
    assert parse(mlir_opt(generic)).is_structurally_equivalent(module)


SEGMENTS = "operandSegmentSizes = array<i32: 1, 3, 1, 2, 0>"
GENERIC_TYPES = "index, index, index, memref<128x128xf32>, index, index) -> !nvgpu.device.async.token"

REFUSALS = {
    f"%0 = {COPY} {AT}, 2 {{bypassL1}} : {TYPES}": (
        "with destination element 2. Unset bypassL1, or set destination element to 4"
    ),
    f"%0 = {COPY} {AT}, 3 : {TYPES}": (
        "Requested copy elements is 3 with width 32. But copy elements could be one of 1, 2, 4."
    ),
    f"%0 = {COPY} {AT}, -4 : {TYPES}": (
        "Requested copy elements is -4 with width 32. But copy elements could be one of 1, 2, 4."
    ),
    f"%0 = {COPY} %b[%i], %bs[%i], 3 : memref<16xi8> to memref<16xi8, 3>": (
        "Requested copy elements is 3 with width 8. But copy elements could be one of 4, 8, 16."
    ),
    f"%0 = {COPY} %a[%i], %s[%i, %i, %i], 4 : {TYPES}": f"'{COPY}' op expected 2 source indices, got 1",
    f"%0 = {COPY} %a[%i, %i], %s[%i, %i], 4 : {TYPES}": f"'{COPY}' op expected 3 destination indices, got 2",
    f"%0 = {COPY} %a[%i, %i], %a[%i, %i], 4 : memref<128x128xf32> to memref<128x128xf32>": (
        "destination memref must have a memory space attribute of IntegerAttr(3) or gpu::AddressSpaceAttr(Workgroup)"
    ),
    f"%0 = {COPY} %h[%i], %s[%i, %i, %i], 4 : memref<16xf16> to memref<3x16x128xf32, 3>": (
        "source and destination must have the same element type"
    ),
    f"%0 = {COPY} %st[%i, %i], %s[%i, %i, %i], 4 : memref<16x16xf32, strided<[32, 2]>> to memref<3x16x128xf32, 3>": (
        "source memref most minor dim must have unit stride"
    ),
    f"%0 = {COPY} %dn[%i, %i], %s[%i, %i, %i], 4 : memref<?x?xf32, strided<[?, ?]>> to memref<3x16x128xf32, 3>": (
        "source memref most minor dim must have unit stride"
    ),
    f"%0 = {COPY} %a[%i, %i], %sts[%i, %i], 4 : memref<128x128xf32> to memref<16x16xf32, strided<[32, 2]>, 3>": (
        "destination memref most minor dim must have unit stride"
    ),
    f'%0 = "{COPY}"(%i, %i, %i, %i, %a, %i, %i) <{{dstElements = 4 : index, {SEGMENTS}}}>'
    f" : (index, {GENERIC_TYPES}": f"'{COPY}' op operand #0 must be memref of any type values, but got 'index'",
    f'%0 = "{COPY}"(%s, %i, %i, %k, %a, %i, %i) <{{dstElements = 4 : index, {SEGMENTS}}}> : (memref<3x16x128xf32, 3>,'
    " index, index, i32, memref<128x128xf32>, index, index) -> !nvgpu.device.async.token": (
        f"'{COPY}' op operand #3 must be variadic of index, but got 'i32'"
    ),
    f'%0 = "{COPY}"(%s, %i, %i, %i, %a, %i, %i) <{{dstElements = 4 : i32, {SEGMENTS}}}>'
    f" : (memref<3x16x128xf32, 3>, {GENERIC_TYPES}": (
        f"'{COPY}' op attribute 'dstElements' failed to satisfy constraint: index attribute"
    ),
    '%0 = "nvgpu.device_async_create_group"(%i) : (index) -> !nvgpu.device.async.token': (
        "'nvgpu.device_async_create_group' op operand #0 must be variadic of device async token type, but got 'index'"
    ),
    '%0 = "nvgpu.device_async_create_group"() : () -> i32': (
        "'nvgpu.device_async_create_group' op result #0 must be device async token type, but got 'i32'"
    ),
    '"nvgpu.device_async_wait"(%i) : (index) -> ()': (
        "'nvgpu.device_async_wait' op operand #0 must be device async token type, but got 'index'"
    ),
    "nvgpu.device_async_wait %t {numGroups = 1 : i64}": (
        "'nvgpu.device_async_wait' op attribute 'numGroups' failed to satisfy constraint: "
        "32-bit signless integer attribute"
    ),
}

ONLY_OURS = {
    # mlir-opt 22 crashes on the first, and says "requires attribute" and "expected operation name" on the others.
    f"%0 = {COPY} %x[%i], %xs[%i], 1 : memref<16xindex> to memref<16xindex, 3>": (
        f"'{COPY}' op copies elements of a fixed width: found index, use an integer or a float type"
    ),
    f'%0 = "{COPY}"(%s, %i, %i, %i, %a, %i, %i) <{{{SEGMENTS}}}> : (memref<3x16x128xf32, 3>, {GENERIC_TYPES}': (
        f"property 'dstElements' expected in operation '{COPY}'"
    ),
    "nvgpu.device_async_wait %t, %t": "in block definition",
}


@pytest.mark.parametrize("line", [*REFUSALS, *ONLY_OURS])
def test_we_refuse(line: str) -> None:
    with pytest.raises((VerifyException, ParseError)) as refusal:
        parse(TABLE.function(line))
    assert (REFUSALS | ONLY_OURS)[line] in str(refusal.value)


@pytest.mark.parametrize("line", REFUSALS)
def test_mlir_refuses_in_the_same_words(line: str) -> None:
    assert REFUSALS[line] in mlir_opt_rejects(TABLE.function(line))


def test_the_workgroup_space_is_shared_memory() -> None:
    """xDSL has no `#gpu.address_space`; where unregistered attributes are allowed, it is known by its text."""
    line = f"%0 = {COPY} %a[%i, %i], %w[%i], 4 : memref<128x128xf32> to memref<8xf32, #gpu.address_space<workgroup>>"
    arguments = "%a: memref<128x128xf32>, %w: memref<8xf32, #gpu.address_space<workgroup>>, %i: index"
    table = OpTable(arguments, [line])
    module = parse(table.function(line), allow_unregistered=True)
    assert op_text(print_custom(module)) == op_text(table.from_custom[line])
    private = table.function(line).replace("workgroup", "private")
    with pytest.raises(VerifyException, match="destination memref must have a memory space"):
        parse(private, allow_unregistered=True)
    assert "destination memref must have a memory space" in mlir_opt_rejects(private)
