// RUN: xdsl-opt %s -p 'convert-pipeline-to-nvvm{compute-capability=sm_80}' | filecheck %s --check-prefixes CHECK,LOOP
// RUN: xdsl-opt %s -p 'convert-pipeline-to-nvvm{compute-capability=sm_90a}' | filecheck %s --check-prefixes CHECK,TRY
// RUN: xdsl-opt %s -p 'convert-pipeline-to-nvvm,convert-pipeline-to-nvvm' | filecheck %s --check-prefixes CHECK,LOOP

// One agent of two warps copies, another one of two warps adds. Two slots: full[0], full[1], empty[0], empty[1].
func.func @f(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) attributes {nvvm.reqntid = array<i32: 128>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring, %end = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %in = nv_tileas.async.pipeline.create_iterator %ring : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>
  %out = nv_tileas.async.pipeline.create_iterator %end : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>
  nv_tileas.async.pipeline.agent_switch %ring, %end attributes {num_agents_per_group = array<i32: 1, 1>, num_warps = array<i32: 2, 2>, warp_id = array<i32: 0, 2>} {
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%it = %in) -> (!nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) {
      %own = nv_tileas.async.pipeline.producer_acquire %ring, %it : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) -> !nv_tileas.producer_token
      %filled, %done = nv_tileas.async.pipeline.produce_one_async %own, %it attributes {producer_types = [tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>]} {
      ^bb0(%slot: tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>):
        %x = nv_tileaa.tiled_load %a[%k, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>
        nv_tileas.async.pipeline.yield %x : (tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>) -> ()
      } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) -> (!nv_tileas.producer_token, !nv_tileas.token)
      nv_tileas.async.pipeline.producer_commit %filled : (!nv_tileas.producer_token) -> ()
      %next = nv_tileas.async.pipeline.inc_iter %it : (!nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) -> !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>
      scf.yield %next : !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>
    }
  }, {
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%it = %out) -> (!nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) {
      %got = nv_tileas.async.pipeline.consumer_wait %end, %it : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) -> !nv_tileas.consumer_token
      %x, %read = nv_tileas.async.pipeline.consumer_read %got, %it : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) -> (tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>, !nv_tileas.consumer_token)
      %v = nv_tileas.convert_layout %x : (tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>) -> tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [2, 1], order = [1, 0]>>>
      nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
      %w = arith.addf %v, %v : tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [2, 1], order = [1, 0]>>>
      nv_tileaa.tiled_store %c[%k, %c0], %w : (memref<?x?xf32>, tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [2, 1], order = [1, 0]>>>, index, index) -> ()
      %next = nv_tileas.async.pipeline.inc_iter %it : (!nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>) -> !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>
      scf.yield %next : !nv_tileas.pipeline_iter<tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>>
    }
  } : (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()
  func.return
}

// CHECK:       llvm.mlir.global internal @f_barriers_0() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<4 x i64>
// CHECK-LABEL: func.func @f
// CHECK:         %ring = nv_tileas.alloc_tensor attributes {stages = 2 : i32} : () -> tensor<2x8x16xf32, #nv_tileas.layout<smem>>
// CHECK-NEXT:    %barriers = llvm.mlir.addressof @f_barriers_0 : !llvm.ptr<3>
// CHECK:         scf.if %is_first {
// CHECK:           arith.constant 64 : i32
// CHECK-NEXT:      nvvm.mbarrier.init %barriers
// CHECK-COUNT-3:   nvvm.mbarrier.init
// CHECK-NOT:       fence
// CHECK:         nvvm.barrier0
// CHECK:         nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>, num_warps = array<i32: 2, 2>, warp_id = array<i32: 0, 2>} {
// CHECK:           scf.for %k = %c0 to %n step %c1 iter_args(%it = %in, %it_parity = %in) -> (i32, i32) {
// (the slot is free when its empty barrier is past the other parity)
// CHECK:             %[[OTHER:.*]] = arith.xori %it_parity
// CHECK:             %[[EMPTY:.*]] = llvm.getelementptr %barriers[16]
// CHECK-NEXT:        %[[MINE:.*]] = llvm.getelementptr %[[EMPTY]]
// LOOP-NEXT:         scf.while
// LOOP-NEXT:           nvvm.mbarrier.test.wait %[[MINE]], %[[OTHER]] : !llvm.ptr<3>, i32 -> i1
// TRY:               nvvm.mbarrier.try_wait.parity %[[MINE]], %[[OTHER]]
// (fill it, and arrive when the copies are complete)
// CHECK:             %[[FULL:.*]] = llvm.getelementptr %barriers[%{{.*}}]
// CHECK:             %[[SLOT:.*]] = nv_tileas.view %ring[%{{.*}}]
// CHECK-NEXT:        nv_tileas.async.tiled_load %a[%k, %c0], %[[SLOT]]
// CHECK-NEXT:        nvvm.cp.async.mbarrier.arrive %[[FULL]]
// (behind the last slot comes the first, with the other parity)
// CHECK:             %slot = arith.select
// CHECK:             %parity = arith.select
// CHECK:             scf.yield %slot, %parity : i32, i32
// CHECK:         }, {
// CHECK:           scf.for
// LOOP:              nvvm.mbarrier.test.wait
// TRY:               nvvm.mbarrier.try_wait.parity
// CHECK:             %x = nv_tileas.view %ring
// CHECK-NEXT:        %v = nv_tileas.convert_layout %x
// CHECK:             nvvm.mbarrier.arrive
// CHECK-NEXT:        %w = arith.addf %v, %v
// CHECK-NEXT:        nv_tileaa.tiled_store %c
// CHECK-NOT:     consumer
