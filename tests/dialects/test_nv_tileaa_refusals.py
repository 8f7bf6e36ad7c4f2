"""
What the verifiers of `nv_tileaa` reject, and in which words.

The texts of TileAS come first, byte for byte: queues, `dot`, tiling and structure, memory. Then come our own. Not here:
`expect operands with queue types`, which the queue rewrite raises.
"""

from __future__ import annotations

import re

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.dialects.nv_tileaa_samples import written_out
from tests.support.ir import parse

Refusals = dict[str, tuple[str, str, str]]
"""What is wrong -> arguments, body, text."""

Q_OF = "!nv_tileaa.queue<[tensor<8xf32>], depth = {}>"

MARK_FOR_REUSE: Refusals = {
    "one queue": (
        "%q: $Q",
        "nv_tileaa.mark_for_reuse %q attributes {partitions = array<i32: 1>} : ($Q) -> ()",
        "expect at least 2 queues, but got: 1",
    ),
    "one queue, before the sum": (
        "%q: $Q",
        "nv_tileaa.mark_for_reuse %q attributes {partitions = array<i32: 5>} : ($Q) -> ()",
        "expect at least 2 queues, but got: 1",
    ),
    "sum": (
        "%q: $Q",
        "nv_tileaa.mark_for_reuse %q, %q attributes {partitions = array<i32: 1>} : ($Q, $Q) -> ()",
        "expect sum(partitions) == 2, but got: 1",
    ),
    "sum, before the depth": (
        f"%q: {Q_OF.format(1)}, %r: {Q_OF.format(2)}",
        "nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1>} "
        f": ({Q_OF.format(1)}, {Q_OF.format(2)}) -> ()",
        "expect sum(partitions) == 2, but got: 1",
    ),
    "depth": (
        f"%q: {Q_OF.format(1)}, %r: {Q_OF.format(2)}",
        "nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1, 1>} "
        f": ({Q_OF.format(1)}, {Q_OF.format(2)}) -> ()",
        "expect all operands have the same depth, but got 1 vs 2",
    ),
    "depth, unspecified counts as one": (
        f"%q: !nv_tileaa.queue<[tensor<8xf32>]>, %r: {Q_OF.format(2)}",
        "nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1, 1>} "
        f": (!nv_tileaa.queue<[tensor<8xf32>]>, {Q_OF.format(2)}) -> ()",
        "expect all operands have the same depth, but got 1 vs 2",
    ),
    "depth of pipelines": (
        "",
        """%p, %c = "test.op"() {numStages = 2 : i32} : () -> (i1, i1)
           %r, %s = "test.op"() {numStages = 3 : i32} : () -> (i1, i1)
           nv_tileaa.mark_for_reuse %p, %r attributes {partitions = array<i32: 2>} : (i1, i1) -> ()""",
        "expect all operands have the same depth, but got 2 vs 3",
    ),
    "empty partition": (
        "%q: $Q",
        "nv_tileaa.mark_for_reuse %q, %q attributes {partitions = array<i32: 2, 0>} : ($Q, $Q) -> ()",
        "expects every partition to be non-empty, but got 0",
    ),
}

ELEMENTS = "^bb0(%x: f32, %y: f32)"
WRONG_END = '"test.op"() : () -> ()'

TERMINATORS: Refusals = {
    "reduce": (
        "%a: $T",
        f"%r = nv_tileaa.reduce %a attributes {{axis = 0 : i32}} {{ {ELEMENTS}: {WRONG_END} }} : ($T) -> f32",
        "expects regions to end with 'nv_tileaa.yield'",
    ),
    "scan": (
        "%a: $T",
        f"%r = nv_tileaa.scan %a attributes {{axis = 0 : i32}} {{ {ELEMENTS}: {WRONG_END} }} : ($T) -> $T",
        "expects regions to end with 'nv_tileaa.yield'",
    ),
    "generate": (
        "",
        f"%r = nv_tileaa.generate {{ ^bb0(%i: tensor<i32>): {WRONG_END} }} : () -> $T",
        "expects regions to end with 'nv_tileaa.yield'",
    ),
    "pragma": (
        "",
        f"%r = nv_tileaa.pragma {{ {WRONG_END} }} : () -> f32",
        "expects regions to end with 'nv_tileaa.yield'",
    ),
    "put": (
        "%q: $Q",
        f"nv_tileaa.queue.put %q {{ ^bb0(%s: $T): {WRONG_END} }} : ($Q) -> ()",
        "expects regions to end with 'nv_tileaa.queue.yield'",
    ),
    "get": (
        "%q: $Q",
        f"%r = nv_tileaa.queue.get %q {{ ^bb0(%s: $T): {WRONG_END} }} : ($Q) -> $T",
        "expects regions to end with 'nv_tileaa.queue.yield'",
    ),
    "return elsewhere": (
        "",
        '"test.op"() ({ nv_tileaa.return : () -> () }) : () -> ()',
        "expects parent op 'nv_tileaa.func'",
    ),
    "yield elsewhere": (
        "",
        '"test.op"() ({ nv_tileaa.yield : () -> () }) : () -> ()',
        "'nv_tileaa.yield' op expects parent op to be one of nv_tileaa.generate, nv_tileaa.pragma, nv_tileaa.reduce, "
        "nv_tileaa.scan, but got test.op",
    ),
    "queue.yield elsewhere": (
        "",
        '"test.op"() ({ nv_tileaa.queue.yield : () -> () }) : () -> ()',
        "expects parent op to be one of 'nv_tileaa.queue.put', 'nv_tileaa.queue.get'",
    ),
}


def dot(a: str, b: str, c: str, d: str | None = None, attributes: str = "", scales: str = "") -> tuple[str, str]:
    """A dot of tensors of the given types; `scales` is `sfa` or `sfb`."""
    tail = f" attributes {{{attributes}}}" if attributes else ""
    scale, scale_type = (f" {scales}(%s)", ", tensor<8x2xf8E8M0FNU>") if scales else ("", "")
    return (
        f"%a: tensor<{a}>, %b: tensor<{b}>, %c: tensor<{c}>, %s: tensor<8x2xf8E8M0FNU>",
        f"%d = nv_tileaa.dot %a, %b, %c{scale}{tail} "
        f": (tensor<{a}>, tensor<{b}>, tensor<{c}>{scale_type}) -> tensor<{d or c}>",
    )


SIGNED_A = "signedness_a = #nv_tileaa<signedness signed>"

DOT: Refusals = {
    "mixed kinds": (
        *dot("8x4xi8", "4x8xf16", "8x8xf32"),
        "expected the element types of A, B, C, and D to be either all integers or all floats.",
    ),
    "widths": (
        *dot("8x4xi8", "4x8xi16", "8x8xi32"),
        "expects #A and #B have same bit width but got 8 vs 16",
    ),
    "no signedness": (*dot("8x4xi8", "4x8xi8", "8x8xi32"), "expect signedness attribute for operand A"),
    "no signedness of B": (
        *dot("8x4xi8", "4x8xi8", "8x8xi32", attributes=SIGNED_A),
        "expect signedness attribute for operand B",
    ),
    "FP4 accumulator": (
        *dot("8x4xf4E2M1FN", "4x8xf4E2M1FN", "8x8xbf16"),
        "expects #C element type to be either f32 or f16, but got bf16",
    ),
    "accumulator": (*dot("8x4xf16", "4x8xf16", "8x8xf16"), "expects #C element type to be f32, but got f16"),
    "rank": (*dot("8xf16", "8xf16", "8xf32"), "expects rank-2 or rank-3 tensor for result, but got (1)"),
    "contracting axes": (
        *dot("8x4xf16", "8x8xf16", "8x8xf32"),
        "expects the shape of operand #A and #B to be compatible",
    ),
    "batch axes": (
        *dot("2x8x4xf16", "3x4x8xf16", "2x8x8xf32"),
        "expects the shape of operand #A and #B to be compatible",
    ),
    "rank of A": (*dot("4xf16", "4x8xf16", "8x8xf32"), "expects the shape of operand #A and #B to be compatible"),
    "accumulator shape": (
        *dot("8x4xf16", "4x8xf16", "8x4xf32"),
        "expects the shape of operand #C is compatible with operands #A and #B",
    ),
    "only sfa": (*dot("8x4xf16", "4x8xf16", "8x8xf32", scales="sfa"), "expects both SFA and SFB to be present"),
    "only sfb": (*dot("8x4xf16", "4x8xf16", "8x8xf32", scales="sfb"), "expects both SFA and SFB to be present"),
    "result": (
        *dot("8x4xf16", "4x8xf16", "8x8xf32", "8x8xf32, 1 : i32"),
        "expects the result to be of the type of #C, tensor<8x8xf32>, but got tensor<8x8xf32, 1 : i32>",
    ),
    # the order of the checks
    "kinds before widths": (
        *dot("8x4xi8", "4x8xi16", "8x8xf32"),
        "expected the element types of A, B, C, and D to be either all integers or all floats.",
    ),
    "widths before signedness": (
        *dot("8x4xi8", "8x8xi16", "8x8xi32"),
        "expects #A and #B have same bit width but got 8 vs 16",
    ),
    "accumulator before shapes": (
        *dot("8x4xf16", "8x8xf16", "8xf16"),
        "expects #C element type to be f32, but got f16",
    ),
    "rank before shapes": (
        *dot("8x4xf16", "8x8xf16", "8xf32"),
        "expects rank-2 or rank-3 tensor for result, but got (1)",
    ),
    "shapes before scales": (
        *dot("8x4xf16", "8x8xf16", "8x8xf32", scales="sfa"),
        "expects the shape of operand #A and #B to be compatible",
    ),
}


def block_tile(sizes: str, groups: str, result: str = "$VIEW") -> tuple[str, str]:
    entries = ", ".join(filter(None, (sizes and f"tileSizes = {sizes}", groups and f"dimGroups = {groups}")))
    return "%a: $A2", f"%v = nv_tileaa.block_tile %a attributes {{{entries}}} : ($A2) -> {result}"


GROUPS = "[array<i64: 0>, array<i64: 1>]"


def conv_tile(
    filters: str = "3, 3", groups: str = "array<i64: 0, 1, 2>, array<i64: 3>", dilation: str = "1,1"
) -> tuple[str, str]:
    return (
        "%a: memref<1x8x8x16xf16>",
        f"""%v = nv_tileaa.conv_tile %a attributes {{tileSizes = array<i64: 8, 16>, dimGroups = [{groups}],
              filterSizes = array<i64: {filters}>, channelAxis = 3 : i64,
              conv_params = #nv_tileaa.conv_params<stride=[1,1], dilation=[{dilation}]>
            }} : (memref<1x8x8x16xf16>) -> !nv_tileaa.tiled_view<8x16xf16>""",
    )


TILING: Refusals = {
    "no tileSizes": (*block_tile("", GROUPS), "expects non-empty tileSizes"),
    "empty tileSizes": (*block_tile("array<i64>", "[]"), "expects non-empty tileSizes"),
    "no dimGroups": (*block_tile("array<i64: 8, 4>", ""), "expects non-empty dimGroups"),
    "empty dimGroups": (*block_tile("array<i64: 8, 4>", "[]"), "expects non-empty dimGroups"),
    "ranks": (
        *block_tile("array<i64: 0>", GROUPS),
        "expects rank of tileSizes be equal to rank of dimGroups, but got 1 vs 2",
    ),
    "tile size": (
        *block_tile("array<i64: 8, 0>", "[array<i64: 0>, array<i64: 0>]"),
        "expects all tile size bigger than zero",
    ),
    "axis tiled twice": (
        *block_tile("array<i64: 8, 4>", "[array<i64: 1>, array<i64: 0, 1>]"),
        "expects dim is being tiled only one time, but got 1",
    ),
    "axis not there": (
        *block_tile("array<i64: 8, 4>", "[array<i64: 0>, array<i64: 2>]"),
        "expects dimGroups to cover the 2 axes of the array, but got [0, 2]",
    ),
    "result": (
        *block_tile("array<i64: 4, 4>", GROUPS),
        "expects a result of type !nv_tileaa.tiled_view<4x4xf32>, but got !nv_tileaa.tiled_view<8x4xf32>",
    ),
    "source": (
        "%a: $T",
        "%v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 8>, dimGroups = [array<i64: 0>]} "
        ": ($T) -> $VIEW",
        "expects an array to tile, but got tensor<8xf32>",
    ),
    "filter size": (*conv_tile(filters="3, 4"), "expects filter size must be in range 1 to 3"),
    "conv params": (*conv_tile(dilation="1"), "expects conv params size matched with each other"),
    "channel": (*conv_tile(groups="array<i64: 0, 1>, array<i64: 2>"), "expects channel must be a dimGroup"),
    "channel with others": (
        *conv_tile(groups="array<i64: 0, 1>, array<i64: 2, 3>"),
        "expects channel dimGroup should contain only channel",
    ),
    "filter size before params": (
        *conv_tile(filters="0", dilation="1"),
        "expects filter size must be in range 1 to 3",
    ),
}


def assume(type_: str, *predicates: str) -> tuple[str, str]:
    listed = ", ".join(f"#nv_tileaa.{predicate}" for predicate in predicates)
    return f"%a: {type_}", f"%r = nv_tileaa.assume %a attributes {{predicates = [{listed}]}} : ({type_}) -> {type_}"


ASSUME: Refusals = {
    "div_by of a float": (*assume("f32", "div_by<3>"), "div_by requires an integer-, pointer-, or memref-like value"),
    "divisor": (*assume("$A2", "div_by<3>"), "div_by divisor must be a positive power of two"),
    "negative divisor": (*assume("$PTR", "div_by<-4>"), "div_by divisor must be a positive power of two"),
    "every alone": (*assume("$TI", "div_by<4, every 0>"), "div_by every and along must appear together"),
    "along alone": (*assume("$TI", "div_by<4, along 9>"), "div_by every and along must appear together"),
    "every": (*assume("$TI", "div_by<4, every 0 along 9>"), "div_by every must be positive"),
    "along": (*assume("$TI", "div_by<4, every 2 along 1>"), "div_by along must reference a valid axis"),
    "along of a scalar": (*assume("i32", "div_by<4, every 2 along 0>"), "div_by along must reference a valid axis"),
    "bounded float": (*assume("$T", "bounded<0, 1>"), "bounded requires an integer-like element type"),
    "lower": (*assume("i8", "bounded<-129, -130>"), "bounded lower exceeds the element's representable range"),
    "upper": (*assume("i8", "bounded<?, 128>"), "bounded upper exceeds the element's representable range"),
    "bounds": (*assume("i8", "bounded<2, 1>"), "bounded lower must not exceed upper"),
    "same_elements length": (
        *assume("$T", "same_elements<[1, 9]>"),
        "same_elements length must match the constrained value's rank",
    ),
    "same_elements bound": (*assume("$T", "same_elements<[9]>"), "same_elements axis bound is out of range"),
    "negative same_elements bound": (*assume("$T", "same_elements<[-1]>"), "same_elements axis bound is out of range"),
    "first failure wins": (
        *assume("i8", "bounded<0, 1>", "bounded<2, 1>", "div_by<3>"),
        "bounded lower must not exceed upper",
    ),
}

FP_TO_FP: Refusals = {
    "source": (
        "%a: $TI",
        "%r = nv_tileaa.fp_to_fp %a : ($TI) -> $TI",
        "fp_to_fp source element type is not supported",
    ),
    "result": (
        "%a: $T",
        "%r = nv_tileaa.fp_to_fp %a : ($T) -> tensor<8xf128>",
        "fp_to_fp result element type is not supported",
    ),
    "shape": (
        "%a: $T",
        "%r = nv_tileaa.fp_to_fp %a : ($T) -> f16",
        "expects source and result of one shape, but got tensor<8xf32> and f16",
    ),
}


def tiled_load(base: str, result: str, indices: int = 2, attributes: str = "", types: str = "index") -> tuple[str, str]:
    listed = ", ".join(["%i"] * indices)
    operand_types = "".join([f", {types}"] * indices)
    return (
        f"%a: {base}, %i: {types}",
        f"%v = nv_tileaa.tiled_load %a[{listed}] attributes {{{attributes}}} : ({base}{operand_types}) -> {result}",
    )


def access(op: str, attributes: str) -> tuple[str, str]:
    """A load, store or atomic of an f32 behind a pointer, with `attributes`."""
    if op == "load":
        return "%p: $PTR", f"%v = nv_tileaa.load %p attributes {{{attributes}}} : ($PTR) -> f32"
    if op == "store":
        return "%p: $PTR, %v: f32", f"nv_tileaa.store %p, %v attributes {{{attributes}}} : ($PTR, f32) -> ()"
    mode = "rmw_mode = #nv_tileaa<rmw_mode add>"
    return (
        "%p: $PTR, %v: f32",
        f"%o = nv_tileaa.atomic_rmw %p, %v attributes {{{mode}, {attributes}}} : ($PTR, f32) -> f32",
    )


def semantic(word: str, scope: str = "") -> str:
    scoped = f", mem_scope = #nv_tileaa<mem_scope {scope}>" if scope else ""
    return f"mem_semantic = #nv_tileaa<mem_semantic {word}>{scoped}"


def tiled_rmw(element: str, mode: str) -> tuple[str, str]:
    view, tile = f"!nv_tileaa.tiled_view<8x{element}>", f"tensor<8x{element}>"
    entry = f"rmw_mode = #nv_tileaa<rmw_mode {mode}>" if mode else ""
    return (
        f"%a: {view}, %i: index, %v: {tile}",
        f"%o = nv_tileaa.tiled_atomic_rmw %a[%i], %v attributes {{{entry}}} : ({view}, {tile}, index) -> {tile}",
    )


MEMORY: Refusals = {
    "regions": (
        "%p: $PTR",
        '"nv_tileaa.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> ({ }) : ($PTR) -> f32',
        "requires zero regions",
    ),
    "token operands": (
        "%p: $PTR, %t: $TOK",
        "%v, %u = nv_tileaa.load %p token(%t, %t) : ($PTR, $TOK, $TOK) -> (f32, $TOK)",
        "operand group starting at #1 requires 0 or 1 element, but found 2",
    ),
    "token results": (
        "%p: $PTR, %t: $TOK",
        "%v, %u, %w = nv_tileaa.load %p token(%t) : ($PTR, $TOK) -> (f32, $TOK, $TOK)",
        "result group starting at #1 requires 0 or 1 element, but found 2",
    ),
    "token results of a store": (
        "%p: $PTR, %v: f32, %t: $TOK",
        "%u, %w = nv_tileaa.store %p, %v token(%t) : ($PTR, f32, $TOK) -> ($TOK, $TOK)",
        "result group starting at #0 requires 0 or 1 element, but found 2",
    ),
    "token goes in only": (
        "%p: $PTR, %t: $TOK",
        "%v = nv_tileaa.load %p token(%t) : ($PTR, $TOK) -> f32",
        "expects a token result exactly when there is a token operand, but got 1 token operands and 0 token results",
    ),
    "coordinates": (*tiled_load("$A2", "$AB", 1), "expects 2 coordinates, but got 1"),
    "tile size": (
        *tiled_load("$VIEW", "tensor<8x8xf32>"),
        "requires the same size for tileSize and tensor",
    ),
    "tile shape": (
        *tiled_load("$VIEW", "tensor<4x8xf32>"),
        "requires the same shape for tileSize and tensor value",
    ),
    "element type": (
        *tiled_load("$A2", "tensor<8x4xf16>"),
        "view elementType not equal with tensor element type: f32 != f16",
    ),
    "positive dimensions": (
        *tiled_load("$A2", "tensor<8x?xf32>"),
        "all dimensions must be positive constants, got ?",
    ),
    "powers of two": (*tiled_load("$A2", "tensor<8x6xf32>"), "all dimensions must be powers of two, got 6"),
    "largest tile": (
        *tiled_load("$A2", "tensor<8192x4096xf32>"),
        "tile would exceed the maximum of 16777216",
    ),
    "in_bounds": (
        *tiled_load("$A2", "$AB", attributes="in_bounds = array<i1: true>"),
        "incorrect number of in_bounds elements: expected 2, but found 1",
    ),
    "scope of a weak load": (
        "%p: $PTR",
        "%v = nv_tileaa.load %p attributes {mem_scope = #nv_tileaa<mem_scope gpu>} : ($PTR) -> f32",
        "mem_scope not supported when mem_semantic is weak",
    ),
    "no scope of a relaxed load": (
        *access("load", semantic("relaxed")),
        "mem_scope required when mem_semantic is not weak",
    ),
    "acquiring load": (*access("load", semantic("acquire", "gpu")), "unsupported mem_semantic: acquire"),
    "releasing load": (*access("load", semantic("release", "gpu")), "unsupported mem_semantic: release"),
    "acquiring and releasing load": (*access("load", semantic("acq_rel", "gpu")), "unsupported mem_semantic: acq_rel"),
    "scope of a weak store": (
        *access("store", semantic("weak", "sys")),
        "mem_scope not supported when mem_semantic is weak",
    ),
    "no scope of a relaxed store": (
        *access("store", semantic("relaxed")),
        "mem_scope required when mem_semantic is not weak",
    ),
    "releasing store": (*access("store", semantic("release", "gpu")), "unsupported mem_semantic: release"),
    "acquiring store": (*access("store", semantic("acquire", "gpu")), "unsupported mem_semantic: acquire"),
    "acquiring and releasing store": (*access("store", semantic("acq_rel")), "unsupported mem_semantic: acq_rel"),
    "scope of a weak atomic": (
        *access("atomic", semantic("weak", "sys")),
        "memScope not supported when memSemantic is weak",
    ),
    "no scope of an atomic": (
        *access("atomic", semantic("acq_rel")),
        "memScope required when memSemantic is not weak",
    ),
    "no mode": (*tiled_rmw("f32", ""), "requires attribute 'rmw_mode'"),
    "8 bits": (*tiled_rmw("i8", "add"), "tiled_atomic_rmw not supported for 8-bit types"),
    "16-bit integer": (*tiled_rmw("i16", "add"), "tiled_atomic_rmw not supported for 16-bit integer"),
    "16-bit float": (
        *tiled_rmw("f16", "xor"),
        "tiled_atomic_rmw for 16-bit float only supports add, max, min operations",
    ),
    "fadd": (
        *tiled_rmw("f32", "fadd"),
        "tiled_atomic_rmw op cannot use fadd operation, please use add instead for both int and float types",
    ),
    "xchg": (*tiled_rmw("i32", "xchg"), "tiled_atomic_rmw op cannot use xchg operation"),
    "base": (*tiled_load("$T", "$AB"), "expects a pointer, an array or a view as base, but got tensor<8xf32>"),
    "no tile": (*tiled_load("$A2", "f32"), "expects a tile, but got f32"),
    "elements": (
        "%p: $PTR",
        "%v = nv_tileaa.load %p : ($PTR) -> f16",
        "expects elements of type f32, as the base has, but got f16",
    ),
    "indices behind a pointer": (
        "%p: $PTR, %i: index",
        "%v = nv_tileaa.load %p[%i] : ($PTR, index) -> f32",
        "expects no indices behind a pointer, but got 1",
    ),
    "indices": (
        "%a: $A2, %i: index",
        "%v = nv_tileaa.load %a[%i] : ($A2, index) -> f32",
        "expects 2 indices, but got 1",
    ),
    "rank of a tile": (
        "%a: $A2, %i: index",
        "%v = nv_tileaa.load %a[%i, %i] : ($A2, index, index) -> $T",
        "expects a scalar or a tile of rank 2, but got tensor<8xf32>",
    ),
    "one pointer for a tile": (
        "%p: $PTR",
        "%v = nv_tileaa.load %p : ($PTR) -> $T",
        "expects one pointer for each element of tensor<8xf32>, but got !nv_tileaa.ptr<f32, 1>",
    ),
    "plain load of a view": (
        "%a: $VIEW, %i: index",
        "%v = nv_tileaa.load %a[%i, %i] : ($VIEW, index, index) -> f32",
        "expects a tiled view to be accessed by the tiled form of the op",
    ),
    "mask": (
        "%p: $PTRS, %m: i1",
        "%v = nv_tileaa.load %p mask(%m) : ($PTRS, i1) -> $T",
        "expects a mask of i1 shaped like tensor<8xf32>, but got i1",
    ),
    "fallback without mask": (
        "%p: $PTRS, %o: $T",
        "%v = nv_tileaa.load %p other(%o) : ($PTRS, $T) -> $T",
        "expects a mask where there is a fallback value",
    ),
    "fallback": (
        "%p: $PTRS, %m: $M, %o: f32",
        "%v = nv_tileaa.load %p mask(%m) other(%o) : ($PTRS, $M, f32) -> $T",
        "expects a fallback value of type tensor<8xf32>, but got f32",
    ),
    "addptr base": (
        "%i: index",
        "%r = nv_tileaa.addptr %i, %i : (index, index) -> index",
        "expects a pointer as base, but got index",
    ),
    "addptr result": (
        "%p: $PTR, %i: index",
        "%r = nv_tileaa.addptr %p, %i : ($PTR, index) -> !nv_tileaa.ptr<f32, 3>",
        "expects the result to be of the type of the base, !nv_tileaa.ptr<f32, 1>, but got !nv_tileaa.ptr<f32, 3>",
    ),
    "addptr offset": (
        "%p: $PTR, %i: f32",
        "%r = nv_tileaa.addptr %p, %i : ($PTR, f32) -> $PTR",
        "expects an offset in elements, but got f32",
    ),
    "addptr offsets": (
        "%p: $PTR, %i: $TX",
        "%r = nv_tileaa.addptr %p, %i : ($PTR, $TX) -> $PTR",
        "expects a scalar offset or one for each pointer, but got tensor<8xindex>",
    ),
    "make_memref elements": (
        "%p: $PTR",
        "%a = nv_tileaa.make_memref %p : ($PTR) -> !nv_tileaa.memref<8xf32, 3>",
        "expects elements and address space of the base, !nv_tileaa.ptr<f32, 1>, but got !nv_tileaa.memref<8xf32, 3>",
    ),
    "make_memref sizes": (
        "%p: $PTR",
        "%a = nv_tileaa.make_memref %p : ($PTR) -> !nv_tileaa.memref<?x8xf32, 1>",
        "expects 1 dynamic sizes, but got 0",
    ),
    "make_memref strides": (
        "%p: $PTR, %i: index",
        "%a = nv_tileaa.make_memref %p strides(%i) : ($PTR, index) -> !nv_tileaa.memref<8xf32, 1>",
        "expects 0 dynamic strides, but got 1",
    ),
    "join of nothing": ("", "%t = nv_tileaa.join_mem_token : () -> $TOK", "expects at least one token"),
    "atomic without mode": (
        "%p: $PTR, %v: f32",
        "%o = nv_tileaa.atomic_rmw %p, %v : ($PTR, f32) -> f32",
        "requires attribute 'rmw_mode'",
    ),
    "atomic old value": (
        "%p: $PTR, %v: f32",
        "%o = nv_tileaa.atomic_rmw %p, %v attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : ($PTR, f32) -> i32",
        "expects an old value of type f32, but got i32",
    ),
    "bitwise atomic of floats": (
        "%p: $PTR, %v: f32",
        "%o = nv_tileaa.atomic_rmw %p, %v attributes {rmw_mode = #nv_tileaa<rmw_mode and>} : ($PTR, f32) -> f32",
        "expects integer elements for rmw_mode and, but got f32",
    ),
    "addf of integers": (
        "%a: $I1, %i: index, %v: i32",
        "%o = nv_tileaa.atomic_rmw %a[%i], %v attributes {rmw_mode = #nv_tileaa<rmw_mode addf>} "
        ": ($I1, i32, index) -> i32",
        "expects float elements for rmw_mode addf, but got i32",
    ),
    "comparing atomic": (
        "%p: $PTR, %v: f32",
        "%o = nv_tileaa.atomic_rmw %p, %v attributes {rmw_mode = #nv_tileaa<rmw_mode cmpxchg>} : ($PTR, f32) -> f32",
        "expects 'nv_tileaa.atomic_cas' where values are compared",
    ),
    "cas types": (
        "%p: $PTR, %v: f32, %w: i32",
        "%o = nv_tileaa.atomic_cas %p, %v, %w : ($PTR, f32, i32) -> f32",
        "expects compared, replacing and old value to be of one type, but got f32 and i32",
    ),
    "gather of pointers": (
        "%p: $PTRS",
        "%v = nv_tileaa.gather_load %p : ($PTRS) -> $T",
        "expects an array as base, but got tensor<8x!nv_tileaa.ptr<f32, 1>>",
    ),
    "gather rank": (
        "%a: $A2, %i: $TX",
        "%v = nv_tileaa.gather_load %a[%i] : ($A2, $TX) -> $T",
        "expects 2 indices, but got 1",
    ),
    "gather index": (
        "%a: $A1, %i: index",
        "%v = nv_tileaa.gather_load %a[%i] : ($A1, index) -> $T",
        "expects an index for each lane of tensor<8xf32>, but got index",
    ),
    "gather fallback": (
        "%a: $A1, %i: $TX, %m: $M, %o: f32",
        "%v = nv_tileaa.gather_load %a[%i] mask(%m) other(%o) : ($A1, $TX, $M, f32) -> $T",
        "expects a fallback value of type tensor<8xf32>, but got f32",
    ),
    "gather padding": (
        "%a: $I1, %i: $TX",
        "%v = nv_tileaa.gather_load %a[%i] attributes {padding_value = #nv_tileaa<padding_value nan>} "
        ": ($I1, $TX) -> $TI",
        "special padding values (nan, pos_inf, neg_inf, neg_zero) only for float-like element types",
    ),
    "scatter padding": (
        "%a: $A1, %i: $TX, %v: $T",
        "nv_tileaa.scatter_store %a[%i], %v attributes {padding_value = #nv_tileaa<padding_value zero>} "
        ": ($A1, $T, $TX) -> ()",
        "expects no padding_value on a store",
    ),
}

EXECUTE = "nv_tileaa.execute"

QUEUES: Refusals = {
    "put of both": (
        "%q: $Q, %a: $T",
        "nv_tileaa.queue.put %q, %a { ^bb0(%s: $T): nv_tileaa.queue.yield %s : ($T) -> () } : ($Q, $T) -> ()",
        "'nv_tileaa.queue.put' op expects either payload operands or a region, but got both",
    ),
    "put of neither": (
        "%q: $Q, %i: index",
        "nv_tileaa.queue.put %q[%i] : ($Q, index) -> ()",
        "expects either payload operands or a region, but got neither",
    ),
    "put payload": (
        "%q: $Q, %a: $TI",
        "nv_tileaa.queue.put %q, %a : ($Q, $TI) -> ()",
        "expects payload types to match the queue's element types [tensor<8xf32>], but got [tensor<8xi32>]",
    ),
    "put too much": (
        "%q: $Q, %a: $T",
        "nv_tileaa.queue.put %q, %a, %a : ($Q, $T, $T) -> ()",
        "expects payload types to match the queue's element types [tensor<8xf32>], "
        "but got [tensor<8xf32>, tensor<8xf32>]",
    ),
    "put of something else": (
        "%q: f32, %a: $T",
        "nv_tileaa.queue.put %q, %a : (f32, $T) -> ()",
        "f32 should be of base attribute nv_tileaa.queue",
    ),
    "put arguments": (
        "%q: $Q, %a: $T",
        "nv_tileaa.queue.put %q { nv_tileaa.queue.yield %a : ($T) -> () } : ($Q) -> ()",
        "expects region argument types to match the queue's element types [tensor<8xf32>], but got []",
    ),
    "put yield": (
        "%q: $Q",
        "nv_tileaa.queue.put %q { ^bb0(%s: $T): nv_tileaa.queue.yield %s, %s : ($T, $T) -> () } : ($Q) -> ()",
        "expects 'nv_tileaa.queue.yield' of [tensor<8xf32>], but got [tensor<8xf32>, tensor<8xf32>]",
    ),
    "put of blocks": (
        "%q: $Q",
        """nv_tileaa.queue.put %q {
           ^bb0(%s: $T): nv_tileaa.queue.yield %s : ($T) -> ()
           ^bb1: nv_tileaa.queue.yield : () -> ()
           } : ($Q) -> ()""",
        "'nv_tileaa.queue.put' does not contain single-block regions",
    ),
    "get results": (
        "%q: $Q",
        "%r = nv_tileaa.queue.get %q : ($Q) -> $TI",
        "expects result types to match the queue's element types [tensor<8xf32>], but got [tensor<8xi32>]",
    ),
    "get yield": (
        "%q: $Q",
        "%r = nv_tileaa.queue.get %q { ^bb0(%s: $T): nv_tileaa.queue.yield : () -> () } : ($Q) -> $T",
        "expects 'nv_tileaa.queue.yield' of [tensor<8xf32>], but got []",
    ),
    "get consumer": (
        "%q: $Q",
        "%r = nv_tileaa.queue.get %q attributes {consumer_idx = -1 : i32} : ($Q) -> $T",
        "expects consumer_idx not to be negative, got -1",
    ),
    "aliasing queue": (
        "%q: $Q",
        "nv_tileaa.queue.put %q, %q : ($Q, $Q) -> ()",
        "'nv_tileaa.queue.put' op expects the queue not to alias operand #1",
    ),
    "aliasing result": (
        "%q: $Q",
        "%r = nv_tileaa.queue.get %q : ($Q) -> $Q",
        "'nv_tileaa.queue.get' op expects the queue not to alias result #0",
    ),
    "execute nothing": (
        "",
        f"{EXECUTE} attributes {{num_agents_per_group = array<i32>}} : () -> ()",
        "expects at least one agent group",
    ),
    "execute groups": (
        "",
        f"{EXECUTE} attributes {{num_agents_per_group = array<i32: 1, 1>}} {{ {WRONG_END} }} : () -> ()",
        "expects one entry of num_agents_per_group for each region, but got 2 for 1 regions",
    ),
    "execute empty group": (
        "",
        f"{EXECUTE} attributes {{num_agents_per_group = array<i32: 0>}} {{ {WRONG_END} }} : () -> ()",
        "expects every agent group to be non-empty, but got 0",
    ),
    "execute registers": (
        "",
        f"{EXECUTE} attributes {{num_agents_per_group = array<i32: 1>, max_regs = array<i32: 8, 8>}} "
        f"{{ {WRONG_END} }} : () -> ()",
        "expects one entry of max_regs for each region, but got 2 for 1 regions",
    ),
    "execute budget": (
        "",
        f"{EXECUTE} attributes {{num_agents_per_group = array<i32: 1>, max_regs = array<i32: -2>}} "
        f"{{ {WRONG_END} }} : () -> ()",
        "expects register budgets to be positive or -1 (inherit), but got -2",
    ),
    "execute no block": (
        "",
        f'"{EXECUTE}"() <{{num_agents_per_group = array<i32: 1>}}> ({{ }}) : () -> ()',
        "expects a block in region #0",
    ),
    "execute arguments": (
        "%a: $T",
        f"{EXECUTE} %a attributes {{num_agents_per_group = array<i32: 1>}} "
        f"{{ ^bb0(%n: index, %x: $T): {WRONG_END} }} : ($T) -> ()",
        "expects the arguments of region #0 to match the captured operands [tensor<8xf32>], "
        "but got [index, tensor<8xf32>]",
    ),
}

SHAPES: Refusals = {
    "view count": (
        "%a: $AB",
        "%r = nv_tileaa.view %a : ($AB) -> $T",
        "expects the element count to stay, but got 32 vs 8",
    ),
    "view elements": (
        "%a: $T",
        "%r = nv_tileaa.view %a : ($T) -> $TI",
        "expects source and result elements to be equal, but got f32 and i32",
    ),
    "splat": ("%a: i32", "%r = nv_tileaa.splat %a : (i32) -> $T", "expects a scalar of type f32, but got i32"),
    "broadcast": (
        "%a: tensor<2xf32>",
        "%r = nv_tileaa.broadcast %a : (tensor<2xf32>) -> $T",
        "expects only unit axes to grow, but got 2 to 8",
    ),
    "broadcast rank": (
        "%a: tensor<4xf32>",
        "%r = nv_tileaa.broadcast %a : (tensor<4xf32>) -> $AB",
        "expects only unit axes to grow, but got 4 to 8x4",
    ),
    "expand_dims": (
        "%a: $T",
        "%r = nv_tileaa.expand_dims %a : ($T) -> $AB",
        "expects unit axes to be inserted, but got 8 to 8x4",
    ),
    "expand_dims of nothing": (
        "%a: $T",
        "%r = nv_tileaa.expand_dims %a : ($T) -> $T",
        "expects unit axes to be inserted, but got 8 to 8",
    ),
    "permutation": (
        "%a: $AB",
        "%r = nv_tileaa.permute %a attributes {permutation = array<i64: 1, 1>} : ($AB) -> $AB",
        "expects a permutation of 2 axes, but got [1, 1]",
    ),
    "permuted shape": (
        "%a: $AB",
        "%r = nv_tileaa.permute %a attributes {permutation = array<i64: 1, 0>} : ($AB) -> $AB",
        "expects a result of shape 4x8, but got 8x4",
    ),
    "cat axis": (
        "%a: $T",
        "%r = nv_tileaa.cat %a attributes {axis = 1 : i32} : ($T) -> $T",
        "expects an axis of the result, but got 1",
    ),
    "cat of nothing": ("", "%r = nv_tileaa.cat attributes {axis = 0 : i32} : () -> $T", "expects at least one tile"),
    "cat shapes": (
        "%a: $AB",
        "%r = nv_tileaa.cat %a, %a attributes {axis = 0 : i32} : ($AB, $AB) -> tensor<16x8xf32>",
        "expects tiles that differ along axis 0 only, but got 8x4 in 16x8",
    ),
    "cat rank": (
        "%a: $T",
        "%r = nv_tileaa.cat %a attributes {axis = 1 : i32} : ($T) -> tensor<8x8xf32>",
        "expects tiles that differ along axis 1 only, but got 8 in 8x8",
    ),
    "cat extents": (
        "%a: $AB",
        "%r = nv_tileaa.cat %a, %a attributes {axis = 0 : i32} : ($AB, $AB) -> tensor<8x4xf32>",
        "expects extents along axis 0 to add up to 8, but got 16",
    ),
    "extract too deep": (
        "%a: $T, %i: index",
        "%r = nv_tileaa.extract %a[%i, %i] : ($T, index, index) -> f32",
        "expects 1 to 1 indices, but got 2",
    ),
    "extract shape": (
        "%a: $AB, %i: index",
        "%r = nv_tileaa.extract %a[%i] : ($AB, index) -> $T",
        "expects a result of shape 4, but got 8",
    ),
    "slice rank": (
        "%a: $AB, %i: index",
        "%r = nv_tileaa.extract_slice %a[%i, %i] : ($AB, index, index) -> tensor<4xf32>",
        "expects source and result of one rank, but got 2 and 1",
    ),
    "slice offsets": (
        "%a: $AB, %i: index",
        "%r = nv_tileaa.extract_slice %a[%i] : ($AB, index) -> tensor<4x4xf32>",
        "expects 2 offsets, but got 1",
    ),
    "slice without offsets": (
        "%a: $AB",
        "%r = nv_tileaa.extract_slice %a : ($AB) -> tensor<4x4xf32>",
        "expects 2 offsets, but got 0",
    ),
    "slice offsets twice": (
        "%a: $T, %i: index",
        "%r = nv_tileaa.extract_slice %a[%i] attributes {static_offsets = array<i64: 0>} : ($T, index) -> $T",
        "expects offsets as operands or static, but got both",
    ),
    "slice sizes": (
        "%a: $T",
        "%r = nv_tileaa.extract_slice %a attributes {static_offsets = array<i64: 0>, static_sizes = array<i64: 4>} "
        ": ($T) -> $T",
        "expects a result of shape 4, but got 8",
    ),
    "slice bounds": (
        "%a: $T",
        "%r = nv_tileaa.extract_slice %a attributes {static_offsets = array<i64: 2>, static_strides = array<i64: 2>} "
        ": ($T) -> tensor<4xf32>",
        "expects the slice to lie inside the source, but along axis 0 it spans 2 to 8 of 8",
    ),
    "generate arguments": (
        "%x: f32",
        "%r = nv_tileaa.generate { nv_tileaa.yield %x : (f32) -> () } : () -> $T",
        "expects 1 arguments in the body, but got 0",
    ),
    "generate argument type": (
        "%x: f32",
        "%r = nv_tileaa.generate { ^bb0(%i: i64): nv_tileaa.yield %x : (f32) -> () } : () -> $T",
        "expects all arg types to be 0-rank tile of i32",
    ),
    "generate yields": (
        "%x: f32",
        "%r = nv_tileaa.generate { ^bb0(%i: i32): nv_tileaa.yield %x, %x : (f32, f32) -> () } : () -> $T",
        "expects exactly 1 yielded value from the region",
    ),
    "generate yields another type": (
        "%x: f32",
        "%r = nv_tileaa.generate { ^bb0(%i: i32): nv_tileaa.yield %i : (i32) -> () } : () -> $T",
        "expects the region to yield f32, but got i32",
    ),
    "generate without body": (
        "",
        '%r = "nv_tileaa.generate"() ({ }) : () -> $T',
        "expects a body",
    ),
    "addf": ("%a: $T, %b: f32", "%r = nv_tileaa.addf %a, %b : ($T, f32) -> $T", "expected from variable 'T'"),
    "addf of integers": ("%a: $TI", "%r = nv_tileaa.addf %a, %a : ($TI, $TI) -> $TI", "Unexpected attribute i32"),
    "bitcast": (
        "%a: $T",
        "%r = nv_tileaa.bitcast %a : ($T) -> tensor<8xi16>",
        "expects elements of equal width, but got f32 and i16",
    ),
    "bitcast across spaces": (
        "%a: $PTR",
        "%r = nv_tileaa.bitcast %a : ($PTR) -> !nv_tileaa.ptr<f32, 3>",
        "expects elements of equal width, but got !nv_tileaa.ptr<f32, 1> and !nv_tileaa.ptr<f32, 3>",
    ),
    "int_to_ptr": (
        "%a: f32",
        "%r = nv_tileaa.int_to_ptr %a : (f32) -> $PTR",
        "expects an integer to become a pointer, not f32 to become !nv_tileaa.ptr<f32, 1>",
    ),
    "ptr_to_int": (
        "%a: $PTR",
        "%r = nv_tileaa.ptr_to_int %a : ($PTR) -> f32",
        "expects a pointer to become an integer, not !nv_tileaa.ptr<f32, 1> to become f32",
    ),
    "reduce axis": (
        "%a: $T",
        "%r = nv_tileaa.reduce %a attributes {axis = 1 : i32} $COMBINER : ($T) -> f32",
        "expects an axis below 1, but got 1",
    ),
    "reduce shape": (
        "%a: $AB",
        "%r = nv_tileaa.reduce %a attributes {axis = 0 : i32} $COMBINER : ($AB) -> $T",
        "expects a result of 4 f32, but got tensor<8xf32>",
    ),
    "reduce combiner": (
        "%a: $TI",
        "%r = nv_tileaa.reduce %a attributes {axis = 0 : i32} $COMBINER : ($TI) -> i32",
        "expects a combiner of two i32, but got (f32, f32)",
    ),
    "reduce yield": (
        "%a: $T",
        "%r = nv_tileaa.reduce %a attributes {axis = 0 : i32} "
        "{ ^bb0(%x: f32, %y: f32): nv_tileaa.yield : () -> () } : ($T) -> f32",
        "expects the combiner to yield f32, but got ()",
    ),
    "reduce without combiner": (
        "%a: $T",
        '%r = "nv_tileaa.reduce"(%a) <{axis = 0 : i32}> ({ }) : ($T) -> f32',
        "expects a combiner",
    ),
    "scan result": (
        "%a: $T",
        "%r = nv_tileaa.scan %a attributes {axis = 0 : i32} $COMBINER : ($T) -> f32",
        "expects a result of type tensor<8xf32>, but got f32",
    ),
    "conv_dot": (
        "%a: $T, %b: $TI",
        "%r = nv_tileaa.conv_dot %a, %b, %a : ($T, $TI, $T) -> $T",
        "expects activation, filter and accumulator to be all integers or all floats",
    ),
    "conv_dot params": (
        "%a: $T",
        "%r = nv_tileaa.conv_dot %a, %a, %a attributes "
        "{conv_params = #nv_tileaa.conv_params<stride=[1,1], padding=[0]>} : ($T, $T, $T) -> $T",
        "expects conv params size matched with each other",
    ),
    "conv_tile source": (
        "%a: $T",
        conv_tile()[1].replace("(memref<1x8x8x16xf16>)", "($T)"),
        "expects an array to tile, but got tensor<8xf32>",
    ),
    "conv_dot result": (
        "%a: $T",
        "%r = nv_tileaa.conv_dot %a, %a, %a : ($T, $T, $T) -> $AB",
        "expects a result of type tensor<8xf32>, but got tensor<8x4xf32>",
    ),
    "assert": ("%a: $T", 'nv_tileaa.assert %a attributes {message = ""} : ($T) -> ()', "expects a condition of i1"),
    "pragma results": (
        "%a: f32",
        "%r = nv_tileaa.pragma { nv_tileaa.yield : () -> () } : () -> f32",
        "expects the region to yield (f32), but got ()",
    ),
    "pragma results from nowhere": ("", "%r = nv_tileaa.pragma : () -> f32", "expects the region to yield (f32)"),
    "grid axis": (
        "",
        "%r = nv_tileaa.get_program_id attributes {axis = 3 : i32} : () -> index",
        "expects a grid axis 0, 1 or 2, but got 3",
    ),
    "number of a program": (
        "%p: !nv_tileaa.program_id",
        "%r = nv_tileaa.get_program_id %p attributes {axis = 0 : i32} "
        ": (!nv_tileaa.program_id) -> !nv_tileaa.program_id",
        "expects an integer result where it is asked for the number of a program",
    ),
}

TABLES = {
    "mark_for_reuse": MARK_FOR_REUSE,
    "terminator": TERMINATORS,
    "dot": DOT,
    "tiling": TILING,
    "assume": ASSUME,
    "fp_to_fp": FP_TO_FP,
    "memory": MEMORY,
    "queue": QUEUES,
    "shape": SHAPES,
}

CASES = {f"{table}: {name}": case for table, cases in TABLES.items() for name, case in cases.items()}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str) -> None:
    arguments, body, text = CASES[case]
    with pytest.raises(VerifyException, match=re.escape(text)):
        parse(f"func.func @f({written_out(arguments)}) {{ {written_out(body)} func.return }}")


MODULES = {
    "return of another type": (
        "nv_tileaa.func @f() -> f32 { nv_tileaa.return : () -> () }",
        "'nv_tileaa.return' op expects to return (f32), but got ()",
    ),
    "arguments of a function": (
        """"nv_tileaa.func"() <{sym_name = "f", function_type = (f32) -> ()}> ({
          nv_tileaa.return : () -> ()
        }) : () -> ()""",
        "'nv_tileaa.func' op expects arguments of types (f32), but got ()",
    ),
    "block-scaled format on an older machine": (
        """nv_tileaa.func @f(%x: f32) attributes {nv_tileaa.compute_capability = 90 : i32} {
          %y = nv_tileaa.fp_to_fp %x : (f32) -> f4E2M1FN
          nv_tileaa.return : () -> ()
        }""",
        "fp_to_fp block-scaled format requires a target that supports block-scaled MMA",
    ),
    "successors of a load": (
        """func.func @f(%p: !nv_tileaa.ptr<f32, 1>) {
          nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
          ^bb0:
            %v = "nv_tileaa.load"(%p) [^bb0] <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}>
              : (!nv_tileaa.ptr<f32, 1>) -> f32
          } : () -> ()
          func.return
        }""",
        "'nv_tileaa.load' op requires 0 successors but found 1",
    ),
}


TWO_BLOCKS = {
    "generate": '%r = "nv_tileaa.generate"() {} : () -> $T',
    "reduce": '%r = "nv_tileaa.reduce"(%a) <{{axis = 1 : i32}}> {} : ($AB) -> $T',
    "scan": '%r = "nv_tileaa.scan"(%a) <{{axis = 1 : i32, inclusive = true}}> {} : ($AB) -> $AB',
    "pragma": '"nv_tileaa.pragma"() {} : () -> ()',
    "queue.put": '"nv_tileaa.queue.put"(%q) {} : ($Q) -> ()',
    "queue.get": '"nv_tileaa.queue.get"(%q) {} : ($Q) -> ()',
}
"""Op -> how it is written, with a place for its region."""


@pytest.mark.parametrize("op", TWO_BLOCKS)
def test_a_second_block_is_refused(op: str) -> None:
    leave = f"nv_tileaa.{'queue.' if op.startswith('queue') else ''}yield : () -> ()"
    body = TWO_BLOCKS[op].format(f"({{ ^bb0: {leave} ^bb1: {leave} }})")
    with pytest.raises(VerifyException, match=f"'nv_tileaa.{op}' does not contain single-block regions"):
        parse(f"func.func @f({written_out('%a: $AB, %q: $Q')}) {{ {written_out(body)} func.return }}")


@pytest.mark.parametrize("case", MODULES)
def test_module_refused(case: str) -> None:
    text, message = MODULES[case]
    with pytest.raises(VerifyException, match=re.escape(message)):
        parse(text)


def test_newer_machine_has_block_scaled_formats() -> None:
    text, _ = MODULES["block-scaled format on an older machine"]
    parse(text.replace("90 : i32", "100 : i32"))


TYPES = {
    "!nv_tileaa.queue<[]>": "a queue must carry at least one element type",
    "!nv_tileaa.queue<[i32]>": "a queue carries tiles (tensors), not i32",
    "!nv_tileaa.queue<[tensor<8xf32>], depth = 2147483648>": (
        "the depth of a queue must be at most 2147483647, got 2147483648"
    ),
    "!nv_tileaa.queue<[tensor<8xf32>], depth = 0>": "the depth of a queue must be positive, got 0",
    "!nv_tileaa.queue<[tensor<8xf32>], width = 3>": "Expected one of",
    "!nv_tileaa.memref<8x8xf32, 1, strides = [1]>": "an array of rank 2 needs as many strides, got 1",
    "!nv_tileaa.memref<8x8xf32>": "before the address space of an array",
    "!nv_tileaa.ptr<f32>": "before the address space of a pointer",
    "#nv_tileaa.compute_capability<9>": "a compute capability is major * 10 + minor, got 9",
    "#nv_tileaa.kernel_spec<a=1, a=2>": "the setting 'a' is given twice",
    "#nv_tileaa<rounding_mode odd>": "Expected `nearest_even`",
    "#nv_tileaa.div_by<>": "Expected integer literal",
}


@pytest.mark.parametrize("spelling", TYPES)
def test_type_or_attribute_refused(spelling: str) -> None:
    with pytest.raises((ParseError, VerifyException)) as refusal:
        parse(f'"test.op"() {{entry = {spelling}}} : () -> ()')
    assert TYPES[spelling] in str(refusal.value)
