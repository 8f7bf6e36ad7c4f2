// RUN: xdsl-opt %s -p 'tileas-place-tiles{compute-capability=sm_90a}' | filecheck %s
// RUN: xdsl-opt %s -p tileas-place-tiles,tileas-place-tiles | filecheck %s

#shared = #nv_tileas.layout<smem, row_major>
#held = #nv_tileas.layout<rmem, blocked<[1, 4], [8, 4], [1, 1], order = [1, 0]>>

// The next tile is loaded while this one is read: two slots in turn.
func.func @two_at_a_time(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x16xf32, #shared>
  %last = scf.for %k = %c0 to %n step %c1 iter_args(%now = %first) -> (tensor<8x16xf32, #shared>) {
    %k1 = arith.addi %k, %c1 : index
    %next = nv_tileaa.tiled_load %x[%k1, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x16xf32, #shared>
    %v = nv_tileas.convert_layout %now : (tensor<8x16xf32, #shared>) -> tensor<8x16xf32, #held>
    nv_tileaa.tiled_store %y[%k, %c0], %v : (memref<?x?xf32>, tensor<8x16xf32, #held>, index, index) -> ()
    scf.yield %next : tensor<8x16xf32, #shared>
  }
  func.return
}

// CHECK-LABEL: func.func @two_at_a_time
// CHECK-NEXT:    %[[POOL:.*]] = nv_tileas.alloc_tensor attributes {stages = 2 : i32, nv_tileas.place = {number = 0 : i32, offset = 0 : i32, bytes = 512 : i32, slots = 2 : i32}}
// CHECK:         %[[FIRST:.*]] = nv_tileas.view %[[POOL]][%first]
// CHECK-NEXT:    %[[DONE:.*]] = nv_tileas.async.tiled_load %x[%c0, %c0], %[[FIRST]]
// CHECK-NEXT:    nv_tileas.async.wait %[[DONE]]
// CHECK-NEXT:    scf.for %k = %c0 to %n step %c1 iter_args(%now = %first) -> (index) {
// CHECK:           %[[IS_FIRST:.*]] = arith.cmpi eq, %now, %[[ZERO:.*]] : index
// CHECK-NEXT:      %[[OTHER:.*]] = arith.select %[[IS_FIRST]], %{{.*}}, %[[ZERO]] {nv_tileas.other_slot} : index
// CHECK-NEXT:      %[[NEXT:.*]] = nv_tileas.view %[[POOL]][%[[OTHER]]]
// CHECK-NEXT:      nv_tileas.async.tiled_load %x[%k1, %c0], %[[NEXT]]
// CHECK:           %[[NOW:.*]] = nv_tileas.view %[[POOL]][%now]
// CHECK-NEXT:      nv_tileas.convert_layout %[[NOW]]
// CHECK:           scf.yield %[[OTHER]] : index

// One behind the other: the same bytes. At the same time: others.
func.func @in_turn(%h: tensor<8x16xf32, #held>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
  %a = nv_tileas.alloc_tensor : () -> tensor<8x16xf32, #shared>
  nv_tileas.copy %h, %a : (tensor<8x16xf32, #held>, tensor<8x16xf32, #shared>) -> ()
  %v = nv_tileas.convert_layout %a : (tensor<8x16xf32, #shared>) -> tensor<8x16xf32, #held>
  %b = nv_tileas.alloc_tensor : () -> tensor<8x16xf32, #shared>
  nv_tileas.copy %h, %b : (tensor<8x16xf32, #held>, tensor<8x16xf32, #shared>) -> ()
  %c = nv_tileas.alloc_tensor : () -> tensor<8x16xf32, #shared>
  nv_tileas.copy %h, %c : (tensor<8x16xf32, #held>, tensor<8x16xf32, #shared>) -> ()
  %w = nv_tileas.convert_layout %b : (tensor<8x16xf32, #shared>) -> tensor<8x16xf32, #held>
  %u = nv_tileas.convert_layout %c : (tensor<8x16xf32, #shared>) -> tensor<8x16xf32, #held>
  func.return
}

// CHECK-LABEL: func.func @in_turn
// CHECK:         %a = nv_tileas.alloc_tensor attributes {nv_tileas.place = {number = 0 : i32, offset = 0 : i32, bytes = 512 : i32, slots = 1 : i32}}
// CHECK:         %b = nv_tileas.alloc_tensor attributes {nv_tileas.place = {number = 1 : i32, offset = 0 : i32, bytes = 512 : i32, slots = 1 : i32}}
// CHECK:         %c = nv_tileas.alloc_tensor attributes {nv_tileas.place = {number = 2 : i32, offset = 512 : i32, bytes = 512 : i32, slots = 1 : i32}}
