// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: xdsl-opt %s --split-input-file -p "canonicalize,cse,dce,licm" | filecheck %s --check-prefix=KEPT

// Constant queues and counts are properties, and stand in the op's head.
func.func @constant(%src: memref<8xf32>, %dst: memref<8xf32>) {
  async_queue.commit 0 {
    async_queue.scope {
      "memref.copy"(%src, %dst) : (memref<8xf32>, memref<8xf32>) -> ()
    }
  }
  async_queue.wait 0, 1 {
    "test.op"(%dst) : (memref<8xf32>) -> ()
  }
  func.return
}
// CHECK-LABEL: @constant
// CHECK:       async_queue.commit 0 {
// CHECK-NEXT:    async_queue.scope {
// CHECK-NEXT:      memref.copy %src, %dst
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  async_queue.wait 0, 1 {
// CHECK-NEXT:    "test.op"(%dst)
// CHECK-NEXT:  }

// GENERIC:       "async_queue.commit"() <{queue = 0 : i64}> ({
// GENERIC-NEXT:    "async_queue.scope"() ({
// GENERIC-NEXT:      "memref.copy"(%src, %dst)
// GENERIC-NEXT:    }) : () -> ()
// GENERIC-NEXT:  }) : () -> ()
// GENERIC-NEXT:  "async_queue.wait"() <{queue = 0 : i64, count = 1 : i64}> ({
// GENERIC-NEXT:    "test.op"(%dst)
// GENERIC-NEXT:  }) : () -> ()

// -----

// What is computed is an index operand in the property's place, queue first.
func.func @computed(%q: index, %n: index) {
  async_queue.commit %q
  async_queue.wait %q, %n
  async_queue.wait 1, %n
  async_queue.wait %q, 2
  func.return
}
// CHECK-LABEL: @computed
// CHECK:       async_queue.commit %q
// CHECK-NEXT:  async_queue.wait %q, %n
// CHECK-NEXT:  async_queue.wait 1, %n
// CHECK-NEXT:  async_queue.wait %q, 2

// GENERIC:       "async_queue.commit"(%q) ({
// GENERIC-NEXT:  }) : (index) -> ()
// GENERIC-NEXT:  "async_queue.wait"(%q, %n) ({
// GENERIC-NEXT:  }) : (index, index) -> ()
// GENERIC-NEXT:  "async_queue.wait"(%n) <{queue = 1 : i64}> ({
// GENERIC-NEXT:  }) : (index) -> ()
// GENERIC-NEXT:  "async_queue.wait"(%q) <{count = 2 : i64}> ({
// GENERIC-NEXT:  }) : (index) -> ()

// -----

// A body without a block is left out, an empty block is a pair of braces; both mean that nothing is to be run.
func.func @empty() {
  async_queue.wait 0, 0
  async_queue.wait 0, 0 {
  }
  func.return
}
// CHECK-LABEL: @empty
// CHECK:       async_queue.wait 0, 0
// CHECK-NEXT:  async_queue.wait 0, 0 {
// CHECK-NEXT:  }

// GENERIC:       "async_queue.wait"() <{queue = 0 : i64, count = 0 : i64}> ({
// GENERIC-NEXT:  }) : () -> ()
// GENERIC-NEXT:  "async_queue.wait"() <{queue = 0 : i64, count = 0 : i64}> ({
// GENERIC-NEXT:  ^bb0:
// GENERIC-NEXT:  }) : () -> ()

// -----

// The generic form is read as well, and attributes stand between head and body.
func.func @attributes() {
  "async_queue.commit"() <{queue = 3 : i64}> ({}) {note = "idle"} : () -> ()
  async_queue.block attributes {note} {
    "test.op"() : () -> ()
  }
  func.return
}
// CHECK-LABEL: @attributes
// CHECK:       async_queue.commit 3 attributes {note = "idle"}
// CHECK-NEXT:  async_queue.block attributes {note} {

// -----

// A loop that asks to be pipelined: two statements, the first asynchronous and two iterations ahead, its buffer doubled.
func.func @annotated(%src: memref<8xf32>, %tmp: memref<8xf32>) {
  %c0, %c1, %c8 = "test.op"() : () -> (index, index, index)
  scf.for %i = %c0 to %c8 step %c1 {
    async_queue.block attributes {double_buffer_scope = 0 : i64} {
      %v = memref.load %src[%i] : memref<8xf32>
      memref.store %v, %tmp[%i] : memref<8xf32>
    }
    async_queue.block {
      %v = memref.load %tmp[%i] : memref<8xf32>
      "test.op"(%v) : (f32) -> ()
    }
  } {software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>, software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: @annotated
// CHECK:       async_queue.block attributes {double_buffer_scope = 0 : i64} {
// CHECK:       async_queue.block {
// CHECK:       } {software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>, software_pipeline_async_stages = array<i64: 0>}

// -----

// Scopes look for their commit through structured control flow, and commits nest.
func.func @through(%p: i1) {
  async_queue.commit 0 {
    async_queue.commit 1 {
      scf.if %p {
        async_queue.scope {
        }
      }
      async_queue.wait 0, 1 {
        async_queue.scope {
        }
      }
    }
  }
  func.return
}
// CHECK-LABEL: @through
// CHECK:         scf.if %p {
// CHECK-NEXT:      async_queue.scope {

// -----

// Scopes, commits and waits are never removed, merged or moved out of a loop, and a load is not carried across a wait;
// a block is only what its body is.
func.func @effects(%buffer: memref<8xf32>, %i: index, %lo: index, %hi: index, %step: index) {
  scf.for %k = %lo to %hi step %step {
    async_queue.commit 0
    async_queue.commit 0
    async_queue.wait 0, 0
    async_queue.wait 0, 0
  }
  %a = memref.load %buffer[%i] : memref<8xf32>
  async_queue.wait 0, 0
  %b = memref.load %buffer[%i] : memref<8xf32>
  "test.op"(%a, %b) : (f32, f32) -> ()
  async_queue.block {
    %unused = memref.load %buffer[%i] : memref<8xf32>
  }
  func.return
}
// KEPT-LABEL: @effects
// KEPT-NEXT:   scf.for
// KEPT-NEXT:     async_queue.commit 0
// KEPT-NEXT:     async_queue.commit 0
// KEPT-NEXT:     async_queue.wait 0, 0
// KEPT-NEXT:     async_queue.wait 0, 0
// KEPT-NEXT:   }
// KEPT-NEXT:   %a = memref.load
// KEPT-NEXT:   async_queue.wait 0, 0
// KEPT-NEXT:   %b = memref.load
// KEPT-NEXT:   "test.op"(%a, %b)
// KEPT-NEXT:   func.return
