// RUN: xdsl-opt %s -p "inject-software-pipeline,verify-dominance" --split-input-file | filecheck %s

// The default: asynchronous work may read its sources until it is complete. So stage 0 waits, in the body, before it
// overwrites the version that stage 1 reads; that is all that stage 2 needs as well.
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
// CHECK-NEXT:        async_queue.wait 1, 0 {
// CHECK-NEXT:          async_queue.scope {
// CHECK-NEXT:            %v_3 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:            %v1_3 = arith.addi %v_3, %one : i32
// CHECK-NEXT:            memref.store %v1_3, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:          }
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
// CHECK-NEXT:      %v_5 = memref.load %C[%version_2, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_5 = arith.addi %v_5, %one : i32
// CHECK-NEXT:      memref.store %v1_5, %D[%i] : memref<16xi32>
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

// What takes a buffer as a whole gets a view of the version; the deallocation goes behind the loop.
func.func @whole_buffers(%A: memref<16x8xi32>, %C: memref<16x8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %tile = memref.alloc() : memref<8xi32>
    async_queue.block {
      %row = memref.subview %A[%i, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
      "memref.copy"(%row, %tile) : (memref<8xi32, strided<[1], offset: ?>>, memref<8xi32>) -> ()
    }
    async_queue.block {
      %row = memref.subview %C[%i, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
      "memref.copy"(%tile, %row) : (memref<8xi32>, memref<8xi32, strided<[1], offset: ?>>) -> ()
    }
    memref.dealloc %tile : memref<8xi32>
  } {software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @whole_buffers(%A: memref<16x8xi32>, %C: memref<16x8xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %tile = memref.alloc() : memref<3x8xi32>
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c2_1 = arith.constant 2 : index
// CHECK-NEXT:    %c14 = arith.constant 14 : index
// CHECK-NEXT:    %c15 = arith.constant 15 : index
// CHECK-NEXT:    %0 = memref.subview %tile[0, 0] [1, 8] [1, 1] : memref<3x8xi32> to memref<8xi32, strided<[1]>>
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %row = memref.subview %A[%c0, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:        "memref.copy"(%row, %0) : (memref<8xi32, strided<[1], offset: ?>>, memref<8xi32, strided<[1]>>) -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = memref.subview %tile[1, 0] [1, 8] [1, 1] : memref<3x8xi32> to memref<8xi32, strided<[1], offset: 8>>
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %row_1 = memref.subview %A[%c1, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:        "memref.copy"(%row_1, %1) : (memref<8xi32, strided<[1], offset: ?>>, memref<8xi32, strided<[1], offset: 8>>) -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c0 to %c14 step %c1 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c2_1 : index
// CHECK-NEXT:      %version = arith.remui %i_1, %c3 : index
// CHECK-NEXT:      %2 = memref.subview %tile[%version, 0] [1, 8] [1, 1] : memref<3x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %row_2 = memref.subview %A[%i_1, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:          "memref.copy"(%row_2, %2) : (memref<8xi32, strided<[1], offset: ?>>, memref<8xi32, strided<[1], offset: ?>>) -> ()
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c3 : index
// CHECK-NEXT:      %3 = memref.subview %tile[%version_1, 0] [1, 8] [1, 1] : memref<3x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:      async_queue.wait 0, 2 {
// CHECK-NEXT:        %row_3 = memref.subview %C[%i, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:        "memref.copy"(%3, %row_3) : (memref<8xi32, strided<[1], offset: ?>>, memref<8xi32, strided<[1], offset: ?>>) -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %4 = memref.subview %tile[2, 0] [1, 8] [1, 1] : memref<3x8xi32> to memref<8xi32, strided<[1], offset: 16>>
// CHECK-NEXT:    async_queue.wait 0, 1 {
// CHECK-NEXT:      %row_4 = memref.subview %C[%c14, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:      "memref.copy"(%4, %row_4) : (memref<8xi32, strided<[1], offset: 16>>, memref<8xi32, strided<[1], offset: ?>>) -> ()
// CHECK-NEXT:    }
// CHECK-NEXT:    %5 = memref.subview %tile[0, 0] [1, 8] [1, 1] : memref<3x8xi32> to memref<8xi32, strided<[1]>>
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %row_5 = memref.subview %C[%c15, 0] [1, 8] [1, 1] : memref<16x8xi32> to memref<8xi32, strided<[1], offset: ?>>
// CHECK-NEXT:      "memref.copy"(%5, %row_5) : (memref<8xi32, strided<[1]>>, memref<8xi32, strided<[1], offset: ?>>) -> ()
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.dealloc %tile : memref<3x8xi32>
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// The last stage is asynchronous: nobody waits for its last group, so its queue is drained.
func.func @asynchronous_last_stage(%A: memref<16xi32>, %C: memref<16xi32>) {
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
     software_pipeline_async_stages = array<i64: 0, 1>}
  func.return
}
// CHECK-LABEL: func.func @asynchronous_last_stage(%A: memref<16xi32>, %C: memref<16xi32>) {
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
// CHECK-NEXT:        async_queue.wait 1, 0 {
// CHECK-NEXT:          async_queue.scope {
// CHECK-NEXT:            %v_1 = memref.load %A[%i_1] : memref<16xi32>
// CHECK-NEXT:            %v1_1 = arith.addi %v_1, %one : i32
// CHECK-NEXT:            memref.store %v1_1, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %version_1 = arith.remui %i, %c2 : index
// CHECK-NEXT:      async_queue.commit 1 {
// CHECK-NEXT:        async_queue.wait 0, 1 {
// CHECK-NEXT:          async_queue.scope {
// CHECK-NEXT:            %v_2 = memref.load %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:            %v1_2 = arith.addi %v_2, %one : i32
// CHECK-NEXT:            memref.store %v1_2, %C[%i] : memref<16xi32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %v_3 = memref.load %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:          %v1_3 = arith.addi %v_3, %one : i32
// CHECK-NEXT:          memref.store %v1_3, %C[%c15] : memref<16xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 1, 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// A step, a lower bound and a type of the induction variable of its own: versions count iterations from 0.
func.func @step_and_lower_bound(%A: memref<64xi32>, %C: memref<64xi32>) {
  %c3 = arith.constant 3 : i32
  %c5 = arith.constant 5 : i32
  %c50 = arith.constant 50 : i32
  %c0 = arith.constant 0 : index
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %c3 to %c50 step %c5 : i32 {
    %at = arith.index_cast %i : i32 to index
    async_queue.block {
      %v = memref.load %A[%at] : memref<64xi32>
      memref.store %v, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      memref.store %v, %C[%at] : memref<64xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>, "kept" = "on the body"}
  func.return
}
// CHECK-LABEL: func.func @step_and_lower_bound(%A: memref<64xi32>, %C: memref<64xi32>) {
// CHECK-NEXT:    %c3 = arith.constant 3 : i32
// CHECK-NEXT:    %c5 = arith.constant 5 : i32
// CHECK-NEXT:    %c50 = arith.constant 50 : i32
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %B = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %c0_1 = arith.constant 0 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : i32
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c45 = arith.constant 45 : i32
// CHECK-NEXT:    %c48 = arith.constant 48 : i32
// CHECK-NEXT:    async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %at = arith.index_cast %c3 : i32 to index
// CHECK-NEXT:        %v = memref.load %A[%at] : memref<64xi32>
// CHECK-NEXT:        memref.store %v, %B[%c0_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i = %c3 to %c45 step %c5 : i32 {
// CHECK-NEXT:      %i_1 = arith.addi %i, %c5 : i32
// CHECK-NEXT:      %0 = arith.subi %i_1, %c3 : i32
// CHECK-NEXT:      %1 = arith.divui %0, %c5 : i32
// CHECK-NEXT:      %version = arith.remui %1, %c2 : i32
// CHECK-NEXT:      %version_1 = arith.index_cast %version : i32 to index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %at_1 = arith.index_cast %i_1 : i32 to index
// CHECK-NEXT:          %v_1 = memref.load %A[%at_1] : memref<64xi32>
// CHECK-NEXT:          memref.store %v_1, %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      %2 = arith.subi %i, %c3 : i32
// CHECK-NEXT:      %3 = arith.divui %2, %c5 : i32
// CHECK-NEXT:      %version_2 = arith.remui %3, %c2 : i32
// CHECK-NEXT:      %version_3 = arith.index_cast %version_2 : i32 to index
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        %at_2 = arith.index_cast %i : i32 to index
// CHECK-NEXT:        %v_2 = memref.load %B[%version_3, %c0] : memref<2x1xi32>
// CHECK-NEXT:        memref.store %v_2, %C[%at_2] : memref<64xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    } {kept = "on the body"}
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %at_3 = arith.index_cast %c48 : i32 to index
// CHECK-NEXT:      %v_3 = memref.load %B[%c1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      memref.store %v_3, %C[%at_3] : memref<64xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// Two versions by request, without stages that would need them: the loop is the body.
func.func @double_buffer(%A: memref<16xi32>, %C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %B = memref.alloc() : memref<1xi32>
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block attributes {double_buffer_scope = 0 : i64} {
      %v = memref.load %A[%i] : memref<16xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %B[%c0] : memref<1xi32>
    }
    async_queue.block {
      %v = memref.load %B[%c0] : memref<1xi32>
      %v1 = arith.addi %v, %one : i32
      memref.store %v1, %C[%i] : memref<16xi32>
    }
  } {software_pipeline_stage = array<i64: 0, 0>, software_pipeline_order = array<i64: 0, 1>}
  func.return
}
// CHECK-LABEL: func.func @double_buffer(%A: memref<16xi32>, %C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %B = memref.alloc() : memref<2x1xi32>
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    scf.for %i = %c0 to %c16 step %c1 {
// CHECK-NEXT:      %version = arith.remui %i, %c2 : index
// CHECK-NEXT:      %v = memref.load %A[%i] : memref<16xi32>
// CHECK-NEXT:      %v1 = arith.addi %v, %one : i32
// CHECK-NEXT:      memref.store %v1, %B[%version, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %version_1 = arith.remui %i, %c2 : index
// CHECK-NEXT:      %v_1 = memref.load %B[%version_1, %c0] : memref<2x1xi32>
// CHECK-NEXT:      %v1_1 = arith.addi %v_1, %one : i32
// CHECK-NEXT:      memref.store %v1_1, %C[%i] : memref<16xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// Pipelines in pipelines: the inner one has queues of its own, behind those of the outer one.
func.func @nested_queues(%A: memref<8x4xi32>, %C: memref<8x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %outer = memref.alloc() : memref<4xi32>
    async_queue.block {
      scf.for %k = %c0 to %c4 step %c1 {
        %v = memref.load %A[%i, %k] : memref<8x4xi32>
        memref.store %v, %outer[%k] : memref<4xi32>
      }
    }
    scf.for %k = %c0 to %c4 step %c1 {
      %inner = memref.alloc() : memref<1xi32>
      async_queue.block {
        %v = memref.load %outer[%k] : memref<4xi32>
        memref.store %v, %inner[%c0] : memref<1xi32>
      }
      async_queue.block {
        %v = memref.load %inner[%c0] : memref<1xi32>
        memref.store %v, %C[%i, %k] : memref<8x4xi32>
      }
    } {software_pipeline_stage = array<i64: 0, 1>, software_pipeline_order = array<i64: 0, 1>,
       software_pipeline_async_stages = array<i64: 0>}
  } {software_pipeline_stage = array<i64: 0, 1, 1, 1>, software_pipeline_order = array<i64: 0, 1, 2, 3>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
// CHECK-LABEL: func.func @nested_queues(%A: memref<8x4xi32>, %C: memref<8x4xi32>) {
// CHECK:         %outer = memref.alloc() : memref<2x4xi32>
// CHECK:         %inner = memref.alloc() : memref<2x1xi32>
// CHECK:         async_queue.commit 0 {
// CHECK:           async_queue.scope {
// CHECK:             scf.for %k = %c0 to %c4 step %c1 {
// CHECK:               %v = memref.load %A[%c0, %k] : memref<8x4xi32>
// CHECK:               memref.store %v, %outer[%c0, %k] : memref<2x4xi32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         scf.for %i = %c0 to %c7 step %c1 {
// CHECK:           %version = arith.remui %i_1, %c2 : index
// CHECK:           async_queue.commit 0 {
// CHECK:             async_queue.scope {
// CHECK:               scf.for %k_1 = %c0 to %c4 step %c1 {
// CHECK:                 %v_1 = memref.load %A[%i_1, %k_1] : memref<8x4xi32>
// CHECK:                 memref.store %v_1, %outer[%version, %k_1] : memref<2x4xi32>
// CHECK:               }
// CHECK:             }
// CHECK:           }
// CHECK:           %version_1 = arith.remui %i, %c2 : index
// CHECK:           async_queue.wait 0, 1 {
// CHECK:             async_queue.commit 1 {
// CHECK:               async_queue.scope {
// CHECK:                 %v_2 = memref.load %outer[%version_1, %c0] : memref<2x4xi32>
// CHECK:                 memref.store %v_2, %inner[%c0, %c0] : memref<2x1xi32>
// CHECK:               }
// CHECK:             }
// CHECK:           }
// CHECK:           %version_2 = arith.remui %i, %c2 : index
// CHECK:           scf.for %k_2 = %c0 to %c3 step %c1 {
// CHECK:             %version_3 = arith.remui %k_3, %c2_1 : index
// CHECK:             async_queue.commit 1 {
// CHECK:               async_queue.scope {
// CHECK:                 %v_3 = memref.load %outer[%version_2, %k_3] : memref<2x4xi32>
// CHECK:                 memref.store %v_3, %inner[%version_3, %c0] : memref<2x1xi32>
// CHECK:               }
// CHECK:             }
// CHECK:             %version_4 = arith.remui %k_2, %c2_1 : index
// CHECK:             async_queue.wait 1, 1 {
// CHECK:               %v_4 = memref.load %inner[%version_4, %c0] : memref<2x1xi32>
// CHECK:               memref.store %v_4, %C[%i, %k_2] : memref<8x4xi32>
// CHECK:             }
// CHECK:           }
// CHECK:           async_queue.wait 1, 0 {
// CHECK:             %v_5 = memref.load %inner[%c1, %c0] : memref<2x1xi32>
// CHECK:             memref.store %v_5, %C[%i, %c3_1] : memref<8x4xi32>
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.wait 0, 0 {
// CHECK:           async_queue.commit 1 {
// CHECK:             async_queue.scope {
// CHECK:               %v_6 = memref.load %outer[%c1, %c0] : memref<2x4xi32>
// CHECK:               memref.store %v_6, %inner[%c0, %c0] : memref<2x1xi32>
// CHECK:             }
// CHECK:           }
// CHECK:         }
// CHECK:         scf.for %k_4 = %c0 to %c3_2 step %c1 {
// CHECK:           %version_5 = arith.remui %k_5, %c2_2 : index
// CHECK:           async_queue.commit 1 {
// CHECK:             async_queue.scope {
// CHECK:               %v_7 = memref.load %outer[%c1, %k_5] : memref<2x4xi32>
// CHECK:               memref.store %v_7, %inner[%version_5, %c0] : memref<2x1xi32>
// CHECK:             }
// CHECK:           }
// CHECK:           %version_6 = arith.remui %k_4, %c2_2 : index
// CHECK:           async_queue.wait 1, 1 {
// CHECK:             %v_8 = memref.load %inner[%version_6, %c0] : memref<2x1xi32>
// CHECK:             memref.store %v_8, %C[%c7, %k_4] : memref<8x4xi32>
// CHECK:           }
// CHECK:         }
// CHECK:         async_queue.wait 1, 0 {
// CHECK:           %v_9 = memref.load %inner[%c1, %c0] : memref<2x1xi32>
// CHECK:           memref.store %v_9, %C[%c7, %c3_3] : memref<8x4xi32>
// CHECK:         }
// CHECK:         func.return
// CHECK:       }

// -----

// Nothing is annotated, nothing happens.
func.func @untouched(%C: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    async_queue.block {
      memref.store %one, %C[%i] : memref<16xi32>
    }
  }
  func.return
}
// CHECK-LABEL: func.func @untouched(%C: memref<16xi32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    scf.for %i = %c0 to %c16 step %c1 {
// CHECK-NEXT:      async_queue.block {
// CHECK-NEXT:        memref.store %one, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
