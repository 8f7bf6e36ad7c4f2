"""The ops of `nv_tileas` on tiles: against numpy, and against the checker where they are asynchronous."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.dialects.nv_tileas_samples import SAMPLES, program
from tests.machine.tile_programs import (
    ORDERS,
    assert_no_violations,
    exactly,
    floats,
    function,
    outcome_of,
    result_of,
    verdict_of,
)
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

TYPES = {
    "T": "tensor<8x4xf32>",
    "S": "tensor<8x4xf32, #nv_tileas.layout<smem>>",
    "SW": 'tensor<8x4xf32, #nv_tileas.layout<smem, "swizzled">>',
    "R": "tensor<8x4xf32, #nv_tileas.layout<rmem>>",
    "B": "tensor<3x8x4xf32, #nv_tileas.layout<smem>>",
    "H": "tensor<2x4xf32>",
    "HS": "tensor<2x4xf32, #nv_tileas.layout<smem>>",
    "M": "memref<16x8xf32>",
    "TOK": "!nv_tileas.token",
    "LOAD": "atom = #nv_tileas<atom tma_load>",
    "STORE": "atom = #nv_tileas<atom tma_store>",
}
A = floats(8, 4)
ARRAY = np.arange(128, dtype=np.float32).reshape(16, 8)


def written(arguments: dict[str, str], body: str, results: str = "", *, returned: str = "%r") -> str:
    """A function whose texts may use the short names of `TYPES`."""
    return function(arguments, body, results, returned=returned, **TYPES)


# Storage, views, copies and layouts -----------------------------------------------------------------------------------

STRUCTURE: dict[str, tuple[str, str, Any]] = {
    "copy there and back": (
        """%s = nv_tileas.alloc_tensor : () -> $S
        nv_tileas.copy %a, %s : ($T, $S) -> ()
        %r = nv_tileas.copy %s : ($S) -> $R""",
        "$R",
        A,
    ),
    "copy to a value in shared memory": ("%r = nv_tileas.copy %a : ($T) -> $S", "$S", A),
    "convert_layout": (
        "%s = nv_tileas.convert_layout %a : ($T) -> $S\n%r = nv_tileas.convert_layout %s : ($S) -> $R",
        "$R",
        A,
    ),
    "view of another layout": (
        "%s = nv_tileas.convert_layout %a : ($T) -> $S\n%r = nv_tileas.view %s : ($S) -> $SW",
        "$SW",
        A,
    ),
    "view of bytes": ("%r = nv_tileas.view %a : ($T) -> tensor<128xi8>", "tensor<128xi8>", A.view(np.int8).reshape(-1)),
    "bytes of shared memory": (
        "%s = nv_tileas.convert_layout %a : ($T) -> $S\n%r = nv_tileas.reinterpret %s : ($S) -> tensor<8x2xi64>",
        "tensor<8x2xi64>",
        A.view(np.int64),
    ),
    "expand_dims": (
        "%s = nv_tileas.convert_layout %a : ($T) -> $S\n%r = nv_tileas.expand_dims %s : ($S) -> tensor<8x1x4xf32>",
        "tensor<8x1x4xf32>",
        A.reshape(8, 1, 4),
    ),
    "shuffle along the last axis": (
        "%p = arith.constant dense<[2, 0, 3, 1]> : tensor<4xi32>\n"
        "%r = nv_tileas.shuffle %a, %p : ($T, tensor<4xi32>) -> $T",
        "$T",
        A[:, [2, 0, 3, 1]],
    ),
    "shuffle by an atom": ('%r = nv_tileas.shuffle %a attributes {atom_descriptor = "x"} : ($T) -> $R', "$R", A),
    "extract_slice": (
        "%i = arith.constant 2 : index\n%z = arith.constant 0 : index\n"
        "%r = nv_tileas.extract_slice %a[%i, %z] : ($T, index, index) -> $H",
        "$H",
        A[2:4],
    ),
    "extract_slice, mixed": (
        """%i = arith.constant 1 : index
        %r = nv_tileas.extract_slice %a[%i] attributes {static_offsets = array<i64: -9223372036854775808, 1>,
          static_sizes = array<i64: 2, 2>, static_strides = array<i64: 3, 2>} : ($T, index) -> tensor<2x2xf32>""",
        "tensor<2x2xf32>",
        A[1:5:3, 1:4:2],
    ),
    "extract_slice of a row": (
        "%i = arith.constant 3 : index\n%z = arith.constant 0 : index\n"
        "%r = nv_tileas.extract_slice %a[%i, %z] : ($T, index, index) -> tensor<4xf32>",
        "tensor<4xf32>",
        A[3],
    ),
    "insert_slice into a value": (
        """%i = arith.constant 3 : index
        %z = arith.constant 0 : index
        %h = nv_tileas.extract_slice %a[%z, %z] : ($T, index, index) -> $H
        %r = nv_tileas.insert_slice %h, %a[%i, %z] : ($H, $T, index, index) -> $T""",
        "$T",
        np.vstack([A[:3], A[:2], A[5:]]),
    ),
    "generate": (
        """%r = nv_tileas.generate {
        ^bb0(%i: tensor<i32>, %j: tensor<i32>):
          %x = arith.subi %i, %j : tensor<i32>
          nv_tileas.yield %x : (tensor<i32>) -> ()
        } : () -> tensor<4x8xi32>""",
        "tensor<4x8xi32>",
        np.subtract(*np.indices((4, 8))).astype(np.int32),
    ),
    "reduce": (
        """%r = nv_tileas.reduce %a attributes {axis = 1 : i32} {
        ^bb0(%x: f32, %y: f32):
          %s = arith.addf %x, %y : f32
          nv_tileas.yield %s : (f32) -> ()
        } : ($T) -> tensor<8xf32>""",
        "tensor<8xf32>",
        A.sum(1),
    ),
    "scan": (
        """%r = nv_tileas.scan %a attributes {axis = 0 : i32, inclusive = true} {
        ^bb0(%x: f32, %y: f32):
          %s = arith.maximumf %x, %y : f32
          nv_tileas.yield %s : (f32) -> ()
        } : ($T) -> $T""",
        "$T",
        np.maximum.accumulate(A, 0),
    ),
    "pragma": (
        """%r = nv_tileas.pragma attributes {ocgEnterDirectives = ["a"]} {
          nv_tileas.yield %a : ($T) -> ()
        } : () -> $T""",
        "$T",
        A,
    ),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name: str) -> None:
    body, type_, expected = STRUCTURE[name]
    assert exactly(result_of(written({"a": "$T"}, body, type_), A), expected)


def test_views_see_what_is_written_later_and_values_do_not() -> None:
    body = """%z = arith.constant 0 : index
    %two = arith.constant 2 : index
    %s = nv_tileas.alloc_tensor : () -> $S
    nv_tileas.copy %a, %s : ($T, $S) -> ()
    %part = nv_tileas.extract_slice %s[%two, %z] : ($S, index, index) -> $HS
    %before = nv_tileas.convert_layout %part : ($HS) -> $H
    nv_tileas.copy %b, %s : ($T, $S) -> ()
    %after = nv_tileas.convert_layout %part : ($HS) -> $H
    %s1 = nv_tileas.insert_slice %before, %s[%z, %z] : ($H, $S, index, index) -> $S
    %whole = nv_tileas.convert_layout %s : ($S) -> $T"""
    text = written({"a": "$T", "b": "$T"}, body, "$H, $H, $T", returned="%before, %after, %whole")
    before, after, whole = result_of(text, A, -A)
    assert exactly(before, A[2:4])
    assert exactly(after, -A[2:4])
    assert exactly(whole, np.vstack([A[2:4], -A[2:]]))


def test_what_is_put_into_shared_memory_is_storage() -> None:
    """A load, copy or conversion into shared memory may be written; the value that it came from stays."""
    for make in ("nv_tileas.convert_layout %a", "nv_tileas.copy %a"):
        body = f"""%s = {make} : ($T) -> $S
        nv_tileas.copy %b, %s : ($T, $S) -> ()
        %r = nv_tileas.convert_layout %s : ($S) -> $T"""
        written_tile, value = result_of(written({"a": "$T", "b": "$T"}, body, "$T, $T", returned="%r, %a"), A, -A)
        assert exactly(written_tile, -A)
        assert exactly(value, A)


def test_a_buffer_of_stages() -> None:
    body = """%c1 = arith.constant 1 : index
    %b = nv_tileas.alloc_tensor : () -> $B
    %slot = nv_tileas.view %b[%c1] : ($B, index) -> $S
    nv_tileas.copy %a, %slot : ($T, $S) -> ()
    %r = nv_tileas.convert_layout %b : ($B) -> tensor<3x8x4xf32>"""
    expected = np.zeros((3, 8, 4), np.float32)
    expected[1] = A
    assert exactly(result_of(written({"a": "$T"}, body, "tensor<3x8x4xf32>"), A), expected)

    body = """%b = nv_tileas.alloc_tensor attributes {stages = 3 : i32} : () -> tensor<8x4xf32>
    %r = nv_tileas.view %b[%i] : (tensor<8x4xf32>, index) -> tensor<4xf32>"""
    with pytest.raises(UnsupportedError, match="takes index 3 of an axis of 3"):
        result_of(written({"i": "index"}, body, "tensor<4xf32>"), 3)


def test_writing_to_a_value_is_refused() -> None:
    body = "nv_tileas.copy %a, %b : ($T, $T) -> ()"
    with pytest.raises(UnsupportedError, match="a value, not storage; make the destination with alloc_tensor"):
        outcome_of(written({"a": "$T", "b": "$T"}, body), A, A)


PLACEHOLDERS = {
    "copy": "nv_tileas.copy %p, %s : ($T, $S) -> ()",
    "async.copy": "%t = nv_tileas.async.copy %p, %s : ($T, $S) -> $TOK",
    "tiled_store": "nv_tileas.tiled_store %m[%z, %z], %p : ($M, $T, index, index) -> ()",
    "async.insert_slice": "%t0 = nv_tileas.create_none : () -> $TOK\n"
    "%q, %t = nv_tileas.async.insert_slice %p, %s[%z, %z], %t0 : ($T, $S, $TOK, index, index) -> ($S, $TOK)",
}


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_a_placeholder_holds_no_tile(name: str) -> None:
    body = "%z = arith.constant 0 : index\n%p = nv_tileas.create_none : () -> $T\n" + PLACEHOLDERS[name]
    with pytest.raises(UnsupportedError, match="moves a placeholder"):
        outcome_of(written({"s": "$S", "m": "$M"}, body), A, ARRAY)


def test_floats_of_4_bits_in_registers_share_bytes() -> None:
    """The first of two lies in the lower half; the way back gives the same bits."""
    codes = np.array([1, 2, 15, 0, 8, 7, 3, 12], np.uint8)
    body = "%r = nv_tileas.view %a : (tensor<8xf4E2M1FN>) -> tensor<4xi8>"
    packed = result_of(written({"a": "tensor<8xf4E2M1FN>"}, body, "tensor<4xi8>"), codes.view(ml_dtypes.float4_e2m1fn))
    assert np.asarray(packed).view(np.uint8).tolist() == [0x21, 0x0F, 0x78, 0xC3]
    body = "%r = nv_tileas.view %a : (tensor<4xi8>) -> tensor<8xf4E2M1FN>"
    back = result_of(written({"a": "tensor<4xi8>"}, body, "tensor<8xf4E2M1FN>"), np.asarray(packed))
    assert np.asarray(back).view(np.uint8).tolist() == codes.tolist()


def test_floats_of_4_bits_in_memory_are_not_read_as_bytes() -> None:
    """They take a byte each there."""
    four, bytes_ = (f"tensor<{kind}, #nv_tileas.layout<smem>>" for kind in ("8xf4E2M1FN", "4xi8"))
    body = f"%b = nv_tileas.alloc_tensor : () -> {four}\n %r = nv_tileas.view %b : ({four}) -> {bytes_}"
    with pytest.raises(UnsupportedError, match="reads 8 bytes as 4 elements of type i8"):
        result_of(written({"a": "$T"}, body, bytes_), A)


def test_a_shuffle_takes_a_permutation() -> None:
    body = """%p = arith.constant dense<[2, 2, 3, 1]> : tensor<4xi32>
    %r = nv_tileas.shuffle %a, %p : ($T, tensor<4xi32>) -> $T"""
    with pytest.raises(UnsupportedError, match="no permutation of 4 elements"):
        result_of(written({"a": "$T"}, body, "$T"), A)


# Synchronous accesses -------------------------------------------------------------------------------------------------


def test_tiled_accesses() -> None:
    body = """%m = nv_tileaa.create_mem_token : () -> !nv_tileaa.mem_token
    %t, %m1 = nv_tileas.tiled_load %a[%i, %j] token(%m) attributes {padding_value = -1.0 : f32}
      : ($M, index, index, !nv_tileaa.mem_token) -> ($T, !nv_tileaa.mem_token)
    %m2 = nv_tileas.tiled_store %b[%i, %j], %t token(%m1)
      : ($M, $T, index, index, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %k = nv_tileas.async.token_to_async %m2 : (!nv_tileaa.mem_token) -> $TOK
    nv_tileas.async.wait %k : ($TOK) -> ()"""
    arguments = {"a": "$M", "b": "$M", "i": "index", "j": "index"}
    outcome = outcome_of(written(arguments, body), ARRAY, np.zeros((16, 8)), 1, 1)
    expected = np.zeros((16, 8), np.float32)
    expected[8:, 4:] = ARRAY[8:, 4:]
    assert exactly(outcome.arrays["b"], expected)
    with pytest.raises(AssertionError, match=r"reaches outside 'b': axis 0 from element 16"):
        outcome_of(written(arguments, body), ARRAY, np.zeros((16, 8)), 2, 0)


PADDING = {"nan": np.nan, "neg_inf": -np.inf, "pos_inf": np.inf, "zero": 0.0, "neg_zero": -0.0}


@pytest.mark.parametrize(("word", "value"), PADDING.items())
def test_padding(word: str, value: float) -> None:
    body = f"""%r = nv_tileas.tiled_load %a[%i, %i] attributes {{padding_value = #nv_tileas<padding_value {word}>}}
      : (memref<12x6xf32>, index, index) -> $T"""
    expected = np.full((8, 4), value, np.float32)
    expected[:4, :2] = ARRAY[8:12, 4:6]
    assert exactly(result_of(written({"a": "memref<12x6xf32>", "i": "index"}, body, "$T"), ARRAY[:12, :6], 1), expected)


def test_offsets_and_leading_offsets_are_refused() -> None:
    body = "%r = nv_tileas.tiled_load %a[%i, %i] offsets(%i) : ($M, index, index, index) -> $T"
    with pytest.raises(UnsupportedError, match="takes offsets besides coordinates"):
        result_of(written({"a": "$M", "i": "index"}, body, "$T"), ARRAY, 0)
    body = "%r = nv_tileas.tiled_load %a[%i, %i, %i] attributes {leading_offset} : ($M, index, index, index) -> $T"
    with pytest.raises(UnsupportedError, match="has a leading offset"):
        result_of(written({"a": "$M", "i": "index"}, body, "$T"), ARRAY, 0)


def test_pointer_accesses() -> None:
    body = """%q = nv_tileaa.addptr %p, %i : (!nv_tileaa.ptr<f32, 1>, index) -> !nv_tileaa.ptr<f32, 1>
    %x = nv_tileas.load %q : (!nv_tileaa.ptr<f32, 1>) -> f32
    nv_tileas.store %p, %x : (!nv_tileaa.ptr<f32, 1>, f32) -> ()
    %s = nv_tileaa.splat %p : (!nv_tileaa.ptr<f32, 1>) -> tensor<4x!nv_tileaa.ptr<f32, 1>>
    %n = arith.constant dense<[0, 3, 2, 1]> : tensor<4xi32>
    %w = nv_tileaa.addptr %s, %n : (tensor<4x!nv_tileaa.ptr<f32, 1>>, tensor<4xi32>) -> tensor<4x!nv_tileaa.ptr<f32, 1>>
    %d = nv_tileas.alloc_tensor : () -> tensor<4xf32>
    %t = nv_tileas.async.load %w, %d : (tensor<4x!nv_tileaa.ptr<f32, 1>>, tensor<4xf32>) -> $TOK
    nv_tileas.async.wait %t : ($TOK) -> ()
    %u = nv_tileas.async.store %w, %d : (tensor<4x!nv_tileaa.ptr<f32, 1>>, tensor<4xf32>) -> $TOK
    nv_tileas.async.wait %u : ($TOK) -> ()
    %r = nv_tileas.load %w : (tensor<4x!nv_tileaa.ptr<f32, 1>>) -> tensor<4xf32>"""
    text = written({"p": "!nv_tileaa.ptr<f32, 1>", "i": "index"}, body, "tensor<4xf32>")
    assert exactly(result_of(text, np.arange(8, dtype=np.float32), 5), np.array([5, 3, 2, 1], np.float32))


def test_a_synchronous_access_waits_for_the_token_it_takes() -> None:
    body = """%d = nv_tileas.alloc_tensor : () -> $S
    %t = nv_tileas.async.tiled_load %a[%i, %i], %d : ($M, $S, index, index) -> $TOK
    %u = nv_tileas.tiled_store %b[%i, %i], %d $WAIT: ($M, $S, index, index$TYPE) -> $RESULT"""
    arguments = {"a": "$M", "b": "$M", "i": "index"}
    ordered = body.replace("$WAIT", "token(%t) ").replace("$TYPE", ", $TOK").replace("$RESULT", "$TOK")
    for order, seed in ORDERS:
        outcome = outcome_of(written(arguments, ordered), ARRAY, np.zeros((16, 8)), 0, order=order, seed=seed)
        assert exactly(outcome.arrays["b"][:8, :4], ARRAY[:8, :4])
    assert verdict_of(written(arguments, ordered), i=0).verdict is Verdict.SAFE

    unordered = body.replace("$WAIT", "").replace("$TYPE", "").replace("$RESULT", "()").replace("%u = ", "")
    report = verdict_of(written(arguments, unordered), i=0)
    assert {finding.violation.kind.value for finding in report.findings} == {"race", "undrained"}


# Asynchronous work ----------------------------------------------------------------------------------------------------

ASYNCHRONOUS: dict[str, str] = {
    "async.tiled_load and async.copy": """
    %t = nv_tileas.async.tiled_load %a[%z, %z], %d : ($M, $S, index, index) -> $TOK
    %e = nv_tileas.alloc_tensor : () -> $S
    %u = nv_tileas.async.copy %d, %e, %t : ($S, $S, $TOK) -> $TOK
    nv_tileas.async.wait %u : ($TOK) -> ()
    nv_tileas.tiled_store %b[%z, %z], %e : ($M, $S, index, index) -> ()""",
    "TMA load and store": """%la = nv_tileas.make_tiled_tma_desc %a attributes {$LOAD, box = array<i64: 8, 4>}
      : ($M) -> !nv_tileas.tma_desc
    %lb = nv_tileas.make_tiled_tma_desc %b attributes {$STORE, box = array<i64: 8, 4>} : ($M) -> !nv_tileas.tma_desc
    %t = nv_tileas.async.tiled_tma_load %la[%z, %z], %d attributes {$LOAD}
      : (!nv_tileas.tma_desc, $S, index, index) -> $TOK
    nv_tileas.async.wait %t : ($TOK) -> ()
    %u = nv_tileas.async.tiled_tma_store %lb[%z, %z], %d attributes {$STORE}
      : (!nv_tileas.tma_desc, $S, index, index) -> $TOK
    nv_tileas.async.wait %u : ($TOK) -> ()""",
    "async.insert_slice and async.extract_slice": """%none = nv_tileas.create_none : () -> $TOK
    %four = arith.constant 4 : index
    %x = nv_tileas.tiled_load %a[%z, %z] : ($M, index, index) -> $T
    %low = nv_tileas.extract_slice %x[%z, %z] : ($T, index, index) -> tensor<4x4xf32>
    %high = nv_tileas.extract_slice %x[%four, %z] : ($T, index, index) -> tensor<4x4xf32>
    %d1, %t1 = nv_tileas.async.insert_slice %low, %d[%z, %z], %none
      : (tensor<4x4xf32>, $S, $TOK, index, index) -> ($S, $TOK)
    %d2, %t2 = nv_tileas.async.insert_slice %high, %d1[%four, %z], %t1
      : (tensor<4x4xf32>, $S, $TOK, index, index) -> ($S, $TOK)
    %part, %t3 = nv_tileas.async.extract_slice %d2[%z, %z], %t2 : ($S, $TOK, index, index) -> ($HS, $TOK)
    nv_tileas.async.wait %t3 : ($TOK) -> ()
    nv_tileas.async.wait %t1 : ($TOK) -> ()
    nv_tileas.tiled_store %b[%z, %z], %d2 : ($M, $S, index, index) -> ()""",
}
"""Ways to bring the first tile of `a` to `b` through `d`."""


@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_asynchronous_work_in_every_order(name: str) -> None:
    start = "%z = arith.constant 0 : index\n%d = nv_tileas.alloc_tensor : () -> $S\n"
    text = written({"a": "$M", "b": "$M"}, start + ASYNCHRONOUS[name])
    for order, seed in ORDERS:
        outcome = outcome_of(text, ARRAY, np.zeros((16, 8)), order=order, seed=seed)
        expected = np.zeros((16, 8), np.float32)
        expected[:8, :4] = ARRAY[:8, :4]
        assert exactly(outcome.arrays["b"], expected)
    assert verdict_of(text).verdict is Verdict.SAFE


@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_without_its_waits_it_is_a_race_or_unfinished(name: str) -> None:
    start = "%z = arith.constant 0 : index\n%d = nv_tileas.alloc_tensor : () -> $S\n"
    kept = [line for line in ASYNCHRONOUS[name].splitlines() if "async.wait" not in line]
    report = verdict_of(written({"a": "$M", "b": "$M"}, start + "\n".join(kept)))
    assert report.verdict is Verdict.VIOLATION
    assert {finding.violation.kind.value for finding in report.findings} == {"race", "undrained"}


def test_a_dependency_by_token_orders_work() -> None:
    """Two copies into one tile: unordered they race, ordered by a token the second one wins."""
    body = """%d = nv_tileas.alloc_tensor : () -> $S
    %t = nv_tileas.async.copy %a, %d : ($T, $S) -> $TOK
    %u = nv_tileas.async.copy %b, %d$AFTER : ($T, $S$TYPE) -> $TOK
    nv_tileas.async.wait %t : ($TOK) -> ()
    nv_tileas.async.wait %u : ($TOK) -> ()
    %r = nv_tileas.convert_layout %d : ($S) -> $T"""
    ordered = body.replace("$AFTER", ", %t").replace("$TYPE", ", $TOK")
    for order, seed in ORDERS:
        outcome = outcome_of(written({"a": "$T", "b": "$T"}, ordered, "$T"), A, -A, order=order, seed=seed)
        assert exactly(outcome.results[0], -A)
    assert verdict_of(written({"a": "$T", "b": "$T"}, ordered, "$T")).verdict is Verdict.SAFE
    report = verdict_of(written({"a": "$T", "b": "$T"}, body.replace("$AFTER", "").replace("$TYPE", ""), "$T"))
    assert [finding.violation.kind.value for finding in report.findings] == ["race"]


def test_tma_boxes_stick_out() -> None:
    body = """%d = nv_tileas.alloc_tensor : () -> $S
    %l = nv_tileas.make_tiled_tma_desc %a attributes {$LOAD, box = array<i64: 8, 4>,
      oob_mode = #nv_tileas<oob_mode $MODE>} : ($M) -> !nv_tileas.tma_desc
    %t = nv_tileas.async.tiled_tma_load %l[%i, %j], %d attributes {$LOAD}
      : (!nv_tileas.tma_desc, $S, index, index) -> $TOK
    nv_tileas.async.wait %t : ($TOK) -> ()
    %r = nv_tileas.convert_layout %d : ($S) -> $T"""
    for mode, padding in (("zero", 0.0), ("nan", np.nan)):
        text = written({"a": "$M", "i": "index", "j": "index"}, body.replace("$MODE", mode), "$T")
        expected = np.full((8, 4), padding, np.float32)
        expected[:5, 1:] = ARRAY[11:, :3]
        assert exactly(result_of(text, ARRAY, 11, -1), expected)


def test_an_asynchronous_load_in_a_produce_region_belongs_to_the_stage() -> None:
    """The consumer waits for the stage, and with it for the load; nobody waits for the load's own token."""
    text = """func.func @f(%a: memref<32x8xf32>, %b: memref<32x8xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8,
        consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
      nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>} {
        scf.for %i = %c0 to %n step %c1 {
          %p1 = nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [$S]} {
          ^bb0(%slot: $S):
            %t = nv_tileas.async.tiled_load %a[%i, %c0], %slot
              : (memref<32x8xf32>, $S, index, index) -> !nv_tileas.token
            nv_tileas.async.pipeline.yield %slot : ($S) -> ()
          } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
        }
      }, {
        scf.for %i = %c0 to %n step %c1 {
          %c1_token = nv_tileas.async.pipeline.consume_one %c attributes {consumer_types = [$S]} {
          ^bb0(%slot: $S):
            nv_tileas.tiled_store %b[%i, %c0], %slot : (memref<32x8xf32>, $S, index, index) -> ()
            nv_tileas.async.pipeline.yield : () -> ()
          } : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
        }
      } : () -> ()
      func.return
    }""".replace("$S", TYPES["S"])
    array = np.arange(256, dtype=np.float32).reshape(32, 8)
    for order, seed in ORDERS:
        outcome = outcome_of(text, array, np.zeros((32, 8)), 4, order=order, seed=seed)
        assert exactly(outcome.arrays["b"][:, :4], array[:, :4])
    assert verdict_of(text, n=4).verdict is Verdict.SAFE


def test_asynchronous_work_in_a_consume_region_is_not_part_of_the_stage() -> None:
    """The consumer scales the slot in place, waits, and hands it back."""
    text = """func.func @f(%b: memref<16x4xf32>, %v: $T, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %buffer = nv_tileas.alloc_tensor : () -> tensor<2x8x4xf32, #nv_tileas.layout<smem>>
      %p, %c = nv_tileas.async.pipeline.create_pipeline %buffer attributes {numStages = 2 : i32,
        producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
        : (tensor<2x8x4xf32, #nv_tileas.layout<smem>>) -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
      nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>} {
        scf.for %i = %c0 to %n step %c1 {
          %p1 = nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [$S]} {
          ^bb0(%slot: $S):
            nv_tileas.copy %v, %slot : ($T, $S) -> ()
            nv_tileas.async.pipeline.yield %slot : ($S) -> ()
          } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
        }
      }, {
        %first = nv_tileas.async.pipeline.create_iterator %c
          : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<$S>
        scf.for %i = %c0 to %n step %c1 iter_args(%it = %first) -> (!nv_tileas.pipeline_iter<$S>) {
          %c2 = nv_tileas.async.pipeline.consume_one %c, %it {
            %slot = nv_tileas.view %buffer[%it]
              : (tensor<2x8x4xf32, #nv_tileas.layout<smem>>, !nv_tileas.pipeline_iter<$S>) -> $S
            %x = nv_tileas.convert_layout %slot : ($S) -> $T
            %y = arith.addf %x, %x : $T
            %t = nv_tileas.async.copy %y, %slot : ($T, $S) -> !nv_tileas.token
            nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
            nv_tileas.tiled_store %b[%c0, %c0], %slot : (memref<16x4xf32>, $S, index, index) -> ()
            nv_tileas.async.pipeline.yield : () -> ()
          } : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<$S>) -> !nv_tileas.consumer_token
          %next = nv_tileas.async.pipeline.inc_iter %it
            : (!nv_tileas.pipeline_iter<$S>) -> !nv_tileas.pipeline_iter<$S>
          scf.yield %next : !nv_tileas.pipeline_iter<$S>
        }
      } : () -> ()
      func.return
    }""".replace("$S", TYPES["S"]).replace("$T", TYPES["T"])
    for order, seed in ORDERS:
        outcome = outcome_of(text, np.zeros((16, 4)), A, 5, order=order, seed=seed)
        assert exactly(outcome.arrays["b"][:8], 2 * A)
    assert verdict_of(text).verdict is Verdict.SAFE


# Products -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accumulate", [None, 0, 1])
def test_dot(accumulate: int | None) -> None:
    a, b, c = floats(8, 4, dtype=np.float16), floats(4, 8, dtype=np.float16), floats(8, 8)
    types = {"a": "tensor<8x4xf16>", "b": "tensor<4x8xf16>", "c": "tensor<8x8xf32>"}
    flag = "" if accumulate is None else ", %f"
    listed = ", ".join([*types.values(), *([] if accumulate is None else ["i1"])])
    body = f"%r = nv_tileas.dot %a, %b, %c{flag} : ({listed}) -> tensor<8x8xf32>"
    arguments = types if accumulate is None else {**types, "f": "i1"}
    given = [a, b, c] if accumulate is None else [a, b, c, accumulate]
    expected = a.astype(np.float32) @ b.astype(np.float32) + (0 if accumulate == 0 else c)
    assert exactly(result_of(written(arguments, body, "tensor<8x8xf32>"), *given), expected)


def test_block_scaled_products() -> None:
    a = floats(16, 64, dtype=ml_dtypes.float8_e4m3fn)
    b = floats(64, 8, dtype=ml_dtypes.float8_e5m2)
    c = floats(16, 8)
    sfa = np.exp2(floats(16, 2) % 3).astype(ml_dtypes.float8_e8m0fnu)
    sfb = np.exp2(floats(2, 8) % 3).astype(ml_dtypes.float8_e8m0fnu)
    types = {
        "a": "tensor<16x64xf8E4M3FN>",
        "b": "tensor<64x8xf8E5M2>",
        "c": "tensor<16x8xf32>",
        "s": "tensor<16x2xf8E8M0FNU>",
        "t": "tensor<2x8xf8E8M0FNU>",
    }
    signature = f"({', '.join(types.values())}) -> tensor<16x8xf32>"
    wide_a = a.astype(np.float64) * np.repeat(sfa.astype(np.float64), 32, 1)
    wide_b = b.astype(np.float64) * np.repeat(sfb.astype(np.float64), 32, 0)
    expected = (wide_a @ wide_b + c).astype(np.float32)
    for op in ("nv_tileas.dot %a, %b, %c, %s, %t", "nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%t)"):
        result = result_of(written(types, f"%r = {op} : {signature}", "tensor<16x8xf32>"), a, b, c, sfa, sfb)
        assert exactly(result, expected)


ASYNC_DOT = """%d1, %t1 = nv_tileas.async.dot %a, %b, %c : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>)
  -> (tensor<8x8xf32>, $TOK)
%d2, %t2 = nv_tileas.async.dot %b, %a, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>)
  -> (tensor<8x8xf32>, $TOK)
nv_tileas.async.wait %t2 : ($TOK) -> ()
%r = nv_tileas.copy %d2 : (tensor<8x8xf32>) -> tensor<8x8xf32>"""


def test_asynchronous_products_on_one_accumulator_are_performed_in_order() -> None:
    a, b, c = floats(8, 8, dtype=np.float16), floats(8, 8, dtype=np.float16).T.copy(), floats(8, 8)
    types = {"a": "tensor<8x8xf16>", "b": "tensor<8x8xf16>", "c": "tensor<8x8xf32>"}
    text = written(types, ASYNC_DOT, "tensor<8x8xf32>")
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    for order, seed in ORDERS:
        for capture in ("completion", "issue"):
            outcome = run(parse(text), None, [a, b, c], order=order, seed=seed, capture=capture)
            assert_no_violations(outcome)
            assert exactly(outcome.results[0], wide_a @ wide_b + wide_b @ wide_a + c)
    assert verdict_of(text).verdict is Verdict.SAFE
    early = ASYNC_DOT.replace("nv_tileas.async.wait %t2", "nv_tileas.async.wait %t1")
    report = verdict_of(written(types, early, "tensor<8x8xf32>"))
    assert {finding.violation.kind.value for finding in report.findings} == {"race", "undrained"}


# Arguments and completeness -------------------------------------------------------------------------------------------


def test_arguments_in_shared_memory_are_storage() -> None:
    body = """nv_tileas.copy %a, %s : ($T, $S) -> ()
    %r = nv_tileas.convert_layout %s : ($S) -> $T"""
    outcome = outcome_of(written({"a": "$T", "s": "$S"}, body, "$T"), A, -A)
    assert exactly(outcome.results[0], A)
    assert exactly(outcome.arrays["s"], A)

    racing = """%t = nv_tileas.async.copy %a, %s : ($T, $S) -> $TOK
    %r = nv_tileas.convert_layout %s : ($S) -> $T
    nv_tileas.async.wait %t : ($TOK) -> ()"""
    report = verdict_of(written({"a": "$T", "s": "$S"}, racing, "$T"))
    assert [finding.violation.kind.value for finding in report.findings] == ["race"]


def test_functions_and_tiled_views() -> None:
    text = """nv_tileas.func @f(%v: !nv_tileas.tiled_view<8x4xf32, gmem>, %i: index) -> tensor<8x4xf32> {
      %id = nv_tileas.cancel_next_program_id : () -> !nv_tileaa.program_id
      %more = nv_tileaa.is_valid_program_id %id : (!nv_tileaa.program_id) -> i1
      %never, %t = nv_tileas.async.cancel_next_program_id : () -> (!nv_tileaa.program_id, !nv_tileas.token)
      nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
      scf.if %more {
        %z = arith.constant 99 : index
        %beyond = nv_tileas.tiled_load %v[%z, %z] attributes {in_bounds = array<i1: true, true>}
          : (!nv_tileas.tiled_view<8x4xf32, gmem>, index, index) -> tensor<8x4xf32>
      }
      %r = nv_tileas.tiled_load %v[%i, %i] : (!nv_tileas.tiled_view<8x4xf32, gmem>, index, index) -> tensor<8x4xf32>
      nv_tileas.return %r : (tensor<8x4xf32>) -> ()
    }"""
    assert exactly(result_of(text, ARRAY, 1), ARRAY[8:, 4:])


@pytest.mark.parametrize("name", SAMPLES)
def test_no_sample_makes_a_traceback(name: str) -> None:
    """Samples run on default arguments or are refused in words; a check always comes to a verdict, or says why not."""
    text = program(*SAMPLES[name])
    module = parse(text)
    arguments = {n: 1 for n in ("i", "n", "f") if f"%{n}: index" in text or f"%{n}: i1" in text}
    for attempt in (lambda: run(module, None, arguments), lambda: check(module, args=arguments)):
        with suppress(ArgumentError, UnsupportedError):
            attempt()
