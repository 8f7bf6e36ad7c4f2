// RUN: xdsl-opt %s --split-input-file -p tileas-queue-to-pipeline,verify-dominance | filecheck %s

// Five patterns at once: two agents, one queue of two tiles, region forms, a get that computes, storage that is reused.
// The producer is region 0 and the consumer region 1; discardable attributes come along.
func.func @regions(%v: tensor<8xf32>, %w: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>
  %r = nv_tileaa.create_queue attributes {note = "kept"} : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 3>
  nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1, 1>} : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>, !nv_tileaa.queue<[tensor<8xf32>], depth = 3>) -> ()
  nv_tileaa.execute %v, %w attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    nv_tileaa.queue.put %q attributes {pipeline_stage = 0 : i32} {
    ^bb0(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
      nv_tileaa.queue.yield %x, %y : (tensor<8xf32>, tensor<8xf32>) -> ()
    } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> ()
  }, {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %a = nv_tileaa.queue.get %q {
    ^bb0(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
      %sum = arith.addf %s0, %s1 : tensor<8xf32>
      nv_tileaa.queue.yield %sum : (tensor<8xf32>) -> ()
    } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> tensor<8xf32>
    %b = arith.addf %a, %x : tensor<8xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @regions(
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %r_p, %r_c = nv_tileas.async.pipeline.create_pipeline attributes {{{.*}}note = "kept"}
// CHECK-NEXT:    nv_tileaa.mark_for_reuse %q_p, %r_p attributes {partitions = array<i32: 1, 1>}
// CHECK-NEXT:    nv_tileas.async.pipeline.agent_switch %v, %w, %q_p, %q_pi, %q_c, %q_ci attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
// Producer:
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi attributes {pipeline_stage = 0 : i32} {
// CHECK-NEXT:        %own = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi
// CHECK-NEXT:        %full = nv_tileas.async.pipeline.producer_write %own, %q_pi attributes {producer_types = [tensor<8xf32>, tensor<8xf32>]} {
// CHECK:               nv_tileas.async.pipeline.yield %v, %w
// CHECK:             nv_tileas.async.pipeline.producer_commit %full
// CHECK:           %q_pi_1 = nv_tileas.async.pipeline.inc_iter %q_pi
// CHECK-NEXT:    }, {
// Consumer:
// CHECK-NEXT:      %a, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci
// CHECK-NEXT:        %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %q_ci
// CHECK:               %sum = arith.addf
// CHECK:             nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %tile
// CHECK:           %q_ci_1 = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:      %b = arith.addf %a, %v : tensor<8xf32>

// -----

// An iterator is carried by every loop and branch around a turn, through both arms, and advanced once behind the turn.
func.func @carried(%n: index, %c: i1, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
      }
    } {tag = "kept"}
  }, {
    %v0 = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %v0) -> (tensor<8xf32>) {
      %new = scf.if %c -> (tensor<8xf32>) {
        %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
        %sum = arith.addf %acc, %v : tensor<8xf32>
        scf.yield %sum : tensor<8xf32>
      } else {
        scf.yield %acc : tensor<8xf32>
      }
      scf.yield %new : tensor<8xf32>
    }
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @carried(
// CHECK:         nv_tileas.async.pipeline.agent_switch %q_p, %q_pi, %q_c, %q_ci
// Producer:
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi {
// CHECK:           %[[FIRST:.*]] = nv_tileas.async.pipeline.inc_iter %q_pi
// CHECK-NEXT:      %q_pi_2 = scf.for %i = %c0 to %n step %c1 iter_args(%[[TURN:.*]] = %[[FIRST]])
// CHECK-NEXT:        %[[AFTER:.*]] = scf.if %c
// CHECK-NEXT:          %produced_1 = nv_tileas.async.pipeline.produce_one %q_p, %[[TURN]] {
// CHECK:               %[[NEXT:.*]] = nv_tileas.async.pipeline.inc_iter %[[TURN]]
// CHECK-NEXT:          scf.yield %[[NEXT]] : !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %[[TURN]] : !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %[[AFTER]] : !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:      } {tag = "kept"}
// Consumer: what the loop and the branch yielded before stays in front.
// CHECK:           %[[FIRST:.*]] = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:      %r, %q_ci_2 = scf.for %i_1 = %c0 to %n step %c1 iter_args(%acc = %v0, %[[TURN:.*]] = %[[FIRST]])
// CHECK-NEXT:        %new, %[[AFTER:.*]] = scf.if %c
// CHECK-NEXT:          %v, %consumed_1 = nv_tileas.async.pipeline.consume_one %q_c, %[[TURN]]
// CHECK:               %[[NEXT:.*]] = nv_tileas.async.pipeline.inc_iter %[[TURN]]
// CHECK:               scf.yield %sum, %[[NEXT]]
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %acc, %[[TURN]]
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %new, %[[AFTER]]

// -----

// Outside of agents both groups are 0. A while loop carries the iterator through its condition and its body.
func.func @alone(%n: index, %x: tensor<8xf32>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 1>
  %last = scf.while (%i = %c0) : (index) -> index {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
    %go = arith.cmpi slt, %i, %n : index
    scf.condition(%go) %i : index
  } do {
  ^bb0(%i: index):
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %j : index
  }
  func.return %last : index
}

// CHECK-LABEL: func.func @alone(
// CHECK:         nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK:         %last, %q_pi_1, %q_ci_1 = scf.while (%i = %c0, %[[PUT:.*]] = %q_pi, %[[GOT:.*]] = %q_ci)
// CHECK:           nv_tileas.async.pipeline.produce_one %q_p, %[[PUT]] {
// CHECK:           %[[NEXT:.*]] = nv_tileas.async.pipeline.inc_iter %[[PUT]]
// CHECK:           scf.condition(%go) %i, %[[NEXT]], %[[GOT]]
// CHECK:         } do {
// CHECK-NEXT:    ^bb0(%i_1: index, %[[PUT:.*]]: !nv_tileas.pipeline_iter<tensor<8xf32>>, %[[GOT:.*]]: !nv_tileas.pipeline_iter<tensor<8xf32>>):
// CHECK-NEXT:      %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %[[GOT]]
// CHECK:           %[[NEXT:.*]] = nv_tileas.async.pipeline.inc_iter %[[GOT]]
// CHECK:           scf.yield %j, %[[PUT]], %[[NEXT]]
// CHECK:         func.return %last : index

// -----

// A slot index that counts the turns stays as the stage: no iterators, and the tokens alone are handed to the agents.
func.func @indexed(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 4>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 2>} {
    scf.for %i = %c0 to %n step %c1 {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 4>, index, tensor<8xf32>) -> ()
    }
  }, {
  ^bb0(%number: index):
    scf.for %i = %c0 to %n step %c1 {
      %v = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 4>, index) -> tensor<8xf32>
    }
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @indexed(
// CHECK-NOT:     create_iterator
// CHECK:         nv_tileas.async.pipeline.agent_switch %q_p, %q_c attributes {num_agents_per_group = array<i32: 1, 2>} {
// CHECK-NEXT:      scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:        %produced = nv_tileas.async.pipeline.produce_one %q_p, %i {
// CHECK-NEXT:          %own = nv_tileas.async.pipeline.producer_acquire %q_p, %i
// CHECK-NEXT:          %full = nv_tileas.async.pipeline.producer_write %own, %i
// CHECK:           scf.for %i_1 = %c0 to %n step %c1 {
// CHECK-NEXT:        %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %i_1
// CHECK-NEXT:          %got = nv_tileas.async.pipeline.consumer_wait %q_c, %i_1
// CHECK-NEXT:          %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %i_1
// CHECK-NOT:     inc_iter

// -----

// An isolated execute keeps its arguments: the queue's goes, the tokens and iterators come behind the others. The number
// of a consumer is that of its wait and its read.
func.func @isolated(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute %q, %x attributes {num_agents_per_group = array<i32: 1, 2>, isolated = true} {
  ^bb0(%in: !nv_tileaa.queue<[tensor<8xf32>], depth = 2>, %y: tensor<8xf32>):
    nv_tileaa.queue.put %in, %y : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  }, {
  ^bb0(%number: index, %in: !nv_tileaa.queue<[tensor<8xf32>], depth = 2>, %y: tensor<8xf32>):
    %v = nv_tileaa.queue.get %in attributes {consumer_idx = 1 : i32} : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @isolated(
// CHECK:         nv_tileas.async.pipeline.agent_switch %x, %q_p, %q_pi, %q_c, %q_ci attributes {num_agents_per_group = array<i32: 1, 2>, isolated = true} {
// CHECK-NEXT:    ^bb0(%y: tensor<8xf32>, %[[PRODUCER:.*]]: !nv_tileas.producer_token, %[[TURN:.*]]: !nv_tileas.pipeline_iter<tensor<8xf32>>, %{{.*}}: !nv_tileas.consumer_token, %{{.*}}: !nv_tileas.pipeline_iter<tensor<8xf32>>):
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %[[PRODUCER]], %[[TURN]] {
// CHECK:               nv_tileas.async.pipeline.yield %y
// CHECK:         }, {
// CHECK-NEXT:    ^bb0(%number: index, %{{.*}}: tensor<8xf32>, %{{.*}}: !nv_tileas.producer_token, %{{.*}}: !nv_tileas.pipeline_iter<tensor<8xf32>>, %[[CONSUMER:.*]]: !nv_tileas.consumer_token, %[[TURN:.*]]: !nv_tileas.pipeline_iter<tensor<8xf32>>):
// CHECK-NEXT:      %v, %consumed = nv_tileas.async.pipeline.consume_one %[[CONSUMER]], %[[TURN]] attributes {consumer_idx = 1 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %[[CONSUMER]], %[[TURN]] attributes {consumer_idx = 1 : i32}
// CHECK-NEXT:        %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %[[TURN]] attributes {consumer_idx = 1 : i32}

// -----

// A tile in shared memory is a view of its slot: the release stands behind the last use, also through views of the view
// and through a loop that uses it. A tile without layout is a value, and its slot is released inside.
#smem = #nv_tileas.layout<smem>
func.func @released_late(%n: index, %acc: tensor<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<4x4xf16, #smem>, tensor<4x4xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    %a, %b = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<4x4xf16, #smem>, tensor<4x4xf32>], depth = 2>) -> (tensor<4x4xf16, #smem>, tensor<4x4xf32>)
    %flat = nv_tileaa.view %a : (tensor<4x4xf16, #smem>) -> tensor<16xf16, #smem>
    %first = nv_tileaa.dot %a, %a, %acc : (tensor<4x4xf16, #smem>, tensor<4x4xf16, #smem>, tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.for %j = %c0 to %n step %c1 {
      %piece = nv_tileas.convert_layout %flat : (tensor<16xf16, #smem>) -> tensor<16xf16>
    }
    %second = arith.addf %first, %b : tensor<4x4xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @released_late(
// CHECK:           %a, %b, %consumed = nv_tileas.async.pipeline.consume_one
// CHECK-NOT:       consumer_release
// CHECK:           nv_tileas.async.pipeline.yield %tile, %tile_1
// CHECK-NEXT:      }
// CHECK:           %first = nv_tileaa.dot %a, %a, %acc
// CHECK-NEXT:      scf.for %j = %c0 to %n step %c1 {
// CHECK-NEXT:        %piece = nv_tileas.convert_layout %flat
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.consumer_release %consumed
// CHECK-NEXT:      %second = arith.addf %first, %b

// -----

// A get that only computes still reads its slot. A get inside a put takes its turn there; its iterator is advanced behind
// the put.
func.func @inside(%x: tensor<8xf32>, %out: memref<1x8xf32>) {
  %c0 = arith.constant 0 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  %r = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  nv_tileaa.queue.put %r {
  ^bb0(%s: tensor<8xf32>):
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    nv_tileaa.queue.yield %v : (tensor<8xf32>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  nv_tileaa.queue.get %r {
  ^bb0(%s: tensor<8xf32>):
    %row = nv_tileaa.view %s : (tensor<8xf32>) -> tensor<1x8xf32>
    nv_tileaa.tiled_store %out[%c0, %c0], %row : (memref<1x8xf32>, tensor<1x8xf32>, index, index) -> ()
    nv_tileaa.queue.yield : () -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  func.return
}

// CHECK-LABEL: func.func @inside(
// CHECK:         %produced_1 = nv_tileas.async.pipeline.produce_one %r_p, %r_pi {
// CHECK-NEXT:      %own_1 = nv_tileas.async.pipeline.producer_acquire %r_p, %r_pi
// CHECK-NEXT:      %full_1 = nv_tileas.async.pipeline.producer_write %own_1, %r_pi
// CHECK:             %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci
// CHECK:               nv_tileas.async.pipeline.consumer_release %done
// CHECK:             nv_tileas.async.pipeline.yield %v
// CHECK:           nv_tileas.async.pipeline.producer_commit %full_1
// CHECK-NEXT:      nv_tileas.async.pipeline.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %q_ci_1 = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:    %r_pi_1 = nv_tileas.async.pipeline.inc_iter %r_pi
// CHECK-NEXT:    %consumed_1 = nv_tileas.async.pipeline.consume_one %r_c, %r_ci
// CHECK:           nv_tileas.async.pipeline.consumer_read %got_1, %r_ci attributes {consumer_idx = 0 : i32, consumer_types = [tensor<8xf32>]} {
// CHECK-NEXT:      ^bb0(%[[SLOT:.*]]: tensor<8xf32>):
// CHECK-NEXT:        %row = nv_tileaa.view %[[SLOT]]
// CHECK-NEXT:        nv_tileaa.tiled_store %out[%c0, %c0], %row
// CHECK:           nv_tileas.async.pipeline.consumer_release %done_1

// -----

// The default depth, which the pass remarks on (standard error, not looked at here).
func.func @no_depth(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>]>
  nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>]>, tensor<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @no_depth(
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}

// -----

// A view that asynchronous work reads is released behind the wait for it.
#smem = #nv_tileas.layout<smem>
func.func @awaited(%out: tensor<8xf32, #smem>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  %t = nv_tileas.async.copy %v, %out : (tensor<8xf32, #smem>, tensor<8xf32, #smem>) -> !nv_tileas.token
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  func.return
}

// CHECK-LABEL: func.func @awaited(
// CHECK:         nv_tileas.async.pipeline.yield %tile
// CHECK:         %t = nv_tileas.async.copy %v, %out
// CHECK-NEXT:    nv_tileas.async.wait %t
// CHECK-NEXT:    nv_tileas.async.pipeline.consumer_release %consumed

// -----

// Not ours: a queue from outside stays a queue, and so do its gets; agents that
// use it become an agent switch all the same.
#smem = #nv_tileas.layout<smem>
func.func @from_outside(%qa: !nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>, %init: tensor<128x128xf32>, %b: tensor<64x128xf16>, %n: index) -> tensor<128x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<128x128xf32>) {
    %a = nv_tileaa.queue.get %qa[%i] : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>, index) -> tensor<128x64xf16, #smem>
    %c = nv_tileas.dot %a, %b, %acc : (tensor<128x64xf16, #smem>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %c : tensor<128x128xf32>
  }
  nv_tileaa.execute %qa attributes {num_agents_per_group = array<i32: 1>} {
  ^bb0(%in: !nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>):
    %a = nv_tileaa.queue.get %in : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>) -> tensor<128x64xf16, #smem>
  } : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>) -> ()
  func.return %out : tensor<128x128xf32>
}

// CHECK-LABEL: func.func @from_outside(
// CHECK:           %a = nv_tileaa.queue.get %qa[%i]
// CHECK:         nv_tileas.async.pipeline.agent_switch %qa attributes {num_agents_per_group = array<i32: 1>} {
// CHECK-NEXT:      %a_1 = nv_tileaa.queue.get %qa
// CHECK-NOT:     create_pipeline

// -----

// Nothing to do: what the pass makes is left as it is.
func.func @no_op(%x: tensor<8xf32>) {
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %r, %s = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  nv_tileaa.mark_for_reuse %p, %r attributes {partitions = array<i32: 2>} : (!nv_tileas.producer_token, !nv_tileas.producer_token) -> ()
  func.return
}

// CHECK-LABEL: func.func @no_op(
// CHECK-NEXT:    %p, %c = nv_tileas.async.pipeline.create_pipeline
// CHECK-NEXT:    %r, %s = nv_tileas.async.pipeline.create_pipeline
// CHECK-NEXT:    nv_tileaa.mark_for_reuse %p, %r attributes {partitions = array<i32: 2>}
// CHECK-NEXT:    func.return

// -----

// Two regions that get take every stage each, and each has an iterator.
func.func @two_consumers(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  }, {
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  }, {
    %w = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @two_consumers(
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {{{.*}}consumerGroupId = 1 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %[[FIRST:.*]] = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %[[OTHER:.*]] = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK:           %v, %consumed{{.*}} = nv_tileas.async.pipeline.consume_one %q_c, %[[FIRST]]
// CHECK:           nv_tileas.async.pipeline.inc_iter %[[FIRST]]
// CHECK:           %w, %consumed{{.*}} = nv_tileas.async.pipeline.consume_one %q_c, %[[OTHER]]
// CHECK:           nv_tileas.async.pipeline.inc_iter %[[OTHER]]

// Two regions that take turns name their stages themselves.
func.func @in_turn(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %i = %c0 to %n step %c1 {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index, tensor<8xf32>) -> ()
    }
  }, {
    scf.for %i = %c0 to %n step %c2 {
      %v = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index) -> tensor<8xf32>
    }
  }, {
    scf.for %j = %c1 to %n step %c2 {
      %w = nv_tileaa.queue.get %q[%j] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index) -> tensor<8xf32>
    }
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @in_turn(
// CHECK-NOT:     create_iterator
// CHECK:         scf.for %i_1
// CHECK:           %v, %consumed{{.*}} = nv_tileas.async.pipeline.consume_one %q_c, %i_1
// CHECK:         scf.for %j
// CHECK:           %w, %consumed{{.*}} = nv_tileas.async.pipeline.consume_one %q_c, %j
