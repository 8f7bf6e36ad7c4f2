// RUN: xdsl-opt %s -p "inject-software-pipeline{source-capture=issue},verify-dominance" --split-input-file | filecheck %s

// The examples of the RFC, in the form of its listings: asynchronous work reads its sources when it is issued.

// E1. Two stages, synchronous: the buffer gets two versions.
func.func @two_stages(%A: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK-LABEL: func.func @two_stages(%A: memref<16xi32>, %C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    %v = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:    %v1 = arith.addi %v, %one : i32
// CHECK-NEXT:    memref.store %v1, %B[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:    scf.for %i = %c0 to %c15 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c2 : index
// CHECK-NEXT:      %v_1 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:      %v1_1 = arith.addi %v_1, %one : i32
// CHECK-NEXT:      memref.store %v1_1, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %version_1 = arith.remui %i, %c2 : index
// CHECK-NEXT:      %v_2 = memref.load %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_2 = arith.addi %v_2, %one : i32
// CHECK-NEXT:      memref.store %v1_2, %C[%i] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %v_3 = memref.load %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:    %v1_3 = arith.addi %v_3, %one : i32
// CHECK-NEXT:    memref.store %v1_3, %C[%c15] : memref<16xi32>
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E2. Stage 0 is asynchronous: wait 1 in the body, 0 in the epilogue.
func.func @two_stages_async(%A: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @two_stages_async(%A: memref<16xi32>, %C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:        %v1 = arith.addi %v, %one : i32
// CHECK-NEXT:        memref.store %v1, %B[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c15 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c2 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_1 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:          %v1_1 = arith.addi %v_1, %one : i32
// CHECK-NEXT:          memref.store %v1_1, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c2 : index
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        %v_2 = memref.load %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:        %v1_2 = arith.addi %v_2, %one : i32
// CHECK-NEXT:        memref.store %v1_2, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %v_3 = memref.load %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_3 = arith.addi %v_3, %one : i32
// CHECK-NEXT:      memref.store %v1_3, %C[%c15] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E2 at distance 3, for any number of iterations: counts are constants, and guards say what exists.
func.func @any_trip_count(%A: memref<?xi32>, %C: memref<?xi32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %lo to %hi step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<?xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %C[%i] : memref<?xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 3>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @any_trip_count(%A: memref<?xi32>, %C: memref<?xi32>, %lo: index, %hi: index) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<4x1xi32>
// CHECK-NEXT:    %c0_1 = arith.constant 0 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %trips_ge1 = arith.cmpi slt, %lo, %hi : index
// CHECK-NEXT:    %0 = arith.subi %hi, %lo : index
// CHECK-NEXT:    %c0_2 = arith.constant 0 : index
// CHECK-NEXT:    %trips = arith.select %trips_ge1, %0, %c0_2 : index
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %trips_ge2 = arith.cmpi uge, %trips, %c2_1 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %trips_ge3 = arith.cmpi uge, %trips, %c3 : index
// CHECK-NEXT:    %1 = arith.subi %hi, %c3 : index
// CHECK-NEXT:    %c4_1 = arith.constant 4 : index
// CHECK-NEXT:    %trips_ge4 = arith.cmpi uge, %trips, %c4_1 : index
// CHECK-NEXT:    %without_last3 = arith.select %trips_ge4, %1, %lo : index
// CHECK-NEXT:    %end = arith.addi %lo, %trips : index
// CHECK-NEXT:    scf.if %trips_ge1 {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v = memref.load %A[%lo] : memref<?xi32>
// CHECK-NEXT:          %v1 = arith.addi %v, %one : i32
// CHECK-NEXT:          memref.store %v1, %B[%c0_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %i = arith.addi %lo, %c1 : index
// CHECK-NEXT:    scf.if %trips_ge2 {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_1 = memref.load %A[%i] : memref<?xi32>
// CHECK-NEXT:          %v1_1 = arith.addi %v_1, %one : i32
// CHECK-NEXT:          memref.store %v1_1, %B[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_1 = arith.addi %lo, %c2_1 : index
// CHECK-NEXT:    scf.if %trips_ge3 {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_2 = memref.load %A[%i_1] : memref<?xi32>
// CHECK-NEXT:          %v1_2 = arith.addi %v_2, %one : i32
// CHECK-NEXT:          memref.store %v1_2, %B[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i_2 = %lo to %without_last3 step %c1 {
// CHECK-NEXT:      %i_3 = arith.addi %i_2, %c3 : index
// CHECK-NEXT:      %2 = arith.subi %i_3, %lo : index
// CHECK-NEXT:      %version = arith.remui %2, %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_3 = memref.load %A[%i_3] : memref<?xi32>
// CHECK-NEXT:          %v1_3 = arith.addi %v_3, %one : i32
// CHECK-NEXT:          memref.store %v1_3, %B[%version, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %3 = arith.subi %i_2, %lo : index
// CHECK-NEXT:      %version_1 = arith.remui %3, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 3 {
// CHECK-NEXT:        %v_4 = memref.load %B[%version_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %v1_4 = arith.addi %v_4, %one : i32
// CHECK-NEXT:        memref.store %v1_4, %C[%i_2] : memref<?xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_4 = arith.subi %end, %c3 : index
// CHECK-NEXT:    %4 = arith.subi %trips, %c3 : index
// CHECK-NEXT:    scf.if %trips_ge3 {
// CHECK-NEXT:      %version_2 = arith.remui %4, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 2 {
// CHECK-NEXT:        %v_5 = memref.load %B[%version_2, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %v1_5 = arith.addi %v_5, %one : i32
// CHECK-NEXT:        memref.store %v1_5, %C[%i_4] : memref<?xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_5 = arith.subi %end, %c2_1 : index
// CHECK-NEXT:    %5 = arith.subi %trips, %c2_1 : index
// CHECK-NEXT:    scf.if %trips_ge2 {
// CHECK-NEXT:      %version_3 = arith.remui %5, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        %v_6 = memref.load %B[%version_3, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %v1_6 = arith.addi %v_6, %one : i32
// CHECK-NEXT:        memref.store %v1_6, %C[%i_5] : memref<?xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_6 = arith.subi %end, %c1 : index
// CHECK-NEXT:    %6 = arith.subi %trips, %c1 : index
// CHECK-NEXT:    scf.if %trips_ge1 {
// CHECK-NEXT:      %version_4 = arith.remui %6, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK-NEXT:        %v_7 = memref.load %B[%version_4, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %v1_7 = arith.addi %v_7, %one : i32
// CHECK-NEXT:        memref.store %v1_7, %C[%i_6] : memref<?xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E3. Three stages, two of them asynchronous, each with its queue.
func.func @three_stages(%A: memref<16xi32>, %D: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %B = memref.alloc() : memref<1xi32>
  %C = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<16xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %C[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %C[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %D[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1, 2>, software_pipeline_order = array<i64: 0, 1, 2>,
     software_pipeline_async_stages = array<i64: 0, 1>}
  func.return
}
// CHECK-LABEL: func.func @three_stages(%A: memref<16xi32>, %D: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %C = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %c14 = arith.constant 14 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:        %v1 = arith.addi %v, %one : i32
// CHECK-NEXT:        memref.store %v1, %B[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v_1 = memref.load %A[%c1] : memref<16xi32>
// CHECK-NEXT:        %v1_1 = arith.addi %v_1, %one : i32
// CHECK-NEXT:        memref.store %v1_1, %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_2 = memref.load %B[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:          %v1_2 = arith.addi %v_2, %one : i32
// CHECK-NEXT:          memref.store %v1_2, %C[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c14 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c2_1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c2 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_3 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:          %v1_3 = arith.addi %v_3, %one : i32
// CHECK-NEXT:          memref.store %v1_3, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %i_2 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %version_1 = arith.remui %i_2, %c2 : index
// CHECK-NEXT:      async_queue.commit 1 {
// CHECK-NEXT:        async_queue.wait 0, 1 {
// CHECK-NEXT:          async_queue.scope {
// CHECK-NEXT:            %v_4 = memref.load %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:            %v1_4 = arith.addi %v_4, %one : i32
// CHECK-NEXT:            memref.store %v1_4, %C[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_2 = arith.remui %i, %c2 : index
// CHECK-NEXT:      async_queue.wait 1, 1 {
// CHECK-NEXT:        %v_5 = memref.load %C[%version_2, %c0] : memref<2x1xi32>
// CHECK-NEXT:        %v1_5 = arith.addi %v_5, %one : i32
// CHECK-NEXT:        memref.store %v1_5, %D[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_6 = memref.load %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:          %v1_6 = arith.addi %v_6, %one : i32
// CHECK-NEXT:          memref.store %v1_6, %C[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 1, 1 {
// CHECK-NEXT:      %v_7 = memref.load %C[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_7 = arith.addi %v_7, %one : i32
// CHECK-NEXT:      memref.store %v1_7, %D[%c14] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 1, 0 {
// CHECK-NEXT:      %v_8 = memref.load %C[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_8 = arith.addi %v_8, %one : i32
// CHECK-NEXT:      memref.store %v1_8, %D[%c15] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E4. Two copies and one consumer, as in a matrix product: one group for both copies.
func.func @two_copies(%A: memref<16xi32>, %B: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %A_shared = memref.alloc() : memref<1xi32>
  %B_shared = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %a = memref.load %A[%i] : memref<16xi32>
      memref.store %a, %A_shared[%c0] : memref<1xi32>
    }
    async_queue.block {
      %b = memref.load %B[%i] : memref<16xi32>
      memref.store %b, %B_shared[%c0] : memref<1xi32>
    }
    async_queue.block {
      %a = memref.load %A_shared[%c0] : memref<1xi32>
      %b = memref.load %B_shared[%c0] : memref<1xi32>
      %c = arith.muli %a, %b : i32
      memref.store %c, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 0, 3>, software_pipeline_order = array<i64: 0, 1, 2>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @two_copies(%A: memref<16xi32>, %B: memref<16xi32>, %C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %A_shared = memref.alloc() : memref<4x1xi32>
// CHECK-NEXT:    %B_shared = memref.alloc() : memref<4x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %c3_1 = arith.constant 3 : index
// CHECK-NEXT:    %c13 = arith.constant 13 : index
// CHECK-NEXT:    %c14 = arith.constant 14 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %a = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:        memref.store %a, %A_shared[%c0, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %b = memref.load %B[%c0] : memref<16xi32>
// CHECK-NEXT:        memref.store %b, %B_shared[%c0, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %a_1 = memref.load %A[%c1] : memref<16xi32>
// CHECK-NEXT:        memref.store %a_1, %A_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %b_1 = memref.load %B[%c1] : memref<16xi32>
// CHECK-NEXT:        memref.store %b_1, %B_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %a_2 = memref.load %A[%c2_1] : memref<16xi32>
// CHECK-NEXT:        memref.store %a_2, %A_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %b_2 = memref.load %B[%c2_1] : memref<16xi32>
// CHECK-NEXT:        memref.store %b_2, %B_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c13 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c3_1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %a_3 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:          memref.store %a_3, %A_shared[%version, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %b_3 = memref.load %B[%i_1] : memref<16xi32>
// CHECK-NEXT:          memref.store %b_3, %B_shared[%version, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 3 {
// CHECK-NEXT:        %a_4 = memref.load %A_shared[%version_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %b_4 = memref.load %B_shared[%version_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %c = arith.muli %a_4, %b_4 : i32
// CHECK-NEXT:        memref.store %c, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 2 {
// CHECK-NEXT:      %a_5 = memref.load %A_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %b_5 = memref.load %B_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %c_1 = arith.muli %a_5, %b_5 : i32
// CHECK-NEXT:      memref.store %c_1, %C[%c13] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 1 {
// CHECK-NEXT:      %a_6 = memref.load %A_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %b_6 = memref.load %B_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %c_2 = arith.muli %a_6, %b_6 : i32
// CHECK-NEXT:      memref.store %c_2, %C[%c14] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %a_7 = memref.load %A_shared[%c3, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %b_7 = memref.load %B_shared[%c3, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %c_3 = arith.muli %a_7, %b_7 : i32
// CHECK-NEXT:      memref.store %c_3, %C[%c15] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E5. Two copies to shared memory, three iterations ahead; then an inner pipeline from shared to local memory, which
// is three components. Shared buffers have 4 versions; the local ones 2, from the inner pipeline alone.
func.func @nested_gemm(%A: memref<128x2xf32>, %B: memref<128x2xf32>, %C: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %A_shared = memref.alloc() : memref<2xf32>
  %B_shared = memref.alloc() : memref<2xf32>
  %A_local = memref.alloc() : memref<1xf32>
  %B_local = memref.alloc() : memref<1xf32>
  scf.for %k0 = %c0 to %c128 step %c1 {
    async_queue.block {
      scf.for %x = %c0 to %c2 step %c1 {
        %a = memref.load %A[%k0, %x] : memref<128x2xf32>
        memref.store %a, %A_shared[%x] : memref<2xf32>
      }
    }
    async_queue.block {
      scf.for %x = %c0 to %c2 step %c1 {
        %b = memref.load %B[%k0, %x] : memref<128x2xf32>
        memref.store %b, %B_shared[%x] : memref<2xf32>
      }
    }
    scf.for %k1 = %c0 to %c2 step %c1 {
      async_queue.block {
        %a = memref.load %A_shared[%k1] : memref<2xf32>
        memref.store %a, %A_local[%c0] : memref<1xf32>
      }
      async_queue.block {
        %b = memref.load %B_shared[%k1] : memref<2xf32>
        memref.store %b, %B_local[%c0] : memref<1xf32>
      }
      async_queue.block {
        %a = memref.load %A_local[%c0] : memref<1xf32>
        %b = memref.load %B_local[%c0] : memref<1xf32>
        %c = memref.load %C[%c0] : memref<1xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        memref.store %s, %C[%c0] : memref<1xf32>
      }
    } {software_pipeline_stage = array<i64: 0, 0, 1>, software_pipeline_order = array<i64: 0, 1, 2>}
  } {software_pipeline_stage = array<i64: 0, 0, 2, 3, 3>, software_pipeline_order = array<i64: 0, 1, 3, 2, 4>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @nested_gemm(%A: memref<128x2xf32>, %B: memref<128x2xf32>, %C: memref<1xf32>) {
// CHECK:         %A_shared = memref.alloc() : memref<4x2xf32>
// CHECK:         %B_shared = memref.alloc() : memref<4x2xf32>
// CHECK:         %A_local = memref.alloc() : memref<2x1xf32>
// CHECK:         %B_local = memref.alloc() : memref<2x1xf32>
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x = %c0 to %c2 step %c1 {
// CHECK:               %a = memref.load %A[%c0, %x] : memref<128x2xf32>
// CHECK:               memref.store %a, %A_shared[%c0, %x] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_1 = %c0 to %c2 step %c1 {
// CHECK:               %b = memref.load %B[%c0, %x_1] : memref<128x2xf32>
// CHECK:               memref.store %b, %B_shared[%c0, %x_1] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_2 = %c0 to %c2 step %c1 {
// CHECK:               %a_1 = memref.load %A[%c1, %x_2] : memref<128x2xf32>
// CHECK:               memref.store %a_1, %A_shared[%c1, %x_2] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_3 = %c0 to %c2 step %c1 {
// CHECK:               %b_1 = memref.load %B[%c1, %x_3] : memref<128x2xf32>
// CHECK:               memref.store %b_1, %B_shared[%c1, %x_3] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_4 = %c0 to %c2 step %c1 {
// CHECK:               %a_2 = memref.load %A[%c2_2, %x_4] : memref<128x2xf32>
// CHECK:               memref.store %a_2, %A_shared[%c2_1, %x_4] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_5 = %c0 to %c2 step %c1 {
// CHECK:               %b_2 = memref.load %B[%c2_2, %x_5] : memref<128x2xf32>
// CHECK:               memref.store %b_2, %B_shared[%c2_1, %x_5] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.wait 0, 2 {
// CHECK:           %a_3 = memref.load %A_shared[%c0, %c0] : memref<4x2xf32>
// CHECK:           memref.store %a_3, %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %b_3 = memref.load %B_shared[%c0, %c0] : memref<4x2xf32>
// CHECK:           memref.store %b_3, %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:         }
// CHECK:         scf.for %k0 = %c0 to %c125 step %c1 {
// CHECK:           %version = arith.remui %k0_1, %c4 : index
// CHECK:           async_queue.commit 0 {
// CHECK:             async_queue.scope {
// CHECK:               scf.for %x_6 = %c0 to %c2 step %c1 {
// CHECK:                 %a_4 = memref.load %A[%k0_1, %x_6] : memref<128x2xf32>
// CHECK:                 memref.store %a_4, %A_shared[%version, %x_6] : memref<4x2xf32>
// CHECK:               }
// CHECK:             }
// CHECK:             async_queue.scope {
// CHECK:               scf.for %x_7 = %c0 to %c2 step %c1 {
// CHECK:                 %b_4 = memref.load %B[%k0_1, %x_7] : memref<128x2xf32>
// CHECK:                 memref.store %b_4, %B_shared[%version, %x_7] : memref<4x2xf32>
// CHECK:               }
// CHECK:             }
// CHECK:           }
// CHECK:           %version_1 = arith.remui %k0, %c4 : index
// CHECK:           async_queue.wait 0, 2 {
// CHECK:             %a_5 = memref.load %A_shared[%version_1, %k1] : memref<4x2xf32>
// CHECK:             memref.store %a_5, %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:             %b_5 = memref.load %B_shared[%version_1, %k1] : memref<4x2xf32>
// CHECK:             memref.store %b_5, %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:             %a_6 = memref.load %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:             %b_6 = memref.load %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:             %c = memref.load %C[%c0] : memref<1xf32>
// CHECK:             %p = arith.mulf %a_6, %b_6 : f32
// CHECK:             memref.store %s, %C[%c0] : memref<1xf32>
// CHECK:           }
// CHECK:           %version_2 = arith.remui %k0_2, %c4 : index
// CHECK:           %a_7 = memref.load %A_shared[%version_2, %c0] : memref<4x2xf32>
// CHECK:           memref.store %a_7, %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %b_7 = memref.load %B_shared[%version_2, %c0] : memref<4x2xf32>
// CHECK:           memref.store %b_7, %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %a_8 = memref.load %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %b_8 = memref.load %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %c_1 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_1 = arith.mulf %a_8, %b_8 : f32
// CHECK:           memref.store %s_1, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         async_queue.wait 0, 1 {
// CHECK:           %a_9 = memref.load %A_shared[%c1, %k1_1] : memref<4x2xf32>
// CHECK:           memref.store %a_9, %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %b_9 = memref.load %B_shared[%c1, %k1_1] : memref<4x2xf32>
// CHECK:           memref.store %b_9, %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %a_10 = memref.load %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %b_10 = memref.load %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %c_2 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_2 = arith.mulf %a_10, %b_10 : f32
// CHECK:           memref.store %s_2, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         %a_11 = memref.load %A_shared[%c2_1, %c0] : memref<4x2xf32>
// CHECK:         memref.store %a_11, %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:         %b_11 = memref.load %B_shared[%c2_1, %c0] : memref<4x2xf32>
// CHECK:         memref.store %b_11, %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:         %a_12 = memref.load %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:         %b_12 = memref.load %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:         %c_3 = memref.load %C[%c0] : memref<1xf32>
// CHECK:         %p_3 = arith.mulf %a_12, %b_12 : f32
// CHECK:         memref.store %s_3, %C[%c0] : memref<1xf32>
// CHECK:         async_queue.wait 0, 0 {
// CHECK:           %a_13 = memref.load %A_shared[%c2_1, %k1_2] : memref<4x2xf32>
// CHECK:           memref.store %a_13, %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %b_13 = memref.load %B_shared[%c2_1, %k1_2] : memref<4x2xf32>
// CHECK:           memref.store %b_13, %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %a_14 = memref.load %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %b_14 = memref.load %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %c_4 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_4 = arith.mulf %a_14, %b_14 : f32
// CHECK:           memref.store %s_4, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         %a_15 = memref.load %A_shared[%c3, %c0] : memref<4x2xf32>
// CHECK:         memref.store %a_15, %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:         %b_15 = memref.load %B_shared[%c3, %c0] : memref<4x2xf32>
// CHECK:         memref.store %b_15, %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:         %a_16 = memref.load %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:         %b_16 = memref.load %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:         %c_5 = memref.load %C[%c0] : memref<1xf32>
// CHECK:         %p_5 = arith.mulf %a_16, %b_16 : f32
// CHECK:         memref.store %s_5, %C[%c0] : memref<1xf32>
// CHECK:         async_queue.wait 0, 0 {
// CHECK:           %a_17 = memref.load %A_shared[%c3, %k1_3] : memref<4x2xf32>
// CHECK:           memref.store %a_17, %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %b_17 = memref.load %B_shared[%c3, %k1_3] : memref<4x2xf32>
// CHECK:           memref.store %b_17, %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:           %a_18 = memref.load %A_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %b_18 = memref.load %B_local[%c0, %c0] : memref<2x1xf32>
// CHECK:           %c_6 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_6 = arith.mulf %a_18, %b_18 : f32
// CHECK:           memref.store %s_6, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         %a_19 = memref.load %A_local[%c1, %c0] : memref<2x1xf32>
// CHECK:         %b_19 = memref.load %B_local[%c1, %c0] : memref<2x1xf32>
// CHECK:         %c_7 = memref.load %C[%c0] : memref<1xf32>
// CHECK:         %p_7 = arith.mulf %a_19, %b_19 : f32
// CHECK:         memref.store %s_7, %C[%c0] : memref<1xf32>
// CHECK:         func.return
// CHECK:       }

// -----

// E6. The third component, which uses the copies, is put into their stage: so it is asynchronous, a group of its own, and
// waits for the copies of its own slot. Local buffers get 4 versions on top of their 2.
func.func @consumer_in_the_stage_of_its_producers(%A: memref<128x2xf32>, %B: memref<128x2xf32>, %C: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %A_shared = memref.alloc() : memref<2xf32>
  %B_shared = memref.alloc() : memref<2xf32>
  %A_local = memref.alloc() : memref<1xf32>
  %B_local = memref.alloc() : memref<1xf32>
  scf.for %k0 = %c0 to %c128 step %c1 {
    async_queue.block {
      scf.for %x = %c0 to %c2 step %c1 {
        %a = memref.load %A[%k0, %x] : memref<128x2xf32>
        memref.store %a, %A_shared[%x] : memref<2xf32>
      }
    }
    async_queue.block {
      scf.for %x = %c0 to %c2 step %c1 {
        %b = memref.load %B[%k0, %x] : memref<128x2xf32>
        memref.store %b, %B_shared[%x] : memref<2xf32>
      }
    }
    scf.for %k1 = %c0 to %c2 step %c1 {
      async_queue.block {
        %a = memref.load %A_shared[%k1] : memref<2xf32>
        memref.store %a, %A_local[%c0] : memref<1xf32>
      }
      async_queue.block {
        %b = memref.load %B_shared[%k1] : memref<2xf32>
        memref.store %b, %B_local[%c0] : memref<1xf32>
      }
      async_queue.block {
        %a = memref.load %A_local[%c0] : memref<1xf32>
        %b = memref.load %B_local[%c0] : memref<1xf32>
        %c = memref.load %C[%c0] : memref<1xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        memref.store %s, %C[%c0] : memref<1xf32>
      }
    } {software_pipeline_stage = array<i64: 0, 0, 1>, software_pipeline_order = array<i64: 0, 1, 2>}
  } {software_pipeline_stage = array<i64: 0, 0, 0, 3, 3>, software_pipeline_order = array<i64: 0, 1, 3, 2, 4>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @consumer_in_the_stage_of_its_producers(%A: memref<128x2xf32>, %B: memref<128x2xf32>, %C: memref<1xf32>) {
// CHECK:         %A_shared = memref.alloc() : memref<4x2xf32>
// CHECK:         %B_shared = memref.alloc() : memref<4x2xf32>
// CHECK:         %A_local = memref.alloc() : memref<4x2x1xf32>
// CHECK:         %B_local = memref.alloc() : memref<4x2x1xf32>
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x = %c0 to %c2 step %c1 {
// CHECK:               %a = memref.load %A[%c0, %x] : memref<128x2xf32>
// CHECK:               memref.store %a, %A_shared[%c0, %x] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_1 = %c0 to %c2 step %c1 {
// CHECK:               %b = memref.load %B[%c0, %x_1] : memref<128x2xf32>
// CHECK:               memref.store %b, %B_shared[%c0, %x_1] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.wait 0, 0 {
// CHECK:             async_queue.scope {
// CHECK:               %a_1 = memref.load %A_shared[%c0, %c0] : memref<4x2xf32>
// CHECK:               memref.store %a_1, %A_local[%c0, %c0, %c0] : memref<4x2x1xf32>
// CHECK:               %b_1 = memref.load %B_shared[%c0, %c0] : memref<4x2xf32>
// CHECK:               memref.store %b_1, %B_local[%c0, %c0, %c0] : memref<4x2x1xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_2 = %c0 to %c2 step %c1 {
// CHECK:               %a_2 = memref.load %A[%c1, %x_2] : memref<128x2xf32>
// CHECK:               memref.store %a_2, %A_shared[%c1, %x_2] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_3 = %c0 to %c2 step %c1 {
// CHECK:               %b_2 = memref.load %B[%c1, %x_3] : memref<128x2xf32>
// CHECK:               memref.store %b_2, %B_shared[%c1, %x_3] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.wait 0, 0 {
// CHECK:             async_queue.scope {
// CHECK:               %a_3 = memref.load %A_shared[%c1, %c0] : memref<4x2xf32>
// CHECK:               memref.store %a_3, %A_local[%c1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:               %b_3 = memref.load %B_shared[%c1, %c0] : memref<4x2xf32>
// CHECK:               memref.store %b_3, %B_local[%c1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_4 = %c0 to %c2 step %c1 {
// CHECK:               %a_4 = memref.load %A[%c2_2, %x_4] : memref<128x2xf32>
// CHECK:               memref.store %a_4, %A_shared[%c2_1, %x_4] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.scope {
// CHECK:             scf.for %x_5 = %c0 to %c2 step %c1 {
// CHECK:               %b_4 = memref.load %B[%c2_2, %x_5] : memref<128x2xf32>
// CHECK:               memref.store %b_4, %B_shared[%c2_1, %x_5] : memref<4x2xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.wait 0, 0 {
// CHECK:             async_queue.scope {
// CHECK:               %a_5 = memref.load %A_shared[%c2_1, %c0] : memref<4x2xf32>
// CHECK:               memref.store %a_5, %A_local[%c2_1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:               %b_5 = memref.load %B_shared[%c2_1, %c0] : memref<4x2xf32>
// CHECK:               memref.store %b_5, %B_local[%c2_1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         scf.for %k0 = %c0 to %c125 step %c1 {
// CHECK:           %version = arith.remui %k0_1, %c4 : index
// CHECK:           async_queue.commit 0 {
// CHECK:             async_queue.scope {
// CHECK:               scf.for %x_6 = %c0 to %c2 step %c1 {
// CHECK:                 %a_6 = memref.load %A[%k0_1, %x_6] : memref<128x2xf32>
// CHECK:                 memref.store %a_6, %A_shared[%version, %x_6] : memref<4x2xf32>
// CHECK:               }
// CHECK:             }
// CHECK:             async_queue.scope {
// CHECK:               scf.for %x_7 = %c0 to %c2 step %c1 {
// CHECK:                 %b_6 = memref.load %B[%k0_1, %x_7] : memref<128x2xf32>
// CHECK:                 memref.store %b_6, %B_shared[%version, %x_7] : memref<4x2xf32>
// CHECK:               }
// CHECK:             }
// CHECK:           }
// CHECK:           %version_1 = arith.remui %k0, %c4 : index
// CHECK:           async_queue.wait 0, 0 {
// CHECK:             %a_7 = memref.load %A_shared[%version_1, %k1] : memref<4x2xf32>
// CHECK:             memref.store %a_7, %A_local[%version_1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:             %b_7 = memref.load %B_shared[%version_1, %k1] : memref<4x2xf32>
// CHECK:             memref.store %b_7, %B_local[%version_1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:             %a_8 = memref.load %A_local[%version_1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:             %b_8 = memref.load %B_local[%version_1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:             %c = memref.load %C[%c0] : memref<1xf32>
// CHECK:             %p = arith.mulf %a_8, %b_8 : f32
// CHECK:             memref.store %s, %C[%c0] : memref<1xf32>
// CHECK:           }
// CHECK:           %version_2 = arith.remui %k0_1, %c4 : index
// CHECK:           async_queue.commit 0 {
// CHECK:             async_queue.scope {
// CHECK:               %a_9 = memref.load %A_shared[%version_2, %c0] : memref<4x2xf32>
// CHECK:               memref.store %a_9, %A_local[%version_2, %c0, %c0] : memref<4x2x1xf32>
// CHECK:               %b_9 = memref.load %B_shared[%version_2, %c0] : memref<4x2xf32>
// CHECK:               memref.store %b_9, %B_local[%version_2, %c0, %c0] : memref<4x2x1xf32>
// CHECK:             }
// CHECK:           }
// CHECK:           %version_3 = arith.remui %k0, %c4 : index
// CHECK:           %a_10 = memref.load %A_local[%version_3, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %b_10 = memref.load %B_local[%version_3, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %c_1 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_1 = arith.mulf %a_10, %b_10 : f32
// CHECK:           memref.store %s_1, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         async_queue.wait 0, 4 {
// CHECK:           %a_11 = memref.load %A_shared[%c1, %k1_1] : memref<4x2xf32>
// CHECK:           memref.store %a_11, %A_local[%c1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %b_11 = memref.load %B_shared[%c1, %k1_1] : memref<4x2xf32>
// CHECK:           memref.store %b_11, %B_local[%c1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %a_12 = memref.load %A_local[%c1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:           %b_12 = memref.load %B_local[%c1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:           %c_2 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_2 = arith.mulf %a_12, %b_12 : f32
// CHECK:           memref.store %s_2, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         %a_13 = memref.load %A_local[%c1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:         %b_13 = memref.load %B_local[%c1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:         %c_3 = memref.load %C[%c0] : memref<1xf32>
// CHECK:         %p_3 = arith.mulf %a_13, %b_13 : f32
// CHECK:         memref.store %s_3, %C[%c0] : memref<1xf32>
// CHECK:         async_queue.wait 0, 2 {
// CHECK:           %a_14 = memref.load %A_shared[%c2_1, %k1_2] : memref<4x2xf32>
// CHECK:           memref.store %a_14, %A_local[%c2_1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %b_14 = memref.load %B_shared[%c2_1, %k1_2] : memref<4x2xf32>
// CHECK:           memref.store %b_14, %B_local[%c2_1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %a_15 = memref.load %A_local[%c2_1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:           %b_15 = memref.load %B_local[%c2_1, %c0, %c0] : memref<4x2x1xf32>
// CHECK:           %c_4 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_4 = arith.mulf %a_15, %b_15 : f32
// CHECK:           memref.store %s_4, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         %a_16 = memref.load %A_local[%c2_1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:         %b_16 = memref.load %B_local[%c2_1, %c1, %c0] : memref<4x2x1xf32>
// CHECK:         %c_5 = memref.load %C[%c0] : memref<1xf32>
// CHECK:         %p_5 = arith.mulf %a_16, %b_16 : f32
// CHECK:         memref.store %s_5, %C[%c0] : memref<1xf32>
// CHECK:         async_queue.wait 0, 0 {
// CHECK:           %a_17 = memref.load %A_shared[%c3, %k1_3] : memref<4x2xf32>
// CHECK:           memref.store %a_17, %A_local[%c3, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %b_17 = memref.load %B_shared[%c3, %k1_3] : memref<4x2xf32>
// CHECK:           memref.store %b_17, %B_local[%c3, %c1, %c0] : memref<4x2x1xf32>
// CHECK:           %a_18 = memref.load %A_local[%c3, %c0, %c0] : memref<4x2x1xf32>
// CHECK:           %b_18 = memref.load %B_local[%c3, %c0, %c0] : memref<4x2x1xf32>
// CHECK:           %c_6 = memref.load %C[%c0] : memref<1xf32>
// CHECK:           %p_6 = arith.mulf %a_18, %b_18 : f32
// CHECK:           memref.store %s_6, %C[%c0] : memref<1xf32>
// CHECK:         }
// CHECK:         %a_19 = memref.load %A_local[%c3, %c1, %c0] : memref<4x2x1xf32>
// CHECK:         %b_19 = memref.load %B_local[%c3, %c1, %c0] : memref<4x2x1xf32>
// CHECK:         %c_7 = memref.load %C[%c0] : memref<1xf32>
// CHECK:         %p_7 = arith.mulf %a_19, %b_19 : f32
// CHECK:         memref.store %s_7, %C[%c0] : memref<1xf32>
// CHECK:         func.return
// CHECK:       }

// -----

// E7. Two consumers at different stages: one wait serves both where both run.
func.func @two_consumers(%A: memref<128xi32>, %C: memref<128xi32>, %D: memref<128xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1 : i32
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c128 step %c1 {
    async_queue.block {
      %v = memref.load %A[%i] : memref<128xi32>
      memref.store %v, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      memref.store %v, %C[%i] : memref<128xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      memref.store %v, %D[%i] : memref<128xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 3, 2>, software_pipeline_order = array<i64: 0, 1, 2>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @two_consumers(%A: memref<128xi32>, %C: memref<128xi32>, %D: memref<128xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c128 = arith.constant 128 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<4x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %c3_1 = arith.constant 3 : index
// CHECK-NEXT:    %c125 = arith.constant 125 : index
// CHECK-NEXT:    %c126 = arith.constant 126 : index
// CHECK-NEXT:    %c127 = arith.constant 127 : index
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v = memref.load %A[%c0] : memref<128xi32>
// CHECK-NEXT:        memref.store %v, %B[%c0, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v_1 = memref.load %A[%c1] : memref<128xi32>
// CHECK-NEXT:        memref.store %v_1, %B[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v_2 = memref.load %A[%c2_1] : memref<128xi32>
// CHECK-NEXT:        memref.store %v_2, %B[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 2 {
// CHECK-NEXT:      %v_3 = memref.load %B[%c0, %c0] : memref<4x1xi32>
// CHECK-NEXT:      memref.store %v_3, %D[%c0] : memref<128xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c125 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c3_1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_4 = memref.load %A[%i_1] : memref<128xi32>
// CHECK-NEXT:          memref.store %v_4, %B[%version, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 2 {
// CHECK-NEXT:        %v_5 = memref.load %B[%version_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        memref.store %v_5, %C[%i] : memref<128xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %i_2 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %version_2 = arith.remui %i_2, %c4 : index
// CHECK-NEXT:      %v_6 = memref.load %B[%version_2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      memref.store %v_6, %D[%i_2] : memref<128xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 1 {
// CHECK-NEXT:      %v_7 = memref.load %B[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      memref.store %v_7, %C[%c125] : memref<128xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %v_8 = memref.load %B[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:    memref.store %v_8, %D[%c126] : memref<128xi32>
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %v_9 = memref.load %B[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      memref.store %v_9, %C[%c126] : memref<128xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %v_10 = memref.load %B[%c3, %c0] : memref<4x1xi32>
// CHECK-NEXT:    memref.store %v_10, %D[%c127] : memref<128xi32>
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %v_11 = memref.load %B[%c3, %c0] : memref<4x1xi32>
// CHECK-NEXT:      memref.store %v_11, %C[%c127] : memref<128xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E8. A predicate of the user's stands inside the scope: the commit does not depend on it, so counts stay what they are.
// Index arithmetic and the allocation stand between the components.
func.func @predicated_producer(%A: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %B = memref.alloc() : memref<1xi32>
    %odd = arith.remui %i, %c2 : index
    %even = arith.cmpi eq, %odd, %c0 : index
    async_queue.block {
      scf.if %even {
        %v = memref.load %A[%i] : memref<16xi32>
        memref.store %v, %B[%c0] : memref<1xi32>
      } else {
        memref.store %one, %B[%c0] : memref<1xi32>
      }
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @predicated_producer(%A: memref<16xi32>, %C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %odd = arith.remui %c0, %c2 : index
// CHECK-NEXT:        %even = arith.cmpi eq, %odd, %c0 : index
// CHECK-NEXT:        scf.if %even {
// CHECK-NEXT:          %v = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:          memref.store %v, %B[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:        } else {
// CHECK-NEXT:          memref.store %one, %B[%c0, %c0] : memref<2x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c15 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c2_1 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %odd_1 = arith.remui %i_1, %c2 : index
// CHECK-NEXT:          %even_1 = arith.cmpi eq, %odd_1, %c0 : index
// CHECK-NEXT:          scf.if %even_1 {
// CHECK-NEXT:            %v_1 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:            memref.store %v_1, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:          } else {
// CHECK-NEXT:            memref.store %one, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c2_1 : index
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        %v_2 = memref.load %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:        %v1 = arith.addi %v_2, %one : i32
// CHECK-NEXT:        memref.store %v1, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %v_3 = memref.load %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_1 = arith.addi %v_3, %one : i32
// CHECK-NEXT:      memref.store %v1_1, %C[%c15] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// E9. Interleaved producers: two groups in each slot, in the prologue as in the body, so that wait 5 is right from the
// first iteration on; with one group in a prologue slot, as the RFC prints it, the first two iterations would race.
func.func @interleaved_producers(%A: memref<16xi32>, %B: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %A_shared = memref.alloc() : memref<1xi32>
  %B_shared = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      %a = memref.load %A[%i] : memref<16xi32>
      memref.store %a, %A_shared[%c0] : memref<1xi32>
    }
    async_queue.block {
      %b = memref.load %B[%i] : memref<16xi32>
      memref.store %b, %B_shared[%c0] : memref<1xi32>
    }
    async_queue.block {
      %a = memref.load %A_shared[%c0] : memref<1xi32>
      %b = memref.load %B_shared[%c0] : memref<1xi32>
      %c = arith.muli %a, %b : i32
      memref.store %c, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 0, 3>, software_pipeline_order = array<i64: 0, 2, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @interleaved_producers(%A: memref<16xi32>, %B: memref<16xi32>, %C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %A_shared = memref.alloc() : memref<4x1xi32>
// CHECK-NEXT:    %B_shared = memref.alloc() : memref<4x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %c3_1 = arith.constant 3 : index
// CHECK-NEXT:    %c13 = arith.constant 13 : index
// CHECK-NEXT:    %c14 = arith.constant 14 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %a = memref.load %A[%c0] : memref<16xi32>
// CHECK-NEXT:        memref.store %a, %A_shared[%c0, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %b = memref.load %B[%c0] : memref<16xi32>
// CHECK-NEXT:        memref.store %b, %B_shared[%c0, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %a_1 = memref.load %A[%c1] : memref<16xi32>
// CHECK-NEXT:        memref.store %a_1, %A_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %b_1 = memref.load %B[%c1] : memref<16xi32>
// CHECK-NEXT:        memref.store %b_1, %B_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %a_2 = memref.load %A[%c2_1] : memref<16xi32>
// CHECK-NEXT:        memref.store %a_2, %A_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %b_2 = memref.load %B[%c2_1] : memref<16xi32>
// CHECK-NEXT:        memref.store %b_2, %B_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c13 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c3_1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %a_3 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:          memref.store %a_3, %A_shared[%version, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c4 : index
// CHECK-NEXT:      async_queue.wait 0, 5 {
// CHECK-NEXT:        %a_4 = memref.load %A_shared[%version_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %b_3 = memref.load %B_shared[%version_1, %c0] : memref<4x1xi32>
// CHECK-NEXT:        %c = arith.muli %a_4, %b_3 : i32
// CHECK-NEXT:        memref.store %c, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_2 = arith.remui %i_1, %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %b_4 = memref.load %B[%i_1] : memref<16xi32>
// CHECK-NEXT:          memref.store %b_4, %B_shared[%version_2, %c0] : memref<4x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 4 {
// CHECK-NEXT:      %a_5 = memref.load %A_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %b_5 = memref.load %B_shared[%c1, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %c_1 = arith.muli %a_5, %b_5 : i32
// CHECK-NEXT:      memref.store %c_1, %C[%c13] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 2 {
// CHECK-NEXT:      %a_6 = memref.load %A_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %b_6 = memref.load %B_shared[%c2, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %c_2 = arith.muli %a_6, %b_6 : i32
// CHECK-NEXT:      memref.store %c_2, %C[%c14] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %a_7 = memref.load %A_shared[%c3, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %b_7 = memref.load %B_shared[%c3, %c0] : memref<4x1xi32>
// CHECK-NEXT:      %c_3 = arith.muli %a_7, %b_7 : i32
// CHECK-NEXT:      memref.store %c_3, %C[%c15] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
