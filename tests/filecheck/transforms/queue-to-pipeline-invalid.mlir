// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p tileas-queue-to-pipeline | filecheck %s

// One refusal a chunk. tests/transforms/test_queue_to_pipeline.py reads this file too: after each the IR is as it was.

// Following the queue ------------------------------------------------------------------------------------------------

// A queue that a loop carries: which queue it is cannot be told.
func.func @f(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %q) -> (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) {
    nv_tileaa.queue.put %p, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
    scf.yield %p : !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  }
  func.return
}
// CHECK: error: 'scf.for' op takes a queue, and which puts and gets belong to it cannot be followed through this op
// CHECK-NEXT: help: put to and get from the queue itself, or capture it with nv_tileaa.execute

// -----

// A queue that another function gets.
func.func private @g(!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  func.call @g(%q) : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  func.return
}
// CHECK: error: 'func.call' op takes a queue, and which puts and gets belong to it cannot be followed through this op

// -----

// A put in another block than the queue.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  cf.br ^bb1
^bb1:
  nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op is not in the block that creates its queue, nor nested below it in single blocks

// -----

// Where turns may stand ----------------------------------------------------------------------------------------------

// Two agent regions that put into one queue.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  }, {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  } : () -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op is one of the puts of a queue that has others in another agent region
// CHECK-NEXT: help: put from one agent region, and get in regions of one op

// -----

// A get before the agents and a get in one of them.
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
    %w = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  } : () -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op is one of the gets of a queue that has others in another agent region

// -----

// Slot 0 would be that of an even stage, then of an odd one.
func.func @f(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 3>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %i = %c0 to %n step %c1 {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 3>, index, tensor<8xf32>) -> ()
    }
  }, {
    scf.for %i = %c0 to %n step %c2 {
      %v = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 3>, index) -> tensor<8xf32>
    }
  }, {
    scf.for %i = %c1 to %n step %c2 {
      %w = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 3>, index) -> tensor<8xf32>
    }
  } : () -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.create_queue' op has 3 slots, and 2 agent regions take them in turn: an agent that waits for a slot of another one's could come a turn too early
// CHECK-NEXT: help: let it have a multiple of 2 slots

// -----

// Two agents would fill the same stages.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 2>} {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  } : () -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op runs in a group of 2 agents, each of which would fill every stage
// CHECK-NEXT: help: put from a group of one agent

// -----

// The agents start anew in each iteration; the iterators could not.
func.func @f(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
      nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
    } : () -> ()
  }
  func.return
}
// CHECK: error: 'nv_tileaa.execute' op is inside 'scf.for' and uses a queue from outside: in each iteration its agents start anew, and their iterators with them
// CHECK-NEXT: help: create the queue inside the loop, or move the loop into the agent regions

// -----

// Agents of agents.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
    nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
      nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
    } : () -> ()
  } : () -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op stands in agents of agents, and the group ids of a pipeline number the regions of one op only

// -----

// An op that cannot carry an iterator.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.execute_region {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
    scf.yield
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op is inside 'scf.execute_region', which cannot carry an iterator
// CHECK-NEXT: help: put and get inside scf.for, scf.if, scf.while and agent regions only

// -----

// A branch inside the region of a put: the region could not return the iterator.
func.func @f(%c: i1, %x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  %r = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.queue.put %r {
  ^bb0(%s: tensor<8xf32>):
    scf.if %c {
      %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    }
    nv_tileaa.queue.yield %x : (tensor<8xf32>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op is inside control flow inside 'nv_tileaa.queue.put', whose region cannot return an iterator
// CHECK-NEXT: help: move it out of the 'nv_tileaa.queue.put'

// -----

// Two gets inside one put.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  %r = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.queue.put %r {
  ^bb0(%s: tensor<8xf32>):
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    %w = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    nv_tileaa.queue.yield %w : (tensor<8xf32>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op is not the only one of the gets of its queue within one 'nv_tileaa.queue.put'
// CHECK-NEXT: help: move it in front of the 'nv_tileaa.queue.put'

// -----

// What a pipeline op cannot say --------------------------------------------------------------------------------------

// An index among the results of a consume op would be a stage.
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xi32>], depth = 2>
  %v = nv_tileaa.queue.get %q {
  ^bb0(%s: tensor<8xi32>):
    %c0 = arith.constant 0 : index
    nv_tileaa.queue.yield %c0 : (index) -> ()
  } : (!nv_tileaa.queue<[tensor<8xi32>], depth = 2>) -> index
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a value of type index, which among the results of a consume op is no payload
// CHECK-NEXT: help: give a tile: wrap the value in a tensor, tensor<1xi32> for an i32

// -----

// The payload is listed by the rewrite.
func.func @f(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.queue.put %q, %x attributes {producer_types = [f32]} : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op has the attribute producer_types, which its pipeline op writes itself

// -----

// A consumer beyond its group (verbatim).
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 2>} {
    %v = nv_tileaa.queue.get %q attributes {consumer_idx = 2 : i32} : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  } : () -> ()
  func.return
}
// CHECK: error: consumer_idx out of range for consumer group
// CHECK-NEXT: help: use a number below 2

// -----

// Slot indices -------------------------------------------------------------------------------------------------------

// Two gets by index: neither counts the turns.
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index) -> tensor<8xf32>
    %w = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index) -> tensor<8xf32>
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op is not the only one of the gets of its queue, so the index does not count the turns from 0
// CHECK-NEXT: help: leave out the index: the slots then rotate

// -----

// An index that is computed.
func.func @f(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %i, %c1 : index
    nv_tileaa.queue.put %q[%j], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index, tensor<8xf32>) -> ()
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op names a slot that is not the induction variable of an scf.for directly around it

// -----

// A put that does not happen in every iteration.
func.func @f(%n: index, %c: i1, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index, tensor<8xf32>) -> ()
    }
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op names a slot that is not the induction variable of an scf.for directly around it

// -----

// A loop that starts elsewhere.
func.func @f(%n: index, %x: tensor<8xf32>) {
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.for %i = %c1 to %n step %c1 {
    nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index, tensor<8xf32>) -> ()
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op names a slot by a loop that does not run from the constant 0 by the constant 1

// -----

// A loop that is repeated: the second time it starts from 0 again, the turns do not.
func.func @f(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  scf.for %j = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, index, tensor<8xf32>) -> ()
    }
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.put' op names a slot by a loop that an outer loop repeats for the same queue

// -----

// Storage that is reused ---------------------------------------------------------------------------------------------

// Neither queues nor producer tokens (verbatim).
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  nv_tileaa.mark_for_reuse %a, %b attributes {partitions = array<i32: 1, 1>} : (tensor<8xf32>, tensor<8xf32>) -> ()
  func.return
}
// CHECK: error: expect operands with queue types
// CHECK-NEXT: help: mark queues, or the producer tokens of pipelines

// -----

// The default depth, 2, where the other queue has 1.
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 1>
  %r = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>]>
  nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1, 1>} : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, !nv_tileaa.queue<[tensor<8xf32>]>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.mark_for_reuse' op marks storage of different depths, 1 and 2, once queues without one have theirs
// CHECK-NEXT: help: give every queue its depth, or choose default-depth to match

// -----

// Views that escape --------------------------------------------------------------------------------------------------

// A view that is carried to the next iteration.
#smem = #nv_tileas.layout<smem>
func.func @f(%n: index, %first: tensor<8xf32, #smem>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (tensor<8xf32, #smem>) {
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
    scf.yield %v : tensor<8xf32, #smem>
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'scf.yield' carries into the next iteration
// CHECK-NEXT: help: read the tile into registers first (nv_tileas.convert_layout), or end its use where the get stands

// -----

// A view of a view that leaves a branch.
#smem = #nv_tileas.layout<smem>
func.func @f(%c: i1, %other: tensor<4xf32, #smem>) {
  %c0 = arith.constant 0 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %r = scf.if %c -> (tensor<4xf32, #smem>) {
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
    %part = nv_tileas.extract_slice %v[%c0] : (tensor<8xf32, #smem>, index) -> tensor<4xf32, #smem>
    scf.yield %part : tensor<4xf32, #smem>
  } else {
    scf.yield %other : tensor<4xf32, #smem>
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'scf.yield' hands out of the block

// -----

// A view that is returned.
#smem = #nv_tileas.layout<smem>
func.func @f() -> tensor<8xf32, #smem> {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  func.return %v : tensor<8xf32, #smem>
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'func.return' hands out of the block

// -----

// A view that ends the region of a put: the slot of the put is written behind it.
#smem = #nv_tileas.layout<smem>
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %r = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  nv_tileaa.queue.put %r {
  ^bb0(%s: tensor<8xf32, #smem>):
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
    nv_tileaa.queue.yield %v : (tensor<8xf32, #smem>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'nv_tileaa.queue.yield' hands out of the block

// -----

// A view in another block.
#smem = #nv_tileas.layout<smem>
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  cf.br ^bb1
^bb1:
  %w = nv_tileas.convert_layout %v : (tensor<8xf32, #smem>) -> tensor<8xf32>
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'nv_tileas.convert_layout' uses in another block

// -----

// A view that other agents capture.
#smem = #nv_tileas.layout<smem>
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  nv_tileaa.execute %v attributes {num_agents_per_group = array<i32: 1>} {
  ^bb0(%a: tensor<8xf32, #smem>):
  } : (tensor<8xf32, #smem>) -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'nv_tileaa.execute' hands to other agents

// -----

// A view that other agents use.
#smem = #nv_tileas.layout<smem>
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1>} {
    %w = nv_tileas.convert_layout %v : (tensor<8xf32, #smem>) -> tensor<8xf32>
  } : () -> ()
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'nv_tileas.convert_layout' uses in another agent

// -----

// An asynchronous copy that nobody awaits.
#smem = #nv_tileas.layout<smem>
func.func @f(%out: tensor<8xf32, #smem>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  %t = nv_tileas.async.copy %v, %out : (tensor<8xf32, #smem>, tensor<8xf32, #smem>) -> !nv_tileas.token
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'nv_tileas.async.copy' reads asynchronously, and no nv_tileas.async.wait beside the get awaits it

// -----

// Asynchronous work that reads the view some time.
#smem = #nv_tileas.layout<smem>
func.func @f() {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  async_queue.commit 0 {
    async_queue.scope {
      %w = nv_tileas.convert_layout %v : (tensor<8xf32, #smem>) -> tensor<8xf32>
    }
  }
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op gives a view of its slot that 'nv_tileas.convert_layout' may read after control has gone on

// -----

// Two views of a queue with one slot: the second get would wait for ever.
#smem = #nv_tileas.layout<smem>
func.func @f(%acc: tensor<8x8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8x8xf16, #smem>], depth = 1>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8x8xf16, #smem>], depth = 1>) -> tensor<8x8xf16, #smem>
  %w = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8x8xf16, #smem>], depth = 1>) -> tensor<8x8xf16, #smem>
  %d = nv_tileaa.dot %v, %w, %acc : (tensor<8x8xf16, #smem>, tensor<8x8xf16, #smem>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op holds a view of its slot across later gets from the same queue, which has 1 slot(s): the producer could never fill the slot that they wait for

// -----

// A view that is held across a loop of gets: no depth suffices.
#smem = #nv_tileas.layout<smem>
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 4>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 4>) -> tensor<8xf32, #smem>
  scf.for %i = %c0 to %n step %c1 {
    %w = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 4>) -> tensor<8xf32, #smem>
    %x = nv_tileas.convert_layout %w : (tensor<8xf32, #smem>) -> tensor<8xf32>
  }
  %y = nv_tileas.convert_layout %v : (tensor<8xf32, #smem>) -> tensor<8xf32>
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op holds a view of its slot across later gets from the same queue, which has 4 slot(s)

// -----

// Storage that is reused ---------------------------------------------------------------------------------------------

// As queues they are never in use together: the get copies. As pipelines the slot of %a is read by the last op.
#smem = #nv_tileas.layout<smem>
func.func @f(%t: tensor<8xf32, #smem>) {
  %a = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>
  %b = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>
  nv_tileaa.mark_for_reuse %a, %b attributes {partitions = array<i32: 1, 1>} : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>, !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>) -> ()
  nv_tileaa.queue.put %a, %t : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>, tensor<8xf32, #smem>) -> ()
  %v = nv_tileaa.queue.get %a : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>) -> tensor<8xf32, #smem>
  nv_tileaa.queue.put %b, %t : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>, tensor<8xf32, #smem>) -> ()
  %w = nv_tileaa.queue.get %b : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 1>) -> tensor<8xf32, #smem>
  %x = nv_tileas.convert_layout %v : (tensor<8xf32, #smem>) -> tensor<8xf32>
  func.return
}
// CHECK: error: 'nv_tileaa.queue.get' op holds a view of its slot across 'nv_tileaa.queue.put', where a queue in the same storage (nv_tileaa.mark_for_reuse) may be filled
// CHECK-NEXT: help: read the tile into registers first (nv_tileas.convert_layout), or end its use where the get stands; or give each queue storage of its own
