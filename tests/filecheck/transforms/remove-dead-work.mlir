// RUN: xdsl-opt %s -p tileas-remove-dead-work,verify-dominance --split-input-file | filecheck %s

// What nobody uses goes, also in the region of an asynchronous form; ops with effects stay.
func.func @dead(%p: !nv_tileas.producer_token, %x: tensor<4xf32>) {
  %q, %t = nv_tileas.async.pipeline.produce_one_async %p attributes {producer_types = [tensor<4xf32>]} {
  ^bb0(%slot: tensor<4xf32>):
    %gone = arith.mulf %x, %x : tensor<4xf32>
    %gone_too = arith.addf %gone, %x : tensor<4xf32>
    %kept = arith.subf %x, %x : tensor<4xf32>
    nv_tileas.async.pipeline.yield %kept : (tensor<4xf32>) -> ()
  } : (!nv_tileas.producer_token) -> (!nv_tileas.producer_token, !nv_tileas.token)
  func.return
}
// CHECK-LABEL: @dead
// CHECK:         ^bb0(%slot: tensor<4xf32>):
// CHECK-NEXT:      %kept = arith.subf
// CHECK-NEXT:      nv_tileas.async.pipeline.yield

// -----

// A release of a stage that is read at once is complete when it is made.
func.func @over(%c: !nv_tileas.consumer_token, %i: index) -> tensor<4xf32> {
  %h = nv_tileas.async.pipeline.consume_one %c, %i : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token
  %v = nv_tileas.async.pipeline.consumer_read %h : (!nv_tileas.consumer_token) -> tensor<4xf32>
  %r, %d = nv_tileas.async.pipeline.consume_one_async %h : (!nv_tileas.consumer_token) -> (!nv_tileas.consumer_token, !nv_tileas.token)
  %s = arith.addf %v, %v : tensor<4xf32>
  %g = nv_tileas.async.pipeline.consumer_release %d : (!nv_tileas.token) -> !nv_tileas.token
  nv_tileas.async.wait %g : (!nv_tileas.token) -> ()
  func.return %s : tensor<4xf32>
}
// CHECK-LABEL: @over
// CHECK:         consumer_release
// CHECK-NEXT:    func.return

// -----

// A wait for what an argument brings stays, and the announcement in front of it goes.
func.func @announced(%t: !nv_tileas.token) {
  nv_tileas.async.future_wait %t : (!nv_tileas.token) -> ()
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  func.return
}
// CHECK-LABEL: @announced
// CHECK-NEXT:    nv_tileas.async.wait %t
// CHECK-NEXT:    func.return
