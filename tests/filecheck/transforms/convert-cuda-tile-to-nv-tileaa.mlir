// RUN: xdsl-opt %s -p convert-cuda-tile-to-nv-tileaa,verify-dominance --split-input-file | filecheck %s

// Extents and strides become part of the array; tokens go; the number of tiles is an argument.
cuda_tile.module @kernels {
  entry @rows(%a: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>, %b: tile<ptr<f32>>) {
    %t = make_token : token
    %0 = constant <i32: 0> : tile<i32>
    %1 = constant <i32: 1> : tile<i32>
    %nothing = constant <f32: 0.0> : tile<8x64xf32>
    %n16 = assume div_by<16>, %n : tile<i32>
    %array = make_tensor_view %a, shape = [%m, %n16], strides = [%s, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %view = make_partition_view %array : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>
    %out = make_tensor_view %b, shape = [32], strides = [1] : tensor_view<32xf32, strides=[1]>
    %sums = make_partition_view %out : partition_view<tile=(8), tensor_view<32xf32, strides=[1]>>
    %row:3 = get_tile_block_id : tile<i32>
    %tiles:2 = get_index_space_shape %view : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>> -> tile<i32>
    %total = for %j in (%0 to %tiles#1, step %1) : tile<i32> iter_values(%x = %nothing) -> (tile<8x64xf32>) {
      %y:2 = load_view_tko weak %view[%row#0, %j] token = %t : partition_view<tile=(8x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<8x64xf32>, token
      %z = addf %x, %y#0 : tile<8x64xf32>
      continue %z : tile<8x64xf32>
    }
    %sum = reduce %total dim=1 identities=[0.0 : f32] : tile<8x64xf32> -> tile<8xf32>
    (%p: tile<f32>, %q: tile<f32>) {
      %r = addf %p, %q : tile<f32>
      yield %r : tile<f32>
    }
    %w = store_view_tko weak %sum, %sums[%row#0] token = %t : tile<8xf32>, partition_view<tile=(8), tensor_view<32xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
// CHECK:       func.func @rows(%a: memref<?x?xf32, strided<[?, 1]>> {tileas.row_bytes = 4 : i32}, %b: memref<32xf32>, %a_tiles1by64: index {tileas.name = "a", tileas.number = "tiles 1 by 64"})
// CHECK-NEXT:    %nothing = arith.constant dense<0.000000e+00> : tensor<8x64xf32>
// CHECK-NEXT:    %0 = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
// CHECK:         %total = scf.for %j = %{{.*}} to %a_tiles1by64 step %{{.*}} iter_args(%x = %nothing) -> (tensor<8x64xf32>) {
// CHECK-NEXT:      %{{.*}} = nv_tileaa.tiled_load %a[%0, %j] : (memref<?x?xf32, strided<[?, 1]>>, index, index) -> tensor<8x64xf32>
// CHECK-NEXT:      %{{.*}} = arith.addf
// CHECK-NEXT:      scf.yield
// CHECK:         %sum = nv_tileaa.reduce %total attributes {axis = 1 : i32} {
// CHECK-NEXT:    ^bb0(%[[SO_FAR:.*]]: f32, %[[ELEMENT:.*]]: f32):
// CHECK-NEXT:      %{{.*}} = arith.addf %[[ELEMENT]], %[[SO_FAR]] : f32
// CHECK:         nv_tileaa.tiled_store %b[%0], %sum : (memref<32xf32>, tensor<8xf32>, index) -> ()
// CHECK-NEXT:    func.return

// -----

// An 'if' that returns keeps what follows it; a loop that breaks tests whether it goes on.
cuda_tile.module @kernels {
  entry @halve(%p: tile<ptr<f32>>, %off: tile<i1>) {
    if %off {
      return
    }
    %x:2 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
    %one = constant <f32: 1.0> : tile<f32>
    %half = constant <f32: 0.5> : tile<f32>
    %y = loop iter_values(%z = %x#0) : tile<f32> -> tile<f32> {
      %small = cmpf less_than ordered %z, %one : tile<f32> -> tile<i1>
      if %small {
        break %z : tile<f32>
      }
      %next = mulf %z, %half : tile<f32>
      continue %next : tile<f32>
    }
    %u = store_ptr_tko weak %p, %y token=%x#1 : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
// CHECK:       func.func @halve(%p: !nv_tileaa.ptr<f32, 1>, %off: i1)
// CHECK:         scf.if %off {
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %x = nv_tileaa.load %p
// CHECK:           scf.while
// CHECK:             scf.condition
// CHECK:           nv_tileaa.store %p
