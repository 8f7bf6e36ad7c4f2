"""Each message of the verifiers of `cuda_tile`: a program that gets it, and none of the samples does."""

from __future__ import annotations

import pytest

from tests.dialects.cuda_tile_samples import program
from tests.support.ir import parse

REFUSALS = [
    ("%0 = addf %I, %I : $I", "'lhs' is a tile of f16, bf16, f32 or f64, not tile<4x8xi32>"),
    ("%0 = addi %F, %F : $F", "'lhs' is a tile of integers, not tile<4x8xf32>"),
    ("%0 = addf %F, %F rounding<approx> : $F", "'approx' is no rounding of this op"),
    ("%0 = divf %H, %H rounding<full> : $H", "rounding 'full' is for f32 only, not for f16"),
    ("%0 = mulf %H, %H flush_to_zero : $H", "'flush_to_zero' is for f32 only, not for f16"),
    ("%0 = exp2 %H flush_to_zero : $H", "'flush_to_zero' is for f32 only, not for f16"),
    ("%0 = divi %I, %I unsigned rounding<negative_inf> : $I", "rounding 'negative_inf' is for signed numbers only"),
    ("%0 = divi %I, %I signed rounding<nearest_even> : $I", "'nearest_even' is no rounding of this op"),
    ("%0 = negi %I overflow<no_wrap> : $I", "overflow 'no_wrap' is not for a negation"),
    ("%0 = exti %I signed : $I -> $I", "an integer of 32 bits is not extended to 32"),
    ("%0 = trunci %I : $I -> $L", "an integer of 32 bits is not truncated to 64"),
    ("%0 = bitcast %F : $F -> $L", "elements of 32 bits do not become elements of 64 bits"),
    ("%0 = ftof %F : $F -> $F", "f32 becomes f32: that converts nothing"),
    ("%0 = ftof %F rounding<zero> : $F -> $H", "'zero' is no rounding to f16; there are nearest_even"),
    ("%0 = itof %I signed : $I -> tile<4x8xf8E8M0FNU>", "an integer does not become f8E8M0FNU"),
    ("%0 = itof %I signed rounding<zero> : $I -> $F", "'zero' is no rounding of this op; there is nearest_even"),
    ("%0 = ftoi %F signed rounding<zero> : $F -> $I", "'zero' is no rounding of this op; there is nearest_int_to_zero"),
    ("%0 = ptr_to_ptr %Q : $PF -> $PF", "the pointee stays the same"),
    (
        "%0 = ftoi %F signed : $F -> tile<8x4xi32>",
        r"'from' and 'to' have the same shape, and not \[4, 8\] and \[8, 4\]",
    ),
    ("%0 = select %b, %F, %F : tile<i1>, $F", r"'cond' and 'result' have the same shape"),
    ("%0 = reshape %F : $F -> tile<16xf32>", "32 elements do not become 16"),
    ("%0 = reshape %F : $F -> tile<32xi32>", "'source' and 'result' have the same element, and not f32 and i32"),
    ("%0 = broadcast %F : $F -> tile<8x8xf32>", "axis 0 has extent 4 and does not grow to 8"),
    ("%0 = broadcast %f : tile<f32> -> tile<8xf32>", "'source' and 'result' have the same rank, and not 0 and 1"),
    ("%0 = permute %F [0, 0] : $F -> $F", r"\[0, 0\] is no permutation of 2 axes"),
    ("%0 = permute %F [1, 0] : $F -> $F", r"the permuted extents are \[8, 4\], not \[4, 8\]"),
    ("%0 = cat %F, %F dim = 2 : $F, $F -> $F", "dim 2 is no axis of a tile of rank 2"),
    ("%0 = cat %F, %F dim = 0 : $F, $F -> $F", "axis 0 has extent 8, not 4"),
    ("%0 = cat %F, %f1 dim = 0 : $F, tile<1x1xf32> -> tile<8x8xf32>", "axis 0 has extent 5, not 8"),
    ("%0 = extract %F[%i] : $F -> tile<2x8xf32>", "a tile of rank 2 has 2 indices, not 1"),
    ("%0 = extract %F[%i, %i] : $F -> tile<8x8xf32>", "axis 0 has extent 4, which slices of 8 do not divide"),
    ("%0 = iota : tile<4x8xi32>", "the numbers from 0 have rank 1, not 2"),
    ("%0 = iota : tile<512xi8>", "512 numbers do not fit i8"),
    ("%0 = pack %row : tile<16xi32> -> tile<32xi8>", "512 bits are not 32 bytes"),
    ("%chars = iota : tile<16xi8>\n%0 = pack %chars : tile<16xi8> -> tile<16xi8>", "i8 has the bits of a byte"),
    ("%n = trunci %I : $I -> tile<4x8xi4>\n%0 = addi %n, %n : tile<4x8xi4>", "'lhs' is a tile of integers, not"),
    ("%0 = exp %H rounding<approx> : $H", "rounding 'approx' is for f32 only, not for f16"),
    ("%0 = permute %row [0] : tile<16xi32> -> tile<16xi32>", "two axes or more are permuted, not 1"),
    (
        "%0 = alloca num_elem = 64, alignment = 2 : tile<ptr<f32>>",
        "f32 lies at multiples of 4 bytes",
    ),
    ("%0 = offset %Q, %I : $PF, $I -> tile<4x8xptr<f64>>", "'ptr' and 'result' have the same type"),
    ("%0 = ftof %F : $F -> tile<f4E2M1FN>", "a tile has an even number of them"),
    (
        "%0 = make_tensor_view %p, shape = [32], strides = [32, 1] : tensor_view<32x32xf32, strides=[32, 1]>",
        "the type has 2 extents, and 1 are written",
    ),
    (
        "%0 = make_tensor_view %p, shape = [32, 32], strides = [64, 1] : tensor_view<32x32xf32, strides=[32, 1]>",
        "the strides of the type say 32 of axis 0, and 64 is written",
    ),
    (
        "%0 = make_tensor_view %p, shape = [32], strides = [-1] : tensor_view<32xf32, strides=[-1]>",
        "the strides of a tensor view are positive, and one is -1",
    ),
    ('print_tko "so far: %", %I : $I -> token', "the format that begins with the last '%' of .* has no end"),
    (
        "%0 = mmaf %square, %square, %x : tile<16x16xf16>, tile<16x16xf16>, tile<64x32xf16>",
        "rows of the left and of the sum are 16 and 64",
    ),
    (
        "%0 = mmaf %sum, %sum, %square : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf16>",
        "products of f32 are not summed in f16",
    ),
    (
        "%0 = mmaf %left, %left, %sum : tile<16x64xf8E4M3FN>, tile<16x64xf8E4M3FN>, tile<16x16xf32>",
        "columns of the left and rows of the right are 64 and 16",
    ),
    (
        "%0 = mmaf_scaled %left, %right, %sum, %sa, %sa : tile<16x64xf8E4M3FN>, tile<64x16xf8E4M3FN>, tile<16x16xf32>, "
        "tile<16x2xf8E8M0FNU>, tile<16x2xf8E8M0FNU>",
        "the scales of the right have extents",
    ),
    (
        "%0 = reduce %F  dim=2 identities=[0.0 : f32] : $F -> tile<4xf32>\n(%a: tile<f32>, %c: tile<f32>) {\n"
        "  yield %a : tile<f32>\n}",
        "dim 2 is no axis of a tile of rank 2",
    ),
    (
        "%0 = reduce %F  dim=1 identities=[0.0 : f32] : $F -> $F\n(%a: tile<f32>, %c: tile<f32>) {\n"
        "  yield %a : tile<f32>\n}",
        "the results are tile<4xf32>",
    ),
    (
        "%0 = reduce %F  dim=1 identities=[0 : i32] : $F -> tile<4xf32>\n(%a: tile<f32>, %c: tile<f32>) {\n"
        "  yield %a : tile<f32>\n}",
        "identity 0 is of i32, and the tile of f32",
    ),
    (
        "%0 = reduce %F  dim=1 identities=[] : $F -> tile<4xf32>\n(%a: tile<f32>, %c: tile<f32>) {\n"
        "  yield %a : tile<f32>\n}",
        "1 tiles have 0 identities",
    ),
    (
        "%0 = reduce %F  dim=1 identities=[0.0 : f32] : $F -> tile<4xf32>\n(%a: tile<f32>) {\n"
        "  yield %a : tile<f32>\n}",
        "the region takes tile<f32>, tile<f32>",
    ),
    (
        "%0 = reduce %F  dim=1 identities=[0.0 : f32] : $F -> tile<4xf32>\n(%a: tile<f32>, %c: tile<f32>) {\n"
        '  assert %b, "x" : tile<i1>\n  yield %a : tile<f32>\n}',
        "the region only computes, and 'cuda_tile.assert' does more",
    ),
    (
        "%0 = scan %F  dim=1 reverse=false identities=[0.0 : f32] : $F -> $F\n(%a: tile<f32>, %c: tile<f32>) {\n"
        "  yield\n}",
        "the region yields tile<f32>",
    ),
    ("if %b {\n  break\n}", "a 'break' is in a 'loop', or in an 'if' in it"),
    ("if %b {\n  continue\n}", "a 'continue' is in a 'for' or a 'loop', or in an 'if' in it"),
    ("loop {\n  break %f : tile<f32>\n}", r"it hands over \(tile<f32>\), and the loop gives \(\)"),
    (
        "loop iter_values(%a = %i) : tile<i32> {\n  continue\n}",
        r"it hands over \(\), and the loop carries \(tile<i32>\)",
    ),
    ("%0 = if %b -> (tile<i32>) {\n  yield %i : tile<i32>\n}", "an 'if' with results has a second region"),
    ("if %b {\n  yield %i : tile<i32>\n}", r"it hands over \(tile<i32>\), and the 'if' gives \(\)"),
    ("if %b {\n  return %i : tile<i32>\n}", "a kernel returns nothing"),
    (
        "%0 = loop iter_values(%a = %A) : $AV -> $AV {\n  break %a : $AV\n}",
        "value 0 is a view, which neither a loop carries nor an 'if' gives",
    ),
    ("for %loopIdx in (%i to %i, step %i) : tile<i32> {\n  break\n}", "a 'break' is in a 'loop'"),
    ("%0 = assume div_by<3>, %i : tile<i32>", "a divisor is a power of two up to 2\\^62, not 3"),
    ("%0 = assume div_by<4>, %f : tile<f32>", "'div_by' is a fact of integers and pointers, not of tile<f32>"),
    ("%0 = assume div_by<4, every 3 along 0>, %I : $I", "runs of 3 do not divide axis 0 of extent 4"),
    ("%0 = assume div_by<4, every 4 along 2>, %I : $I", "'along' 2 is no axis of a tile of rank 2"),
    ("%0 = assume same_elements<[2]>, %I : $I", "'same_elements' has 1 numbers for a tile of rank 2"),
    ("%0 = assume same_elements<[3, 1]>, %I : $I", "groups of 3 do not divide axis 0 of extent 4"),
    ("%0 = assume bounded<4, 2>, %i : tile<i32>", "no number is from 4 to 2"),
    ("%0 = assume bounded<0, 4294967296>, %i : tile<i32>", "the bound 4294967296 does not fit i32"),
    ("%0 = assume bounded<0, 1>, %f : tile<f32>", "'bounded' is a fact of integers, not of tile<f32>"),
    ('%0 = print_tko "%d", %i, %i : tile<i32>, tile<i32> -> token', "the text shows 1 tiles, and there are 2"),
    ("%0 = get_global @missing : tile<ptr<i32>>", "@missing is no global of the module"),
    ("%0 = get_global @lock : tile<ptr<f32>>", "the global holds i32, and the pointer leads to f32"),
    (
        "%0 = make_tensor_view %p, shape = [%i, 64], strides = [%i, 1] : tile<i32> -> "
        "tensor_view<?x64xf16, strides=[64,1]>",
        "0 strides of the array are dynamic, and 1 are given",
    ),
    ("%0 = make_partition_view %C : $PV", "previously used or defined with type"),
    ("%0:2 = get_index_space_shape %G : $GV -> tile<i32>", "a gather/scatter view has no number of tiles"),
    (
        "%0:2 = load_view_tko weak device %V[%i, %i] : $PV, $S -> tile<64x32xf16>, token",
        "a weak access has no scope",
    ),
    (
        "%0:2 = load_view_tko relaxed %V[%i, %i] : $PV, $S -> tile<64x32xf16>, token",
        "an access that is 'relaxed' has a scope",
    ),
    (
        "%0:2 = load_view_tko release sys %V[%i, %i] : $PV, $S -> tile<64x32xf16>, token",
        "'release' is no order of this access; there are weak, relaxed, acquire",
    ),
    ("%0:2 = load_view_tko weak %V[%i] : $PV, $S -> tile<64x32xf16>, token", "a view of rank 2 has 2 indices, not 1"),
    (
        "%0:2 = load_view_tko weak %V[%i, %i] : $PV, $S -> tile<32x32xf16>, token",
        "the view has tiles tile<64x32xf16>, not tile<32x32xf16>",
    ),
    (
        "%0:2 = load_view_tko weak %V[%i, %row] : $PV, $S, tile<16xi32> -> tile<64x32xf16>, token",
        r"index 1 has extents \[\], not \[16\]",
    ),
    (
        "%0:2 = load_view_tko weak %V[%i, %j] : $PV, $S, tile<i64> -> tile<64x32xf16>, token",
        "the indices have one type, and not tile<i32>, tile<i64>",
    ),
    (
        "%0:2 = load_view_tko weak %V[%i, %i] inbounds = [true] : $PV, $S -> tile<64x32xf16>, token",
        "'inbounds' has 1 truths for 2 axes",
    ),
    (
        "%0 = store_view_tko acquire sys %x, %V[%i, %i] : tile<64x32xf16>, $PV, $S -> token",
        "'acquire' is no order of this access; there are weak, relaxed, release",
    ),
    ("%0:2 = load_ptr_tko weak %Q : $PF -> $I, token", "the pointers lead to f32, not to tile<4x8xi32>"),
    ("%0 = store_ptr_tko weak %Q, %I : $PF, $I -> token", "the pointers lead to f32, not to tile<4x8xi32>"),
    (
        "%0:2 = atomic_rmw_tko relaxed device %Q, add, %F : $PF, $F -> $F, token",
        "'add' is for i32, i64, not for f32",
    ),
    (
        "%0:2 = atomic_rmw_tko weak device %R, add, %I : $PI, $I -> $I, token",
        "'weak' is no order of this access",
    ),
    (
        "%0:2 = atomic_cas_tko relaxed device %R, %F, %F : $PI, $F -> $F, token",
        "the pointers lead to i32, not to f32",
    ),
    (
        "%0 = atomic_red_view_tko relaxed sys %N[%i, %i], addf, %y : tile<64x32xf32>, $NV, $S -> token",
        "the scope is tl_blk or device, not sys",
    ),
    (
        "%0 = atomic_red_view_tko relaxed device %V[%i, %i], addf, %x : tile<64x32xf16>, $PV, $S -> token",
        "a view with padding is not reduced into",
    ),
    (
        "%0 = atomic_red_view_tko relaxed device %N[%i, %i], xchg, %y : tile<64x32xf32>, $NV, $S -> token",
        "'xchg' is no reduction",
    ),
    ("%0 = join_tokens %t : token", "two or more tokens are joined, not 1"),
    ("%0 = alloca num_elem = 0, alignment = 4 : tile<ptr<f32>>", "at least one element is allocated"),
    ("%0 = alloca num_elem = 4, alignment = 3 : tile<ptr<f32>>", "an alignment is a power of two, not 3"),
    ("%0 = constant <f32: [1.0, 2.0]> : tile<4xf32>", r"the numbers have extents \[2\], not \[4\]"),
    ("%0 = constant <i8: 300> : tile<i8>", "300 does not fit i8"),
    ("%0 = constant <i32: 1.5> : tile<i32>", "1.5 is no whole number"),
    ("%0 = constant <i32: 1> : tile<f32>", "the elements are i32, and the tile holds f32"),
    ("%0 = constant <f32: [[1.0], [1.0, 2.0]]> : tile<2x1xf32>", "a constant has rows, all of the same extents"),
    ("%0 = constant <f32: 1.0> : tile<3xf32>", "the extents of a tile are powers of two, and one is 3"),
    ("%0 = constant <f32: 1.0> : tile<8192x4096xf32>", "a tile has at most 16777216 elements, not 33554432"),
    ("%0 = make_partition_view %A : partition_view<tile=(64), $AV>", "tiles of rank 1 and an array of rank 2"),
    (
        "%0 = make_partition_view %A : partition_view<tile=(64x32), $AV, dim_map=[0, 0]>",
        r"dim_map \[0, 0\] is no permutation of the axes",
    ),
    (
        "%0 = make_strided_view %A : strided_view<tile=(16x8), traversal_strides=[8], $AV>",
        "a view has 1 steps for tiles of rank 2",
    ),
    (
        "%0 = make_gather_scatter_view %A : gather_scatter_view<tile=(16x8), $AV, sparse_dim=2>",
        "sparse_dim 2 is no axis of a tile of 2",
    ),
    ("%0 = make_partition_view %A : $S", r"expected a view of tiles, got tile<i32>"),
]


@pytest.mark.parametrize(("sample", "message"), REFUSALS, ids=[message[:50] for _, message in REFUSALS])
def test_a_wrong_op_is_refused_with_a_reason(sample: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        parse(program(sample)).verify()


AROUND = [
    ("entry @k(%a: tile<4xf32>) {\n}", r"argument 0 of an entry is a tile of rank 0, not tile<4xf32>"),
    ("global @g <i32: 1> : tile<i32>", "a global has rank 1, not 0"),
    ("global @g alignment = 3 <i32: 1> : tile<1xi32>", "an alignment is a power of two, not 3"),
]


@pytest.mark.parametrize(("text", "message"), AROUND)
def test_a_wrong_entry_or_global_is_refused(text: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        parse(f"cuda_tile.module @m {{\n{text}\n}}").verify()
