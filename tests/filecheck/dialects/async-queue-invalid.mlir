// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A scope cannot stand in a scope, not even inside a loop in it.
func.func @nested(%lo: index, %hi: index, %step: index) {
  async_queue.commit 0 {
    async_queue.scope {
      scf.for %i = %lo to %hi step %step {
        async_queue.scope {
        }
      }
    }
  }
  func.return
}
// CHECK: Nested async scopes not supported: issue both in one scope, or in two scopes side by side

// -----

// A scope outside of every commit belongs to no group, so it could not be waited for.
func.func @uncommitted() {
  async_queue.wait 0, 0 {
    async_queue.scope {
    }
  }
  func.return
}
// CHECK: stands outside any async_queue.commit, so no wait can ever cover it: wrap it in one

// -----

// A commit around the function is not a commit around its body.
async_queue.commit 0 {
  func.func @inner() {
    async_queue.scope {
    }
    func.return
  }
}
// CHECK: stands outside any async_queue.commit

// -----

// Issued work runs without its thread, and cannot wait.
func.func @wait_in_scope(%p: i1) {
  async_queue.commit 0 {
    async_queue.scope {
      scf.if %p {
        async_queue.wait 1, 0
      }
    }
  }
  func.return
}
// CHECK: stands inside an async_queue.scope, whose work cannot wait: move it around the scope

// -----

// A commit cannot stand in a scope.
func.func @commit_in_scope() {
  async_queue.commit 0 {
    async_queue.scope {
      async_queue.commit 1
    }
  }
  func.return
}
// CHECK: stands inside an async_queue.scope, whose work cannot commit: move it out of the scope

// -----

// A count is not negative.
async_queue.wait 0, -1
// CHECK: count must not be negative, found -1

// -----

// A queue is not negative, in a wait
async_queue.wait -2, 0
// CHECK: queue must not be negative, found -2

// -----

// or in a commit.
async_queue.commit -2
// CHECK: queue must not be negative, found -2

// -----

// The queue of a commit must be somewhere.
"async_queue.commit"() ({}) : () -> ()
// CHECK: queue stand either in properties or in index operands: the operands must be (queue), found 0

// -----

// It cannot be in both places.
%q = "test.op"() : () -> index
"async_queue.commit"(%q) <{queue = 0 : i64}> ({}) : (index) -> ()
// CHECK: queue stand either in properties or in index operands: the operands must be (), found 1

// -----

// A wait wants a queue and a count.
%q = "test.op"() : () -> index
"async_queue.wait"(%q) ({}) : (index) -> ()
// CHECK: queue and count stand either in properties or in index operands: the operands must be (queue, count), found 1

// -----

// Two operands and one property are one too many.
%q = "test.op"() : () -> index
"async_queue.wait"(%q, %q) <{count = 0 : i64}> ({}) : (index, index) -> ()
// CHECK: the operands must be (queue), found 2

// -----

// Computed queues are of type index.
%q = "test.op"() : () -> i32
"async_queue.commit"(%q) ({}) : (i32) -> ()
// CHECK: operand 'computed' at position 0 does not verify
// CHECK: i32 should be of base attribute index

// -----

// Constant ones are of type i64.
"async_queue.commit"() <{queue = 0 : i32}> ({}) : () -> ()
// CHECK: Expected attribute i64 but got i32

// -----

// The body is one block,
"async_queue.commit"() <{queue = 0 : i64}> ({
^bb0:
  "test.termop"() [^bb1] : () -> ()
^bb1:
  "test.termop"() : () -> ()
}) : () -> ()
// CHECK: 'async_queue.commit' does not contain single-block regions

// -----

// without arguments,
"async_queue.block"() ({
^bb0(%x: index):
  "test.op"() : () -> ()
}) : () -> ()
// CHECK: the block of the body takes no arguments

// -----

// in one region,
"async_queue.block"() : () -> ()
// CHECK: Expected 1 region, but got 0

// -----

// and there are no results.
%r = "async_queue.block"() ({}) : () -> index
// CHECK: Expected 0 results, but got 1

// -----

// A double buffer is the k-th one written, from 0.
async_queue.block attributes {double_buffer_scope = -1 : i64}
// CHECK: double_buffer_scope must not be negative, found -1

// -----

// double_buffer_scope numbers the buffers that the block writes: there is no third one here.
%a, %b, %v, %i = "test.op"() : () -> (memref<8xf32>, memref<8xf32>, f32, index)
async_queue.block attributes {double_buffer_scope = 1 : i64} {
  %x = memref.load %a[%i] : memref<8xf32>
  memref.store %x, %b[%i] : memref<8xf32>
  memref.store %v, %b[%i] : memref<8xf32>
}
// CHECK: double_buffer_scope = 1: Index of the buffer exceeds the size of the write regions of the block, which writes at most 1 buffers

// -----

// The custom form wants a queue,
async_queue.commit {
}
// CHECK: async-queue-invalid.mlir:180:20
// CHECK: expected a queue id: an integer or a value of type index

// -----

// a wait wants a count behind it,
async_queue.wait 0 {
}
// CHECK: Expected ',' between queue id and count

// -----

// and what the head says the attributes may not repeat.
async_queue.wait 0, 1 attributes {count = 2 : i64}
// CHECK: Attribute dictionary entry 'count' is already passed through the operation custom assembly format.
