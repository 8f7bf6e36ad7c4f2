// RUN: xdsl-opt %s --split-input-file | filecheck %s

// The programs of the MLIR RFC "New dialect for modelling asynchronous execution at a higher-level", in its order, typos corrected. Its
// `async.func` with an explicit token is a `func.func` that returns one; its `gpux.transfer` to a new buffer is an `alloc` and a `copy`.

// Two matrix products that do not depend on each other, and a sum that needs both, on values.
func.func @dots_on_tensors(%a: tensor<32x8xf32>, %b: tensor<8x32xf32>, %c: tensor<8x32xf32>, %bias: tensor<32xf32>,
                           %zero: tensor<32x32xf32>) -> (tensor<32x32xf32>, !async.token) {
  %t0, %left = async_region.region -> tensor<32x32xf32> {
    %dot0 = linalg.matmul ins(%a, %b : tensor<32x8xf32>, tensor<8x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
    async_region.yield %dot0 : tensor<32x32xf32>
  }
  %t1, %right = async_region.region -> tensor<32x32xf32> {
    %dot1 = linalg.matmul ins(%a, %c : tensor<32x8xf32>, tensor<8x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
    async_region.yield %dot1 : tensor<32x32xf32>
  }
  %t2, %sum = async_region.region [%t0, %t1] -> tensor<32x32xf32> {
    %biased = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%left, %right, %bias : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32xf32>)
      outs(%zero : tensor<32x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32, %old: f32):
      %xy = arith.addf %x, %y : f32
      %xyz = arith.addf %xy, %z : f32
      linalg.yield %xyz : f32
    } -> tensor<32x32xf32>
    async_region.yield %biased : tensor<32x32xf32>
  }
  return %sum, %t2 : tensor<32x32xf32>, !async.token
}
// CHECK-LABEL: func.func @dots_on_tensors
// CHECK-NEXT:    %t0, %left = async_region.region -> tensor<32x32xf32> {
// CHECK-NEXT:      %dot0 = linalg.matmul
// CHECK-NEXT:      async_region.yield %dot0 : tensor<32x32xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %t1, %right = async_region.region -> tensor<32x32xf32> {
// CHECK:         %t2, %sum = async_region.region [%t0, %t1] -> tensor<32x32xf32> {

// -----

// The same on buffers: each region reserves the memory of its result.
func.func @dots_on_buffers(%a: memref<32x8xf32>, %b: memref<8x32xf32>, %c: memref<8x32xf32>, %bias: memref<32xf32>)
    -> (memref<32x32xf32>, !async.token) {
  %t0, %left = async_region.region -> memref<32x32xf32> {
    %m0 = memref.alloc() : memref<32x32xf32>
    linalg.matmul ins(%a, %b : memref<32x8xf32>, memref<8x32xf32>) outs(%m0 : memref<32x32xf32>)
    async_region.yield %m0 : memref<32x32xf32>
  }
  %t1, %right = async_region.region -> memref<32x32xf32> {
    %m1 = memref.alloc() : memref<32x32xf32>
    linalg.matmul ins(%a, %c : memref<32x8xf32>, memref<8x32xf32>) outs(%m1 : memref<32x32xf32>)
    async_region.yield %m1 : memref<32x32xf32>
  }
  %t2, %sum = async_region.region [%t0, %t1] -> memref<32x32xf32> {
    %m2 = memref.alloc() : memref<32x32xf32>
    linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%left, %right, %bias : memref<32x32xf32>, memref<32x32xf32>, memref<32xf32>)
      outs(%m2 : memref<32x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32, %old: f32):
      %xy = arith.addf %x, %y : f32
      %xyz = arith.addf %xy, %z : f32
      linalg.yield %xyz : f32
    }
    async_region.yield %m2 : memref<32x32xf32>
  }
  return %sum, %t2 : memref<32x32xf32>, !async.token
}
// CHECK-LABEL: func.func @dots_on_buffers
// CHECK-NEXT:    %t0, %left = async_region.region -> memref<32x32xf32> {
// CHECK-NEXT:      %m0 = memref.alloc() : memref<32x32xf32>
// CHECK:         %t2, %sum = async_region.region [%t0, %t1] -> memref<32x32xf32> {

// -----

// The sum on a device, nested: the region is complete only when the transfer back is, whose token it yields.
func.func @sum_on_a_device(%a: memref<32x8xf32>, %b: memref<8x32xf32>, %c: memref<8x32xf32>, %bias: memref<32xf32>)
    -> (memref<32x32xf32>, !async.token) {
  %t0, %left = async_region.region -> memref<32x32xf32> {
    %m0 = memref.alloc() : memref<32x32xf32>
    linalg.matmul ins(%a, %b : memref<32x8xf32>, memref<8x32xf32>) outs(%m0 : memref<32x32xf32>)
    async_region.yield %m0 : memref<32x32xf32>
  }
  %t1, %right = async_region.region -> memref<32x32xf32> {
    %m1 = memref.alloc() : memref<32x32xf32>
    linalg.matmul ins(%a, %c : memref<32x8xf32>, memref<8x32xf32>) outs(%m1 : memref<32x32xf32>)
    async_region.yield %m1 : memref<32x32xf32>
  }
  %t2, %sum = async_region.region [%t0, %t1] -> memref<32x32xf32> {
    %out, %t3 = async_region.alloc : memref<32x32xf32, 3>
    %in0, %t4 = async_region.alloc : memref<32x32xf32, 3>
    %t5 = async_region.copy [%t4] %left to %in0 : memref<32x32xf32> to memref<32x32xf32, 3>
    %in1, %t6 = async_region.alloc : memref<32x32xf32, 3>
    %t7 = async_region.copy [%t6] %right to %in1 : memref<32x32xf32> to memref<32x32xf32, 3>
    %in2, %t8 = async_region.alloc : memref<32xf32, 3>
    %t9 = async_region.copy [%t8] %bias to %in2 : memref<32xf32> to memref<32xf32, 3>
    %t10 = async_region.launch [%t3, %t5, %t7, %t9] (%in0 as %p: memref<32x32xf32, 3>, %in1 as %q: memref<32x32xf32, 3>,
                                                     %in2 as %r: memref<32xf32, 3>, %out as %o: memref<32x32xf32, 3>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                         affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%p, %q, %r : memref<32x32xf32, 3>, memref<32x32xf32, 3>, memref<32xf32, 3>)
        outs(%o : memref<32x32xf32, 3>) {
      ^bb0(%x: f32, %y: f32, %z: f32, %old: f32):
        %xy = arith.addf %x, %y : f32
        %xyz = arith.addf %xy, %z : f32
        linalg.yield %xyz : f32
      }
      async_region.yield
    }
    %host, %t11 = async_region.alloc : memref<32x32xf32>
    %t12 = async_region.copy [%t10, %t11] %out to %host : memref<32x32xf32, 3> to memref<32x32xf32>
    async_region.yield %host : memref<32x32xf32> after [%t12]
  }
  return %sum, %t2 : memref<32x32xf32>, !async.token
}
// CHECK-LABEL: func.func @sum_on_a_device
// CHECK:         %t2, %sum = async_region.region [%t0, %t1] -> memref<32x32xf32> {
// CHECK-NEXT:      %out, %t3 = async_region.alloc : memref<32x32xf32, 3 : i64>
// CHECK-NEXT:      %in0, %t4 = async_region.alloc : memref<32x32xf32, 3 : i64>
// CHECK-NEXT:      %t5 = async_region.copy [%t4] %left to %in0 : memref<32x32xf32> to memref<32x32xf32, 3 : i64>
// CHECK:           %t10 = async_region.launch [%t3, %t5, %t7, %t9] (%in0 as %p: memref<32x32xf32, 3 : i64>, %in1 as %q: memref<32x32xf32, 3 : i64>, %in2 as %r: memref<32xf32, 3 : i64>, %out as %o: memref<32x32xf32, 3 : i64>) {
// CHECK:             async_region.yield
// CHECK-NEXT:      }
// CHECK:           async_region.yield %host : memref<32x32xf32> after [%t12]

// -----

// The snippet of the interfaces: everything inside is asynchronous and issued at once; %t may be not ready.
func.func @region_token(%arg3: memref<1024xf32>) -> !async.token {
  %0:2 = async_region.alloc : memref<1024xf32>
  %1:2 = async_region.alloc : memref<1024xf32>
  %2 = async_region.region [%0#1, %1#1 as %t] {
    %3:2 = async_region.alloc [%t] : memref<1024xf32, 5>
    %4 = async_region.copy [%3#1] %0#0 to %3#0 : memref<1024xf32> to memref<1024xf32, 5>
    %5:2 = async_region.alloc [%t] : memref<1024xf32, 5>
    %6 = async_region.copy [%5#1] %1#0 to %5#0 : memref<1024xf32> to memref<1024xf32, 5>
    %7:2 = async_region.alloc [%t] : memref<1024xf32, 5>
    %8 = async_region.launch [%4, %6, %7#1] (%3#0 as %a: memref<1024xf32, 5>, %5#0 as %b: memref<1024xf32, 5>,
                                             %7#0 as %c: memref<1024xf32, 5>) {
      linalg.add ins(%a, %b : memref<1024xf32, 5>, memref<1024xf32, 5>) outs(%c : memref<1024xf32, 5>)
      async_region.yield
    }
    %9 = async_region.copy [%8] %7#0 to %arg3 : memref<1024xf32, 5> to memref<1024xf32>
    async_region.yield after [%9]
  }
  return %2 : !async.token
}
// CHECK-LABEL: func.func @region_token
// CHECK:         %4 = async_region.region [%1, %3 as %t] {
// CHECK-NEXT:      %5, %6 = async_region.alloc [%t] : memref<1024xf32, 5 : i64>
// CHECK-NEXT:      %7 = async_region.copy [%6] %0 to %5 : memref<1024xf32> to memref<1024xf32, 5 : i64>
// CHECK:           async_region.yield after [%14]

// -----

// Two engines copy at the same time; one engine copies one after the other, in either order.
func.func @two_engines(%start: !async.token, %source: memref<8xf32>, %one: memref<8xf32, 1>, %two: memref<8xf32, 1>)
    -> (!async.token, !async.token) {
  %dma1 = async_region.create_resource "dma1"
  %dma2 = async_region.create_resource "dma2"
  %t0 = async_region.copy [%start] %source to %one on %dma1 : memref<8xf32> to memref<8xf32, 1>
  %t1 = async_region.copy [%start] %source to %two on %dma2 : memref<8xf32> to memref<8xf32, 1>
  return %t0, %t1 : !async.token, !async.token
}
func.func @one_engine(%start: !async.token, %source: memref<8xf32>, %one: memref<8xf32, 1>, %two: memref<8xf32, 1>)
    -> (!async.token, !async.token) {
  %dma1 = async_region.create_resource "dma1"
  %t0 = async_region.copy [%start] %source to %one on %dma1 : memref<8xf32> to memref<8xf32, 1>
  %t1 = async_region.copy [%start] %source to %two on %dma1 : memref<8xf32> to memref<8xf32, 1>
  return %t0, %t1 : !async.token, !async.token
}
// CHECK-LABEL: func.func @two_engines
// CHECK-NEXT:    %dma1 = async_region.create_resource "dma1"
// CHECK-NEXT:    %dma2 = async_region.create_resource "dma2"
// CHECK-NEXT:    %t0 = async_region.copy [%start] %source to %one on %dma1 : memref<8xf32> to memref<8xf32, 1 : i64>
// CHECK-NEXT:    %t1 = async_region.copy [%start] %source to %two on %dma2 : memref<8xf32> to memref<8xf32, 1 : i64>
// CHECK-LABEL: func.func @one_engine
// CHECK:         %t1 = async_region.copy [%start] %source to %two on %dma1 : memref<8xf32> to memref<8xf32, 1 : i64>

// -----

// Launches on a device, nested, with all values passed in; reads and writes of a buffer as events.
func.func @launch_on_a_device(%event_in: !async.token, %x: f32) -> (!async.token, f32) {
  %device = async_region.create_resource "device"
  %engine = async_region.create_resource "engine"
  %c0 = arith.constant 0 : index
  %buffer, %allocated = async_region.alloc [%event_in] : memref<1xf32, 2>
  %written = async_region.launch [%allocated] (%buffer as %b: memref<1xf32, 2>, %x as %y: f32, %c0 as %i: index,
                                               %engine as %e: !async_region.resource) on %device {
    %inner = async_region.launch (%b as %bb: memref<1xf32, 2>, %y as %yy: f32, %i as %j: index) on %e {
      memref.store %yy, %bb[%j] : memref<1xf32, 2>
      async_region.yield
    }
    async_region.yield after [%inner]
  }
  %read, %value = async_region.region [%written] -> f32 {
    %0 = memref.load %buffer[%c0] : memref<1xf32, 2>
    async_region.yield %0 : f32
  }
  return %read, %value : !async.token, f32
}
// CHECK-LABEL: func.func @launch_on_a_device
// CHECK:         %written = async_region.launch [%allocated] (%buffer as %b: memref<1xf32, 2 : i64>, %x as %y: f32, %c0 as %i: index, %engine as %e: !async_region.resource) on %device {
// CHECK-NEXT:      %inner = async_region.launch (%b as %bb: memref<1xf32, 2 : i64>, %y as %yy: f32, %i as %j: index) on %e {

// -----

// Two regions after a third, in the one order and in the other: the tokens leave both open.
func.func @second_then_third(%m: memref<2xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %event = async_region.region {
    memref.store %x, %m[%c0] : memref<2xf32>
    memref.store %x, %m[%c1] : memref<2xf32>
    async_region.yield
  }
  %second = async_region.region [%event] {
    memref.store %x, %m[%c0] : memref<2xf32>
    async_region.yield
  }
  %third = async_region.region [%event] {
    memref.store %x, %m[%c1] : memref<2xf32>
    async_region.yield
  }
  return
}
func.func @third_then_second(%m: memref<2xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %event = async_region.region {
    memref.store %x, %m[%c0] : memref<2xf32>
    memref.store %x, %m[%c1] : memref<2xf32>
    async_region.yield
  }
  %third = async_region.region [%event] {
    memref.store %x, %m[%c1] : memref<2xf32>
    async_region.yield
  }
  %second = async_region.region [%event] {
    memref.store %x, %m[%c0] : memref<2xf32>
    async_region.yield
  }
  return
}
// CHECK-LABEL: func.func @second_then_third
// CHECK:         %second = async_region.region [%event] {
// CHECK:         %third = async_region.region [%event] {
// CHECK-LABEL: func.func @third_then_second
// CHECK:         %third = async_region.region [%event] {
// CHECK:         %second = async_region.region [%event] {

// -----

// Promises: what a region returns can be a promise, which another unwraps.
func.func @promises(%given: !async.value<memref<1024xf32>>) -> !async.token {
  %t2, %made = async_region.region -> !async.value<memref<1024xf32, 5>> {
    %buffer, %allocated = async_region.alloc : memref<1024xf32, 5>
    async_region.yield %buffer : memref<1024xf32, 5> after [%allocated]
  }
  %moved = async_region.region (%given as %v0: !async.value<memref<1024xf32>>, %made as %v2: !async.value<memref<1024xf32, 5>>) {
    %copied = async_region.copy %v0 to %v2 : memref<1024xf32> to memref<1024xf32, 5>
    async_region.yield after [%copied]
  }
  return %moved : !async.token
}
// CHECK-LABEL: func.func @promises
// CHECK-NEXT:    %t2, %made = async_region.region -> !async.value<memref<1024xf32, 5 : i64>> {
// CHECK-NEXT:      %buffer, %allocated = async_region.alloc : memref<1024xf32, 5 : i64>
// CHECK-NEXT:      async_region.yield %buffer : memref<1024xf32, 5 : i64> after [%allocated]
// CHECK-NEXT:    }
// CHECK-NEXT:    %moved = async_region.region (%given as %v0: !async.value<memref<1024xf32>>, %made as %v2: !async.value<memref<1024xf32, 5 : i64>>) {

// -----

// An explicit unwrapping: the first region waits for nothing and suspends inside, the second waits as a whole, so that
// its waits find everything complete.
func.func @await_inside_or_before(%given: !async.value<memref<1024xf32>>) -> (!async.token, !async.token) {
  %t2, %future = async_region.region -> !async.value<memref<1024xf32, 5>> {
    %buffer, %allocated = async_region.alloc : memref<1024xf32, 5>
    async_region.yield %buffer : memref<1024xf32, 5> after [%allocated]
  }
  %inside = async_region.region {
    %v0 = async.await %given : !async.value<memref<1024xf32>>
    %v3 = async.await %future : !async.value<memref<1024xf32, 5>>
    %copied = async_region.copy %v0 to %v3 : memref<1024xf32> to memref<1024xf32, 5>
    async_region.yield after [%copied]
  }
  %before = async_region.region [%given: !async.value<memref<1024xf32>>, %future: !async.value<memref<1024xf32, 5>>, %inside] {
    %w0 = async.await %given : !async.value<memref<1024xf32>>
    %w3 = async.await %future : !async.value<memref<1024xf32, 5>>
    %copied_again = async_region.copy %w0 to %w3 : memref<1024xf32> to memref<1024xf32, 5>
    async_region.yield after [%copied_again]
  }
  return %inside, %before : !async.token, !async.token
}
// CHECK-LABEL: func.func @await_inside_or_before
// CHECK:         %inside = async_region.region {
// CHECK-NEXT:      %v0 = async.await %given : !async.value<memref<1024xf32>>
// CHECK:         %before = async_region.region [%given: !async.value<memref<1024xf32>>, %future: !async.value<memref<1024xf32, 5 : i64>>, %inside] {

// -----

// Partial completion (an open question of the RFC): %early is ready with the first copy, %all with both.
func.func @partial_completion(%a: memref<8xf32>, %b: memref<8xf32>, %start: !async.token) -> memref<8xf32, 1> {
  %all, %early, %first, %second = async_region.region [%start as %ready]
      -> (!async.token, memref<8xf32, 1>, memref<8xf32, 1>) {
    %0, %t0 = async_region.alloc [%ready] : memref<8xf32, 1>
    %1, %t1 = async_region.alloc [%ready] : memref<8xf32, 1>
    %t2 = async_region.copy [%t0] %a to %0 : memref<8xf32> to memref<8xf32, 1>
    %t3 = async_region.copy [%t1] %b to %1 : memref<8xf32> to memref<8xf32, 1>
    async_region.yield %0, %1 : memref<8xf32, 1>, memref<8xf32, 1> after [%t3], [%t2]
  }
  async.await %early : !async.token
  return %first : memref<8xf32, 1>
}
// CHECK-LABEL: func.func @partial_completion
// CHECK-NEXT:    %all, %early, %first, %second = async_region.region [%start as %ready] -> (!async.token, memref<8xf32, 1 : i64>, memref<8xf32, 1 : i64>) {
// CHECK:           async_region.yield %0, %1 : memref<8xf32, 1 : i64>, memref<8xf32, 1 : i64> after [%t3], [%t2]

// -----

// A loop in a region with a token: the iterations are issued at once and hang together by a token.
func.func @loop_that_issues(%a: memref<8xf32>, %b: memref<8xf32, 1>, %n: index) -> !async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %done = async_region.region [as %ready] attributes {name = "chain"} {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %ready) -> (!async.token) {
      %there = async_region.copy [%before] %a to %b : memref<8xf32> to memref<8xf32, 1>
      %back = async_region.copy [%there] %b to %a : memref<8xf32, 1> to memref<8xf32>
      scf.yield %back : !async.token
    }
    async_region.yield after [%last]
  }
  return %done : !async.token
}
// CHECK-LABEL: func.func @loop_that_issues
// CHECK:         %done = async_region.region [as %ready] attributes {name = "chain"} {

// -----

// The generic forms, and sizes known at run time.
func.func @generic(%t: !async.token, %p: !async.value<i32>, %n: index, %m: memref<?xf32>) {
  %r = "async_region.create_resource"() <{label = "queue"}> {size = 1 : i32} : () -> !async_region.resource
  %b, %bt = "async_region.alloc"(%t, %n) <{operandSegmentSizes = array<i32: 1, 1>}> {k}
    : (!async.token, index) -> (memref<?xf32, 1>, !async.token)
  %c = "async_region.copy"(%bt, %m, %b, %r) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> {k}
    : (!async.token, memref<?xf32>, memref<?xf32, 1>, !async_region.resource) -> !async.token
  %d, %e, %f = "async_region.launch"(%c, %p, %r) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
  ^bb0(%i: i32):
    %u = "async_region.region"() <{operandSegmentSizes = array<i32: 0, 0>}> ({
      "async_region.yield"() <{operandSegmentSizes = array<i32: 0, 0>}> {k} : () -> ()
    }) {k} : () -> !async.token
    "async_region.yield"(%i, %u) <{group_sizes = array<i32: 0, 1>, operandSegmentSizes = array<i32: 1, 1>}> : (i32, !async.token) -> ()
  }) : (!async.token, !async.value<i32>, !async_region.resource) -> (!async.token, !async.token, i32)
  return
}
// CHECK-LABEL: func.func @generic
// CHECK-NEXT:    %r = async_region.create_resource "queue" {size = 1 : i32}
// CHECK-NEXT:    %b, %bt = async_region.alloc [%t] (%n) {k} : memref<?xf32, 1 : i64>
// CHECK-NEXT:    %c = async_region.copy [%bt] %m to %b on %r {k} : memref<?xf32> to memref<?xf32, 1 : i64>
// CHECK-NEXT:    %d, %e, %f = async_region.launch [%c] (%p as %i: !async.value<i32>) on %r -> (!async.token, i32) {
// CHECK-NEXT:      %u = async_region.region attributes {k} {
// CHECK-NEXT:        async_region.yield {k}
// CHECK-NEXT:      }
// CHECK-NEXT:      async_region.yield %i : i32 after [], [%u]
// CHECK-NEXT:    }
