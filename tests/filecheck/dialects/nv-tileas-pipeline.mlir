// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix=GENERIC

// The output of MaterializeAsync: completion tokens, no bodies. The input is in generic form.
#smem = #nv_tileas.layout<"smem", "">

func.func @async_loop(%init: tensor<128x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tok0 = "nv_tileas.create_none"() : () -> !nv_tileas.token
  %out, %tok = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %t = %tok0) -> (tensor<128x128xf32>, !nv_tileas.token) {
    %ap, %ta = "nv_tileas.async.pipeline.produce_one_async"(%i) ({}) {pipeline_stage = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %bp, %tb = "nv_tileas.async.pipeline.produce_one_async"(%i) ({}) {pipeline_stage = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    "nv_tileas.async.pipeline.producer_commit"(%ta, %tb) : (!nv_tileas.token, !nv_tileas.token) -> ()
    %a, %tac = "nv_tileas.async.pipeline.consume_one"(%ta) ({}) {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> (tensor<128x64xf16, #smem>, !nv_tileas.token)
    %b, %tbc = "nv_tileas.async.pipeline.consume_one"(%tb) ({}) {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> (tensor<64x128xf16, #smem>, !nv_tileas.token)
    %c = "nv_tileas.dot"(%a, %b, %acc) : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> tensor<128x128xf32>
    "nv_tileas.async.pipeline.consumer_release"(%tac, %tbc) : (!nv_tileas.token, !nv_tileas.token) -> ()
    scf.yield %c, %t : tensor<128x128xf32>, !nv_tileas.token
  }
  "nv_tileas.async.future_wait"(%tok) : (!nv_tileas.token) -> ()
  "nv_tileas.async.wait"(%tok) : (!nv_tileas.token) -> ()
  func.return
}

// CHECK-LABEL:  func.func @async_loop(%init: tensor<128x128xf32>, %n: index) {
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %tok0 = nv_tileas.create_none : () -> !nv_tileas.token
// CHECK-NEXT:     %out, %tok = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %t = %tok0) -> (tensor<128x128xf32>, !nv_tileas.token) {
// CHECK-NEXT:       %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {pipeline_stage = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:       %bp, %tb = nv_tileas.async.pipeline.produce_one_async %i attributes {pipeline_stage = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:       nv_tileas.async.pipeline.producer_commit %ta, %tb : (!nv_tileas.token, !nv_tileas.token) -> ()
// CHECK-NEXT:       %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> (tensor<128x64xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)
// CHECK-NEXT:       %b, %tbc = nv_tileas.async.pipeline.consume_one %tb attributes {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> (tensor<64x128xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)
// CHECK-NEXT:       %c = nv_tileas.dot %a, %b, %acc : (tensor<128x64xf16, #nv_tileas.layout<smem>>, tensor<64x128xf16, #nv_tileas.layout<smem>>, tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT:       nv_tileas.async.pipeline.consumer_release %tac, %tbc : (!nv_tileas.token, !nv_tileas.token) -> ()
// CHECK-NEXT:       scf.yield %c, %t : tensor<128x128xf32>, !nv_tileas.token
// CHECK-NEXT:     }
// CHECK-NEXT:     nv_tileas.async.future_wait %tok : (!nv_tileas.token) -> ()
// CHECK-NEXT:     nv_tileas.async.wait %tok : (!nv_tileas.token) -> ()
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }

// GENERIC:      %ap, %ta = "nv_tileas.async.pipeline.produce_one_async"(%i) ({
// GENERIC-NEXT: }) {pipeline_stage = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)

// -----

// A loop tagged with stages, and the same loop expanded to three stages.
#smem = #nv_tileas.layout<"smem", "">

func.func @staged(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tok0 = "nv_tileas.create_none"() : () -> !nv_tileas.token
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%t = %tok0) -> (!nv_tileas.token) {
    %ap, %ta = "nv_tileas.async.pipeline.produce_one_async"(%i) ({}) {stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %a, %tac = "nv_tileas.async.pipeline.consume_one"(%ta) ({}) {stage = 2 : i32, iter_offset = -2 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #smem>, !nv_tileas.token)
    scf.yield %t : !nv_tileas.token
  }
  func.return
}
func.func @expanded(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ap0, %ta0 = "nv_tileas.async.pipeline.produce_one_async"(%c0) ({}) {stage = 0 : i32, pipeline_id = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
  %ap1, %ta1 = "nv_tileas.async.pipeline.produce_one_async"(%c1) ({}) {stage = 0 : i32, pipeline_id = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
  %nm2 = arith.subi %n, %c2 : index
  %out = scf.for %i = %c0 to %nm2 step %c1 iter_args(%t = %ta1) -> (!nv_tileas.token) {
    %a, %tac = "nv_tileas.async.pipeline.consume_one"(%t) ({}) {stage = 2 : i32, pipeline_id = 0 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #smem>, !nv_tileas.token)
    %i2 = arith.addi %i, %c2 : index
    %ap, %ta = "nv_tileas.async.pipeline.produce_one_async"(%i2) ({}) {stage = 0 : i32, pipeline_id = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    scf.yield %ta : !nv_tileas.token
  }
  %d0, %td0 = "nv_tileas.async.pipeline.consume_one"(%out) ({}) {stage = 2 : i32, pipeline_id = 0 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #smem>, !nv_tileas.token)
  %d1, %td1 = "nv_tileas.async.pipeline.consume_one"(%td0) ({}) {stage = 2 : i32, pipeline_id = 0 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #smem>, !nv_tileas.token)
  func.return
}

// CHECK-LABEL:  func.func @staged(%n: index) {
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %tok0 = nv_tileas.create_none : () -> !nv_tileas.token
// CHECK-NEXT:     %out = scf.for %i = %c0 to %n step %c1 iter_args(%t = %tok0) -> (!nv_tileas.token) {
// CHECK-NEXT:       %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:       %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 2 : i32, iter_offset = -2 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)
// CHECK-NEXT:       scf.yield %t : !nv_tileas.token
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-LABEL:  func.func @expanded(%n: index) {
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %ap0, %ta0 = nv_tileas.async.pipeline.produce_one_async %c0 attributes {stage = 0 : i32, pipeline_id = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:     %ap1, %ta1 = nv_tileas.async.pipeline.produce_one_async %c1 attributes {stage = 0 : i32, pipeline_id = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:     %nm2 = arith.subi %n, %c2 : index
// CHECK-NEXT:     %out = scf.for %i = %c0 to %nm2 step %c1 iter_args(%t = %ta1) -> (!nv_tileas.token) {
// CHECK-NEXT:       %a, %tac = nv_tileas.async.pipeline.consume_one %t attributes {stage = 2 : i32, pipeline_id = 0 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)
// CHECK-NEXT:       %i2 = arith.addi %i, %c2 : index
// CHECK-NEXT:       %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i2 attributes {stage = 0 : i32, pipeline_id = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:       scf.yield %ta : !nv_tileas.token
// CHECK-NEXT:     }
// CHECK-NEXT:     %d0, %td0 = nv_tileas.async.pipeline.consume_one %out attributes {stage = 2 : i32, pipeline_id = 0 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)
// CHECK-NEXT:     %d1, %td1 = nv_tileas.async.pipeline.consume_one %td0 attributes {stage = 2 : i32, pipeline_id = 0 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }

// GENERIC:      }) {stage = 2 : i32, iter_offset = -2 : i32} : (!nv_tileas.token) -> (tensor<4xf16, #nv_tileas.layout<smem>>, !nv_tileas.token)

// -----

// A consume region that computes more than it yields.
func.func @surplus(%t: !nv_tileas.token, %acc: tensor<128x128xf32>, %dead: tensor<128x128xf32>, %perm: tensor<64xi32>) {
  %r = "nv_tileas.async.pipeline.consume_one"(%t) ({
    %a = "nv_tileas.async.pipeline.consumer_read"(%t) ({}) : (!nv_tileas.token) -> tensor<128x64xf16>
    %b = "nv_tileas.async.pipeline.consumer_read"(%t) ({}) : (!nv_tileas.token) -> tensor<64x128xf16>
    %x = "nv_tileas.dot"(%a, %b, %dead) : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %y = "nv_tileas.shuffle"(%a, %perm) : (tensor<128x64xf16>, tensor<64xi32>) -> tensor<128x64xf16>
    %c = "nv_tileas.dot"(%a, %b, %acc) : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    "nv_tileas.async.pipeline.consumer_release"(%t) : (!nv_tileas.token) -> ()
    "nv_tileas.async.pipeline.yield"(%c) : (tensor<128x128xf32>) -> ()
  }) : (!nv_tileas.token) -> tensor<128x128xf32>
  func.return
}

// CHECK-LABEL:  func.func @surplus(%t: !nv_tileas.token, %acc: tensor<128x128xf32>, %dead: tensor<128x128xf32>, %perm: tensor<64xi32>) {
// CHECK-NEXT:     %r = nv_tileas.async.pipeline.consume_one %t {
// CHECK-NEXT:       %a = nv_tileas.async.pipeline.consumer_read %t : (!nv_tileas.token) -> tensor<128x64xf16>
// CHECK-NEXT:       %b = nv_tileas.async.pipeline.consumer_read %t : (!nv_tileas.token) -> tensor<64x128xf16>
// CHECK-NEXT:       %x = nv_tileas.dot %a, %b, %dead : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT:       %y = nv_tileas.shuffle %a, %perm : (tensor<128x64xf16>, tensor<64xi32>) -> tensor<128x64xf16>
// CHECK-NEXT:       %c = nv_tileas.dot %a, %b, %acc : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT:       nv_tileas.async.pipeline.consumer_release %t : (!nv_tileas.token) -> ()
// CHECK-NEXT:       nv_tileas.async.pipeline.yield %c : (tensor<128x128xf32>) -> ()
// CHECK-NEXT:     } : (!nv_tileas.token) -> tensor<128x128xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }

// GENERIC:      %a = "nv_tileas.async.pipeline.consumer_read"(%t) ({
// GENERIC:      %b = "nv_tileas.async.pipeline.consumer_read"(%t) ({

// -----

// A pipeline, iterators, both handshakes, two consumer agents beside one producer.
#smem = #nv_tileas.layout<"smem", "">

func.func @explicit(%buf: tensor<2x128x64xf16, #smem>, %q: tensor<128x64xf16, #smem>, %b: tensor<64x128xf16>, %acc: tensor<128x128xf32>) {
  %p, %c = "nv_tileas.async.pipeline.create_pipeline"(%buf) <{numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8, sharedMem = true, dynamic = false}> : (tensor<2x128x64xf16, #smem>) -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %ip = "nv_tileas.async.pipeline.create_iterator"(%p) : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
  %ic = "nv_tileas.async.pipeline.create_iterator"(%c) : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
  "nv_tileas.async.pipeline.agent_switch"(%p, %ip, %c, %ic) <{num_agents_per_group = array<i32: 1, 2>, max_regs = array<i32: 40, 232>, isolated = false}> ({
    %p1 = "nv_tileas.async.pipeline.produce_one"(%p, %ip) ({
    ^bb0(%slot: tensor<128x64xf16, #smem>):
      "nv_tileas.async.pipeline.yield"(%q) : (tensor<128x64xf16, #smem>) -> ()
    }) {producer_types = [tensor<128x64xf16, #smem>]} : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.producer_token
    %ip1 = "nv_tileas.async.pipeline.inc_iter"(%ip) : (!nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
    %p2, %async = "nv_tileas.async.pipeline.produce_one_async"(%p1, %ip1) ({
      %own = "nv_tileas.async.pipeline.producer_acquire"(%p1, %ip1) : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.producer_token
      %full = "nv_tileas.async.pipeline.producer_write"(%own, %ip1) ({
        "nv_tileas.async.pipeline.yield"(%q) : (tensor<128x64xf16, #smem>) -> ()
      }) : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.producer_token
      %pub = "nv_tileas.async.pipeline.producer_commit"(%full) : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
      "nv_tileas.async.pipeline.yield"() : () -> ()
    }) : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> (!nv_tileas.producer_token, !nv_tileas.token)
    "nv_tileas.async.wait"(%async) : (!nv_tileas.token) -> ()
  }, {
    %d, %c1 = "nv_tileas.async.pipeline.consume_one"(%c, %ic) ({
    ^bb0(%slot: !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>):
      %got = "nv_tileas.async.pipeline.consumer_wait"(%c, %ic) {consumer_idx = 0 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.consumer_token
      %v, %done = "nv_tileas.async.pipeline.consumer_read"(%got, %ic) ({}) {consumer_idx = 0 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> (tensor<128x64xf16, #smem>, !nv_tileas.consumer_token)
      %m = "nv_tileas.dot"(%v, %b, %acc) : (tensor<128x64xf16, #smem>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
      %free = "nv_tileas.async.pipeline.consumer_release"(%done) : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
      "nv_tileas.async.pipeline.yield"(%m) : (tensor<128x128xf32>) -> ()
    }) {consumer_idx = 0 : i32, consumer_types = [tensor<128x64xf16, #smem>]} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> (tensor<128x128xf32>, !nv_tileas.consumer_token)
  }) : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>, !nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> ()
  func.return
}

// CHECK-LABEL:  func.func @explicit(%buf: tensor<2x128x64xf16, #nv_tileas.layout<smem>>, %q: tensor<128x64xf16, #nv_tileas.layout<smem>>, %b: tensor<64x128xf16>, %acc: tensor<128x128xf32>) {
// CHECK-NEXT:     %p, %c = nv_tileas.async.pipeline.create_pipeline %buf attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8, sharedMem = true, dynamic = false} : (tensor<2x128x64xf16, #nv_tileas.layout<smem>>) -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
// CHECK-NEXT:     %ip = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>
// CHECK-NEXT:     %ic = nv_tileas.async.pipeline.create_iterator %c : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>
// CHECK-NEXT:     nv_tileas.async.pipeline.agent_switch %p, %ip, %c, %ic attributes {num_agents_per_group = array<i32: 1, 2>, max_regs = array<i32: 40, 232>, isolated = false} {
// CHECK-NEXT:       %p1 = nv_tileas.async.pipeline.produce_one %p, %ip attributes {producer_types = [tensor<128x64xf16, #nv_tileas.layout<smem>>]} {
// CHECK-NEXT:       ^bb0(%slot: tensor<128x64xf16, #nv_tileas.layout<smem>>):
// CHECK-NEXT:         nv_tileas.async.pipeline.yield %q : (tensor<128x64xf16, #nv_tileas.layout<smem>>) -> ()
// CHECK-NEXT:       } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> !nv_tileas.producer_token
// CHECK-NEXT:       %ip1 = nv_tileas.async.pipeline.inc_iter %ip : (!nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>
// CHECK-NEXT:       %p2, %async = nv_tileas.async.pipeline.produce_one_async %p1, %ip1 {
// CHECK-NEXT:         %own = nv_tileas.async.pipeline.producer_acquire %p1, %ip1 : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> !nv_tileas.producer_token
// CHECK-NEXT:         %full = nv_tileas.async.pipeline.producer_write %own, %ip1 {
// CHECK-NEXT:           nv_tileas.async.pipeline.yield %q : (tensor<128x64xf16, #nv_tileas.layout<smem>>) -> ()
// CHECK-NEXT:         } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> !nv_tileas.producer_token
// CHECK-NEXT:         %pub = nv_tileas.async.pipeline.producer_commit %full : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
// CHECK-NEXT:         nv_tileas.async.pipeline.yield : () -> ()
// CHECK-NEXT:       } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:       nv_tileas.async.wait %async : (!nv_tileas.token) -> ()
// CHECK-NEXT:     }, {
// CHECK-NEXT:       %d, %c1 = nv_tileas.async.pipeline.consume_one %c, %ic attributes {consumer_idx = 0 : i32, consumer_types = [tensor<128x64xf16, #nv_tileas.layout<smem>>]} {
// CHECK-NEXT:       ^bb0(%slot_1: !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>):
// CHECK-NEXT:         %got = nv_tileas.async.pipeline.consumer_wait %c, %ic attributes {consumer_idx = 0 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> !nv_tileas.consumer_token
// CHECK-NEXT:         %v, %done = nv_tileas.async.pipeline.consumer_read %got, %ic attributes {consumer_idx = 0 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> (tensor<128x64xf16, #nv_tileas.layout<smem>>, !nv_tileas.consumer_token)
// CHECK-NEXT:         %m = nv_tileas.dot %v, %b, %acc : (tensor<128x64xf16, #nv_tileas.layout<smem>>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT:         %free = nv_tileas.async.pipeline.consumer_release %done : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
// CHECK-NEXT:         nv_tileas.async.pipeline.yield %m : (tensor<128x128xf32>) -> ()
// CHECK-NEXT:       } : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> (tensor<128x128xf32>, !nv_tileas.consumer_token)
// CHECK-NEXT:     } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>, !nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #nv_tileas.layout<smem>>>) -> ()
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }

// GENERIC:      %p, %c = "nv_tileas.async.pipeline.create_pipeline"(%buf) <{numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8, sharedMem = true, dynamic = false}> : (tensor<2x128x64xf16, #nv_tileas.layout<smem>>) -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
// GENERIC:      "nv_tileas.async.pipeline.agent_switch"(%p, %ip, %c, %ic) <{num_agents_per_group = array<i32: 1, 2>, max_regs = array<i32: 40, 232>, isolated = false}> ({

// -----

// The two handshakes as straight-line IR, and a value as storage and as token.
func.func @handshakes(%i: index, %v: tensor<8xf16>) {
  %p, %t = "nv_tileas.async.pipeline.produce_one_async"(%i) ({
  ^bb0(%slot: tensor<8xf16>):
    "nv_tileas.async.pipeline.yield"(%v) : (tensor<8xf16>) -> ()
  }) {pipeline_stage = 0 : i32, producer_types = [tensor<8xf16>], producer_kind = "tma"} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
  %cm = "nv_tileas.async.pipeline.producer_commit"(%p) : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
  %as = "nv_tileas.async.token_to_async"(%cm) : (!nv_tileas.producer_token) -> !nv_tileas.token
  "nv_tileas.async.wait"(%as) : (!nv_tileas.token) -> ()
  %t0 = "nv_tileas.async.pipeline.consume_one"(%t) ({}) {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> !nv_tileas.token
  %a = "nv_tileas.async.pipeline.consumer_read"(%t0) ({}) : (!nv_tileas.token) -> tensor<8xf16>
  %t1 = "nv_tileas.async.pipeline.consume_one_async"(%t0) ({}) {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> !nv_tileas.token
  "nv_tileas.async.pipeline.consumer_release"(%t1) : (!nv_tileas.token) -> ()
  "nv_tileas.async.wait"(%t1) : (!nv_tileas.token) -> ()
  %st = "nv_tileas.async.to_async"(%a) <{kind = "storage"}> : (tensor<8xf16>) -> tensor<8xf16>
  %tk = "nv_tileas.async.to_async"(%a) <{kind = "token"}> : (tensor<8xf16>) -> !nv_tileas.token
  func.return
}

// CHECK-LABEL:  func.func @handshakes(%i: index, %v: tensor<8xf16>) {
// CHECK-NEXT:     %p, %t = nv_tileas.async.pipeline.produce_one_async %i attributes {pipeline_stage = 0 : i32, producer_types = [tensor<8xf16>], producer_kind = "tma"} {
// CHECK-NEXT:     ^bb0(%slot: tensor<8xf16>):
// CHECK-NEXT:       nv_tileas.async.pipeline.yield %v : (tensor<8xf16>) -> ()
// CHECK-NEXT:     } : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:     %cm = nv_tileas.async.pipeline.producer_commit %p : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
// CHECK-NEXT:     %as = nv_tileas.async.token_to_async %cm : (!nv_tileas.producer_token) -> !nv_tileas.token
// CHECK-NEXT:     nv_tileas.async.wait %as : (!nv_tileas.token) -> ()
// CHECK-NEXT:     %t0 = nv_tileas.async.pipeline.consume_one %t attributes {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> !nv_tileas.token
// CHECK-NEXT:     %a = nv_tileas.async.pipeline.consumer_read %t0 : (!nv_tileas.token) -> tensor<8xf16>
// CHECK-NEXT:     %t1 = nv_tileas.async.pipeline.consume_one_async %t0 attributes {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> !nv_tileas.token
// CHECK-NEXT:     nv_tileas.async.pipeline.consumer_release %t1 : (!nv_tileas.token) -> ()
// CHECK-NEXT:     nv_tileas.async.wait %t1 : (!nv_tileas.token) -> ()
// CHECK-NEXT:     %st = nv_tileas.async.to_async %a attributes {kind = "storage"} : (tensor<8xf16>) -> tensor<8xf16>
// CHECK-NEXT:     %tk = nv_tileas.async.to_async %a attributes {kind = "token"} : (tensor<8xf16>) -> !nv_tileas.token
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }

// GENERIC:      %st = "nv_tileas.async.to_async"(%a) <{kind = "storage"}> : (tensor<8xf16>) -> tensor<8xf16>
// GENERIC-NEXT: %tk = "nv_tileas.async.to_async"(%a) <{kind = "token"}> : (tensor<8xf16>) -> !nv_tileas.token
