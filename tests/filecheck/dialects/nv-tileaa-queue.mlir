// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix=GENERIC

// A synchronous loop that reads two queues at the slot of its iteration. The input is in generic form.
#smem = #nv_tileas.layout<"smem", "">

func.func @sync_loop(%qa: !nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>,
                     %qb: !nv_tileaa.queue<[tensor<64x128xf16, #smem>], depth = 3>,
                     %init: tensor<128x128xf32>, %n: index) -> tensor<128x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<128x128xf32>) {
    %a = "nv_tileaa.queue.get"(%qa, %i) ({}) : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>, index) -> tensor<128x64xf16, #smem>
    %b = "nv_tileaa.queue.get"(%qb, %i) ({}) : (!nv_tileaa.queue<[tensor<64x128xf16, #smem>], depth = 3>, index) -> tensor<64x128xf16, #smem>
    %c = "nv_tileas.dot"(%a, %b, %acc) : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %c : tensor<128x128xf32>
  }
  func.return %out : tensor<128x128xf32>
}

// CHECK-LABEL:  func.func @sync_loop
// CHECK:          scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<128x128xf32>) {
// CHECK-NEXT:       %a = nv_tileaa.queue.get %qa[%i] : (!nv_tileaa.queue<[tensor<128x64xf16, #nv_tileas.layout<smem>>], depth = 3>, index) -> tensor<128x64xf16, #nv_tileas.layout<smem>>
// CHECK-NEXT:       %b = nv_tileaa.queue.get %qb[%i] : (!nv_tileaa.queue<[tensor<64x128xf16, #nv_tileas.layout<smem>>], depth = 3>, index) -> tensor<64x128xf16, #nv_tileas.layout<smem>>
// CHECK-NEXT:       %c = nv_tileas.dot %a, %b, %acc
// CHECK-NEXT:       scf.yield %c

// GENERIC:      %a = "nv_tileaa.queue.get"(%qa, %i) ({
// GENERIC-NEXT: }) : (!nv_tileaa.queue<[tensor<128x64xf16, #nv_tileas.layout<smem>>], depth = 3>, index) -> tensor<128x64xf16, #nv_tileas.layout<smem>>

// -----

// Two agents, one queue of two tiles, and computation inside put and get.
func.func @queues(%v: tensor<8xf32>, %w: tensor<8xf32>) {
  %q = "nv_tileaa.create_queue"() : () -> !nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>
  %r0 = "nv_tileaa.create_queue"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
  %r1 = "nv_tileaa.create_queue"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
  "nv_tileaa.execute"(%v, %w) <{num_agents_per_group = array<i32: 1, 1>}> ({
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    "nv_tileaa.queue.put"(%q) ({
    ^bb1(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
      "nv_tileaa.queue.yield"(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> ()
    }) : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> ()
  }, {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %a = "nv_tileaa.queue.get"(%q) ({
    ^bb1(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
      %sum = arith.addf %s0, %s1 : tensor<8xf32>
      "nv_tileaa.queue.yield"(%sum) : (tensor<8xf32>) -> ()
    }) : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> tensor<8xf32>
  }) : (tensor<8xf32>, tensor<8xf32>) -> ()
  "nv_tileaa.mark_for_reuse"(%r0, %r1) <{partitions = array<i32: 1, 1>}> : (!nv_tileaa.queue<[tensor<8xf32>]>, !nv_tileaa.queue<[tensor<8xf32>]>) -> ()
  func.return
}

// CHECK-LABEL:  func.func @queues
// CHECK-NEXT:     %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>
// CHECK-NEXT:     %r0 = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>]>
// CHECK-NEXT:     %r1 = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>]>
// CHECK-NEXT:     nv_tileaa.execute %v, %w attributes {num_agents_per_group = array<i32: 1, 1>} {
// CHECK-NEXT:     ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
// CHECK-NEXT:       nv_tileaa.queue.put %q {
// CHECK-NEXT:       ^bb0(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
// CHECK-NEXT:         nv_tileaa.queue.yield %x, %y : (tensor<8xf32>, tensor<8xf32>) -> ()
// CHECK-NEXT:       } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> ()
// CHECK-NEXT:     }, {
// CHECK-NEXT:     ^bb0(%x_1: tensor<8xf32>, %y_1: tensor<8xf32>):
// CHECK-NEXT:       %a = nv_tileaa.queue.get %q {
// CHECK:            } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>, tensor<8xf32>) -> ()
// CHECK-NEXT:     nv_tileaa.mark_for_reuse %r0, %r1 attributes {partitions = array<i32: 1, 1>} :

// GENERIC:      "nv_tileaa.execute"(%v, %w) <{num_agents_per_group = array<i32: 1, 1>}> ({
// GENERIC:      "nv_tileaa.mark_for_reuse"(%r0, %r1) <{partitions = array<i32: 1, 1>}> :

// -----

// The short put: slot index in brackets, tiles behind it. Agents of one group may ask for their number.
func.func @short(%q: !nv_tileaa.queue<[tensor<8xf32>]>, %x: tensor<8xf32>, %i: index) {
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 2>, max_regs = array<i32: 40, -1>} {
    nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>]>, index, tensor<8xf32>) -> ()
  }, {
  ^bb0(%number: index):
    %y = nv_tileaa.queue.get %q attributes {consumer_idx = 1 : i32} : (!nv_tileaa.queue<[tensor<8xf32>]>) -> tensor<8xf32>
  } : () -> ()
  func.return
}

// CHECK-LABEL:  func.func @short
// CHECK:          nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>]>, index, tensor<8xf32>) -> ()
// CHECK:          %y = nv_tileaa.queue.get %q attributes {consumer_idx = 1 : i32} :

// GENERIC:      "nv_tileaa.queue.put"(%q, %i, %x) ({
// GENERIC:      %y = "nv_tileaa.queue.get"(%q) <{consumer_idx = 1 : i32}> ({
