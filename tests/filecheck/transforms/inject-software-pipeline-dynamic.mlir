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
// CHECK-LABEL: func.func @conditional_commit(%A: memref<16xi32>, %C: memref<16xi32>, %hit: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %zero = arith.constant 0 : i32
// CHECK-NEXT:    %T = memref.alloc() : memref<3x1xi32>
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c6 = arith.constant 6 : index
// CHECK-NEXT:    %c7 = arith.constant 7 : index
// CHECK-NEXT:    %h = memref.load %hit[%c0] : memref<16xi32>
// CHECK-NEXT:    %is = arith.cmpi ne, %h, %zero : i32
// CHECK-NEXT:    %0 = scf.if %is -> (index) {
// CHECK-NEXT:      async_queue.commit 5 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:          memref.store %v, %T[%c0, %c0] : memref<3x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %groups = arith.constant 1 : index
// CHECK-NEXT:      scf.yield %groups : index
// CHECK-NEXT:    } else {
// CHECK-NEXT:      memref.store %zero, %T[%c0, %c0] : memref<3x1xi32>
// CHECK-NEXT:      %groups_1 = arith.constant 0 : index
// CHECK-NEXT:      scf.yield %groups_1 : index
// CHECK-NEXT:    }
// CHECK-NEXT:    %h_1 = memref.load %hit[%c1] : memref<16xi32>
// CHECK-NEXT:    %is_1 = arith.cmpi ne, %h_1, %zero : i32
// CHECK-NEXT:    %1 = scf.if %is_1 -> (index) {
// CHECK-NEXT:      async_queue.commit 5 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_1 = memref.load %A[%c1] : memref<16xi32>
// CHECK-NEXT:          memref.store %v_1, %T[%c1, %c0] : memref<3x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %groups_2 = arith.constant 1 : index
// CHECK-NEXT:      scf.yield %groups_2 : index
// CHECK-NEXT:    } else {
// CHECK-NEXT:      memref.store %zero, %T[%c1, %c0] : memref<3x1xi32>
// CHECK-NEXT:      %groups_3 = arith.constant 0 : index
// CHECK-NEXT:      scf.yield %groups_3 : index
// CHECK-NEXT:    }
// CHECK-NEXT:    %2, %3 = scf.for %i = %c0 to %c6 step %c1 iter_args(%groups_4 = %1, %groups_5 = %0) -> (index, index) {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c2 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c3 : index
// CHECK-NEXT:      %h_2 = memref.load %hit[%i_1] : memref<16xi32>
// CHECK-NEXT:      %is_2 = arith.cmpi ne, %h_2, %zero : i32
// CHECK-NEXT:      %4 = scf.if %is_2 -> (index) {
// CHECK-NEXT:        async_queue.commit 5 {
// CHECK-NEXT:          async_queue.scope {
// CHECK-NEXT:            %v_2 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:            memref.store %v_2, %T[%version, %c0] : memref<3x1xi32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        %groups_6 = arith.constant 1 : index
// CHECK-NEXT:        scf.yield %groups_6 : index
// CHECK-NEXT:      } else {
// CHECK-NEXT:        memref.store %zero, %T[%version, %c0] : memref<3x1xi32>
// CHECK-NEXT:        %groups_7 = arith.constant 0 : index
// CHECK-NEXT:        scf.yield %groups_7 : index
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c3 : index
// CHECK-NEXT:      %groups_8 = arith.addi %4, %groups_4 : index
// CHECK-NEXT:      async_queue.wait 5, %groups_8 {
// CHECK-NEXT:        %v_3 = memref.load %T[%version_1, %c0] : memref<3x1xi32>
// CHECK-NEXT:        memref.store %v_3, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %4, %groups_4 : index, index
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 5, %2 {
// CHECK-NEXT:      %v_4 = memref.load %T[%c0, %c0] : memref<3x1xi32>
// CHECK-NEXT:      memref.store %v_4, %C[%c6] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 5, 0 {
// CHECK-NEXT:      %v_5 = memref.load %T[%c1, %c0] : memref<3x1xi32>
// CHECK-NEXT:      memref.store %v_5, %C[%c7] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
