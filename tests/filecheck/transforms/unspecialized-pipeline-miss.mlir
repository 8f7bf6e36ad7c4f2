// RUN: xdsl-opt %s -p 'tileas-unspecialized-pipeline{num-stages=3},verify-dominance' --split-input-file 2>/dev/null | filecheck %s
// RUN: xdsl-opt %s -p 'tileas-unspecialized-pipeline{num-stages=3}' --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix REMARK

// Loops that have a valid schedule and cannot be expanded: the verbatim remark, bit 2, the loop as it was, and success.

// A ring with one slot cannot hold the two stages that would be in flight.
func.func @one_slot(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {num_stages = 1 : i32, stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 2 : i32, iter_offset = -2 : i32} : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
  }
  func.return
}
// REMARK: remark: Failed to pipeline loop
// REMARK-NEXT: help: 'nv_tileas.async.pipeline.produce_one_async' op scheduled before what it depends on
// CHECK-LABEL: func.func @one_slot(%n: index) attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}} {
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {num_stages = 1 : i32, stage = 0 : i32, iter_offset = 0 : i32}
// CHECK-NEXT:      %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 2 : i32, iter_offset = -2 : i32}
// CHECK-NEXT:    }

// -----

// A known trip count below the prologue's.
func.func @too_short(%m: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %x = memref.load %m[%i] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
    "test.pureop"(%x) {stage = 2 : i32, iter_offset = -2 : i32} : (f32) -> ()
  }
  func.return
}
// REMARK: remark: Failed to pipeline loop
// REMARK-NEXT: help: 'scf.for' op runs 1 times, and its prologue alone takes 2 iterations; use fewer stages
// CHECK-LABEL: @too_short(%m: memref<64xf32>) attributes {nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}}
// CHECK:           memref.load %m[%i] {stage = 0 : i32, iter_offset = 0 : i32}

// -----

// A loop that is no counted one.
func.func @no_trip_count(%go: i1, %m: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %last = scf.while (%more = %go) : (i1) -> i1 {
    scf.condition(%more) %more : i1
  } do {
  ^bb0(%again: i1):
    %x = memref.load %m[%c0] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
    "test.pureop"(%x) {stage = 1 : i32, iter_offset = -1 : i32} : (f32) -> ()
    scf.yield %again : i1
  }
  func.return
}
// REMARK: remark: Failed to pipeline loop
// REMARK-NEXT: help: an scf.while has no trip count to peel; write it as an scf.for
// CHECK-LABEL: @no_trip_count
// CHECK-SAME:  nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}
// CHECK:           memref.load %m[%c0] {stage = 0 : i32, iter_offset = 0 : i32}

// -----

// What one iteration stores the next one loads, two stages earlier. The next loop is pipelined all the same.
func.func @carried_by_memory(%m: memref<64xf32>, %o: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%c0] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
    memref.store %x, %m[%c0] {stage = 2 : i32, iter_offset = -2 : i32} : memref<64xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
    memref.store %x, %o[%i] {stage = 2 : i32, iter_offset = -2 : i32} : memref<64xf32>
  }
  func.return
}
// REMARK: remark: Failed to pipeline loop
// REMARK-NEXT: help: 'memref.load' op scheduled before what it depends on
// CHECK-LABEL: @carried_by_memory
// CHECK-SAME:  nv_tileas.pass_status = {"tileas-unspecialized-pipeline" = 4 : i32}
// CHECK:           scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:        memref.load %m[%c0] {stage = 0 : i32, iter_offset = 0 : i32}
// CHECK-NEXT:        memref.store {{.*}} {stage = 2 : i32, iter_offset = -2 : i32}
// CHECK:           scf.for %i{{.*}} = %c0 to %c6 step %c1
