"""
Lines of the ops of `nvvm` that multiply matrices, for `test_nvvm` and `test_nvvm_refusals`: accepted, refused, built.

Names of arguments are those of `test_nvvm`, and `ARGUMENTS` here.
"""
# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

ARGUMENTS = (
    "%e: i8, %q: vector<4xi32>, %r: vector<8xi32>, %u: !llvm.struct<(f32, f32, f32, f32)>, "
    "%w: !llvm.struct<(i32, i32, i32, i32)>, %x: !llvm.struct<(i32, i32)>, "
    "%y: !llvm.struct<(vector<2xf16>, vector<2xf16>)>, %z: !llvm.struct<(f16, f16)>, "
    "%n: !llvm.struct<(f32, f32, f32, i32)>, %pair: vector<2xf16>, %double: f64"
)
"""Numbers, masks of lanes and accumulators."""

WARP_LINES = """
%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
nvvm.stmatrix %s, %i {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32
nvvm.stmatrix %s, %i, %j, %k, %i {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32, i32, i32, i32
%0 = nvvm.mma.sync A[%pair, %pair, %pair, %pair]  B[%pair, %pair]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
%0 = nvvm.mma.sync A[%pair, %pair]  B[%pair]  C[%pair, %pair]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
%0 = nvvm.mma.sync A[%i, %i, %i, %i]  B[%i, %i]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
%0 = nvvm.mma.sync A[%i, %i]  B[%i]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 4>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
%0 = nvvm.mma.sync A[%i, %i, %i, %i]  B[%i, %i]  C[%i, %i, %i, %i]  {intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<u8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
%0 = nvvm.mma.sync A[%i, %i]  B[%i]  C[%i, %i, %i, %i]  {intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
%0 = nvvm.mma.sync A[%double]  B[%double]  C[%double, %double]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (f64, f64, f64) -> !llvm.struct<(f64, f64)>
"""
"""Matrices of a warp."""

LINES = """
nvvm.tcgen05.mma %t, %l, %l, %i, %b scale = %l mask = %q {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>, collectorOp = #nvvm.tcgen05_mma_collectorop<lastuse>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64, vector<4xi32>)
nvvm.tcgen05.mma %t, %t, %l, %i, %b {aShift, ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
nvvm.tcgen05.mma.sp %t, %l, %l, %i, %b, %t scale = %l {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, i64)
nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)
nvvm.tcgen05.mma.sp.block_scale %t, %l, %l, %i, %b, %t, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4nvf4>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>, !llvm.ptr<6>)
nvvm.tcgen05.mma.ws %t, %l, %l, %i, %b {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
nvvm.tcgen05.mma.ws %t, %l, %l, %i, %b, %l {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)
nvvm.tcgen05.mma.ws.sp %t, %l, %l, %i, %b, %t, %l {kind = #nvvm.tcgen05_mma_kind<f16>, collectorBBuffer = #nvvm.tcgen05_mma_collectorb<b1>, collectorOp = #nvvm.tcgen05_mma_collectorop<use>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, i64)
nvvm.tcgen05.commit %s, multicast_mask = %h {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_64x128b>, group = #nvvm.cta_group<cta_2>, multicast = #nvvm.tcgen05_cp_multicast<warpx2_01_23>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b6x16_p32>}
%0 = nvvm.tcgen05.ld %t pack {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>
%1 = nvvm.tcgen05.ld %t, %l {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32
nvvm.tcgen05.st %t, %r unpack {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>
nvvm.tcgen05.st %t, %i, %l {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32
nvvm.tcgen05.fence <before>
nvvm.tcgen05.fence #nvvm.tcgen05_fence<after>
nvvm.tcgen05.wait <load>
nvvm.tcgen05.shift %t {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<6>
nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
nvvm.tcgen05.alloc %s, %i : !llvm.ptr<3>, i32
nvvm.tcgen05.dealloc %t, %i : !llvm.ptr<6>, i32
%2 = nvvm.tcgen05.mma_smem_desc (%i, %i, %i, %e, %b, %e) : (i32, i32, i32, i8, i1, i8) -> i64
nvvm.tcgen05.wait #nvvm.tcgen05_wait<store>
nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_32x128b>, multicast = #nvvm.tcgen05_cp_multicast<warpx4>}
nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_4x256b>}
%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
nvvm.tcgen05.mma.sp.block_scale %t, %t, %l, %i, %b, %t, %t, %t {ctaGroup = #nvvm.cta_group<cta_2>, kind = #nvvm.block_scale_kind<mxf8f6f4>, blockScale = #nvvm.tcgen05_mma_block_scale<block32>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>, !llvm.ptr<6>)
nvvm.tcgen05.mma.ws.sp %t, %t, %l, %i, %b, %t {kind = #nvvm.tcgen05_mma_kind<tf32>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, !llvm.ptr<6>)
nvvm.tcgen05.mma.sp %t, %t, %l, %i, %b, %t mask = %r {aShift, ctaGroup = #nvvm.cta_group<cta_2>, kind = #nvvm.tcgen05_mma_kind<f8f6f4>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, !llvm.ptr<6>, vector<8xi32>)
nvvm.tcgen05.mma.block_scale %t, %t, %l, %i, %b, %t, %t {ctaGroup = #nvvm.cta_group<cta_2>, kind = #nvvm.block_scale_kind<mxf4>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)
nvvm.tcgen05.shift %t : !llvm.ptr<6>
nvvm.tcgen05.relinquish_alloc_permit
nvvm.tcgen05.commit %p : !llvm.ptr
nvvm.tcgen05.dealloc %t, %i {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<6>, i32
%0 = nvvm.tcgen05.mma_smem_desc(%i, %j, %k, %e, %b, %e) {tag} : (i32, i32, i32, i8, i1, i8) -> i64
nvvm.tcgen05.alloc %g, %i : !llvm.ptr<1>, i32
%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2x2xi32>
nvvm.tcgen05.st %t, %q {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<4xi32>
nvvm.tcgen05.st %t, %q, %l {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<4xi32>
nvvm.tcgen05.mma %t, %l, %l, %i, %b scale = %l {kind = #nvvm.tcgen05_mma_kind<i8>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)
%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>
%0 = nvvm.wgmma.mma_async %l, %l, %w, <m = 64, n = 8, k = 32>, D[<s32>, <zero>, <satfinite>], A[<s8>, <one>, <row>], B[<u8>, <one>, <col>] : !llvm.struct<(i32,i32,i32,i32)> -> !llvm.struct<(i32,i32,i32,i32)>
%0 = nvvm.wgmma.mma_async %l, %l, %x, <m = 64, n = 8, k = 16>, D[<f16>, <one>], A[<bf16>, <neg>, <col>], B[<bf16>, <one>, <row>] {a} : !llvm.struct<(i32,i32)> -> !llvm.struct<(i32,i32)>
%0 = nvvm.wgmma.mma_async %l, %l, %y, <m = 64, n = 8, k = 16>, D[<f16>, <one>], A[<f16>, <neg>, <col>], B[<f16>, <one>, <row>] : !llvm.struct<(vector<2xf16>,vector<2xf16>)> -> !llvm.struct<(vector<2xf16>,vector<2xf16>)>
%0 = nvvm.wgmma.mma_async %l, %l, %z, <m = 64, n = 8, k = 16>, D[<f16>, <one>], A[<f16>, <neg>, <col>], B[<f16>, <one>, <row>] : !llvm.struct<(f16,f16)> -> !llvm.struct<(f16,f16)>
%0 = nvvm.wgmma.mma_async %l, %l, %w, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(i32,i32,i32,i32)> -> !llvm.struct<(i32,i32,i32,i32)>
"""

REFUSALS = {
    "nvvm.tcgen05.alloc %i, %i : i32, i32": (
        "'nvvm.tcgen05.alloc' op operand #0 must be LLVM pointer type or LLVM pointer in address space 3, but got 'i32'"
    ),
    "nvvm.tcgen05.alloc %s, %l : !llvm.ptr<3>, i64": (
        "'nvvm.tcgen05.alloc' op operand #1 must be 32-bit signless integer, but got 'i64'"
    ),
    "nvvm.tcgen05.dealloc %s, %i : !llvm.ptr<3>, i32": (
        "'nvvm.tcgen05.dealloc' op operand #0 must be LLVM pointer in address space 6, but got '!llvm.ptr<3>'"
    ),
    "nvvm.tcgen05.commit %i : i32": (
        "'nvvm.tcgen05.commit' op operand #0 must be LLVM pointer type or LLVM pointer in address space 3, but got 'i32'"
    ),
    "nvvm.tcgen05.commit %s, multicast_mask = %i : !llvm.ptr<3>, i32": (
        "'nvvm.tcgen05.commit' op operand #1 must be 16-bit signless integer, but got 'i32'"
    ),
    "nvvm.tcgen05.shift %s : !llvm.ptr<3>": (
        "'nvvm.tcgen05.shift' op operand #0 must be LLVM pointer in address space 6, but got '!llvm.ptr<3>'"
    ),
    "nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>, multicast = #nvvm.tcgen05_cp_multicast<warpx4>}": (
        "Invalid multicast type for tcgen05.cp Op"
    ),
    "nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}": (
        "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op"
    ),
    "nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_64x128b>}": (
        "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for tcgen05.cp Op"
    ),
    '"nvvm.tcgen05.cp"(%s, %l) {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>} : (!llvm.ptr<3>, i64) -> ()': (
        "'nvvm.tcgen05.cp' op operand #0 must be LLVM pointer in address space 6, but got '!llvm.ptr<3>'"
    ),
    "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<2xi32>": (
        "invalid result type length 2 for shape shape_16x256b in tcgen05.ld Op"
    ),
    "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : i32": (
        "invalid result type length 1 for shape shape_16x256b in tcgen05.ld Op"
    ),
    "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x128b>} : i32": (
        "invalid result type length 1 for shape shape_16x128b in tcgen05.ld Op"
    ),
    "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32": (
        "shape 16x32bx2 requires offset argument"
    ),
    "%0 = nvvm.tcgen05.ld %t, %l {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32": (
        "offset argument is only supported for shape 16x32bx2"
    ),
    "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<3xi32>": (
        "'nvvm.tcgen05.ld' op result #0 must be 32-bit signless integer or vector of 32-bit signless integer values of length 2/4/8/16/32/64/128, but got 'vector<3xi32>'"
    ),
    "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xf32>": (
        "'nvvm.tcgen05.ld' op result #0 must be 32-bit signless integer or vector of 32-bit signless integer values of length 2/4/8/16/32/64/128, but got 'vector<4xf32>'"
    ),
    "nvvm.tcgen05.st %t, %i {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : i32": (
        "invalid input length 1 for shape shape_16x256b in tcgen05.st Op"
    ),
    "nvvm.tcgen05.st %t, %i {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32": (
        "shape 16x32bx2 requires offset argument"
    ),
    "nvvm.tcgen05.st %t, %h {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i16": (
        "'nvvm.tcgen05.st' op operand #1 must be 32-bit signless integer or vector of 32-bit signless integer values of length 2/4/8/16/32/64/128, but got 'i16'"
    ),
    "nvvm.tcgen05.mma %t, %l, %l, %i, %b mask = %r {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<8xi32>)": (
        "Disable Output Lane of length 8 is incompatible with CtaGroupAttr"
    ),
    "nvvm.tcgen05.mma %t, %l, %l, %i, %b mask = %q {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_2>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<4xi32>)": (
        "Disable Output Lane of length 4 is incompatible with CtaGroupAttr"
    ),
    "nvvm.tcgen05.mma %t, %l, %l, %i, %b {kind = #nvvm.tcgen05_mma_kind<i8>, aShift, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)": (
        "A-shift can be applied only when matrix A is in tensor memory"
    ),
    "nvvm.tcgen05.mma %t, %t, %l, %i, %b {kind = #nvvm.tcgen05_mma_kind<f16>, aShift, collectorOp = #nvvm.tcgen05_mma_collectorop<use>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)": (
        "Cannot use collector buffer operation fill or use with ashift"
    ),
    "nvvm.tcgen05.mma %t, %i, %l, %i, %b {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i32, i64, i32, i1)": (
        "'nvvm.tcgen05.mma' op operand #1 must be LLVM pointer in address space 6 or 64-bit signless integer, but got 'i32'"
    ),
    "nvvm.tcgen05.mma %t, %l, %l, %i, %b mask = %i {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, i32)": (
        "'nvvm.tcgen05.mma' op operand #5 must be fixed-length vector of 32-bit signless integer values of length 4/8, but got 'i32'"
    ),
    "nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4nvf4>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)": (
        "mxf4nvf4 requires block scale attribute"
    ),
    "nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)": (
        "mxf4 kind does not support block16 attribute"
    ),
    "nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)": (
        "mxf8f6f4 kind does not support block16 attribute"
    ),
    "nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %s {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<3>)": (
        "'nvvm.tcgen05.mma.block_scale' op operand #6 must be LLVM pointer in address space 6, but got '!llvm.ptr<3>'"
    ),
    "nvvm.tcgen05.mma.ws %t, %l, %l, %i, %b, %i {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, i32)": (
        "'nvvm.tcgen05.mma.ws' op operand #5 must be 64-bit signless integer, but got 'i32'"
    ),
    "nvvm.tcgen05.mma.ws.sp %t, %l, %l, %i, %b, %l {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)": (
        "'nvvm.tcgen05.mma.ws.sp' op operand #5 must be LLVM pointer in address space 6, but got 'i64'"
    ),
    "nvvm.tcgen05.mma.sp %t, %l, %l, %i, %b, %t mask = %r {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, vector<8xi32>)": (
        "Disable Output Lane of length 8 is incompatible with CtaGroupAttr"
    ),
    "nvvm.tcgen05.mma.sp.block_scale %t, %l, %l, %i, %b, %t, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4nvf4>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>, !llvm.ptr<6>)": (
        "mxf4nvf4 requires block scale attribute"
    ),
    "%0 = nvvm.tcgen05.mma_smem_desc(%i, %i, %i, %i, %b, %e) : (i32, i32, i32, i32, i1, i8) -> i64": (
        "'nvvm.tcgen05.mma_smem_desc' op operand #3 must be 8-bit signless integer, but got 'i32'"
    ),
    "%0 = nvvm.tcgen05.mma_smem_desc(%i, %i, %i, %e, %b, %e) : (i32, i32, i32, i8, i1, i8) -> i32": (
        "'nvvm.tcgen05.mma_smem_desc' op result #0 must be 64-bit signless integer, but got 'i32'"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %x, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(i32,i32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op failed to verify that input struct and result struct must be the same type"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %x, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(i32,i32)> -> !llvm.struct<(i32,i32)>": (
        "'nvvm.wgmma.mma_async' op results 4, however output struct has 2 elements"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %n, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,i32)> -> !llvm.struct<(f32,f32,f32,i32)>": (
        "'nvvm.wgmma.mma_async' op all elements in struct must be same type but there is 'i32'"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<bf16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op f32 += f16 * bf16, it is not supported."
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 32, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op shape 'm' must be 64"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 12, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op has input type f16 n is set to 12, it is not supported."
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 8>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op shape 'k' must be 16 for input type f16"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 32>, D[<f32>, <one>], A[<e4m3>, <one>, <col>], B[<e4m3>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op given layouts layout_a = col and layout_b = col for input types e4m3 and e4m3 requires transpose. However, this is only supported for: f16 and bf16"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 16>, D[<f32>, <one>, <satfinite>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op  `satfinite` can be only used with s32 accumulator, however the current accumulator is f32"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %w, <m = 64, n = 8, k = 32>, D[<s32>, <zero>], A[<s8>, <neg>, <row>], B[<u8>, <one>, <col>] : !llvm.struct<(i32,i32,i32,i32)> -> !llvm.struct<(i32,i32,i32,i32)>": (
        "'nvvm.wgmma.mma_async' op has s32 output, scaleA and scaleB cannot be neg"
    ),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 16>, D[<tf32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "'nvvm.wgmma.mma_async' op does not support the given output type tf32"
    ),
    '%0 = "nvvm.wgmma.mma_async"(%u, %l, %l) <{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, scaleA = #nvvm.wgmma_scale_in<one>, scaleB = #nvvm.wgmma_scale_in<one>, scaleD = #nvvm.wgmma_scale_out<one>, shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<f32>, typeB = #nvvm.wgmma_type<f16>, typeD = #nvvm.wgmma_type<f32>}> : (!llvm.struct<(f32,f32,f32,f32)>, i64, i64) -> !llvm.struct<(f32,f32,f32,f32)>': (
        "'nvvm.wgmma.mma_async' op f32 += f32 * f16, it is not supported."
    ),
    "%0 = nvvm.mma.sync A[%pair, %pair] B[%pair] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>": (
        "'nvvm.mma.sync' op unimplemented variant for MMA shape <16, 8, 32>"
    ),
    "%0 = nvvm.mma.sync A[%pair, %pair] B[%pair] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 16, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>": (
        "'nvvm.mma.sync' op unimplemented variant for MMA shape <16, 16, 8>"
    ),
    "%0 = nvvm.mma.sync A[%double] B[%double] C[%double, %double] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 8>} : (f64, f64, f64) -> !llvm.struct<(f64, f64)>": (
        "'nvvm.mma.sync' op unimplemented variant for MMA shape <8, 8, 8>"
    ),
    "%0 = nvvm.mma.sync A[%double] B[%double] C[%double] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (f64, f64, f64) -> !llvm.struct<(f64)>": (
        "'nvvm.mma.sync' op Could not match types for the C operands; expected one of 2xf64 but got f64"
    ),
    "%0 = nvvm.mma.sync A[%pair] B[%pair] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>": (
        "'nvvm.mma.sync' op Could not match types for the A operands; expected one of 2xvector<2xf16> but got vector<2xf16>"
    ),
    "%0 = nvvm.mma.sync A[%pair, %pair] B[%pair] C[%f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>": (
        "'nvvm.mma.sync' op Could not match types for the C operands; expected one of 2xvector<2xf16> 4xf32 but got f32, f32"
    ),
    "%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 3 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32": (
        "'nvvm.ldmatrix' op expected num attribute to be 1, 2 or 4 for 8x8 matrix"
    ),
    "%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32": (
        "'nvvm.ldmatrix' op expected destination type is a structure of 2 elements of type i32"
    ),
    "%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b8>, layout = #nvvm.mma_layout<row>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32": (
        "'nvvm.ldmatrix' op expected element type to be b16 for 8x8 matrix"
    ),
    "nvvm.stmatrix %s, %i, %i, %i {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32, i32, i32": (
        "'nvvm.stmatrix' op expected num attribute to be 1, 2 or 4"
    ),
    "%0 = nvvm.mma.sync A[%pair, %pair] B[%pair] C[%pair, %pair] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(f32, f32, f32, f32)>": (
        "'nvvm.mma.sync' op ctype does not match dtype"
    ),
}
"""What mlir-opt refuses in the same words."""

OTHER_WORDS = {
    "nvvm.tcgen05.fence <load>": ("Expected `before`, or `after`"),
    "nvvm.tcgen05.wait <before>": ("Expected `load`, or `store`"),
    "nvvm.tcgen05.relinquish_alloc_permit {group = 1 : i32}": ("Invalid attribute `group` in property conversion"),
    "nvvm.tcgen05.cp %t, %l": ("shape"),
    "%0 = nvvm.tcgen05.ld %t : vector<4xi32>": ("shape"),
    "nvvm.tcgen05.mma %t, %l, %l, %i, %b {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)": (
        "ctaGroup"
    ),
    "nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)": (
        "','"
    ),
    "%0 = nvvm.wgmma.mma_async %i, %l, %u, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32,f32,f32,f32)> -> !llvm.struct<(f32,f32,f32,f32)>": (
        "i64"
    ),
    "%0 = nvvm.mma.sync A[%pair, %pair] B[%pair] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<col>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>": (
        "layoutA = #nvvm.mma_layout<row>"
    ),
    "%0 = nvvm.mma.sync A[%pair, %pair] B[%pair] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32)>": (
        "Could not match allowed types for the result"
    ),
    "%0 = nvvm.mma.sync A[%i, %i] B[%i] C[%i, %i, %i, %i] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>": (
        "requires intOverflowBehavior attribute"
    ),
    "%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 16>} : (!llvm.ptr<3>) -> i32": (
        "those of 8 x 8 are known here"
    ),
}
"""What it refuses in others: here ours."""
