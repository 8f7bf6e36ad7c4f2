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

// CHECK-LABEL: func.func @three_stages(
// Prologue:
// CHECK-COUNT-2: async_queue.commit 0 {
// CHECK:         async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NOT:     async_queue.wait
// Body:
// CHECK:         scf.for %i = %c0 to %c14 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.wait 1, 0 {
// CHECK-NEXT:          async_queue.scope {
// CHECK:           async_queue.commit 1 {
// CHECK-NEXT:        async_queue.wait 0, 1 {
// CHECK-NEXT:          async_queue.scope {
// CHECK-NOT:       async_queue
// CHECK:           memref.store %{{.*}}, %D[%i]
// CHECK-NEXT:    }
// Epilogue:
// CHECK-NEXT:    async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK:         async_queue.wait 1, 1 {
// CHECK:           memref.store %{{.*}}, %D[%c14]
// CHECK:         async_queue.wait 1, 0 {
// CHECK:           memref.store %{{.*}}, %D[%c15]
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @whole_buffers(
// CHECK:         %tile = memref.alloc() : memref<3x8xi32>
// Prologue:
// CHECK:         %[[FIRST:.*]] = memref.subview %tile[0, 0] [1, 8] [1, 1]
// CHECK:         memref.copy %row, %[[FIRST]]
// CHECK:         %[[SECOND:.*]] = memref.subview %tile[1, 0] [1, 8] [1, 1]
// CHECK:         memref.copy %row_1, %[[SECOND]]
// Body:
// CHECK:         scf.for %i = %c0 to %c14 step %c1 {
// CHECK-NEXT:      %[[AHEAD:.*]] = arith.addi %i, %c2_1 : index
// CHECK-NEXT:      %[[VERSION:.*]] = arith.remui %[[AHEAD]], %c3 : index
// CHECK-NEXT:      %[[FILLED:.*]] = memref.subview %tile[%[[VERSION]], 0] [1, 8] [1, 1]
// CHECK:           memref.copy %{{.*}}, %[[FILLED]]
// CHECK:           %[[VERSION:.*]] = arith.remui %i, %c3 : index
// CHECK-NEXT:      %[[READ:.*]] = memref.subview %tile[%[[VERSION]], 0] [1, 8] [1, 1]
// CHECK-NEXT:      async_queue.wait 0, 2 {
// CHECK:             memref.copy %[[READ]], %{{.*}}
// Epilogue:
// CHECK:         %[[READ:.*]] = memref.subview %tile[2, 0] [1, 8] [1, 1]
// CHECK-NEXT:    async_queue.wait 0, 1 {
// CHECK:           memref.copy %[[READ]], %{{.*}}
// CHECK:         %[[READ:.*]] = memref.subview %tile[0, 0] [1, 8] [1, 1]
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK:           memref.copy %[[READ]], %{{.*}}
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.dealloc %tile : memref<3x8xi32>

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

// CHECK-LABEL: func.func @asynchronous_last_stage(
// Prologue:
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// Body:
// CHECK:         scf.for %i = %c0 to %c15 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.wait 1, 0 {
// CHECK:           async_queue.commit 1 {
// CHECK-NEXT:        async_queue.wait 0, 1 {
// Epilogue:
// CHECK:         async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK:         async_queue.wait 1, 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

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

// CHECK-LABEL: func.func @step_and_lower_bound(
// CHECK:         %c45 = arith.constant 45 : i32
// CHECK-NEXT:    %c48 = arith.constant 48 : i32
// Prologue:
// CHECK:         %at = arith.index_cast %c3 : i32 to index
// CHECK-NEXT:    %v = memref.load %A[%at]
// CHECK-NEXT:    memref.store %v, %B[%c0_1, %c0]
// Body:
// CHECK:         scf.for %i = %c3 to %c45 step %c5 : i32 {
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %i, %c5 : i32
// CHECK-NEXT:      %[[FROM_0:.*]] = arith.subi %[[NEXT]], %c3 : i32
// CHECK-NEXT:      %[[ITERATION:.*]] = arith.divui %[[FROM_0]], %c5 : i32
// CHECK-NEXT:      %[[VERSION:.*]] = arith.remui %[[ITERATION]], %c2 : i32
// CHECK-NEXT:      %[[FILLED:.*]] = arith.index_cast %[[VERSION]] : i32 to index
// CHECK:           memref.store %{{.*}}, %B[%[[FILLED]], %c0]
// CHECK:           async_queue.wait 0, 1 {
// CHECK:         } {kept = "on the body"}
// Epilogue:
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %[[LAST:.*]] = arith.index_cast %c48 : i32 to index
// CHECK-NEXT:      %{{.*}} = memref.load %B[%c1, %c0]
// CHECK-NEXT:      memref.store %{{.*}}, %C[%[[LAST]]]

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

// CHECK-LABEL: func.func @double_buffer(
// CHECK:         %B = memref.alloc() : memref<2x1xi32>
// CHECK-NOT:     memref.load
// CHECK:         scf.for %i = %c0 to %c16 step %c1 {
// CHECK-NEXT:      %[[FILLED:.*]] = arith.remui %i, %c2 : index
// CHECK:           memref.store %{{.*}}, %B[%[[FILLED]], %c0]
// CHECK-NEXT:      %[[READ:.*]] = arith.remui %i, %c2 : index
// CHECK-NEXT:      %{{.*}} = memref.load %B[%[[READ]], %c0]
// CHECK:         }
// CHECK-NEXT:    func.return

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

// CHECK-LABEL: func.func @nested_queues(
// CHECK:         %outer = memref.alloc() : memref<2x4xi32>
// CHECK:         %inner = memref.alloc() : memref<2x1xi32>
// Prologue:
// CHECK:         async_queue.commit 0 {
// Body:
// CHECK:         scf.for %i = %c0 to %c7 step %c1 {
// CHECK:           async_queue.commit 0 {
// Body, prologue of the inner pipeline: what it copies first, it waits for.
// CHECK:           async_queue.wait 0, 1 {
// CHECK-NEXT:        async_queue.commit 1 {
// CHECK:               %{{.*}} = memref.load %outer[%{{.*}}, %c0]
// Body, body:
// CHECK:           scf.for %[[K:.*]] = %c0 to %c3 step %c1 {
// CHECK:             async_queue.commit 1 {
// CHECK:             async_queue.wait 1, 1 {
// CHECK:               memref.store %{{.*}}, %C[%i, %[[K]]]
// Body, epilogue:
// CHECK:           async_queue.wait 1, 0 {
// CHECK:             memref.store %{{.*}}, %C[%i, %c3_1]
// Epilogue, which is a pipeline again:
// CHECK:         async_queue.wait 0, 0 {
// CHECK-NEXT:      async_queue.commit 1 {
// CHECK:         scf.for %[[K:.*]] = %c0 to %c3_2 step %c1 {
// CHECK:           async_queue.commit 1 {
// CHECK:           async_queue.wait 1, 1 {
// CHECK:             memref.store %{{.*}}, %C[%c7, %[[K]]]
// CHECK:         async_queue.wait 1, 0 {
// CHECK:           memref.store %{{.*}}, %C[%c7, %c3_3]
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @untouched(
// CHECK:         scf.for %i = %c0 to %c16 step %c1 {
// CHECK-NEXT:      async_queue.block {
// CHECK-NEXT:        memref.store %one, %C[%i] : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
