// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p async-region-to-execute | filecheck %s

// One refusal a chunk. tests/transforms/test_async_region_to_execute.py reads this file too: after each the IR is as it was.

// A token that escapes through memory.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %m: memref<1x!async.token>) {
  %c0 = arith.constant 0 : index
  %t = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
  memref.store %t, %m[%c0] : memref<1x!async.token>
  func.return
}
// CHECK: error: 'memref.store' op takes the token %t to where nobody can follow it, so who waits for it is not known
// CHECK-NEXT: help: hand it on as an operand of an asynchronous op, a yielded value or a result, or wait for it here

// -----

// A token that becomes something else.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) -> i64 {
  %t = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
  %n = builtin.unrealized_conversion_cast %t : !async.token to i64
  func.return %n : i64
}
// CHECK: error: 'builtin.unrealized_conversion_cast' op takes the token %t to where nobody can follow it

// -----

// A token that is given to a function of which only the name is known.
func.func private @g(!async.token) -> ()
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  %t = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
  func.call @g(%t) : (!async.token) -> ()
  func.return
}
// CHECK: error: 'func.call' op gives the token %t to @g, which has no body here, so who waits for it cannot be followed
// CHECK-NEXT: help: define @g in this module, or wait before the call

// -----

// A resource that comes from outside.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %dma: !async_region.resource) -> !async.token {
  %t = async_region.copy %a to %b on %dma : memref<8xf32> to memref<8xf32>
  func.return %t : !async.token
}
// CHECK: error: 'async_region.copy' op runs on a resource that is not made in this function
// CHECK-NEXT: help: make the resource in this function, or order its users by tokens and leave it out

// -----

// A resource that every iteration uses.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %dma = async_region.create_resource "dma"
  %group = async.create_group %n : !async.group
  scf.for %i = %c0 to %n step %c1 {
    %t = async_region.copy %a to %b on %dma : memref<8xf32> to memref<8xf32>
    %rank = async.add_to_group %t, %group : !async.token
    scf.yield
  }
  async.await_all %group
  func.return
}
// CHECK: error: 'async_region.copy' op shares a resource with operations of other blocks or iterations
// CHECK-NEXT: help: order the users of the resource by tokens and leave the resource out

// -----

// Two users of a resource where a group may make the first wait for the second.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %n: index) {
  %dma = async_region.create_resource "dma"
  %group = async.create_group %n : !async.group
  %first = async_region.copy %a to %b on %dma : memref<8xf32> to memref<8xf32>
  %second = async_region.copy %a to %c on %dma : memref<8xf32> to memref<8xf32>
  %r0 = async.add_to_group %first, %group : !async.token
  %r1 = async.add_to_group %second, %group : !async.token
  async.await_all %group
  func.return
}
// CHECK: error: 'async_region.copy' op shares a resource in a function with groups, where waiting for the one before it may never end

// -----

// A resource chosen at run time.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %which: i1) -> !async.token {
  %dma0 = async_region.create_resource "dma"
  %dma1 = async_region.create_resource "dma"
  %dma = arith.select %which, %dma0, %dma1 : !async_region.resource
  %t = async_region.copy %a to %b on %dma : memref<8xf32> to memref<8xf32>
  func.return %t : !async.token
}
// CHECK: error: 'arith.select' op takes a resource to where its users cannot be followed

// -----

// Parts of a region that come out of a loop in a task: they would have to be awaited in there.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %n: index, %x: f32) -> (!async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %done, %early = async_region.region -> !async.token {
    memref.store %x, %c[%c0] : memref<8xf32>
    %first = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (!async.token) {
      %next = async_region.copy [%before] %a to %b : memref<8xf32> to memref<8xf32>
      scf.yield %next : !async.token
    }
    async_region.yield after [%last], [%first]
  }
  func.return %done, %early : !async.token, !async.token
}
// CHECK: error: 'scf.for' op stands in an 'async_region.region' that completes in parts and returns a token that another part uses
// CHECK-NEXT: help: start it outside the region, or let the region complete as a whole

// -----

// A graph of blocks.
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) -> !async.token {
  cf.br ^bb1
^bb1:
  %t = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
  func.return %t : !async.token
}
// CHECK: error: 'async_region.copy' op stands in a graph of blocks
// CHECK-NEXT: help: write the control flow with scf.for, scf.while and scf.if
