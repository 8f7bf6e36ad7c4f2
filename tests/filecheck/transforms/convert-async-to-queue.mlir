// RUN: xdsl-opt %s -p convert-async-to-queue,verify-dominance --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'convert-async-to-queue{max-queues=1},verify-dominance' --split-input-file 2>/dev/null | filecheck %s --check-prefix=ONE

// A ring of three slots, filled two iterations ahead.
func.func @rotating(%m: memref<3xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = async.execute {
    memref.store %x, %m[%c0] : memref<3xf32>
    async.yield
  }
  %1 = async.execute {
    memref.store %x, %m[%c1] : memref<3xf32>
    async.yield
  }
  %last:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %0, %sum = %x, %b = %1) -> (!async.token, f32, !async.token) {
    %c = async.execute {
      memref.store %x, %m[%c1] : memref<3xf32>
      async.yield
    }
    async.await %a : !async.token
    %y = memref.load %m[%c0] : memref<3xf32>
    %z = arith.addf %y, %sum : f32
    scf.yield %b, %z, %c : !async.token, f32, !async.token
  }
  async.await %last#0 : !async.token
  memref.store %last#1, %m[%c0] : memref<3xf32>
  async.await %last#2 : !async.token
  func.return
}
// CHECK-LABEL: func.func @rotating
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        memref.store %x, %m[%c0] : memref<3xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK:         %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (f32) {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK:           async_queue.wait 0, 2
// CHECK-NEXT:      %y = memref.load %m[%c0] : memref<3xf32>
// CHECK-NEXT:      %z = arith.addf %y, %sum : f32
// CHECK-NEXT:      scf.yield %z : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 1
// CHECK-NEXT:    memref.store %last, %m[%c0] : memref<3xf32>
// CHECK-NEXT:    async_queue.wait 0, 0

// -----

// The younger copy is waited for first: in one queue that would be a wait for both.
func.func @two_queues(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %f: f32) {
  %c0 = arith.constant 0 : index
  %a = async_region.copy %x to %y : memref<8xf32> to memref<8xf32>
  %b = async_region.copy %x to %z : memref<8xf32> to memref<8xf32>
  async.await %b : !async.token
  memref.store %f, %z[%c0] : memref<8xf32>
  async.await %a : !async.token
  func.return
}
// CHECK-LABEL: func.func @two_queues
// CHECK:         async_queue.commit 0 {
// CHECK:         async_queue.commit 1 {
// CHECK:         async_queue.wait 1, 0
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    async_queue.wait 0, 0
// ONE-LABEL:   func.func @two_queues
// ONE:           async_queue.commit 0 {
// ONE:           async_queue.commit 0 {
// ONE:           async_queue.wait 0, 0
// ONE-NEXT:      memref.store
// ONE-NEXT:      async_queue.wait 0, 1

// -----

// Dependencies become waits of the thread that issues.
func.func @dependencies(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %a = async_region.copy %x to %y : memref<8xf32> to memref<8xf32>
  %b = async_region.copy [%a] %y to %z : memref<8xf32> to memref<8xf32>
  async.await %b : !async.token
  func.return
}
// CHECK-LABEL: func.func @dependencies
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        memref.copy %x, %y
// CHECK:         async_queue.wait 0, 0
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        memref.copy %y, %z
// CHECK:         async_queue.wait 0, 0
// CHECK-NEXT:    func.return

// -----

// Nothing to do.
func.func @no_tokens(%m: memref<8xf32>, %f: f32) {
  %c0 = arith.constant 0 : index
  memref.store %f, %m[%c0] : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @no_tokens
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    memref.store %f, %m[%c0] : memref<8xf32>
// CHECK-NEXT:    func.return
