// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize}' | filecheck %s

// What TileAS calls an impossible partition: the function stays in one agent, and the pass sets its bit without a word.
#smem = #nv_tileas.layout<smem>
#four = #nv_tileaa.kernel_spec<numWarps=4>

// The launch has 4 warps, and two agents need 8.
func.func @few_warps(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) attributes {nv_tileaa.kernel_spec = #four} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> tensor<128x64xf16, #smem>
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> tensor<64x128xf16, #smem>
    %sum = nv_tileaa.dot %at, %bt, %acc : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %sum : tensor<128x128xf32>
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, tensor<128x128xf32>, index, index) -> ()
  func.return
}

// CHECK-LABEL: @few_warps
// CHECK-SAME:    agents = 1 : i32
// CHECK-SAME:    pass_status = {"tileas-materialize-schedule" = 4 : i32}
// CHECK-NOT:     agent_switch
// CHECK:         scf.for

// 256 registers of each thread of a warpgroup for the sums alone.
func.func @large_tile(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<256x256xf32>
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<256x256xf32>) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> tensor<256x64xf16, #smem>
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> tensor<64x256xf16, #smem>
    %sum = nv_tileaa.dot %at, %bt, %acc : (tensor<256x64xf16, #smem>, tensor<64x256xf16, #smem>, tensor<256x256xf32>) -> tensor<256x256xf32>
    scf.yield %sum : tensor<256x256xf32>
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, tensor<256x256xf32>, index, index) -> ()
  func.return
}

// CHECK-LABEL: @large_tile
// CHECK-SAME:    agents = 1 : i32
// CHECK-SAME:    pass_status = {"tileas-materialize-schedule" = 4 : i32}
// CHECK-NOT:     agent_switch
// CHECK:         scf.for
