// RUN: xdsl-opt %s -p 'convert-nv-tile-func-to-llvm{compute-capability=sm_90a}' --split-input-file | filecheck %s --check-prefixes CHECK,MOVED
// RUN: xdsl-opt %s -p 'convert-nv-tile-func-to-llvm{compute-capability=sm_80}' --split-input-file | filecheck %s --check-prefixes CHECK,KEPT

// As many threads as the layouts of its tiles are for: two warps.
func.func @layouts(%x: memref<?x?xf32>, %i: index) {
  %v = nv_tileaa.tiled_load %x[%i, %i] : (memref<?x?xf32>, index, index) -> tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [2, 1], order = [1, 0]>>>
  nv_tileaa.tiled_store %x[%i, %i], %v : (memref<?x?xf32>, tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [2, 1], order = [1, 0]>>>, index, index) -> ()
  func.return
}
// CHECK: func.func @layouts(%x: memref<?x?xf32>, %i: index) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
// CHECK:   nv_tileaa.tiled_store

// -----

// All warps of its agents. The registers of the kernel are the mean of theirs; sm_80 moves none.
func.func @agents(%x: memref<?x?xf32>) {
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>, num_warps = array<i32: 4, 8>, warp_id = array<i32: 0, 4>} {
    %c0 = arith.constant 0 : index
  }, {
    %c1 = arith.constant 1 : index
  } : () -> ()
  func.return
}
// MOVED: func.func @agents(%x: memref<?x?xf32>) attributes {nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32} {
// KEPT:  func.func @agents(%x: memref<?x?xf32>) attributes {nvvm.reqntid = array<i32: 384, 1, 1>} {
// CHECK:   max_regs = array<i32: 40, 232>

// -----

func.func @plain(%x: index) {
  func.return
}
// CHECK: func.func @plain(%x: index) {
