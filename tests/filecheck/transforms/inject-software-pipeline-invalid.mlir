// RUN: xdsl-opt %s -p inject-software-pipeline --split-input-file --verify-diagnostics | filecheck %s

// What the pass refuses. Each refusal names the op, the reason and the way out. (What a
// verifier refuses is in dialects/async-queue-invalid.mlir.)

// Stages without orders.
func.func @order_missing(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'scf.for' op has software_pipeline_stage but no software_pipeline_order: Order of the software pipeline is not defined.
// CHECK-NEXT:   help: add software_pipeline_order with one number for each component

// -----

// Orders without stages.
func.func @stage_missing(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'scf.for' op has software_pipeline_order but no software_pipeline_stage: Stage of the software pipeline is not defined.
// CHECK-NEXT:   help: add software_pipeline_stage with one number for each component

// -----

// The lists have one entry for each component.
func.func @length(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 0, 1>, software_pipeline_order = array<i64: 0, 1, 2>}
  func.return
}
// CHECK:      error: 'scf.for' op has 2 components (0: async_queue.block, 1: async_queue.block), but pipeline annotation is [0, 0, 1] with different size
// CHECK-NEXT:   help: give software_pipeline_stage and software_pipeline_order 2 entries each; a nested pipelined loop counts as three components

// -----

// The lists hold 64-bit integers.
func.func @type(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = [0, 1], software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'scf.for' op has software_pipeline_stage = [0 : i64, 1 : i64], which is not a list of 64-bit integers
// CHECK-NEXT:   help: write software_pipeline_stage = array<i64: 0, 1>

// -----

// Two components have one order.
func.func @repeated_order(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 0>}
  func.return
}
// CHECK:      error: 'scf.for' op uses order 0 2 times: Two statements in the software pipeline cannot have the same order
// CHECK-NEXT:   help: make software_pipeline_order a permutation of 0 to 1

// -----

// An order lies outside 0 .. n - 1.
func.func @order_range(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 5>}
  func.return
}
// CHECK:      error: 'scf.for' op has order 5, which is outside 0 to 1
// CHECK-NEXT:   help: make software_pipeline_order a permutation of 0 to 1

// -----

// A stage is negative.
func.func @negative_stage(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: -1, 0>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'scf.for' op puts component 0 in stage -1, and a stage is not negative
// CHECK-NEXT:   help: count stages from the earliest, 0, upwards

// -----

// A component depends on one in a later stage.
func.func @dependence_on_a_later_stage(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 1, 0>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'async_queue.block' op statement 1 in stage 0 cannot depends on statement 0 in a later stage 1: flow through %T, distance 0
// CHECK-NEXT:   help: give statement 1 stage 1 or a later one

// -----

// Two components of one stage depend on each other, and are reordered.
func.func @reordered_in_one_stage(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 0>, software_pipeline_order = array<i64: 1, 0>}
  func.return
}
// CHECK:      error: 'async_queue.block' op two statements with buffer access dependency in the same stage of the software pipeline cannot be reordered: statement 1 would run before statement 0, both in stage 0: flow through %T, distance 0
// CHECK-NEXT:   help: give statement 0 a lower order than statement 1

// -----

// The next iteration overwrites what a later stage has yet to read.
func.func @carried_anti(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %G[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %G[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'async_queue.block' op statement 0 in stage 0 would run before what it depends on, statement 1 of an earlier iteration in stage 1: anti through %G, distance 1
// CHECK-NEXT:   help: give statement 1 at most stage 0, or stage 1 and an order below that of statement 0; or use the buffer in this loop alone and write all of it in each iteration before reading it, so that iterations can have versions of their own

// -----

// The next iteration reads what a later stage has yet to write.
func.func @carried_flow(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %G[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %G[%c0] : memref<1xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'async_queue.block' op statement 0 in stage 0 would run before what it depends on, statement 1 of an earlier iteration in stage 1: flow through %G, distance 1
// CHECK-NEXT:   help: give statement 1 at most stage 0, or stage 1 and an order below that of statement 0; or use the buffer in this loop alone and write all of it in each iteration before reading it, so that iterations can have versions of their own

// -----

// A buffer that is used behind the loop is live-out, and has one version.
func.func @live_out(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  %last = memref.load %T[%c0] : memref<1xi32>
  memref.store %last, %G[%c0] : memref<1xi32>
  func.return
}
// CHECK:      error: 'async_queue.block' op statement 0 in stage 0 would run before what it depends on, statement 1 of an earlier iteration in stage 1: anti through %T, distance 1
// CHECK-NEXT:   help: give statement 1 at most stage 0, or stage 1 and an order below that of statement 0; or use the buffer in this loop alone and write all of it in each iteration before reading it, so that iterations can have versions of their own

// -----

// A buffer is written under a condition and read without it, so its old content may be live.
func.func @partial_write(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %even = arith.cmpi eq, %i, %c0 : index
      scf.if %even {
        %v = memref.load %A[%i] : memref<16xi32>
        memref.store %v, %T[%c0] : memref<1xi32>
      }
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'memref.load' op may read what an earlier iteration left in %T, so iterations can't have versions of their own, and statement 0 in stage 0 would run before what it depends on, statement 1 of an earlier iteration in stage 1: anti through %T, distance 1
// CHECK-NEXT:   help: write all of the buffer in each iteration before reading it, or put both statements into one stage

// -----

// A buffer is read before it is written, so its old content is live.
func.func @read_of_the_iteration_before(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'memref.load' op may read what an earlier iteration left in %T, so iterations can't have versions of their own, and statement 0 in stage 0 would run before what it depends on, statement 1 of an earlier iteration in stage 1: flow through %T, distance 1
// CHECK-NEXT:   help: write all of the buffer in each iteration before reading it, or put both statements into one stage

// -----

// An op stands directly in the body and is no component.
func.func @statement(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    %u = memref.load %A[%i] : memref<16xi32>
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'memref.load' op stands directly in the body of a loop that is to be pipelined, and is no component
// CHECK-NEXT:   help: put it into an async_queue.block; between components only memref.alloc, memref.cast, memref.subview, constants and index arithmetic may stand

// -----

// The loop is not sequential.
func.func @parallel_loop(%C: memref<16xi32>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  "scf.parallel"(%c0, %c16, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %C[%i] : memref<16xi32>
    scf.reduce
  }) {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>} : (index, index, index) -> ()
  func.return
}
// CHECK:      error: 'scf.parallel' op cannot be software pipelined: only a sequential loop can
// CHECK-NEXT:   help: put the annotations on an scf.for

// -----

// The loop carries values.
func.func @carried_value(%C: memref<16xi32>, %v: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %last = scf.for %i = %c0 to %c16 step %c1 iter_args(%x = %v) -> (i32) {
    async_queue.block {
      memref.store %x, %C[%i] : memref<16xi32>
    }
    scf.yield %x : i32
  } {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>}
  func.return %last : i32
}
// CHECK:      error: 'scf.for' op carries 1 values from iteration to iteration, and components of a software pipeline talk through memory only
// CHECK-NEXT:   help: keep the carried values in a memref

// -----

// The step is not positive; any other step is kept.
func.func @step(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c0 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'scf.for' op has step 0
// CHECK-NEXT:   help: a loop counts upwards: give it a step of 1 or more

// -----

// double_buffer_scope is beyond the buffers that the block writes.
func.func @double_buffer_range(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block attributes {double_buffer_scope = 1 : i64} {
      "memref.copy"(%G, %T) : (memref<1xi32>, memref<1xi32>) -> ()
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'async_queue.block' op has double_buffer_scope = 1: Index of the buffer exceeds the size of the write regions of the block, which writes 1 buffers
// CHECK-NEXT:   help: count the buffers that the block writes from 0, in the order of the first writes

// -----

// A double buffer that iterations share.
func.func @double_buffer_of_an_argument(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block attributes {double_buffer_scope = 0 : i64} {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %G[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 0>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'async_queue.block' op has double_buffer_scope = 0, and that buffer is not private to the iterations of the loop
// CHECK-NEXT:   help: allocate it in the loop, or write all of it in each iteration before reading it and use it nowhere else

// -----

// An asynchronous component itself commits.
func.func @nested_async(%A: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      async_queue.commit 7 {
        async_queue.scope {
          %v = memref.load %A[%i] : memref<16xi32>
          memref.store %v, %C[%i] : memref<16xi32>
        }
      }
      async_queue.wait 7, 0
    }
  } {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK:      error: 'async_queue.block' op is asynchronous, in stage 0, and holds 'async_queue.commit': Nested async scopes not supported
// CHECK-NEXT:   help: put the component into a stage that is not asynchronous, or its asynchronous part into a component of its own

// -----

// A size that changes.
func.func @varying_size(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %T = memref.alloc(%i) : memref<?xi32>
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      memref.store %v, %T[%c0] : memref<?xi32>
    }
  } {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>}
  func.return
}
// CHECK:      error: 'memref.alloc' op has a size that changes from iteration to iteration, so it can't have versions
// CHECK-NEXT:   help: allocate the largest size that an iteration needs

// -----

// A use that can not be given a version.
func.func @reinterpreted(%A: memref<16xi32>, %C: memref<16xi32>, %G: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %T = memref.alloc() : memref<1xi32>
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      %bits = "memref.reinterpret_cast"(%T) <{static_offsets = array<i64: 0>, static_sizes = array<i64: 1>, static_strides = array<i64: 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (memref<1xi32>) -> memref<1xi32, strided<[1]>>
      memref.store %v, %bits[%c0] : memref<1xi32, strided<[1]>>
    }
    async_queue.block {
      %v = memref.load %T[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK:      error: 'memref.reinterpret_cast' op uses a buffer that needs 2 versions, and can't be given one of them
// CHECK-NEXT:   help: access the buffer, or a memref.cast or memref.subview of it, by memref and vector loads, stores and transfers, memref.copy or linalg ops
