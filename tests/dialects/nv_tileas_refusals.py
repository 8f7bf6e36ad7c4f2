"""
What the verifiers of `nv_tileas` refuse: function arguments, body, and the text of the refusal.

`VERBATIM` holds the texts of TileAS, byte for byte; `WORDED` those whose wording is ours. Short names are those of
`nv_tileas_samples`, and the ones of `SHORT`.
"""

from __future__ import annotations

Refusal = tuple[str, str, str]

SHORT = {"pipe.": "nv_tileas.async.pipeline.", "nvt.": "nv_tileas."}
"""Prefix of an op's name -> the prefix in full."""


def produce(payload: str, arguments: str, yielded: str) -> str:
    """A produce op with this payload, these block arguments, and a body that ends in `yielded`."""
    return f"""%p1 = pipe.produce_one %p attributes {{producer_types = [{payload}]}} {{
    ^bb0({arguments}):
      {yielded}
    }} : ($PROD) -> $PROD"""


def agents(attributes: str, *regions: str) -> str:
    """An agent switch without operands."""
    bodies = ", ".join(f"{{\n^bb0:\n{region}\n}}" for region in regions)
    return f"pipe.agent_switch attributes {{{attributes}}} {bodies} : () -> ()"


CONSUME_IN_REGION = "%c, %t0 = pipe.consume_one_async %t attributes {consumer_idx = 2 : i32} : ($CONS) -> ($CONS, $TOK)"

REGIONS: dict[str, Refusal] = {
    "block argument against payload": (
        "%p: $PROD, %v: $T",
        produce("$T", "%slot: f32", "pipe.yield %v : ($T) -> ()"),
        "expects region arguement types to match with producer types [$T], but got: [f32]",
    ),
    "a block argument of two": (
        "%p: $PROD, %v: $T",
        produce("$T, f32", "%slot: $T", "pipe.yield %v : ($T) -> ()"),
        "expects region arguement types to match with producer types [$T, f32], but got: [$T]",
    ),
    "an iterator is unwrapped once": (
        "%p: $PROD, %v: $T",
        produce("$IT", "%slot: $IT", "pipe.yield %v : ($T) -> ()"),
        "expects region arguement types to match with producer types [$IT], but got: [$IT]",
    ),
    "consume_one prints its consumer types": (
        "%t: $TOK",
        """%v = pipe.consume_one %t attributes {consumer_types = [$T]} {
             %r = pipe.consumer_read %t : ($TOK) -> $T
             pipe.yield %r : ($T) -> ()
           } : ($TOK) -> $T""",
        "expects region arguement types to match with producer types [$T], but got: []",
    ),
    "consumer types win over producer types": (
        "%t: $TOK",
        """%v = pipe.consume_one %t attributes {consumer_types = [f32], producer_types = [$T]} {
           ^bb0(%slot: $T):
             pipe.yield %slot : ($T) -> ()
           } : ($TOK) -> $T""",
        "expects region arguement types to match with producer types [f32], but got: [$T]",
    ),
    "yield of a produce op against payload": (
        "%p: $PROD, %v: f32",
        produce("$T", "%slot: $T", "pipe.yield %v : (f32) -> ()"),
        "expects region result types to be match with operation result types [$T], but got: [f32]",
    ),
    "yield of a produce op against its values": (
        "%i: index, %v: f32",
        """%w, %p = pipe.produce_one %i {
             pipe.yield %v, %v : (f32, f32) -> ()
           } : (index) -> (f32, $PROD)""",
        "expects region result types to be match with operation result types [f32], but got: [f32, f32]",
    ),
    "yield of a consume op": (
        "%t: $TOK, %v: f32",
        """%w, %t1 = pipe.consume_one %t {
             pipe.yield %v : (f32) -> ()
           } : ($TOK) -> ($T, $TOK)""",
        "expects region result types to be match with operation result types [$T], but got: [f32]",
    ),
    "yield of a consumer_read": (
        "%t: $TOK, %v: f32",
        "%w = pipe.consumer_read %t { pipe.yield %v : (f32) -> () } : ($TOK) -> $T",
        "expects region result types to be match with operation result types [$T], but got: [f32]",
    ),
    "yield of a producer_write": (
        "%p: $PROD, %v: f32",
        """%w = pipe.producer_write %p attributes {producer_types = [$T]} {
           ^bb0(%slot: $T):
             pipe.yield %v : (f32) -> ()
           } : ($PROD) -> $PROD""",
        "expects region result types to be match with operation result types [$T], but got: [f32]",
    ),
    "no terminator": (
        "%t: $TOK",
        "%w = pipe.consume_one %t { %k = arith.constant 0 : i32 } : ($TOK) -> $T",
        "pipeline regions must end with 'nv_tileas.async.pipeline.yield'",
    ),
    "another terminator": (
        "%t: $TOK",
        "pipe.consume_one %t { nvt.yield : () -> () } : ($TOK) -> ()",
        "pipeline regions must end with 'nv_tileas.async.pipeline.yield'",
    ),
    "an empty block": (
        "%p: $PROD",
        "%w = pipe.producer_write %p {\n^bb0:\n} : ($PROD) -> $PROD",
        "pipeline regions must end with 'nv_tileas.async.pipeline.yield'",
    ),
    "the terminator comes before the arguments": (
        "%p: $PROD",
        produce("$T", "%slot: f32", "%k = arith.constant 0 : i32"),
        "pipeline regions must end with 'nv_tileas.async.pipeline.yield'",
    ),
    "consumer_idx of a consume op": (
        "%t: $CONS",
        agents("num_agents_per_group = array<i32: 2>", CONSUME_IN_REGION),
        "consumer_idx out of range for consumer group",
    ),
    "consumer_idx below a loop": (
        "%t: $TOK, %n: index",
        agents(
            "num_agents_per_group = array<i32: 1, 1>",
            "%k = arith.constant 0 : i32",
            """scf.for %i = %n to %n step %n {
                 %u = pipe.consumer_wait %t attributes {consumer_idx = 1 : i32} : ($TOK) -> $TOK
               }""",
        ),
        "consumer_idx out of range for consumer group",
    ),
    "a negative consumer_idx": (
        "%t: $TOK",
        "%v = pipe.consumer_read %t attributes {consumer_idx = -1 : i32} : ($TOK) -> $T",
        "consumer_idx out of range for consumer group",
    ),
    "warps of one group": (
        "",
        agents("num_agents_per_group = array<i32: 1, 2>, num_warps = array<i32: 1, 4, 2>", "", ""),
        "agent regions disagree on warp count",
    ),
    "more warps than a block has": (
        "",
        agents("num_agents_per_group = array<i32: 1, 2>, num_warps = array<i32: 1, 16>", "", ""),
        "agent warp count exceeds module budget",
    ),
}

VIEW2 = "%v: $VIEW, %i: index"
LOAD2 = "%a = nvt.tiled_load %v[%i, %i] {} : ($VIEW, index, index) -> $TILE"


def tiled_load(attributes: str) -> str:
    return f"%a = nvt.tiled_load %v[%i, %i] attributes {{{attributes}}} : ($VIEW, index, index) -> $TILE"


def tiled_store(attributes: str, element: str = "f16") -> str:
    """A store of an 8x16 tile of `element` to an array `%v`."""
    return f"""nvt.tiled_store %v[%i, %i], %a attributes {{{attributes}}}
    : (memref<64x64x{element}>, tensor<8x16x{element}>, index, index) -> ()"""


def store_arguments(element: str = "f16") -> str:
    return f"%v: memref<64x64x{element}>, %a: tensor<8x16x{element}>, %i: index"


def rmw(element: str, mode: str) -> Refusal:
    """An atomic of `element` in `mode`; the text is still to be filled in."""
    return (
        f"%v: memref<64x{element}>, %a: tensor<8x{element}>, %i: index",
        f"""%o = nvt.tiled_atomic_rmw %v[%i], %a attributes {{rmw_mode = #nv_tileas<rmw_mode {mode}>}}
        : (memref<64x{element}>, tensor<8x{element}>, index) -> tensor<8x{element}>""",
        "",
    )


def semantic(word: str, scope: str | None = None) -> str:
    scoped = f", mem_scope = #nv_tileas<mem_scope {scope}>" if scope else ""
    return f"mem_semantic = #nv_tileas<mem_semantic {word}>{scoped}"


def big(shape: str) -> Refusal:
    return (
        "%v: memref<?x?xf16>, %i: index",
        f"%a = nvt.tiled_load %v[%i, %i] : (memref<?x?xf16>, index, index) -> tensor<{shape}xf16>",
        "",
    )


def says(refusal: Refusal, text: str) -> Refusal:
    return (*refusal[:2], text)


TILED_MEMORY: dict[str, Refusal] = {
    "a region": (
        VIEW2,
        '%a = "nv_tileas.tiled_load"(%v, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 0>}> ({}) '
        ": ($VIEW, index, index) -> $TILE",
        "requires zero regions",
    ),
    "two tokens in": (
        VIEW2 + ", %t: $MEM",
        "%a, %u = nvt.tiled_load %v[%i, %i] token(%t, %t) : ($VIEW, index, index, $MEM, $MEM) -> ($TILE, $MEM)",
        "operand group starting at #3 requires 0 or 1 element, but found 2",
    ),
    "two masks": (
        VIEW2 + ", %m: tensor<8x16xi1>",
        """%a = nvt.tiled_load %v[%i, %i] mask(%m, %m)
           : ($VIEW, index, index, tensor<8x16xi1>, tensor<8x16xi1>) -> $TILE""",
        "operand group starting at #3 requires 0 or 1 element, but found 2",
    ),
    "two tokens out": (
        VIEW2 + ", %t: $MEM",
        "%a, %u, %w = nvt.tiled_load %v[%i, %i] token(%t) : ($VIEW, index, index, $MEM) -> ($TILE, $MEM, $MEM)",
        "result group starting at #1 requires 0 or 1 element, but found 2",
    ),
    "three tokens out of a store": (
        "%v: $VIEW, %a: $TILE, %i: index, %t: $MEM",
        """%u, %w, %x = nvt.tiled_store %v[%i, %i], %a token(%t)
           : ($VIEW, $TILE, index, index, $MEM) -> ($MEM, $MEM, $MEM)""",
        "result group starting at #0 requires 0 or 1 element, but found 3",
    ),
    "coordinates of a view": (
        VIEW2,
        "%a = nvt.tiled_load %v[%i] : ($VIEW, index) -> $TILE",
        "expects 2 coordinates, but got 1",
    ),
    "coordinates of a view with a leading offset": (
        VIEW2,
        "%a = nvt.tiled_load %v[%i, %i] attributes {leading_offset} : ($VIEW, index, index) -> $TILE",
        "expects 3 coordinates, but got 2",
    ),
    "coordinates of an array": (
        "%v: $ARRAY, %i: index",
        "%a = nvt.tiled_load %v[%i, %i, %i] : ($ARRAY, index, index, index) -> $TILE",
        "expects 2 coordinates, but got 3",
    ),
    "type of a coordinate": (
        "%v: $VIEW, %i: i32",
        "%a = nvt.tiled_load %v[%i, %i] : ($VIEW, i32, i32) -> $TILE",
        "expects CoordType is same as memref index type, but got i32",
    ),
    "size of a tile": (
        VIEW2,
        "%a = nvt.tiled_load %v[%i, %i] : ($VIEW, index, index) -> tensor<8x8xf16>",
        "requires the same size for tileSize and tensor",
    ),
    "shape of a tile": (
        VIEW2,
        "%a = nvt.tiled_load %v[%i, %i] : ($VIEW, index, index) -> tensor<16x8xf16>",
        "requires the same shape for tileSize and tensor value",
    ),
    "elements of a tile": (
        VIEW2,
        "%a = nvt.tiled_load %v[%i, %i] : ($VIEW, index, index) -> tensor<8x16xf32>",
        "view elementType not equal with tensor element type: f16 != f32",
    ),
    "a dynamic extent": says(big("?x8"), "all dimensions must be positive constants, got ?"),
    "an extent of zero": says(big("8x0"), "all dimensions must be positive constants, got 0"),
    "an extent of three": says(big("8x3"), "all dimensions must be powers of two, got 3"),
    "a tile too large": says(big("8192x4096"), "tile would exceed the maximum of 16777216"),
    "scope of a weak load": (
        VIEW2,
        tiled_load("mem_scope = #nv_tileas<mem_scope gpu>"),
        "mem_scope not supported when mem_semantic is weak",
    ),
    "scope of a store that says weak": (
        store_arguments(),
        tiled_store(semantic("weak", "cta")),
        "mem_scope not supported when mem_semantic is weak",
    ),
    "no scope of a relaxed load": (
        VIEW2,
        tiled_load(semantic("relaxed")),
        "mem_scope required when mem_semantic is not weak",
    ),
    "no scope of a relaxed store": (
        store_arguments(),
        tiled_store(semantic("relaxed")),
        "mem_scope required when mem_semantic is not weak",
    ),
    "an acquiring load": (
        VIEW2,
        tiled_load(semantic("acquire", "gpu")),
        "unsupported mem_semantic: acquire",
    ),
    "an acquiring and releasing load": (
        VIEW2,
        tiled_load(semantic("acquire_release", "gpu")),
        "unsupported mem_semantic: acq_rel",
    ),
    "a releasing store": (
        store_arguments(),
        tiled_store(semantic("release", "gpu")),
        "unsupported mem_semantic: release",
    ),
    "an acquiring and releasing store": (
        store_arguments(),
        tiled_store(semantic("acq_rel", "gpu")),
        "unsupported mem_semantic: acq_rel",
    ),
    "entries of in_bounds": (
        VIEW2,
        tiled_load("in_bounds = array<i1: true>"),
        "incorrect number of in_bounds elements: expected 2, but found 1",
    ),
    "a store that may leave the array": (
        store_arguments(),
        tiled_store("in_bounds = array<i1: true, false>"),
        "inbounds must be true when paddingValue is not set",
    ),
    "a store that pads inside": (
        store_arguments(),
        tiled_store("in_bounds = array<i1: true, true>, padding_value = 0.0 : f16"),
        "inbounds must be false when paddingValue is set",
    ),
    "NaN among integers": (
        store_arguments("i32"),
        tiled_store("in_bounds = array<i1: false, false>, padding_value = #nv_tileas<padding_value nan>", "i32"),
        "special padding values (nan, pos_inf, neg_inf, neg_zero) only for float-like element types",
    ),
    "minus zero among integers": (
        "%v: memref<64xi32>, %i: index",
        """%a = nvt.tiled_load %v[%i] attributes {padding_value = #nv_tileas<padding_value neg_zero>}
           : (memref<64xi32>, index) -> tensor<8xi32>""",
        "special padding values (nan, pos_inf, neg_inf, neg_zero) only for float-like element types",
    ),
    "an atomic without mode": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        "%o = nvt.tiled_atomic_rmw %v[%i], %a : ($F32, tensor<8xf32>, index) -> tensor<8xf32>",
        "requires attribute 'rmw_mode'",
    ),
    "scope of a weak atomic": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        f"""%o = nvt.tiled_atomic_rmw %v[%i], %a attributes {{$ADD, {semantic("weak", "gpu")}}}
        : ($F32, tensor<8xf32>, index) -> tensor<8xf32>""",
        "memScope not supported when memSemantic is weak",
    ),
    "no scope of an acquiring atomic": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        f"""%o = nvt.tiled_atomic_rmw %v[%i], %a attributes {{$ADD, {semantic("acquire")}}}
        : ($F32, tensor<8xf32>, index) -> tensor<8xf32>""",
        "memScope required when memSemantic is not weak",
    ),
    "an atomic of bytes": says(rmw("i8", "add"), "tiled_atomic_rmw not supported for 8-bit types"),
    "an atomic of 8-bit floats": says(rmw("f8E5M2", "add"), "tiled_atomic_rmw not supported for 8-bit types"),
    "an atomic of short integers": says(rmw("i16", "add"), "tiled_atomic_rmw not supported for 16-bit integer"),
    "an atomic and of halves": says(
        rmw("f16", "and"), "tiled_atomic_rmw for 16-bit float only supports add, max, min operations"
    ),
    "an atomic and of bf16": says(
        rmw("bf16", "xor"), "tiled_atomic_rmw for 16-bit float only supports add, max, min operations"
    ),
    "an atomic fadd": says(
        rmw("f32", "fadd"),
        "tiled_atomic_rmw op cannot use fadd operation, please use add instead for both int and float types",
    ),
    "an atomic addf": says(
        rmw("f32", "addf"),
        "tiled_atomic_rmw op cannot use fadd operation, please use add instead for both int and float types",
    ),
    "an atomic exchange": says(rmw("i32", "xchg"), "tiled_atomic_rmw op cannot use xchg operation"),
    "atom of a load": (
        VIEW2,
        tiled_load("atom = #nv_tileas<atom stg>"),
        "expect a ldgsts, tma_load, ldg or unknown_copy atom type",
    ),
    "atom of a store": (
        store_arguments(),
        tiled_store("atom = #nv_tileas<atom sm90_tma_load_2d_f16>"),
        "expect a stg, tma_store or unknown_copy atom type",
    ),
}


def transfer(op: str, attributes: str, tile: str = "$SMEM", coordinates: str = "%i, %i") -> str:
    """A TMA transfer between `%d` and `%s`."""
    types = ", ".join("index" for _ in coordinates.split(",")) if coordinates else ""
    return f"%t = nvt.async.{op} %d[{coordinates}], %s attributes {{{attributes}}} : ($DESC, {tile}, {types}) -> $TOK"


TRANSFER = "%d: $DESC, %s: $SMEM, %i: index"


def describe(attributes: str, operands: str = "", types: str = "") -> str:
    return f"%d = nvt.make_tiled_tma_desc %a{operands} attributes {{{attributes}}} : ($ARRAY{types}) -> $DESC"


BOXED_LOAD = "atom = #nv_tileas<atom tma_load {box = array<i64: 8, 16>}>"
LANES = TRANSFER + ", %r: $I"

TMA: dict[str, Refusal] = {
    "load without atom": (TRANSFER, transfer("tiled_tma_load", ""), "expect a tma_load atom type"),
    "load with a store atom": (TRANSFER, transfer("tiled_tma_load", "$STORE"), "expect a tma_load atom type"),
    "store with a load atom": (TRANSFER, transfer("tiled_tma_store", "$LOAD"), "expect a tma_store atom type"),
    "gather with another atom": (
        LANES,
        """%t = nvt.async.gather_tma_load %d[%i], %s, %r attributes {atom = #nv_tileas<atom ldg>}
           : ($DESC, $SMEM, index, $I) -> $TOK""",
        "expect a tma_load atom type",
    ),
    "scatter with another atom": (
        LANES,
        "%t = nvt.async.scatter_tma_store %d[%i], %s, %r attributes {$LOAD} : ($DESC, $SMEM, index, $I) -> $TOK",
        "expect a tma_store atom type",
    ),
    "reduction with another atom": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        "%t = nvt.async.tiled_atomic_rmw %v[%i], %a attributes {$ADD, $LOAD} : ($F32, tensor<8xf32>, index) -> $TOK",
        "expect a tma_redg atom type",
    ),
    "reduction that scatters": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        """%t = nvt.async.tiled_atomic_rmw %v[%i], %a
           attributes {$ADD, atom = #nv_tileas<atom tma_redg {mode = "scatter4"}>}
           : ($F32, tensor<8xf32>, index) -> $TOK""",
        "TmaReduceOp do not support SCATTER4 mode",
    ),
    "descriptor with another atom": (
        "%a: $ARRAY",
        describe("atom = #nv_tileas<atom ldg>"),
        "invalid TMA atom type",
    ),
    "descriptor without atom": ("%a: $ARRAY", describe(""), "invalid TMA atom type"),
    "rank of the box": (
        "%a: $ARRAY",
        describe(BOXED_LOAD + ", box = array<i64: 16>"),
        "tmaBoxDim and atomBoxDim length mismatch",
    ),
    "number of box operands": (
        "%a: $ARRAY, %i: index",
        describe(BOXED_LOAD, ", %i", ", index"),
        "tmaBoxDim and atomBoxDim length mismatch",
    ),
    "extents of the box": (
        "%a: $ARRAY",
        describe(BOXED_LOAD + ", box = array<i64: 16, 16>"),
        "tmaBoxDim and atomBoxDim mismatch",
    ),
    "element strides": (
        "%a: $ARRAY",
        describe("$LOAD, element_strides = array<i64: 1, 2>"),
        "only support element_stride = 1 tma desc",
    ),
    "alignment of the box": (
        "%a: $ARRAY",
        describe("$LOAD, box = array<i64: 8, 4>"),
        "tma leading box-dim bit-width is not 16 bytes aligned",
    ),
    "box of the transfer": (
        "%a: $ARRAY, %s: $SMEM, %i: index",
        describe("$LOAD, box = array<i64: 8, 8>") + "\n" + transfer("tiled_tma_load", BOXED_LOAD),
        "tma box-dim and copy atom box-dim mismatch",
    ),
    "alignment of the transfer": (
        TRANSFER,
        transfer("tiled_tma_load", "atom = #nv_tileas<atom tma_load {box = array<i64: 8, 4>}>"),
        "tma boxDims[0] * elemTypeBitWidth is not a multiple of 16 bytes",
    ),
    "coordinates of the transfer": (
        "%a: $ARRAY, %s: $SMEM, %i: index",
        describe("$LOAD") + "\n" + transfer("tiled_tma_load", "$LOAD", coordinates="%i"),
        "expects 2 coordinates, but got 1",
    ),
    "layout in registers": (
        "%d: $DESC, %s: $R, %i: index",
        transfer("tiled_tma_load", "$LOAD", "$R"),
        "smem layout is not TMA compatible",
    ),
    "padding of a load": (
        TRANSFER,
        transfer("tiled_tma_load", "$LOAD, padding_value = #nv_tileas<padding_value nan>"),
        "TmaLoad only support zero padding now",
    ),
    "padding of a gather": (
        LANES,
        """%t = nvt.async.gather_tma_load %d[%i], %s, %r attributes {$LOAD, padding_value = 1.0 : f16}
           : ($DESC, $SMEM, index, $I) -> $TOK""",
        "GatherTmaLoad only support zero padding now",
    ),
    "mode of a load": (
        TRANSFER,
        transfer("tiled_tma_load", 'atom = #nv_tileas<atom tma_load {mode = "zigzag"}>'),
        "unsupported tma load mode 'zigzag'",
    ),
    "barriers of a load": (
        TRANSFER + ", %b: $BAR",
        """%t = nvt.async.tiled_tma_load %d[%i], %s barrier(%b, %b) attributes {$LOAD}
           : ($DESC, $SMEM, index, $BAR, $BAR) -> $TOK""",
        "operand group starting at #3 requires 0 or 1 element, but found 2",
    ),
}


def mma(
    a: str,
    b: str,
    c: str = "f32",
    scales: tuple[str, str] | None = ("2xf8E8M0FNU", "f8E8M0FNU"),
    attributes: str = "",
    k_b: int | None = None,
) -> tuple[str, str]:
    """A block-scaled multiplication of 8x64 by 64x8: element types, and `<K extent>x<element>` of the scales."""
    extent, sfa = scales[0].split("x", 1) if scales else ("", "")
    types = [f"tensor<8x64x{a}>", f"tensor<64x8x{b}>", f"tensor<8x8x{c}>"]
    values, groups = ["%a: " + types[0], "%b: " + types[1], "%c: " + types[2]], ""
    if scales:
        types += [f"tensor<8x{extent}x{sfa}>", f"tensor<{k_b or extent}x8x{scales[1]}>"]
        values += ["%s: " + types[3], "%r: " + types[4]]
        groups = " sfa(%s) sfb(%r)"
    dictionary = f" attributes {{{attributes}}}" if attributes else ""
    signature = f"({', '.join(types)}) -> {types[2]}"
    return ", ".join(values), f"%d = nvt.block_scaled_mma %a, %b, %c{groups}{dictionary} : {signature}"


K64 = "atom = #nv_tileas<atom mma {k = 64 : i32}>"
FP4_TEXT = (
    "expects A and B element types are valid 4bit types, such asFloat4E2M1FNType or FloatNV4E0M3FType , "
    "when (atom_K=64 && vecSize=16)"
)
SCALE_TEXT = "expects sfa/sfb element types to be Float8E8M0FNUType or Float8E4M3FNType when (atom_K=64 && vecSize=16)"
E2M1_TEXT = (
    "expects A/B element types to be Float4E2M1FNType and sfa/sfb element types to be Float8E8M0FNUType when "
    "(atom_K=64 && vecSize=32)"
)
FP4, E0M3, E4M3, E8M0 = "f4E2M1FN", "!nv_tileas.f4E0M3", "f8E4M3FN", "f8E8M0FNU"

BLOCK_SCALED: dict[str, Refusal] = {
    "FP4 without scales": (*mma(FP4, FP4, scales=None), "fp4 mma should expect scaling factors"),
    "FP4 comes before its accumulator": (*mma(FP4, FP4, "f16", None), "fp4 mma should expect scaling factors"),
    "two kinds of scales": (*mma(E4M3, E4M3, scales=("2xf8E8M0FNU", E4M3)), "sfa and sfb element type mismatch"),
    "scales come before the accumulator": (
        *mma(E4M3, E4M3, "f16", ("2xf8E8M0FNU", E4M3)),
        "sfa and sfb element type mismatch",
    ),
    "a half accumulator": (*mma(E4M3, E4M3, "f16"), "expects c type to be Float32"),
    "different extents along K": (*mma(E4M3, E4M3, k_b=4), "Scale factor vector size mismatch: 2, 4"),
    "an extent that does not divide K": (
        *mma(E4M3, E4M3, scales=("3xf8E8M0FNU", E8M0)),
        "Scale factor vector size mismatch: 3, 3",
    ),
    "FP8 in blocks of 16": (
        *mma(E4M3, E4M3, scales=("4xf8E8M0FNU", E8M0)),
        "unsupported block-scaled mma configuration",
    ),
    "FP8 with FP8 scales": (
        *mma(E4M3, E4M3, scales=("2xf8E4M3FN", E4M3)),
        "unsupported block-scaled mma configuration",
    ),
    "FP8 without scales": (*mma(E4M3, E4M3, scales=None), "unsupported block-scaled mma configuration"),
    "halves": (*mma("f16", "f16"), "unsupported block-scaled mma configuration"),
    "FP4 with two thread blocks": (
        *mma(FP4, FP4, attributes="cta_group = 2 : i32"),
        "unsupported block-scaled mma configuration",
    ),
    "FP4 in blocks of 8": (
        *mma(FP4, FP4, scales=("8xf8E8M0FNU", E8M0)),
        "unsupported block-scaled mma configuration",
    ),
    "FP4 by FP8 in blocks of 16": (*mma(FP4, E4M3, scales=("4xf8E8M0FNU", E8M0)), FP4_TEXT),
    "FP8 of atom 64": (*mma(E4M3, E4M3, scales=("4xf8E8M0FNU", E8M0), attributes=K64), FP4_TEXT),
    "FP4 with other scales": (*mma(FP4, E0M3, scales=("4xf8E5M2", "f8E5M2")), SCALE_TEXT),
    "E0M3 in blocks of 32": (*mma(E0M3, FP4), E2M1_TEXT),
    "E2M1 in blocks of 32 with FP8 scales": (*mma(FP4, FP4, scales=("2xf8E4M3FN", E4M3)), E2M1_TEXT),
    "a dot of FP4 without scales": (
        f"%a: tensor<8x64x{FP4}>, %b: tensor<64x8x{FP4}>, %c: $C",
        f"%d = nvt.dot %a, %b, %c : (tensor<8x64x{FP4}>, tensor<64x8x{FP4}>, $C) -> $C",
        "fp4 mma should expect scaling factors",
    ),
    "a dot with one scale": (
        "%a: $A8, %b: $B8, %c: $C, %s: $SA",
        "%d = nvt.dot %a, %b, %c, %s : ($A8, $B8, $C, $SA) -> $C",
        "expects both SFA and SFB to be present",
    ),
}


def dot(a: str, b: str, c: str) -> tuple[str, str]:
    types = [f"tensor<{shape}>" for shape in (a, b, c)]
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abc", types, strict=True))
    return arguments, f"%d = nvt.dot %a, %b, %c : ({', '.join(types)}) -> {types[2]}"


DOT: dict[str, Refusal] = {
    "integers and floats": (
        *dot("8x4xi8", "4x8xf16", "8x8xf32"),
        "expected the element types of A, B, C, and D to be either all integers or all floats.",
    ),
    "rank": (*dot("8xf16", "8xf16", "8xf32"), "expects rank-2 or rank-3 tensor for result, but got (1)"),
    "contracted extents": (
        *dot("8x4xf16", "8x4xf16", "8x8xf32"),
        "expects the shape of operand #A and #B to be compatible",
    ),
    "batches": (
        *dot("2x8x4xf16", "3x4x8xf16", "2x8x8xf32"),
        "expects the shape of operand #A and #B to be compatible",
    ),
    "the accumulator's extents": (
        *dot("8x4xf16", "4x8xf16", "8x4xf32"),
        "expects the shape of operand #C is compatible with operands #A and #B",
    ),
}

VERBATIM: dict[str, Refusal] = {
    f"{family}: {name}": refusal
    for family, table in (
        ("regions", REGIONS),
        ("tiled memory", TILED_MEMORY),
        ("TMA", TMA),
        ("block scaled", BLOCK_SCALED),
        ("dot", DOT),
    )
    for name, refusal in table.items()
}
