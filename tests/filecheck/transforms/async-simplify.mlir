// RUN: xdsl-opt %s -p async-simplify,verify-dominance --split-input-file | filecheck %s

// Three copies, each after all the ones before: a chain says as much.
func.func @transitive_reduction(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %a = async_region.copy %x to %y : memref<8xf32> to memref<8xf32>
  %b = async_region.copy [%a] %y to %z : memref<8xf32> to memref<8xf32>
  %c = async_region.copy [%a, %b] %z to %x : memref<8xf32> to memref<8xf32>
  async.await %a : !async.token
  async.await %b : !async.token
  async.await %c : !async.token
  func.return
}
// CHECK-LABEL: func.func @transitive_reduction
// CHECK-NEXT:    %a = async_region.copy %x to %y
// CHECK-NEXT:    %b = async_region.copy [%a] %y to %z
// CHECK-NEXT:    %c = async_region.copy [%b] %z to %x
// CHECK-NEXT:    async.await %c : !async.token
// CHECK-NEXT:    func.return

// -----

// The last program in the discussion of the MLIR RFC on asynchronous execution: a region that waits as a whole need not wait inside.
func.func @await_before(%given: !async.value<memref<8xf32>>, %to: memref<8xf32>, %go: !async.token) -> !async.token {
  %before = async_region.region [%go] (%given as %v: !async.value<memref<8xf32>>) {
    async.await %go : !async.token
    %w = async.await %given : !async.value<memref<8xf32>>
    %copied = async_region.copy [%go] %w to %to : memref<8xf32> to memref<8xf32>
    async_region.yield after [%go, %copied]
  }
  func.return %before : !async.token
}
// CHECK-LABEL: func.func @await_before
// CHECK-NEXT:    %before = async_region.region [%go] (%given as %v: !async.value<memref<8xf32>>) {
// CHECK-NEXT:      %copied = async_region.copy %v to %to
// CHECK-NEXT:      async_region.yield after [%copied]

// -----

// Upstream tasks: the token and the value of a task complete together, and with all that the task waited for.
func.func @tasks(%x: f32) -> f32 {
  %t, %v = async.execute -> !async.value<f32> {
    %0 = arith.addf %x, %x : f32
    async.yield %0 : f32
  }
  %u, %w = async.execute [%t] (%v as %p: !async.value<f32>) -> !async.value<f32> {
    %inner = async.execute [%t] {
      async.await %t : !async.token
      async.yield
    }
    async.await %inner : !async.token
    %1 = arith.mulf %p, %p : f32
    async.yield %1 : f32
  }
  async.await %t : !async.token
  async.await %u : !async.token
  %result = async.await %w : !async.value<f32>
  func.return %result : f32
}
// CHECK-LABEL: func.func @tasks
// CHECK:         %u, %w = async.execute (%v as %p: !async.value<f32>) -> !async.value<f32> {
// CHECK-NEXT:      %inner = async.execute {
// CHECK-NEXT:        async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      async.await %inner : !async.token
// CHECK-NEXT:      %1 = arith.mulf %p, %p : f32
// CHECK-NEXT:      async.yield %1 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %result = async.await %w : !async.value<f32>
// CHECK-NEXT:    func.return %result : f32

// -----

// What a loop carries says nothing but its own completion, and a loop that may not run proves nothing.
func.func @loops(%a: !async.token, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (!async.token) {
    async.await %a : !async.token
    %u = async_region.copy [%a, %t] %x to %y : memref<8xf32> to memref<8xf32>
    scf.yield %u : !async.token
  }
  async.await %a : !async.token
  async.await %last : !async.token
  func.return
}
// CHECK-LABEL: func.func @loops
// CHECK:           async.await %a : !async.token
// CHECK-NEXT:      %u = async_region.copy [%t] %x to %y
// CHECK:         async.await %a : !async.token
// CHECK-NEXT:    async.await %last : !async.token
