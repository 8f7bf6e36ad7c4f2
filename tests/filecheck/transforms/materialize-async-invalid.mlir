// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p tileas-materialize-async | filecheck %s

// One refusal a chunk. tests/transforms/test_materialize_async.py reads this file too: after each refusal the function is as it was, but
// for its status.

// Two writers of one pipeline ------------------------------------------------------------------------------------------

// TMA before the loop, registers in the loop: "there are two `produce-one-like` operations", and the waits would have to be two as well.
func.func @f(%n: index, %x: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %p0 = nv_tileas.async.pipeline.produce_one %p, %c0 attributes {producer_kind = "tma"} : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  scf.for %i = %c0 to %n step %c1 {
    %p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [tensor<4xf32>]} {
    ^bb0(%slot: tensor<4xf32>):
      nv_tileas.async.pipeline.yield %x : (tensor<4xf32>) -> ()
    } : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  }
  func.return
}
// CHECK: error: there are two `produce-one-like` operations using different instructions to generate data into the same pipeline. It's a bug of MaterializeAsync Pass.

// -----

// By what the regions hold: an asynchronous copy in one, a synchronous load into registers in the other.
func.func @f(%n: index, %m: memref<4x4xf32>, %source: tensor<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  scf.for %i = %c0 to %n step %c1 {
    nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [tensor<4x4xf32>]} {
    ^bb0(%slot: tensor<4x4xf32>):
      %done = nv_tileas.async.copy %source, %slot : (tensor<4x4xf32>, tensor<4x4xf32>) -> !nv_tileas.token
      nv_tileas.async.wait %done : (!nv_tileas.token) -> ()
      nv_tileas.async.pipeline.yield %slot : (tensor<4x4xf32>) -> ()
    } : (!nv_tileas.producer_token) -> ()
    nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [tensor<4x4xf32>]} {
    ^bb0(%slot: tensor<4x4xf32>):
      %loaded = nv_tileaa.tiled_load %m[%c0, %c0] : (memref<4x4xf32>, index, index) -> tensor<4x4xf32>
      nv_tileas.async.pipeline.yield %loaded : (tensor<4x4xf32>) -> ()
    } : (!nv_tileas.producer_token) -> ()
  }
  func.return
}
// CHECK: error: there are two `produce-one-like` operations using different instructions to generate data into the same pipeline. It's a bug of MaterializeAsync Pass.

// -----

// Left-over queues are rewritten before the conflict shows: a load that goes into the region of its put, and a computed tile. They are
// queues again after the refusal.
#smem = #nv_tileas.layout<smem>
func.func @f(%n: index, %m: memref<?x?xf32>, %t: tensor<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<4x4xf32, #smem>], depth = 2>
  %computed = nv_tileas.convert_layout %t : (tensor<4x4xf32>) -> tensor<4x4xf32, #smem>
  scf.for %i = %c0 to %n step %c1 {
    %loaded = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf32>, index, index) -> tensor<4x4xf32, #smem>
    nv_tileaa.queue.put %q, %loaded : (!nv_tileaa.queue<[tensor<4x4xf32, #smem>], depth = 2>, tensor<4x4xf32, #smem>) -> ()
    nv_tileaa.queue.put %q, %computed : (!nv_tileaa.queue<[tensor<4x4xf32, #smem>], depth = 2>, tensor<4x4xf32, #smem>) -> ()
  }
  func.return
}
// CHECK: error: there are two `produce-one-like` operations using different instructions to generate data into the same pipeline. It's a bug of MaterializeAsync Pass.

// Coherent pipelines ---------------------------------------------------------------------------------------------------

// -----

// Two types of slot.
func.func @f(%n: index, %x: tensor<4xf32>, %y: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  scf.for %i = %c0 to %n step %c1 {
    nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [tensor<4xf32>]} {
    ^bb0(%slot: tensor<4xf32>):
      nv_tileas.async.pipeline.yield %x : (tensor<4xf32>) -> ()
    } : (!nv_tileas.producer_token) -> ()
    nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [tensor<8xf32>]} {
    ^bb0(%slot: tensor<8xf32>):
      nv_tileas.async.pipeline.yield %y : (tensor<8xf32>) -> ()
    } : (!nv_tileas.producer_token) -> ()
  }
  func.return
}
// CHECK: error: 'nv_tileas.async.pipeline.produce_one' op fills a slot of [tensor<8xf32>] in a pipeline that another op fills with [tensor<4xf32>]
// CHECK-NEXT: help: give all producers of a pipeline the same payload and the same type of iterator

// -----

// Two types of iterator.
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %i = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<i32>
  %j = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<4xf32>>
  scf.for %k = %c0 to %n step %c1 {
    nv_tileas.async.pipeline.produce_one %p, %i : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<i32>) -> ()
    nv_tileas.async.pipeline.produce_one %p, %j : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<4xf32>>) -> ()
  }
  func.return
}
// CHECK: error: 'nv_tileas.async.pipeline.produce_one' op fills the slot of !nv_tileas.pipeline_iter<tensor<4xf32>> in a pipeline that another op fills with !nv_tileas.pipeline_iter<i32>

// -----

// Iterators that meet: the next trip of the scf.while gets one that knows its depth, the first one that does not.
func.func @f(%n: index, %x: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %i = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<i32>
  %j = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<i32, depth = 2>
  %sum = scf.while (%a = %i) : (!nv_tileas.pipeline_iter<i32>) -> !nv_tileas.pipeline_iter<i32> {
    %more = arith.cmpi slt, %c0, %n : index
    scf.condition(%more) %a : !nv_tileas.pipeline_iter<i32>
  } do {
  ^bb0(%b: !nv_tileas.pipeline_iter<i32>):
    scf.yield %j : !nv_tileas.pipeline_iter<i32, depth = 2>
  }
  func.return
}
// CHECK: error: branch arms must yield matching pipeline iterator types
