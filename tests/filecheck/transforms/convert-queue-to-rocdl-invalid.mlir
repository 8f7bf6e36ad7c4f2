// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p convert-queue-to-rocdl | filecheck %s

// Marks belong to one activation: a queue across a call has no meaning in them.
func.func @callee() {
  async_queue.wait 0, 0
  func.return
}
func.func @caller() {
  async_queue.commit 0
  func.call @callee() : () -> ()
  func.return
}
// CHECK: error: 'func.call' op calls a function that commits to queues or waits for them, as its caller does; every activation has marks of its own, so neither could wait for the other's groups
// CHECK-NEXT: help: inline the call
