// RUN: xdsl-opt %s -p tileas-place-tiles,tileas-order-accesses | filecheck %s

#shared = #nv_tileas.layout<smem, row_major>
#rows = #nv_tileas.layout<rmem, blocked<[1, 4], [8, 4], [2, 1], order = [1, 0]>>
#columns = #nv_tileas.layout<rmem, blocked<[4, 1], [4, 8], [1, 2], order = [0, 1]>>

// A store behind the loads of the turn before, and loads behind the store.
func.func @turns(%x: memref<?x?xf32>, %n: index) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = nv_tileas.alloc_tensor : () -> tensor<16x16xf32, #shared>
  scf.for %k = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> tensor<16x16xf32, #rows>
    nv_tileas.copy %v, %tile : (tensor<16x16xf32, #rows>, tensor<16x16xf32, #shared>) -> ()
    %w = nv_tileas.convert_layout %tile : (tensor<16x16xf32, #shared>) -> tensor<16x16xf32, #columns>
  }
  func.return
}

// CHECK-LABEL: func.func @turns
// CHECK-NOT:     nvvm.barrier0
// CHECK:         scf.for
// CHECK:           nvvm.barrier0
// CHECK-NEXT:      nv_tileas.copy
// CHECK-NEXT:      nvvm.barrier0
// CHECK-NEXT:      nv_tileas.convert_layout

// What only the code in front has written is waited for in front of the loop.
func.func @in_front(%v: tensor<16x16xf32, #rows>, %n: index) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = nv_tileas.alloc_tensor : () -> tensor<16x16xf32, #shared>
  nv_tileas.copy %v, %tile : (tensor<16x16xf32, #rows>, tensor<16x16xf32, #shared>) -> ()
  scf.for %k = %c0 to %n step %c1 {
    %w = nv_tileas.convert_layout %tile : (tensor<16x16xf32, #shared>) -> tensor<16x16xf32, #columns>
  }
  func.return
}

// CHECK-LABEL: func.func @in_front
// CHECK:         nv_tileas.copy
// CHECK-NEXT:    nvvm.barrier0
// CHECK-NEXT:    scf.for
// CHECK-NOT:       nvvm.barrier0
// CHECK:         func.return

// An agent has a barrier of its own: its number, and its threads.
func.func @agents(%v: tensor<16x16xf32, #rows>) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>, num_warps = array<i32: 2, 2>, warp_id = array<i32: 0, 2>} {
    %c0 = arith.constant 0 : index
  }, {
    %tile = nv_tileas.alloc_tensor : () -> tensor<16x16xf32, #shared>
    nv_tileas.copy %v, %tile : (tensor<16x16xf32, #rows>, tensor<16x16xf32, #shared>) -> ()
    %w = nv_tileas.convert_layout %tile : (tensor<16x16xf32, #shared>) -> tensor<16x16xf32, #columns>
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @agents
// CHECK:         nv_tileas.copy
// CHECK-NEXT:    %[[NUMBER:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[THREADS:.*]] = arith.constant 64 : i32
// CHECK-NEXT:    nvvm.barrier id = %[[NUMBER]] number_of_threads = %[[THREADS]]
// CHECK-NEXT:    nv_tileas.convert_layout
