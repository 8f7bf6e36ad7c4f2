// RUN: xdsl-opt %s -p "inject-software-pipeline{source-capture=issue},verify-dominance" --split-input-file | filecheck %s

// The examples of TVM RFC 0077, in the form of its listings: asynchronous work reads its sources when it is issued. Which
// groups and waits each slot has, and nothing else, is in tests/transforms/test_inject_software_pipeline_values.py; what
// the programs compute, in test_inject_software_pipeline.py.

// E1. Two stages, synchronous: the buffer gets two versions, of which iteration i + 1 fills one while iteration i reads
// the other.
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

// CHECK-LABEL: func.func @two_stages(
// CHECK:         %B = memref.alloc() : memref<2x1xi32>
// Prologue:
// CHECK:         %v = memref.load %A[%c0]
// CHECK:         memref.store %{{.*}}, %B[%c0, %c0]
// Body:
// CHECK:         scf.for %i = %c0 to %c15 step %c1 {
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:      %[[FILLED:.*]] = arith.remui %[[NEXT]], %c2 : index
// CHECK-NEXT:      %{{.*}} = memref.load %A[%[[NEXT]]]
// CHECK:           memref.store %{{.*}}, %B[%[[FILLED]], %c0]
// CHECK-NEXT:      %[[READ:.*]] = arith.remui %i, %c2 : index
// CHECK-NEXT:      %{{.*}} = memref.load %B[%[[READ]], %c0]
// CHECK:           memref.store %{{.*}}, %C[%i]
// CHECK-NEXT:    }
// Epilogue:
// CHECK-NEXT:    %{{.*}} = memref.load %B[%c1, %c0]
// CHECK:         memref.store %{{.*}}, %C[%c15]
// CHECK-NEXT:    func.return

// -----

// E2. Stage 0 is asynchronous: its work is a group, and who reads the buffer leaves one group unfinished in the body,
// none in the epilogue.
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

// CHECK-LABEL: func.func @two_stages_async(
// Prologue:
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %v = memref.load %A[%c0]
// CHECK-NOT:     async_queue
// Body:
// CHECK:         scf.for %i = %c0 to %c15 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NOT:       async_queue
// CHECK:           %[[READ:.*]] = arith.remui %i, %c2 : index
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        %{{.*}} = memref.load %B[%[[READ]], %c0]
// CHECK:             memref.store %{{.*}}, %C[%i]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// Epilogue:
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK-NEXT:      %{{.*}} = memref.load %B[%c1, %c0]
// CHECK:           memref.store %{{.*}}, %C[%c15]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// E2 at distance 3, for any number of iterations: counts are constants, guards say what exists, and
// versions count iterations from 0.
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

// CHECK-LABEL: func.func @any_trip_count(
// CHECK:         %B = memref.alloc() : memref<4x1xi32>
// CHECK:         %[[GE1:.*]] = arith.cmpi slt, %lo, %hi : index
// CHECK:         %[[TRIPS:.*]] = arith.select %[[GE1]]
// CHECK:         %[[GE2:.*]] = arith.cmpi uge, %[[TRIPS]], %{{c2.*}} : index
// CHECK:         %[[GE3:.*]] = arith.cmpi uge, %[[TRIPS]], %[[THREE:.*]] : index
// CHECK:         %[[SHORTER:.*]] = arith.subi %hi, %[[THREE]] : index
// CHECK:         %[[GE4:.*]] = arith.cmpi uge, %[[TRIPS]], %{{c4.*}} : index
// CHECK-NEXT:    %[[END:.*]] = arith.select %[[GE4]], %[[SHORTER]], %lo : index
// Prologue:
// CHECK:         scf.if %[[GE1]] {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK:         scf.if %[[GE2]] {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK:         scf.if %[[GE3]] {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NOT:     async_queue.wait
// Body:
// CHECK:         scf.for %[[I:.*]] = %lo to %[[END]] step %c1 {
// CHECK-NEXT:      %[[AHEAD:.*]] = arith.addi %[[I]], %[[THREE]] : index
// CHECK-NEXT:      %[[ITERATION:.*]] = arith.subi %[[AHEAD]], %lo : index
// CHECK-NEXT:      %[[FILLED:.*]] = arith.remui %[[ITERATION]], %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK:             memref.store %{{.*}}, %B[%[[FILLED]], %c0]
// CHECK:           async_queue.wait 0, 3 {
// CHECK:             memref.store %{{.*}}, %C[%[[I]]]
// Epilogue:
// CHECK:         scf.if %[[GE3]] {
// CHECK:           async_queue.wait 0, 2 {
// CHECK:         scf.if %[[GE2]] {
// CHECK:           async_queue.wait 0, 1 {
// CHECK:         scf.if %[[GE1]] {
// CHECK:           async_queue.wait 0, 0 {
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @three_stages(
// CHECK:         %B = memref.alloc() : memref<2x1xi32>
// CHECK:         %C = memref.alloc() : memref<2x1xi32>
// Prologue:
// CHECK:         async_queue.commit 0 {
// CHECK:         async_queue.commit 0 {
// CHECK:         async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 1 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NOT:     async_queue
// Body:
// CHECK:         scf.for %i = %c0 to %c14 step %c1 {
// CHECK-NEXT:      %[[SECOND:.*]] = arith.addi %i, %c2_1 : index
// CHECK:           async_queue.commit 0 {
// CHECK:             %{{.*}} = memref.load %A[%[[SECOND]]]
// CHECK:           %[[FIRST:.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:      %[[SLOT:.*]] = arith.remui %[[FIRST]], %c2 : index
// CHECK-NEXT:      async_queue.commit 1 {
// CHECK-NEXT:        async_queue.wait 0, 1 {
// CHECK:               %{{.*}} = memref.load %B[%[[SLOT]], %c0]
// CHECK:               memref.store %{{.*}}, %C[%[[SLOT]], %c0]
// CHECK:           async_queue.wait 1, 1 {
// CHECK:             memref.store %{{.*}}, %D[%i]
// Epilogue:
// CHECK:         async_queue.commit 1 {
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK:         async_queue.wait 1, 1 {
// CHECK:           memref.store %{{.*}}, %D[%c14]
// CHECK:         async_queue.wait 1, 0 {
// CHECK:           memref.store %{{.*}}, %D[%c15]
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @two_copies(
// Prologue:
// CHECK-COUNT-3: async_queue.commit 0 {
// CHECK-NOT:     async_queue.commit
// Body:
// CHECK:         scf.for %i = %c0 to %c13 step %c1 {
// CHECK-NEXT:      %[[AHEAD:.*]] = arith.addi %i, %c3_1 : index
// CHECK-NEXT:      %[[FILLED:.*]] = arith.remui %[[AHEAD]], %c4 : index
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK:               memref.store %{{.*}}, %A_shared[%[[FILLED]], %c0]
// CHECK-NEXT:        }
// CHECK-NEXT:        async_queue.scope {
// CHECK:               memref.store %{{.*}}, %B_shared[%[[FILLED]], %c0]
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK:           async_queue.wait 0, 3 {
// Epilogue:
// CHECK:         async_queue.wait 0, 2 {
// CHECK:         async_queue.wait 0, 1 {
// CHECK:         async_queue.wait 0, 0 {
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @nested_gemm(
// CHECK:         %A_shared = memref.alloc() : memref<4x2xf32>
// CHECK:         %B_shared = memref.alloc() : memref<4x2xf32>
// CHECK:         %A_local = memref.alloc() : memref<2x1xf32>
// CHECK:         %B_local = memref.alloc() : memref<2x1xf32>
// Prologue: three pairs of copies, and what the inner pipeline of iteration 0 begins with.
// CHECK-COUNT-3: async_queue.commit 0 {
// CHECK:         async_queue.wait 0, 2 {
// CHECK-NEXT:      %[[A:.*]] = memref.load %A_shared[%c0, %c0]
// CHECK-NEXT:      memref.store %[[A]], %A_local[%c0, %c0]
// Body:
// CHECK:         scf.for %k0 = %c0 to %c125 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK:             async_queue.scope {
// CHECK:             async_queue.scope {
// CHECK:           %[[THIS:.*]] = arith.remui %k0, %c4 : index
// CHECK:           async_queue.wait 0, 2 {
// CHECK:             %{{.*}} = memref.load %A_shared[%[[THIS]], %k1]
// CHECK:             memref.store %{{.*}}, %C[%c0]
// CHECK:           %[[NEXT:.*]] = arith.remui %{{.*}}, %c4 : index
// CHECK-NOT:       async_queue
// CHECK:           %{{.*}} = memref.load %A_shared[%[[NEXT]], %c0]
// CHECK:           %{{.*}} = memref.load %A_local[%c1, %c0]
// CHECK:           memref.store %{{.*}}, %C[%c0]
// CHECK-NEXT:    }
// Epilogue: the third iteration from the end still begins two more.
// CHECK:         async_queue.wait 0, 1 {
// CHECK:         %{{.*}} = memref.load %A_shared[%c2_1, %c0]
// CHECK:         async_queue.wait 0, 0 {
// CHECK:         %{{.*}} = memref.load %A_shared[%c3, %c0]
// CHECK:         async_queue.wait 0, 0 {
// CHECK:         %{{.*}} = memref.load %A_local[%c1, %c0]
// CHECK:         memref.store %{{.*}}, %C[%c0]
// CHECK-NEXT:    func.return

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

// CHECK-LABEL: func.func @consumer_in_the_stage_of_its_producers(
// CHECK:         %A_local = memref.alloc() : memref<4x2x1xf32>
// CHECK:         %B_local = memref.alloc() : memref<4x2x1xf32>
// Prologue:
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.wait 0, 0 {
// CHECK:             memref.store %{{.*}}, %A_local[%c0, %c0, %c0]
// CHECK-COUNT-2: async_queue.wait 0, 0 {
// CHECK-NOT:     async_queue.wait
// Body:
// CHECK:         scf.for %k0 = %c0 to %c125 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK:           async_queue.wait 0, 0 {
// CHECK:             memref.store %{{.*}}, %C[%c0]
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NOT:       async_queue
// CHECK:           memref.store %{{.*}}, %C[%c0]
// CHECK-NEXT:    }
// Epilogue:
// CHECK:         async_queue.wait 0, 4 {
// CHECK:         async_queue.wait 0, 2 {
// CHECK:         async_queue.wait 0, 0 {
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @two_consumers(
// Prologue:
// CHECK-COUNT-3: async_queue.commit 0 {
// CHECK:         async_queue.wait 0, 2 {
// CHECK:           memref.store %{{.*}}, %D[%c0]
// Body:
// CHECK:         scf.for %i = %c0 to %c125 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK:           async_queue.wait 0, 2 {
// CHECK:             memref.store %{{.*}}, %C[%i]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %i, %c1 : index
// CHECK-NOT:       async_queue
// CHECK:           memref.store %{{.*}}, %D[%[[NEXT]]]
// CHECK-NEXT:    }
// Epilogue:
// CHECK-NEXT:    async_queue.wait 0, 1 {
// CHECK:           memref.store %{{.*}}, %C[%c125]
// CHECK-NEXT:    }
// CHECK-NOT:     async_queue
// CHECK:         memref.store %{{.*}}, %D[%c126]
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK:         memref.store %{{.*}}, %D[%c127]
// CHECK-NEXT:    async_queue.wait 0, 0 {
// CHECK:           memref.store %{{.*}}, %C[%c127]
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @predicated_producer(
// CHECK:         %B = memref.alloc() : memref<2x1xi32>
// Prologue:
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK:             scf.if %even {
// Body:
// CHECK:         scf.for %i = %c0 to %c15 step %c1 {
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %i, %c1 : index
// CHECK:           async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          %[[ODD:.*]] = arith.remui %[[NEXT]], %c2 : index
// CHECK-NEXT:          %[[EVEN:.*]] = arith.cmpi eq, %[[ODD]], %c0 : index
// CHECK-NEXT:          scf.if %[[EVEN]] {
// CHECK:           async_queue.wait 0, 1 {
// Epilogue:
// CHECK:         async_queue.wait 0, 0 {
// CHECK-NOT:     async_queue

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

// CHECK-LABEL: func.func @interleaved_producers(
// Prologue:
// CHECK-COUNT-6: async_queue.commit 0 {
// CHECK-NOT:     async_queue.commit
// Body:
// CHECK:         scf.for %i = %c0 to %c13 step %c1 {
// CHECK:           async_queue.commit 0 {
// CHECK:               memref.store %{{.*}}, %A_shared
// CHECK:           async_queue.wait 0, 5 {
// CHECK:             memref.store %{{.*}}, %C[%i]
// CHECK:           async_queue.commit 0 {
// CHECK:               memref.store %{{.*}}, %B_shared
// Epilogue:
// CHECK:         async_queue.wait 0, 4 {
// CHECK:           memref.store %{{.*}}, %C[%c13]
// CHECK:         async_queue.wait 0, 2 {
// CHECK:           memref.store %{{.*}}, %C[%c14]
// CHECK:         async_queue.wait 0, 0 {
// CHECK:           memref.store %{{.*}}, %C[%c15]
// CHECK-NOT:     async_queue
