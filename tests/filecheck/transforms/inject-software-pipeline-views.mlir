// RUN: xdsl-opt %s -p inject-software-pipeline,verify-dominance --split-input-file | filecheck %s

// Other names of a buffer become views of its versions; their types follow. A view in front of the loop goes to where it
// is used.
func.func @names(%A: memref<16x8xi32>, %C: memref<16x8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %T = memref.alloc() : memref<8xi32>
  %open = "memref.cast"(%T) : (memref<8xi32>) -> memref<?xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = vector.transfer_read %A[%i, %c0], %zero {in_bounds = [true]} : memref<16x8xi32>, vector<8xi32>
      vector.transfer_write %v, %T[%c0] {in_bounds = [true]} : vector<8xi32>, memref<8xi32>
    }
    async_queue.block {
      %high = memref.subview %open[4] [4] [1] : memref<?xi32> to memref<4xi32, strided<[1], offset: 4>>
      %v = memref.load %high[%c1] : memref<4xi32, strided<[1], offset: 4>>
      memref.store %v, %C[%i, %c0] : memref<16x8xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>, software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @names
// CHECK:         %T = memref.alloc() : memref<2x8xi32>
// CHECK-NOT:     memref.cast
// CHECK:         scf.for
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          vector.transfer_read %A
// CHECK-NEXT:          vector.transfer_write {{.*}} : vector<8xi32>, memref<8xi32, strided<[1], offset: ?>>
// CHECK:           async_queue.wait 0, 1 {
// CHECK-NEXT:        %open = "memref.cast"({{.*}}) : (memref<8xi32, strided<[1], offset: ?>>) -> memref<?xi32, strided<[1], offset: ?>>
// CHECK-NEXT:        %high = memref.subview %open[4] [4] [1] : memref<?xi32, strided<[1], offset: ?>> to memref<4xi32, strided<[1], offset: ?>>
// CHECK-NEXT:        memref.load %high[%c1] : memref<4xi32, strided<[1], offset: ?>>
// CHECK:         async_queue.wait 0, 0 {

// -----

// Without annotations nothing moves.
func.func @untouched(%A: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %T = memref.alloc() : memref<8xi32>
  %open = "memref.cast"(%T) : (memref<8xi32>) -> memref<?xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %A[%i] : memref<16xi32>
    memref.store %v, %open[%c0] : memref<?xi32>
  }
  func.return
}
// CHECK-LABEL: func.func @untouched
// CHECK:         %open = "memref.cast"(%T) : (memref<8xi32>) -> memref<?xi32>
// CHECK-NEXT:    scf.for
