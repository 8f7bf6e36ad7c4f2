// RUN: xdsl-opt %s --split-input-file -p 'convert-nv-tileas-to-llvm' | filecheck %s

// A scan along rows that 8 lanes hold, 4 elements each: the elements of a thread first, then three rounds between lanes.
#held = #nv_tileas.layout<rmem, blocked<[1, 4], [4, 8], [1, 1], order = [1, 0]>>
func.func @scan(%x: memref<4x32xf32>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<4x32xf32>, index, index) -> tensor<4x32xf32, #held>
  %s = nv_tileaa.scan %v attributes {axis = 1 : i32} {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (tensor<4x32xf32, #held>) -> tensor<4x32xf32, #held>
  nv_tileaa.tiled_store %x[%c0, %c0], %s : (memref<4x32xf32>, tensor<4x32xf32, #held>, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @scan
// CHECK:         llvm.load
// CHECK-COUNT-4: arith.addf
// CHECK:         nvvm.shfl.sync  bfly
// CHECK:         arith.select
// CHECK:         nvvm.shfl.sync  bfly
// CHECK:         nvvm.shfl.sync  bfly
// CHECK-NOT:     nvvm.shfl.sync
// CHECK:         llvm.store

// -----

// Floats of 8 bits are bytes, and a word of their bits is a vector; those with 5 bits of an exponent are f16 but for their lower bits.
#held = #nv_tileas.layout<rmem, blocked<[1, 4], [4, 8], [1, 1], order = [1, 0]>>
func.func @bytes(%x: memref<4x32xf8E5M2>, %y: memref<4x32xf16>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<4x32xf8E5M2>, index, index) -> tensor<4x32xf8E5M2, #held>
  %w = arith.extf %v : tensor<4x32xf8E5M2, #held> to tensor<4x32xf16, #held>
  nv_tileaa.tiled_store %y[%c0, %c0], %w : (memref<4x32xf16>, tensor<4x32xf16, #held>, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @bytes
// CHECK:         arith.cmpi ult
// CHECK:         llvm.load %{{.*}} : !llvm.ptr<1> -> vector<1xi32>
// CHECK:         vector<4xi8>
// CHECK:         arith.extui %{{.*}} : i8 to i16
// CHECK:         arith.shli
// CHECK:         llvm.bitcast %{{.*}} : i16 to f16
// CHECK-NOT:     f8E5M2
// CHECK:         llvm.store

// -----

// Of f32 the tensor core multiplies what a tf32 has.
#a = #nv_tileas.layout<rmem, mma<m16n8k8, operand = a, warps = 1>>
#b = #nv_tileas.layout<rmem, mma<m16n8k8, operand = b, warps = 1>>
#c = #nv_tileas.layout<rmem, mma<m16n8k8, operand = acc, warps = 1>>
func.func @product(%x: memref<16x8xf32>, %y: memref<8x8xf32>, %z: memref<16x8xf32>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #c>
  %a = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<16x8xf32>, index, index) -> tensor<16x8xf32, #a>
  %b = nv_tileaa.tiled_load %y[%c0, %c0] : (memref<8x8xf32>, index, index) -> tensor<8x8xf32, #b>
  %d = nv_tileaa.dot %a, %b, %zero : (tensor<16x8xf32, #a>, tensor<8x8xf32, #b>, tensor<16x8xf32, #c>) -> tensor<16x8xf32, #c>
  nv_tileaa.tiled_store %z[%c0, %c0], %d : (memref<16x8xf32>, tensor<16x8xf32, #c>, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @product
// CHECK:         nvvm.mma.sync
// CHECK-SAME:    #nvvm.mma_type<tf32>
