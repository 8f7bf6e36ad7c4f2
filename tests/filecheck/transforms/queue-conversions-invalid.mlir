// RUN: xdsl-opt %s -p convert-queue-to-async --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s --check-prefix=TOKENS
// RUN: xdsl-opt %s -p queue-per-slot --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s --check-prefix=SLOTS
// RUN: xdsl-opt %s -p convert-queue-to-pipeline --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s --check-prefix=PHASES

// What one conversion refuses another may say. Each refusal names the op, the reason and the way out.

// Any number of groups, and a wait that leaves some.
func.func @any_number(%n: index, %k: index, %c0: index, %c1: index) {
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
      }
    }
  }
  async_queue.wait 0, %k
  func.return
}
// TOKENS:      'async_queue.wait' op waits for a computed count that may be any number
// TOKENS-NEXT: help: bound the count
// SLOTS:       'async_queue.wait' op leaves groups of queue 0 unfinished where any number may be
// SLOTS-NEXT:  help: wait in the loop that commits
// PHASES:      'async_queue.wait' op waits for a computed count
// PHASES-NEXT: help: unroll the loop

// -----

// A queue that may be any.
func.func @any_queue(%q: index) {
  async_queue.commit %q
  func.return
}
// TOKENS:      'async_queue.commit' op commits to a queue whose id may be any number
// TOKENS-NEXT: help: compute the id so that its range shows
// SLOTS:       'async_queue.commit' op commits to a queue whose id may be any number
// PHASES:      'async_queue.commit' op commits to a queue whose id may be any number

// -----

// A commit that may not happen is a token that may be complete, and a turn that may not be taken.
func.func @sometimes(%b: i1) {
  scf.if %b {
    async_queue.commit 0 {
      async_queue.scope {
      }
    }
  }
  async_queue.wait 0, 0
  func.return
}
// TOKENS:      [[T:%.*]] = scf.if %b -> (!async.token) {
// TOKENS:      async.await [[T]] : !async.token
// SLOTS:       scf.if %b {
// SLOTS-NEXT:    async_queue.commit 0
// SLOTS:       async_queue.wait 0, 0
// PHASES:      scf.if %b {
// PHASES-NEXT:   nv_tileas.async.pipeline.produce_one
// PHASES:      scf.if %b {
// PHASES-NEXT:   nv_tileas.async.pipeline.consume_one

// -----

// Nothing to do.
func.func @none(%a: memref<4xf32>) -> memref<4xf32> {
  func.return %a : memref<4xf32>
}
// TOKENS:      func.func @none(%a: memref<4xf32>) -> memref<4xf32> {
// TOKENS-NEXT:   func.return %a : memref<4xf32>
// SLOTS:       func.func @none(%a: memref<4xf32>) -> memref<4xf32> {
// SLOTS-NEXT:    func.return %a : memref<4xf32>
// PHASES:      func.func @none(%a: memref<4xf32>) -> memref<4xf32> {
// PHASES-NEXT:   func.return %a : memref<4xf32>
