"""
A sample or more of every op of `cuda_tile`: the arguments of an entry, or what makes its operands, and the op.

What is printed is what is written. `program` writes the names of types in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

TYPES = {
    "AV": "tensor_view<?x?xf16, strides=[?,1]>",
    "PV": "partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>",
    "SV": "strided_view<tile=(16x8), traversal_strides=[8, 8], tensor_view<?x?xf16, strides=[?,1]>>",
    "GV": "gather_scatter_view<tile=(16x8), tensor_view<?x?xf16, strides=[?,1]>, sparse_dim=0>",
    "NV": "partition_view<tile=(64x32), tensor_view<?x?xf32, strides=[?,1]>>",
    "FV": "tensor_view<?x?xf32, strides=[?,1]>",
    "F": "tile<4x8xf32>",
    "H": "tile<4x8xf16>",
    "I": "tile<4x8xi32>",
    "L": "tile<4x8xi64>",
    "B": "tile<4x8xi1>",
    "PF": "tile<4x8xptr<f32>>",
    "PI": "tile<4x8xptr<i32>>",
    "S": "tile<i32>",
}

ARGUMENTS = (
    "%f: tile<f32>, %i: tile<i32>, %j: tile<i64>, %h: tile<f16>, %b: tile<i1>, "
    "%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %r: tile<ptr<i32>>"
)

BEFORE = (
    "%f1 = reshape %f : tile<f32> -> tile<1x1xf32>",
    "%F = broadcast %f1 : tile<1x1xf32> -> $F",
    "%i1 = reshape %i : tile<i32> -> tile<1x1xi32>",
    "%I = broadcast %i1 : tile<1x1xi32> -> $I",
    "%H = ftof %F : $F -> $H",
    "%L = exti %I signed : $I -> $L",
    "%B = cmpi less_than %I, %I, signed : $I -> $B",
    "%q1 = reshape %q : tile<ptr<f32>> -> tile<1x1xptr<f32>>",
    "%Q = broadcast %q1 : tile<1x1xptr<f32>> -> $PF",
    "%r1 = reshape %r : tile<ptr<i32>> -> tile<1x1xptr<i32>>",
    "%R = broadcast %r1 : tile<1x1xptr<i32>> -> $PI",
    "%t = make_token : token",
    "%A = make_tensor_view %p, shape = [%i, %i], strides = [%i, 1] : tile<i32> -> $AV",
    "%C = make_tensor_view %q, shape = [%i, %i], strides = [%i, 1] : tile<i32> -> $FV",
    "%V = make_partition_view %A : $PV",
    "%N = make_partition_view %C : $NV",
    "%G = make_gather_scatter_view %A : $GV",
    "%row = iota : tile<16xi32>",
    "%x = constant <f16: 0.000000e+00> : tile<64x32xf16>",
    "%y = constant <f32: 0.000000e+00> : tile<64x32xf32>",
    "%bytes = constant <i8: 1> : tile<64xi8>",
    "%square = constant <f16: 1.000000e+00> : tile<16x16xf16>",
    "%sum = constant <f32: 0.000000e+00> : tile<16x16xf32>",
    "%eights = constant <i8: 1> : tile<16x16xi8>",
    "%whole = constant <i32: 0> : tile<16x16xi32>",
    "%left = constant <f8E4M3FN: 1.000000e+00> : tile<16x64xf8E4M3FN>",
    "%right = constant <f8E4M3FN: 1.000000e+00> : tile<64x16xf8E4M3FN>",
    "%sa = constant <f8E8M0FNU: 1.000000e+00> : tile<16x2xf8E8M0FNU>",
    "%sb = constant <f8E8M0FNU: 1.000000e+00> : tile<2x16xf8E8M0FNU>",
)
"""What makes operands for the samples."""


def short(name: str) -> str:
    """The name of an op inside of its dialect."""
    return name.partition(".")[2]


SAMPLES: dict[str, Sequence[str]] = {
    "cuda_tile.constant": (
        "%0 = constant <f32: [1.000000e+00, 0xFF800000]> : tile<2xf32>",
        "%0 = constant <i1: [[true, false], [false, false]]> : tile<2x2xi1>",
        "%0 = constant <i8: -3> : tile<i8>",
        "%0 = constant <f64: 1.00000000000001e+00> : tile<f64>",
    ),
    "cuda_tile.get_tile_block_id": ("%0:3 = get_tile_block_id : tile<i32>",),
    "cuda_tile.get_num_tile_blocks": ("%0:3 = get_num_tile_blocks : tile<i32>",),
    "cuda_tile.get_global": ("%0 = get_global @lock : tile<ptr<i32>>",),
    "cuda_tile.assume": (
        "%0 = assume div_by<16>, %i : tile<i32>",
        "%0 = assume div_by<16, every 4 along 1>, %I : $I",
        "%0 = assume bounded<0, ?>, %i : tile<i32>",
        "%0 = assume bounded<?, 7>, %i : tile<i32>",
        "%0 = assume same_elements<[1, 4]>, %I : $I",
    ),
    "cuda_tile.assert": ('assert %b, "no" : tile<i1>',),
    "cuda_tile.print_tko": (
        '%0 = print_tko "%d of %f\\0A", %i, %f token=%t : tile<i32>, tile<f32> -> token',
        '%0 = print_tko "here" -> token',
        'print_tko "of 13.1"',
    ),
    "cuda_tile.if": (
        "%0 = if %b -> (tile<i32>) {\n  yield %i : tile<i32>\n} else {\n  yield %i : tile<i32>\n}",
        "if %b {\n  return\n}",
        "if %b {\n} else {\n}",
    ),
    "cuda_tile.for": (
        "%0 = for %loopIdx in (%i to %i, step %i) : tile<i32> iter_values(%iterArg0 = %f) -> (tile<f32>) {\n"
        "  continue %iterArg0 : tile<f32>\n}",
        "for unsigned %loopIdx in (%j to %j, step %j) : tile<i64> {\n}",
    ),
    "cuda_tile.loop": (
        "%0 = loop iter_values(%a = %i) : tile<i32> -> tile<f32> {\n  if %b {\n    break %f : tile<f32>\n  }\n"
        "  continue %a : tile<i32>\n}",
        "loop {\n  break\n}",
        "%0 = loop : tile<f32> {\n  break %f : tile<f32>\n}",
        "loop iter_values(%a = %i) : tile<i32> {\n  break\n}",
    ),
    "cuda_tile.continue": ("for %loopIdx in (%i to %i, step %i) : tile<i32> {\n  if %b {\n    continue\n  }\n}",),
    "cuda_tile.break": ("loop {\n  if %b {\n    break\n  }\n}",),
    "cuda_tile.yield": ("%0 = if %b -> (token) {\n  yield %t : token\n} else {\n  yield %t : token\n}",),
    "cuda_tile.return": ("if %b {\n  return\n} else {\n}",),
    **{
        name: (
            f"%0 = {short(name)} %F, %F : $F",
            f"%0 = {short(name)} %F, %F rounding<zero> flush_to_zero : $F",
            f"%0 = {short(name)} %H, %H : $H",
        )
        for name in (
            "cuda_tile.addf",
            "cuda_tile.subf",
            "cuda_tile.mulf",
            "cuda_tile.divf",
        )
    },
    "cuda_tile.fma": ("%0 = fma %F, %F, %F : $F", "%0 = fma %F, %F, %F rounding<positive_inf> flush_to_zero : $F"),
    "cuda_tile.sqrt": ("%0 = sqrt %F : $F", "%0 = sqrt %F rounding<approx> flush_to_zero : $F"),
    "cuda_tile.rsqrt": ("%0 = rsqrt %F flush_to_zero : $F",),
    "cuda_tile.exp2": ("%0 = exp2 %F flush_to_zero : $F", "%0 = exp2 %H : $H"),
    "cuda_tile.exp": ("%0 = exp %F : $F", "%0 = exp %F rounding<approx> : $F"),
    "cuda_tile.tanh": ("%0 = tanh %F : $F", "%0 = tanh %F rounding<approx> : $F"),
    **{
        name: (f"%0 = {short(name)} %F : $F",)
        for name in (
            "cuda_tile.absf",
            "cuda_tile.negf",
            "cuda_tile.ceil",
            "cuda_tile.floor",
            "cuda_tile.log",
            "cuda_tile.log2",
            "cuda_tile.sin",
            "cuda_tile.cos",
            "cuda_tile.tan",
            "cuda_tile.sinh",
            "cuda_tile.cosh",
        )
    },
    **{
        name: (f"%0 = {short(name)} %F, %F : $F", f"%0 = {short(name)} %F, %F flush_to_zero propagate_nan : $F")
        for name in ("cuda_tile.maxf", "cuda_tile.minf")
    },
    **{
        name: (f"%0 = {short(name)} %F, %F : $F",)
        for name in (
            "cuda_tile.atan2",
            "cuda_tile.pow",
            "cuda_tile.remf",
        )
    },
    "cuda_tile.fpowi": ("%0 = fpowi %F, %I : $F, $I -> $F",),
    **{
        name: (f"%0 = {short(name)} %I, %I : $I", f"%0 = {short(name)} %I, %I overflow<no_wrap>  : $I")
        for name in (
            "cuda_tile.addi",
            "cuda_tile.subi",
            "cuda_tile.muli",
            "cuda_tile.shli",
        )
    },
    "cuda_tile.negi": ("%0 = negi %I : $I", "%0 = negi %I overflow<no_signed_wrap>  : $I"),
    "cuda_tile.absi": ("%0 = absi %I : $I",),
    "cuda_tile.divi": (
        "%0 = divi %I, %I signed : $I",
        "%0 = divi %I, %I unsigned rounding<positive_inf>  : $I",
        "%0 = divi %I, %I signed rounding<negative_inf>  : $I",
    ),
    **{
        name: (f"%0 = {short(name)} %I, %I signed : $I",)
        for name in (
            "cuda_tile.remi",
            "cuda_tile.maxi",
            "cuda_tile.mini",
            "cuda_tile.shri",
        )
    },
    **{
        name: (f"%0 = {short(name)} %I, %I : $I",)
        for name in (
            "cuda_tile.andi",
            "cuda_tile.ori",
            "cuda_tile.xori",
            "cuda_tile.mulhii",
        )
    },
    "cuda_tile.cmpi": ("%0 = cmpi greater_than_or_equal %I, %I, unsigned : $I -> $B",),
    "cuda_tile.cmpf": ("%0 = cmpf not_equal unordered %F, %F : $F -> $B",),
    "cuda_tile.select": ("%0 = select %B, %F, %F : $B, $F",),
    "cuda_tile.exti": ("%0 = exti %I unsigned : $I -> $L",),
    "cuda_tile.trunci": ("%0 = trunci %L : $L -> $I", "%0 = trunci %L overflow<no_unsigned_wrap>  : $L -> $I"),
    "cuda_tile.itof": ("%0 = itof %I signed : $I -> $F",),
    "cuda_tile.ftoi": ("%0 = ftoi %F signed : $F -> $I", "%0 = ftoi %F unsigned saturating : $F -> $I"),
    "cuda_tile.ftof": (
        "%0 = ftof %F : $F -> $H",
        "%0 = ftof %F rounding<positive_inf> : $F -> tile<4x8xf8E8M0FNU>",
        "%0 = ftof %F : $F -> tile<4x8xtf32>",
    ),
    "cuda_tile.bitcast": ("%0 = bitcast %F : $F -> $I",),
    "cuda_tile.int_to_ptr": ("%0 = int_to_ptr %L : $L -> $PF",),
    "cuda_tile.ptr_to_int": ("%0 = ptr_to_int %Q : $PF -> $L",),
    "cuda_tile.ptr_to_ptr": ("%0 = ptr_to_ptr %Q : $PF -> $PI",),
    "cuda_tile.reshape": ("%0 = reshape %F : $F -> tile<32xf32>",),
    "cuda_tile.broadcast": ("%0 = broadcast %f1 : tile<1x1xf32> -> $F",),
    "cuda_tile.permute": ("%0 = permute %F [1, 0] : $F -> tile<8x4xf32>",),
    "cuda_tile.cat": ("%0 = cat %F, %F dim = 1 : $F, $F -> tile<4x16xf32>",),
    "cuda_tile.extract": ("%0 = extract %F[%i, %i] : $F -> tile<2x8xf32>",),
    "cuda_tile.insert": ("%0 = insert %f1, %F[%i, %i] : tile<1x1xf32>, $F",),
    "cuda_tile.iota": ("%0 = iota : tile<32xi64>",),
    "cuda_tile.pack": ("%0 = pack %row : tile<16xi32> -> tile<64xi8>",),
    "cuda_tile.unpack": ("%0 = unpack %bytes : tile<64xi8> -> tile<128xf4E2M1FN>",),
    "cuda_tile.mmaf": (
        "%0 = mmaf %square, %square, %sum : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>",
        "%0 = mmaf %left, %right, %sum fast_acc : tile<16x64xf8E4M3FN>, tile<64x16xf8E4M3FN>, tile<16x16xf32>",
    ),
    "cuda_tile.mmai": (
        "%0 = mmai %eights, %eights, %whole signed unsigned : tile<16x16xi8>, tile<16x16xi8>, tile<16x16xi32>",
    ),
    "cuda_tile.mmaf_scaled": (
        "%0 = mmaf_scaled %left, %right, %sum, %sa, %sb : tile<16x64xf8E4M3FN>, tile<64x16xf8E4M3FN>, tile<16x16xf32>, "
        "tile<16x2xf8E8M0FNU>, tile<2x16xf8E8M0FNU>",
    ),
    "cuda_tile.reduce": (
        "%0:2 = reduce %F, %I  dim=1 identities=[0xFF800000 : f32, 0 : i32] : $F, $I -> tile<4xf32>, tile<4xi32>\n"
        "(%a: tile<f32>, %c: tile<f32>, %d: tile<i32>, %e: tile<i32>) {\n  yield %a, %d : tile<f32>, tile<i32>\n}",
    ),
    "cuda_tile.scan": (
        "%0 = scan %F  dim=0 reverse=true identities=[0.000000e+00 : f32] : $F -> $F\n"
        "(%a: tile<f32>, %c: tile<f32>) {\n  %1 = addf %a, %c : tile<f32>\n  yield %1 : tile<f32>\n}",
    ),
    "cuda_tile.make_tensor_view": (
        "%0 = make_tensor_view %p, shape = [%j, 64], strides = [64, 1] : tile<i64> -> "
        "tensor_view<?x64xf16, strides=[64,1]>",
        "%0 = make_tensor_view %p, shape = [16], strides = [1] : tensor_view<16xf16, strides=[1]>",
        "%0 = make_tensor_view %p : tensor_view<f16>",
    ),
    "cuda_tile.make_partition_view": (
        "%0 = make_partition_view %A : partition_view<tile=(64x32), $AV, dim_map=[1, 0]>",
        "%0 = make_partition_view %A : partition_view<tile=(64x32), padding_value = neg_inf, $AV>",
    ),
    "cuda_tile.make_strided_view": ("%0 = make_strided_view %A : $SV",),
    "cuda_tile.make_gather_scatter_view": ("%0 = make_gather_scatter_view %A : $GV",),
    "cuda_tile.get_index_space_shape": ("%0:2 = get_index_space_shape %V : $PV -> tile<i32>",),
    "cuda_tile.get_tensor_shape": ("%0:2 = get_tensor_shape %A : $AV -> tile<i64>",),
    "cuda_tile.offset": ("%0 = offset %Q, %I : $PF, $I -> $PF",),
    "cuda_tile.alloca": (
        "%0 = alloca num_elem = 64, alignment = 16 : tile<ptr<f32>>",
        "%0 = alloca num_elem = 64, alignment = 16 global : tile<ptr<f32>>",
    ),
    "cuda_tile.load_view_tko": (
        "%0:2 = load_view_tko weak %V[%i, %i] token = %t : $PV, $S -> tile<64x32xf16>, token",
        "%0:2 = load_view_tko relaxed device %V[%i, %i] optimization_hints = <default = {latency = 2}, sm_90 = "
        "{allow_tma = false}> : $PV, $S -> tile<64x32xf16>, token",
        "%0:2 = load_view_tko weak %V[%i, %i] inbounds = [true, false] : $PV, $S -> tile<64x32xf16>, token",
        "%0:2 = load_view_tko weak %G[%row, %i] token = %t : $GV, tile<16xi32>, $S -> tile<16x8xf16>, token",
    ),
    "cuda_tile.store_view_tko": (
        "%0 = store_view_tko release sys %x, %V[%i, %i] token = %t : tile<64x32xf16>, $PV, $S -> token",
    ),
    "cuda_tile.load_ptr_tko": (
        "%0:2 = load_ptr_tko weak %Q : $PF -> $F, token",
        "%0:2 = load_ptr_tko acquire tl_blk %Q, %B, %F token=%t : $PF, $B, $F -> $F, token",
    ),
    "cuda_tile.store_ptr_tko": (
        "%0 = store_ptr_tko weak %Q, %F, %B token=%t : $PF, $F, $B -> token",
        "%0 = store_ptr_tko weak %Q, %F optimization_hints = <sm_90 = {latency = 3}> : $PF, $F -> token",
    ),
    "cuda_tile.atomic_rmw_tko": (
        "%0:2 = atomic_rmw_tko relaxed device %R, add, %I, %B token=%t : $PI, $I, $B -> $I, token",
        "%0:2 = atomic_rmw_tko acq_rel sys %Q, xchg, %F : $PF, $F -> $F, token",
    ),
    "cuda_tile.atomic_cas_tko": ("%0:2 = atomic_cas_tko acquire device %R, %I, %I token=%t : $PI, $I -> $I, token",),
    "cuda_tile.atomic_red_view_tko": (
        "%0 = atomic_red_view_tko relaxed device %N[%i, %i], addf, %y token = %t : tile<64x32xf32>, $NV, $S -> token",
    ),
    "cuda_tile.make_token": ("%0 = make_token : token",),
    "cuda_tile.join_tokens": ("%0 = join_tokens %t, %t : token",),
    "cuda_tile.memory_fence_alias_tko": ("%0 = memory_fence_alias_tko token = %t -> token",),
    "cuda_tile.gdc_launch_dependents_tko": ("%0 = gdc_launch_dependents_tko -> token",),
    "cuda_tile.gdc_wait_tko": ("%0 = gdc_wait_tko token = %t -> token",),
}
"""Name of an op -> its texts inside of an entry; the ops of 13.5 have the generic text alone."""

GENERIC = {
    "cuda_tile.multimem_load_reduce_view_tko",
    "cuda_tile.multimem_reduce_view_tko",
    "cuda_tile.multimem_store_view_tko",
    "cuda_tile.preview_call",
}

AROUND = {"cuda_tile.module", "cuda_tile.entry", "cuda_tile.global"}
"""What `program` puts around each sample."""


def program(sample: str) -> str:
    """The text of a module with what makes the operands, and `sample` at the end of its entry."""
    body = "\n".join((*BEFORE, sample))
    text = (
        f"global private constant @lock alignment = 4 <i32: [1]> : tile<1xi32>\nentry @k({ARGUMENTS}) {{\n{body}\n}}\n"
    )
    return Template(f"cuda_tile.module @kernels {{\n{text}}}\n").substitute(TYPES)


def written(sample: str) -> str:
    """The sample with its types in full."""
    return Template(sample).substitute(TYPES)
