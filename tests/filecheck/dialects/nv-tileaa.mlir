// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix=GENERIC

// Tiles of an array, in order: the token goes from access to access. Global arrays are builtin memrefs.
func.func @tiles(%a: memref<256x256xf16>, %c: memref<256x256xf16>, %i: index, %k: index) {
  %t0 = nv_tileaa.create_mem_token : () -> !nv_tileaa.mem_token
  %view = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 128, 64>, dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<256x256xf16>) -> !nv_tileaa.tiled_view<128x64xf16>
  %x, %t1 = nv_tileaa.tiled_load %view[%i, %k] token(%t0) : (!nv_tileaa.tiled_view<128x64xf16>, index, index, !nv_tileaa.mem_token) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %y = nv_tileaa.tiled_load %a[%i, %k] attributes {in_bounds = array<i1: true, false>} : (memref<256x256xf16>, index, index) -> tensor<128x64xf16>
  %t2 = nv_tileaa.join_mem_token %t0, %t1 : (!nv_tileaa.mem_token, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %t3 = nv_tileaa.tiled_store %c[%i, %k], %x token(%t2) : (memref<256x256xf16>, tensor<128x64xf16>, index, index, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  func.return
}

// CHECK-LABEL:  func.func @tiles
// CHECK-NEXT:     %t0 = nv_tileaa.create_mem_token : () -> !nv_tileaa.mem_token
// CHECK-NEXT:     %view = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 128, 64>, dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<256x256xf16>) -> !nv_tileaa.tiled_view<128x64xf16>
// CHECK-NEXT:     %x, %t1 = nv_tileaa.tiled_load %view[%i, %k] token(%t0) : (!nv_tileaa.tiled_view<128x64xf16>, index, index, !nv_tileaa.mem_token) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
// CHECK-NEXT:     %y = nv_tileaa.tiled_load %a[%i, %k] attributes {in_bounds = array<i1: true, false>} : (memref<256x256xf16>, index, index) -> tensor<128x64xf16>
// CHECK-NEXT:     %t2 = nv_tileaa.join_mem_token %t0, %t1 :
// CHECK-NEXT:     %t3 = nv_tileaa.tiled_store %c[%i, %k], %x token(%t2) :

// GENERIC:      "nv_tileaa.tiled_load"(%view, %i, %k, %t0) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 1>}>
// GENERIC:      "nv_tileaa.tiled_store"(%c, %x, %i, %k, %t2) <{operandSegmentSizes = array<i32: 1, 1, 2, 0, 1>}>

// -----

// Pointers, arrays made of them, and accesses under a mask.
func.func @pointers(%p: !nv_tileaa.ptr<f32, 1>, %ps: tensor<8x!nv_tileaa.ptr<f32, 1>>, %n: index, %m: tensor<8xi1>, %o: tensor<8xf32>) {
  %q = nv_tileaa.addptr %p, %n : (!nv_tileaa.ptr<f32, 1>, index) -> !nv_tileaa.ptr<f32, 1>
  %a = nv_tileaa.make_memref %q sizes(%n) strides(%n) : (!nv_tileaa.ptr<f32, 1>, index, index) -> !nv_tileaa.memref<?x64xf32, 1, strides = [?, 1]>
  %e = nv_tileaa.load %a[%n, %n] : (!nv_tileaa.memref<?x64xf32, 1, strides = [?, 1]>, index, index) -> f32
  %v = nv_tileaa.load %ps mask(%m) other(%o) attributes {mem_semantic = #nv_tileaa<mem_semantic relaxed>, mem_scope = #nv_tileaa<mem_scope cta>} : (tensor<8x!nv_tileaa.ptr<f32, 1>>, tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32>
  nv_tileaa.store %ps, %v mask(%m) : (tensor<8x!nv_tileaa.ptr<f32, 1>>, tensor<8xf32>, tensor<8xi1>) -> ()
  %old = nv_tileaa.atomic_rmw %q, %e attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!nv_tileaa.ptr<f32, 1>, f32) -> f32
  func.return
}

// CHECK-LABEL:  func.func @pointers
// CHECK-NEXT:     %q = nv_tileaa.addptr %p, %n : (!nv_tileaa.ptr<f32, 1>, index) -> !nv_tileaa.ptr<f32, 1>
// CHECK-NEXT:     %a = nv_tileaa.make_memref %q sizes(%n) strides(%n) :
// CHECK-NEXT:     %e = nv_tileaa.load %a[%n, %n] :
// CHECK-NEXT:     %v = nv_tileaa.load %ps mask(%m) other(%o) attributes {mem_semantic = #nv_tileaa<mem_semantic relaxed>, mem_scope = #nv_tileaa<mem_scope tl_blk>} :
// CHECK-NEXT:     nv_tileaa.store %ps, %v mask(%m) :
// CHECK-NEXT:     %old = nv_tileaa.atomic_rmw %q, %e attributes {rmw_mode = #nv_tileaa<rmw_mode add>} :

// GENERIC:      "nv_tileaa.make_memref"(%q, %n, %n) <{operandSegmentSizes = array<i32: 1, 0, 1, 1>}>

// -----

// A kernel: facts about its arguments, its place in the grid, a product, and a reduction of it.
nv_tileaa.func @kernel(%p: !nv_tileaa.ptr<f16, 1>, %x: tensor<16x32xf16>, %y: tensor<32x16xf16>, %z: tensor<16x16xf32>) -> tensor<16xf32> attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2,1,1]>, nv_tileaa.compute_capability = #nv_tileaa.compute-capability<100>} {
  %aligned = nv_tileaa.assume %p attributes {predicates = [#nv_tileaa.div_by<16>]} : (!nv_tileaa.ptr<f16, 1>) -> !nv_tileaa.ptr<f16, 1>
  %id = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %first = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> !nv_tileaa.program_id
  %column = nv_tileaa.get_program_id %first attributes {axis = 1 : i32} : (!nv_tileaa.program_id) -> index
  %d = nv_tileaa.dot %x, %y, %z : (tensor<16x32xf16>, tensor<32x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = nv_tileaa.reduce %d attributes {axis = 1 : i32} {
  ^bb0(%u: f32, %v: f32):
    %w = nv_tileaa.addf %u, %v : (f32, f32) -> f32
    nv_tileaa.yield %w : (f32) -> ()
  } : (tensor<16x16xf32>) -> tensor<16xf32>
  nv_tileaa.return %s : (tensor<16xf32>) -> ()
}

// CHECK:        nv_tileaa.func @kernel(%p: !nv_tileaa.ptr<f16, 1>, %x: tensor<16x32xf16>, %y: tensor<32x16xf16>, %z: tensor<16x16xf32>) -> tensor<16xf32> attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2,1,1]>, nv_tileaa.compute_capability = #nv_tileaa.compute_capability<100>} {
// CHECK-NEXT:     %aligned = nv_tileaa.assume %p attributes {predicates = [#nv_tileaa.div_by<16>]} :
// CHECK-NEXT:     %id = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
// CHECK-NEXT:     %first = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> !nv_tileaa.program_id
// CHECK-NEXT:     %column = nv_tileaa.get_program_id %first attributes {axis = 1 : i32} : (!nv_tileaa.program_id) -> index
// CHECK-NEXT:     %d = nv_tileaa.dot %x, %y, %z : (tensor<16x32xf16>, tensor<32x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:     %s = nv_tileaa.reduce %d attributes {axis = 1 : i32} {
// CHECK-NEXT:     ^bb0(%u: f32, %v: f32):
// CHECK-NEXT:       %w = nv_tileaa.addf %u, %v : (f32, f32) -> f32
// CHECK-NEXT:       nv_tileaa.yield %w : (f32) -> ()
// CHECK-NEXT:     } : (tensor<16x16xf32>) -> tensor<16xf32>
// CHECK-NEXT:     nv_tileaa.return %s : (tensor<16xf32>) -> ()

// GENERIC:      "nv_tileaa.dot"(%x, %y, %z) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}>

// -----

// Shapes.
func.func @shapes(%x: f32, %t: tensor<4x8xf32>, %i: index) {
  %s = nv_tileaa.splat %x : (f32) -> tensor<1x8xf32>
  %b = nv_tileaa.broadcast %s : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %v = nv_tileaa.view %b : (tensor<4x8xf32>) -> tensor<32xf32>
  %e = nv_tileaa.expand_dims %v : (tensor<32xf32>) -> tensor<32x1xf32>
  %r = nv_tileaa.extract %t[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>
  %l = nv_tileaa.extract_slice %t[%i, %i] : (tensor<4x8xf32>, index, index) -> tensor<2x8xf32>
  %p = nv_tileaa.permute %t attributes {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %c = nv_tileaa.cat %t, %b attributes {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  func.return
}

// CHECK-LABEL:  func.func @shapes
// CHECK-NEXT:     %s = nv_tileaa.splat %x : (f32) -> tensor<1x8xf32>
// CHECK-NEXT:     %b = nv_tileaa.broadcast %s : (tensor<1x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     %v = nv_tileaa.view %b : (tensor<4x8xf32>) -> tensor<32xf32>
// CHECK-NEXT:     %e = nv_tileaa.expand_dims %v : (tensor<32xf32>) -> tensor<32x1xf32>
// CHECK-NEXT:     %r = nv_tileaa.extract %t[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>
// CHECK-NEXT:     %l = nv_tileaa.extract_slice %t[%i, %i] : (tensor<4x8xf32>, index, index) -> tensor<2x8xf32>
// CHECK-NEXT:     %p = nv_tileaa.permute %t attributes {permutation = array<i64: 1, 0>} :
// CHECK-NEXT:     %c = nv_tileaa.cat %t, %b attributes {axis = 0 : i32} :

// -----

// An op that is only carried along stays generic.
%x = "test.op"() : () -> f32
%y = "nv_tileaa.plugin"(%x) ({
}) {name = "mine"} : (f32) -> f32

// CHECK:        %y = "nv_tileaa.plugin"(%x) ({
