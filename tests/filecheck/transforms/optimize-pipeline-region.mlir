// RUN: xdsl-opt %s -p tileas-optimize-pipeline-region,verify-dominance --split-input-file | filecheck %s

// Ops that the yield does not need are erased; the release stays.
func.func @surplus(%t: !nv_tileas.token, %acc: tensor<128x128xf32>, %acc_dead: tensor<128x128xf32>, %perm: tensor<64xi32>) {
  %r = nv_tileas.async.pipeline.consume_one %t {
    %a = nv_tileas.async.pipeline.consumer_read %t : (!nv_tileas.token) -> tensor<128x64xf16>
    %b = nv_tileas.async.pipeline.consumer_read %t : (!nv_tileas.token) -> tensor<64x128xf16>
    %x_dead = nv_tileas.dot %a, %b, %acc_dead : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %y_dead = nv_tileas.shuffle %a, %perm : (tensor<128x64xf16>, tensor<64xi32>) -> tensor<128x64xf16>
    %c = nv_tileas.dot %a, %b, %acc : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.async.pipeline.consumer_release %t : (!nv_tileas.token) -> ()
    nv_tileas.async.pipeline.yield %c : (tensor<128x128xf32>) -> ()
  } : (!nv_tileas.token) -> tensor<128x128xf32>
  "test.op"(%r) : (tensor<128x128xf32>) -> ()
  func.return
}
// CHECK-LABEL: @surplus
// CHECK-NEXT:    %r = nv_tileas.async.pipeline.consume_one %t {
// CHECK-NEXT:      %a = nv_tileas.async.pipeline.consumer_read %t
// CHECK-NEXT:      %b = nv_tileas.async.pipeline.consumer_read %t
// CHECK-NEXT:      %c = nv_tileas.dot %a, %b, %acc :
// CHECK-NEXT:      nv_tileas.async.pipeline.consumer_release %t
// CHECK-NEXT:      nv_tileas.async.pipeline.yield %c
// CHECK-NEXT:    } : (!nv_tileas.token) -> tensor<128x128xf32>
// CHECK-NEXT:    "test.op"(%r)

// -----

// A read that nobody uses only reads, so it goes as well. Block arguments, attributes and the token result stay.
func.func @reads(%c: !nv_tileas.consumer_token, %i: index) {
  %v, %t = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_types = [tensor<4xf32>], pipeline_stage = 1 : i32} {
  ^bb0(%slot: tensor<4xf32>):
    %unused = nv_tileas.async.pipeline.consumer_read %c : (!nv_tileas.consumer_token) -> tensor<4xf32>
    %sum = arith.addf %slot, %slot : tensor<4xf32>
    nv_tileas.async.pipeline.yield %sum : (tensor<4xf32>) -> ()
  } : (!nv_tileas.consumer_token, index) -> (tensor<4xf32>, !nv_tileas.consumer_token)
  "test.op"(%v, %t) : (tensor<4xf32>, !nv_tileas.consumer_token) -> ()
  func.return
}
// CHECK-LABEL: @reads
// CHECK-NEXT:    %v, %t = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_types = [tensor<4xf32>], pipeline_stage = 1 : i32} {
// CHECK-NEXT:    ^bb0(%slot: tensor<4xf32>):
// CHECK-NEXT:      %sum = arith.addf %slot, %slot : tensor<4xf32>
// CHECK-NEXT:      nv_tileas.async.pipeline.yield %sum
// CHECK-NEXT:    }
// CHECK-NEXT:    "test.op"(%v, %t)

// -----

// Boundaries: a slice does not leave the region, and does not go through a produce_one, which is kept as an effect.
func.func @boundaries(%t: !nv_tileas.token, %p: !nv_tileas.producer_token, %x: f32) {
  %outside = arith.addf %x, %x : f32
  %r = nv_tileas.async.pipeline.consume_one %t {
    %before = arith.mulf %outside, %x : f32
    %dead = arith.mulf %x, %x : f32
    %q = nv_tileas.async.pipeline.produce_one %p : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
    %after = arith.addf %before, %outside : f32
    nv_tileas.async.pipeline.yield %after : (f32) -> ()
  } : (!nv_tileas.token) -> f32
  "test.op"(%r) : (f32) -> ()
  func.return
}
// CHECK-LABEL: @boundaries
// CHECK-NEXT:    %outside = arith.addf %x, %x : f32
// CHECK-NEXT:    %r = nv_tileas.async.pipeline.consume_one %t {
// CHECK-NEXT:      %before = arith.mulf %outside, %x : f32
// CHECK-NEXT:      %q = nv_tileas.async.pipeline.produce_one %p
// CHECK-NEXT:      %after = arith.addf %before, %outside : f32
// CHECK-NEXT:      nv_tileas.async.pipeline.yield %after

// -----

// What a nested region captures is needed too; what it does to memory keeps it.
func.func @captured(%t: !nv_tileas.token, %m: memref<4xf32>, %x: f32, %i: index, %go: i1) {
  nv_tileas.async.pipeline.consume_one %t {
    %stored = arith.addf %x, %x : f32
    %dead = arith.subf %x, %x : f32
    scf.if %go {
      memref.store %stored, %m[%i] : memref<4xf32>
    }
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.token) -> ()
  func.return
}
// CHECK-LABEL: @captured
// CHECK-NEXT:    nv_tileas.async.pipeline.consume_one %t {
// CHECK-NEXT:      %stored = arith.addf %x, %x : f32
// CHECK-NEXT:      scf.if %go {
// CHECK-NEXT:        memref.store %stored, %m[%i] : memref<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.yield

// -----

// A produce op keeps its yield. Anchors: an op that a guard uses, an op of an acquire's lifetime, a bare op; in source order.
func.func @produce(%p: !nv_tileas.producer_token, %i: index, %x: tensor<4xf32>, %m: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %q = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [tensor<4xf32>]} {
  ^bb0(%slot: tensor<4xf32>):
    %guard = memref.load %m[%c0] : memref<4xi1>
    %dead = arith.subf %x, %x : tensor<4xf32>
    scf.if %guard {
      "test.op"() : () -> ()
    }
    %next = arith.addi %i, %i : index
    %own = nv_tileas.async.pipeline.producer_acquire %p, %next : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
    %dead2 = arith.mulf %x, %dead : tensor<4xf32>
    %bare = arith.addf %x, %x : tensor<4xf32>
    nv_tileas.async.pipeline.yield %bare : (tensor<4xf32>) -> ()
  } : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  "test.op"(%q) : (!nv_tileas.producer_token) -> ()
  func.return
}
// CHECK-LABEL: @produce
// CHECK:         nv_tileas.async.pipeline.produce_one %p, %i
// CHECK-NEXT:    ^bb0(%slot: tensor<4xf32>):
// CHECK-NEXT:      %guard = memref.load %m[%c0] : memref<4xi1>
// CHECK-NEXT:      scf.if %guard {
// CHECK-NEXT:        "test.op"() : () -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:      %next = arith.addi %i, %i : index
// CHECK-NEXT:      %own = nv_tileas.async.pipeline.producer_acquire %p, %next
// CHECK-NEXT:      %bare = arith.addf %x, %x : tensor<4xf32>
// CHECK-NEXT:      nv_tileas.async.pipeline.yield %bare

// -----

// The pipeliner's bit 2 on a function keeps the shrinker away from it.
func.func @gated(%t: !nv_tileas.token, %x: f32) attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}} {
  nv_tileas.async.pipeline.consume_one %t {
    %dead = arith.subf %x, %x : f32
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.token) -> ()
  func.return
}
// CHECK-LABEL: @gated
// CHECK:           %dead = arith.subf

// -----

// Not collected: the abstract form, and the asynchronous variants.
func.func @not_collected(%t: !nv_tileas.token, %x: f32) {
  nv_tileas.async.pipeline.consume_one %t : (!nv_tileas.token) -> ()
  %d = nv_tileas.async.pipeline.consume_one_async %t {
    %dead = arith.subf %x, %x : f32
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.token) -> !nv_tileas.token
  func.return
}
// CHECK-LABEL: @not_collected
// CHECK-NEXT:    nv_tileas.async.pipeline.consume_one %t : (!nv_tileas.token) -> ()
// CHECK-NEXT:    %d = nv_tileas.async.pipeline.consume_one_async %t {
// CHECK-NEXT:      %dead = arith.subf %x, %x : f32
