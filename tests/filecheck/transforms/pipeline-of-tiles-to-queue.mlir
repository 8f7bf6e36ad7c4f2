// RUN: xdsl-opt %s -p convert-pipeline-to-queue,verify-dominance | filecheck %s
// RUN: xdsl-opt %s -p convert-pipeline-to-queue,convert-queue-to-pipeline,verify-dominance | filecheck %s --check-prefix=BACK

// One agent loads, the other computes: the other starts the loads, where it gives a slot back.
func.func @f(%n: index, %a: memref<?x4xf32>, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  nv_tileas.async.pipeline.agent_switch %p, %c attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %tile = nv_tileaa.tiled_load %a[%k, %c0] : (memref<?x4xf32>, index, index) -> tensor<1x4xf32>
      %done = nv_tileas.async.pipeline.produce_one %p, %k attributes {producer_types = [tensor<1x4xf32>]} {
      ^bb0(%slot: tensor<1x4xf32>):
        nv_tileas.async.pipeline.yield %tile : (tensor<1x4xf32>) -> ()
      } : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %tile, %taken = nv_tileas.async.pipeline.consume_one %c, %k {
        %got = nv_tileas.async.pipeline.consumer_wait %c, %k : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token
        %read = nv_tileas.async.pipeline.consumer_read %got, %k : (!nv_tileas.consumer_token, index) -> tensor<1x4xf32>
        nv_tileas.async.pipeline.yield %read : (tensor<1x4xf32>) -> ()
      } : (!nv_tileas.consumer_token, index) -> (tensor<1x4xf32>, !nv_tileas.consumer_token)
      %twice = arith.addf %tile, %tile : tensor<1x4xf32>
      nv_tileas.async.pipeline.consumer_release %taken : (!nv_tileas.consumer_token) -> ()
      nv_tileaa.tiled_store %out[%k, %c0], %twice : (memref<?x4xf32>, tensor<1x4xf32>, index, index) -> ()
    }
  } : (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()
  func.return
}

// CHECK-LABEL: @f
// CHECK:         %p = memref.alloc() : memref<2x4xf32, 3{{.*}}>
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %tile = nv_tileaa.tiled_load %a[
// CHECK-NEXT:          nv_tileaa.tiled_store %p[%c0, %c0], %tile
// CHECK:         async_queue.commit 0 {
// CHECK:         scf.for %k
// CHECK-NEXT:      %slot = arith.remui %k, %c2
// CHECK-NEXT:      async_queue.wait 0, 1
// CHECK-NEXT:      %tile_2 = nv_tileaa.tiled_load %p[%slot, %c0]
// CHECK-NEXT:      %twice = arith.addf
// CHECK-NEXT:      %ahead = arith.addi %k, %c2
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          async_queue.scope {
// CHECK:           nv_tileaa.tiled_store %out
// CHECK:         async_queue.wait 0, 0
// CHECK-NEXT:    func.return

// BACK-LABEL: @f
// BACK:         create_pipeline attributes {numStages = 2 : i32
// BACK-NOT:     async_queue.commit
// BACK-NOT:     agent_switch
// BACK:         func.return

// One agent puts and takes: it copies the tiles itself, and its iterators become numbers.
func.func @alone(%a: memref<?x4xf32>, %out: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %pi = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<1x4xf32>>
  %ci = nv_tileas.async.pipeline.create_iterator %c : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tensor<1x4xf32>>
  %last:2 = scf.for %k = %c0 to %n step %c1 iter_args(%i = %pi, %j = %ci) -> (!nv_tileas.pipeline_iter<tensor<1x4xf32>>, !nv_tileas.pipeline_iter<tensor<1x4xf32>>) {
    %tile = nv_tileaa.tiled_load %a[%k, %c0] : (memref<?x4xf32>, index, index) -> tensor<1x4xf32>
    %done = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [tensor<1x4xf32>]} {
    ^bb0(%slot: tensor<1x4xf32>):
      nv_tileas.async.pipeline.yield %tile : (tensor<1x4xf32>) -> ()
    } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<1x4xf32>>) -> !nv_tileas.producer_token
    %i2 = nv_tileas.async.pipeline.inc_iter %i : (!nv_tileas.pipeline_iter<tensor<1x4xf32>>) -> !nv_tileas.pipeline_iter<tensor<1x4xf32>>
    %got, %taken = nv_tileas.async.pipeline.consume_one %c, %j {
      %read = nv_tileas.async.pipeline.consumer_read %c, %j : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<1x4xf32>>) -> tensor<1x4xf32>
      nv_tileas.async.pipeline.yield %read : (tensor<1x4xf32>) -> ()
    } : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<1x4xf32>>) -> (tensor<1x4xf32>, !nv_tileas.consumer_token)
    %j2 = nv_tileas.async.pipeline.inc_iter %j : (!nv_tileas.pipeline_iter<tensor<1x4xf32>>) -> !nv_tileas.pipeline_iter<tensor<1x4xf32>>
    nv_tileaa.tiled_store %out[%k, %c0], %got : (memref<?x4xf32>, tensor<1x4xf32>, index, index) -> ()
    scf.yield %i2, %j2 : !nv_tileas.pipeline_iter<tensor<1x4xf32>>, !nv_tileas.pipeline_iter<tensor<1x4xf32>>
  }
  func.return
}
// CHECK-LABEL: @alone
// CHECK:         scf.for %k = %c0{{.*}} iter_args(%i = {{.*}}, %j = {{.*}}) -> (index, index) {
// CHECK-NEXT:      %tile = nv_tileaa.tiled_load
// CHECK-NEXT:      %slot = arith.remui %i
// CHECK-NEXT:      async_queue.commit 1 {
// CHECK-NEXT:        nv_tileaa.tiled_store %p[%slot
// CHECK:           %slot_1 = arith.remui %j
// CHECK-NEXT:      async_queue.wait 1, 0
// CHECK-NEXT:      %got = nv_tileaa.tiled_load %p[%slot_1
