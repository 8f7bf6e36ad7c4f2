// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: xdsl-opt %s --split-input-file -p "canonicalize,cse,dce,licm" | filecheck %s --check-prefix=KEPT

// Tiled accesses: coordinates stand behind the view, optional operands by name. Segments are sized in the generic form.
func.func @tiled(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index, %t0: !nv_tileaa.mem_token, %m: tensor<8x16xi1>) {
  %a, %t1 = nv_tileas.tiled_load %v[%i, %i] token(%t0) mask(%m) : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index, !nv_tileaa.mem_token, tensor<8x16xi1>) -> (tensor<8x16xf16>, !nv_tileaa.mem_token)
  %t2 = nv_tileas.tiled_store %v[%i, %i], %a token(%t1) attributes {in_bounds = array<i1: true, true>} : (!nv_tileas.tiled_view<8x16xf16, gmem>, tensor<8x16xf16>, index, index, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  func.return
}
// CHECK-LABEL: @tiled
// CHECK-NEXT:    %a, %t1 = nv_tileas.tiled_load %v[%i, %i] token(%t0) mask(%m) : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index, !nv_tileaa.mem_token, tensor<8x16xi1>) -> (tensor<8x16xf16>, !nv_tileaa.mem_token)
// CHECK-NEXT:    %t2 = nv_tileas.tiled_store %v[%i, %i], %a token(%t1) attributes {in_bounds = array<i1: true, true>} :
// GENERIC:       %a, %t1 = "nv_tileas.tiled_load"(%v, %i, %i, %t0, %m) <{operandSegmentSizes = array<i32: 1, 2, 0, 1, 1>}>
// GENERIC-NEXT:  %t2 = "nv_tileas.tiled_store"(%v, %a, %i, %i, %t1) <{in_bounds = array<i1: true, true>, operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 0>}>
// KEPT-LABEL:  @tiled
// KEPT-NEXT:     tiled_load
// KEPT-NEXT:     tiled_store

// -----

// A TMA load into shared memory, and the store of a tile: transfers stay although nobody waits for their tokens.
#smem = #nv_tileas.layout<smem>
func.func @tma(%array: memref<512x512xf16>, %tile: tensor<64x64xf16, #smem>, %i: index, %b: !nv_tileas.mbarrier) {
  %load = nv_tileas.make_tiled_tma_desc %array attributes {atom = #nv_tileas<atom tma_load>, box = array<i64: 64, 64>, swizzle_mode = #nv_tileas<swizzle_mode "128B">} : (memref<512x512xf16>) -> !nv_tileas.tma_desc
  %store = nv_tileas.make_tiled_tma_desc %array, %i, %i attributes {atom = #nv_tileas<atom tma_store>} : (memref<512x512xf16>, index, index) -> !nv_tileas.tma_desc
  %t = nv_tileas.async.tiled_tma_load %load[%i, %i], %tile barrier(%b) attributes {atom = #nv_tileas<atom tma_load>, tx_count = 8192 : i32} : (!nv_tileas.tma_desc, tensor<64x64xf16, #smem>, index, index, !nv_tileas.mbarrier) -> !nv_tileas.token
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  %u = nv_tileas.async.tiled_tma_store %store[%i, %i], %tile attributes {atom = #nv_tileas<atom tma_store>} : (!nv_tileas.tma_desc, tensor<64x64xf16, #smem>, index, index) -> !nv_tileas.token
  func.return
}
// CHECK-LABEL: @tma
// CHECK-NEXT:    %load = nv_tileas.make_tiled_tma_desc %array attributes {atom = #nv_tileas<atom tma_load>, box = array<i64: 64, 64>, swizzle_mode = #nv_tileas<swizzle_mode "128B">} : (memref<512x512xf16>) -> !nv_tileas.tma_desc
// CHECK-NEXT:    %store = nv_tileas.make_tiled_tma_desc %array, %i, %i attributes
// CHECK-NEXT:    %t = nv_tileas.async.tiled_tma_load %load[%i, %i], %tile barrier(%b) attributes {atom = #nv_tileas<atom tma_load>, tx_count = 8192 : i32} :
// CHECK-NEXT:    nv_tileas.async.wait %t
// CHECK-NEXT:    %u = nv_tileas.async.tiled_tma_store %store[%i, %i], %tile attributes {atom = #nv_tileas<atom tma_store>} :
// GENERIC:       "nv_tileas.async.tiled_tma_load"(%load, %tile, %i, %i, %b) <{atom = #nv_tileas<atom tma_load>, tx_count = 8192 : i32, operandSegmentSizes = array<i32: 1, 1, 2, 1>}>
// KEPT-LABEL:  @tma
// KEPT:          nv_tileas.async.tiled_tma_load
// KEPT-NEXT:     nv_tileas.async.wait
// KEPT-NEXT:     nv_tileas.async.tiled_tma_store

// -----

// Slices: static parts are attributes, dynamic ones operands. Unused pure ops and unused storage go away.
func.func @structure(%a: tensor<8x16xf16>, %b: tensor<3x8xf16>, %i: index) -> tensor<4x4xf16> {
  %slice = nv_tileas.extract_slice %a[%i, %i] : (tensor<8x16xf16>, index, index) -> tensor<4x4xf16>
  %slot = nv_tileas.view %b[%i] : (tensor<3x8xf16>, index) -> tensor<8xf16>
  %fresh = nv_tileas.alloc_tensor attributes {stages = 3 : i32} : () -> tensor<8xf16>
  func.return %slice : tensor<4x4xf16>
}
// CHECK-LABEL: @structure
// CHECK-NEXT:    %slice = nv_tileas.extract_slice %a[%i, %i] : (tensor<8x16xf16>, index, index) -> tensor<4x4xf16>
// CHECK-NEXT:    %slot = nv_tileas.view %b[%i] : (tensor<3x8xf16>, index) -> tensor<8xf16>
// CHECK-NEXT:    %fresh = nv_tileas.alloc_tensor attributes {stages = 3 : i32} : () -> tensor<8xf16>
// GENERIC:       %slice = "nv_tileas.extract_slice"(%a, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 0, 0>}>
// KEPT-LABEL:  @structure
// KEPT-NEXT:     nv_tileas.extract_slice
// KEPT-NEXT:     func.return

// -----

// Two reads of shared memory with a write between them are two reads, in a loop too.
#smem = #nv_tileas.layout<smem>
#rmem = #nv_tileas.layout<rmem>
func.func @reads(%s: tensor<8xf16, #smem>, %n: index) {
  scf.for %i = %n to %n step %n {
    %a = nv_tileas.convert_layout %s : (tensor<8xf16, #smem>) -> tensor<8xf16, #rmem>
    nv_tileas.copy %a, %s : (tensor<8xf16, #rmem>, tensor<8xf16, #smem>) -> ()
    %b = nv_tileas.convert_layout %s : (tensor<8xf16, #smem>) -> tensor<8xf16, #rmem>
    nv_tileas.copy %b, %s : (tensor<8xf16, #rmem>, tensor<8xf16, #smem>) -> ()
  }
  func.return
}
// CHECK-LABEL: @reads
// KEPT-LABEL:  @reads
// KEPT-NEXT:     scf.for
// KEPT-NEXT:       nv_tileas.convert_layout
// KEPT-NEXT:       nv_tileas.copy
// KEPT-NEXT:       nv_tileas.convert_layout
// KEPT-NEXT:       nv_tileas.copy
