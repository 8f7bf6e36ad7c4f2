// RUN: xdsl-opt %s -p 'tileas-materialize-async,tileas-prepare-for-scheduling{compute-capability=sm_90},tileas-generate-schedule{compute-capability=sm_90},tileas-assign-buffers{compute-capability=sm_90},tileas-materialize-schedule{compute-capability=sm_90},verify-dominance' | filecheck %s

// A product in a loop. The producer's loop carries the two iterators of its ends; the consumer's waits for a product one iteration late.
#smem = #nv_tileas.layout<smem>
func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
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
// CHECK-LABEL: @gemm
// CHECK-SAME:      nv_tileas.agents = {agents = 2 : i32
// CHECK:           create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8
// CHECK:           create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8
// CHECK:           agent_switch {{.*}} max_regs = array<i32: 40, 232>, num_warps = array<i32: 4, 4>
// Producer:
// CHECK:             scf.for %k = %c0 to %n step %c1 iter_args(%at_in_{{[0-9]+}} = %at_in, %bt_in_{{[0-9]+}} = %bt_in)
// CHECK:               producer_acquire %at_ring
// CHECK:               nv_tileaa.tiled_load %a
// CHECK:               producer_acquire %bt_ring
// CHECK-NOT:           consumer_wait
// Consumer, prologue:
// CHECK:           }, {
// CHECK-NOT:         producer_acquire
// CHECK:             nv_tileas.async.dot
// CHECK-NOT:         consumer_release
// Consumer, kernel:
// CHECK:             scf.for
// CHECK:               nv_tileas.async.dot
// CHECK:               nv_tileas.async.wait
// CHECK:               consumer_release
// Consumer, epilogue:
// CHECK:             scf.if
// CHECK:               nv_tileas.async.wait
// CHECK:             nv_tileaa.tiled_store %c
