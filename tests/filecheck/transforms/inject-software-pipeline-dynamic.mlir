// RUN: xdsl-opt %s -p "inject-software-pipeline{dynamic-counts=true},verify-dominance" --split-input-file | filecheck %s

// A commit under a condition on data: the number of groups of the last two slots travels through the body.
func.func @conditional_commit(%A: memref<16xi32>, %C: memref<16xi32>, %hit: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c8 step %c1 {
    %T = memref.alloc() : memref<1xi32>
    async_queue.block {
      %h = memref.load %hit[%i] : memref<16xi32>
      %is = arith.cmpi ne, %h, %zero : i32
      scf.if %is {
        async_queue.commit 5 {
          async_queue.scope {
            %v = memref.load %A[%i] : memref<16xi32>
            memref.store %v, %T[%c0] : memref<1xi32>
          }
        }
      } else {
        memref.store %zero, %T[%c0] : memref<1xi32>
      }
    }
    async_queue.block {
      async_queue.wait 5, 0 {
        %v = memref.load %T[%c0] : memref<1xi32>
        memref.store %v, %C[%i] : memref<16xi32>
      }
    }
  } {software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}

// CHECK-LABEL: func.func @conditional_commit(
// Prologue: each slot says how many groups it has committed.
// CHECK:         %[[OLDER:.*]] = scf.if %is -> (index) {
// CHECK:           async_queue.commit 5 {
// CHECK:           %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:      scf.yield %[[ONE]] : index
// CHECK-NEXT:    } else {
// CHECK:           %[[NONE:.*]] = arith.constant 0 : index
// CHECK-NEXT:      scf.yield %[[NONE]] : index
// CHECK:         %[[NEWER:.*]] = scf.if %is_1 -> (index) {
// Body: what this slot commits and what the last one has may stay unfinished.
// CHECK:         %[[LAST:.*]], %{{.*}} = scf.for %i = %c0 to %c6 step %c1 iter_args(%[[BEFORE:.*]] = %[[NEWER]], %{{.*}} = %[[OLDER]]) -> (index, index) {
// CHECK:           %[[NOW:.*]] = scf.if %is_2 -> (index) {
// CHECK:           %[[LEFT:.*]] = arith.addi %[[NOW]], %[[BEFORE]] : index
// CHECK-NEXT:      async_queue.wait 5, %[[LEFT]] {
// CHECK:             memref.store %{{.*}}, %C[%i]
// CHECK:           scf.yield %[[NOW]], %[[BEFORE]] : index, index
// Epilogue:
// CHECK:         async_queue.wait 5, %[[LAST]] {
// CHECK:         async_queue.wait 5, 0 {
// CHECK-NOT:     async_queue
