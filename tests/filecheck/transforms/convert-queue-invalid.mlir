// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p convert-queue-to-nvvm | filecheck %s
// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p convert-queue-to-rocdl | filecheck %s

func.func @of_another_thread() {
  %t = async.execute {
    async_queue.wait 0, 0
    async.yield
  }
  func.return
}
// CHECK: error: 'async_queue.wait' op stands in an 'async.execute', which another thread runs, and threads do not see each other's groups
// CHECK-NEXT: help: commit and wait in one thread, and hand the data to others by a barrier

// -----

func.func @to_be_pipelined(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    async_queue.block {
    }
  } {software_pipeline_stage = array<i64: 0>, software_pipeline_order = array<i64: 0>}
  func.return
}
// CHECK: error: 'scf.for' op is still to be pipelined, and its stages would be lost
// CHECK-NEXT: help: run inject-software-pipeline first, or remove the annotations

// -----

func.func @some_threads(%a: memref<8xf32>, %s: memref<8xf32, 3>, %n: index) {
  %c0 = arith.constant 0 : index
  async_queue.commit 0
  %thread = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  %first = arith.cmpi eq, %thread, %c0 : index
  scf.if %first {
    async_queue.wait 0, 0
  }
  func.return
}
// CHECK: error: 'async_queue.wait' op needs a barrier of all threads, and the 'scf.if' around it depends on the number of the thread
// CHECK-NEXT: help: let all threads commit and wait, or pass barriers=false and order the threads in the program
