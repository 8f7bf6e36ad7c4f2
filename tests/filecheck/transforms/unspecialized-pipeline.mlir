// RUN: xdsl-opt %s -p 'tileas-unspecialized-pipeline{num-stages=3},verify-dominance' --split-input-file 2>&1 | filecheck %s
// RUN: xdsl-opt %s -p 'tileas-unspecialized-pipeline{num-stages=3},tileas-unspecialized-pipeline{num-stages=3}' --split-input-file 2>&1 | filecheck %s

// A stage-tagged loop with eight iterations: two producer copies, a kernel of six trips that consumes before it produces, two
// drains. Tokens rotate: two stages are crossed, so two tokens are carried, and each consumer gets the token of its own iteration. The copies
// lose `iter_offset`; their common `pipeline_id` says that they are still one pipeline.
func.func @staged() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 2 : i32, iter_offset = -2 : i32} : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
  }
  func.return
}
// CHECK-LABEL: @staged
// Prologue:
// CHECK:           %ap, %ta = nv_tileas.async.pipeline.produce_one_async %c0 attributes {stage = 0 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:      %ap_1, %ta_1 = nv_tileas.async.pipeline.produce_one_async %c1 attributes {stage = 0 : i32, pipeline_id = 0 : i32}
// Kernel:
// CHECK-NEXT:      %ta_2, %ta_3 = scf.for %i = %c0 to %c6 step %c1 iter_args(%ta_4 = %ta, %ta_5 = %ta_1)
// CHECK-NEXT:        nv_tileas.async.pipeline.consume_one %ta_4 attributes {stage = 2 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:        %i_1 = arith.addi %i, %c2 : index
// CHECK-NEXT:        %ap_2, %ta_6 = nv_tileas.async.pipeline.produce_one_async %i_1 attributes {stage = 0 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:        scf.yield %ta_5, %ta_6
// CHECK-NEXT:      }
// Epilogue:
// CHECK-NEXT:      nv_tileas.async.pipeline.consume_one %ta_2 attributes {stage = 2 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:      nv_tileas.async.pipeline.consume_one %ta_3 attributes {stage = 2 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:      func.return

// -----

// `pipeline_stage` serves where no op has a `stage`: 0 is what loads, and is spread over as many stages as `num-stages` says. So there
// are two producer-only pieces, a kernel of six trips that issues the next load before it consumes, and two consumer-only pieces. The
// copies get a `stage`, so that they count as expanded.
func.func @spread_by_num_stages() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {pipeline_stage = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {pipeline_stage = 1 : i32} : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
  }
  func.return
}
// CHECK-LABEL: @spread_by_num_stages
// Prologue:
// CHECK:           produce_one_async %c0 attributes {pipeline_stage = 0 : i32, stage = 0 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:      produce_one_async %c1 attributes {pipeline_stage = 0 : i32, stage = 0 : i32, pipeline_id = 0 : i32}
// Kernel:
// CHECK-NEXT:      %ta_2, %ta_3 = scf.for %i = %c0 to %c6 step %c1 iter_args(%ta_4 = %ta, %ta_5 = %ta_1)
// CHECK-NEXT:        %i_1 = arith.addi %i, %c2 : index
// CHECK-NEXT:        %ap_2, %ta_6 = nv_tileas.async.pipeline.produce_one_async %i_1 attributes
// CHECK-NEXT:        consume_one %ta_4 attributes {pipeline_stage = 1 : i32, stage = 2 : i32, pipeline_id = 0 : i32}
// CHECK-NEXT:        scf.yield %ta_5, %ta_6
// CHECK-NEXT:      }
// Epilogue:
// CHECK-NEXT:      consume_one %ta_2
// CHECK-NEXT:      consume_one %ta_3
// CHECK-NEXT:      func.return

// -----

// `token_iter_idx` says where the kernel carries the token: the consumer reads that of the iteration before, two slots later, so the
// kernel carries two, and the younger one is third among its arguments.
func.func @token_index(%first: f32, %none: !nv_tileas.token) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %sum, %last = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %first, %t = %none) -> (f32, !nv_tileas.token) {
    %p, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {producer_types = [f32], stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    nv_tileas.async.wait %t attributes {stage = 1 : i32, iter_offset = -1 : i32} : (!nv_tileas.token) -> ()
    %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 1 : i32, iter_offset = -1 : i32} : (!nv_tileas.token) -> (f32, !nv_tileas.token)
    %next = arith.addf %acc, %a {stage = 1 : i32, iter_offset = -1 : i32} : f32
    scf.yield %next, %ta : f32, !nv_tileas.token
  } {token_iter_idx = 1 : i32}
  func.return %sum : f32
}
// CHECK-LABEL: @token_index
// Prologue:
// CHECK:           %p, %ta = nv_tileas.async.pipeline.produce_one_async %c0
// Kernel:
// CHECK-NEXT:      scf.for %i = %c0 to %c7 step %c1 iter_args(%next_1 = %first, %ta_3 = %none, %ta_4 = %ta)
// CHECK-NEXT:        nv_tileas.async.wait %ta_3
// CHECK-NEXT:        consume_one %ta_4
// CHECK:           } {token_iter_idx = 2 : i32}

// -----

// A token that nothing in the loop reads is not carried by the kernel: the wait behind the loop gets the one of the last drain, and
// `token_iter_idx` goes.
func.func @token_not_carried(%none: !nv_tileas.token) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %none) -> (!nv_tileas.token) {
    %p, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 1 : i32, iter_offset = -1 : i32} : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
    %released = nv_tileas.async.pipeline.consumer_release %tac : (!nv_tileas.token) -> !nv_tileas.token
    scf.yield %released : !nv_tileas.token
  } {token_iter_idx = 0 : i32}
  nv_tileas.async.wait %last : (!nv_tileas.token) -> ()
  func.return
}
// CHECK-LABEL: @token_not_carried
// CHECK:           scf.for
// CHECK-NOT:       token_iter_idx
// CHECK:           %released_1 = nv_tileas.async.pipeline.consumer_release
// CHECK-NEXT:      nv_tileas.async.wait %released_1 :
// CHECK-NEXT:      func.return

// -----

// A nest, with a known trip count inside. The inner loop is expanded first; its pieces, which keep the stages that they have in it,
// go with the outer loop's stage of the loop that they were.
func.func @nest(%m: memref<8x8xf32>, %o: memref<8x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %j = %c0 to %n step %c1 {
    %row = memref.load %m[%j, %c0] {stage = 0 : i32, iter_offset = 0 : i32} : memref<8x8xf32>
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %m[%j, %i] {stage = 0 : i32, iter_offset = 0 : i32} : memref<8x8xf32>
      %y = arith.mulf %x, %row {stage = 1 : i32, iter_offset = -1 : i32} : f32
      memref.store %y, %o[%j, %i] {stage = 1 : i32, iter_offset = -1 : i32} : memref<8x8xf32>
    } {stage = 1 : i32, iter_offset = -1 : i32}
  }
  func.return
}
// CHECK-LABEL: @nest
// Prologue: the outer row only.
// CHECK:           scf.if
// CHECK-NEXT:        memref.load %m[%c0, %c0] {stage = 0 : i32}
// CHECK-NEXT:        scf.yield
// Kernel: the inner prologue, kernel and epilogue, one iteration behind the row.
// CHECK:           scf.for %j
// CHECK:             memref.load %m[%j, %c0] {stage = 0 : i32}
// CHECK-NEXT:        scf.for %i = %c0 to %c3 step %c1
// CHECK:               arith.mulf {{.*}} {stage = 1 : i32}
// CHECK:               memref.load
// CHECK:             } {stage = 1 : i32}
// CHECK:             arith.mulf {{.*}} {stage = 1 : i32}
// CHECK:             memref.load %m[%j_1, %c0] {stage = 0 : i32}
// CHECK-NEXT:        scf.yield
// Epilogue: the inner loop of the last row.
// CHECK:           scf.if
// CHECK:             scf.for %i

// -----

// A bound that is not known: each piece runs only if its iteration exists.
func.func @dynamic(%lb: index, %ub: index, %step: index, %m: memref<64xf32>) {
  scf.for %i = %lb to %ub step %step {
    %x = memref.load %m[%i] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
    "test.pureop"(%x) {stage = 1 : i32, iter_offset = -1 : i32} : (f32) -> ()
  }
  func.return
}
// CHECK-LABEL: @dynamic
// Prologue:
// CHECK:           scf.if
// CHECK-NEXT:        memref.load
// Kernel:
// CHECK:           scf.for
// CHECK-NEXT:        "test.pureop"
// CHECK:             memref.load
// Epilogue:
// CHECK:           scf.if
// CHECK-NEXT:        "test.pureop"

// -----

// `order` decides where it is given: here the producer comes first in the kernel.
func.func @ordered() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 1 : i32, iter_offset = -1 : i32, order = 1 : i32} : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
  }
  func.return
}
// CHECK-LABEL: @ordered
// CHECK:           scf.for
// CHECK:             produce_one_async
// CHECK-NEXT:        consume_one
// CHECK-NEXT:        scf.yield

// -----

// Left alone in silence: no tags; a carrier without iter_offset (an expanded body); a stage beyond num-stages; a value used in an
// earlier stage than that of its definition; one stage only.
func.func @silent(%m: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] : memref<64xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] {stage = 0 : i32} : memref<64xf32>
    "test.pureop"(%x) {stage = 1 : i32} : (f32) -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
    "test.pureop"(%x) {stage = 3 : i32, iter_offset = -3 : i32} : (f32) -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] {stage = 1 : i32, iter_offset = -1 : i32} : memref<64xf32>
    "test.pureop"(%x) {stage = 0 : i32, iter_offset = 0 : i32} : (f32) -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] {stage = 0 : i32, iter_offset = 0 : i32} : memref<64xf32>
  }
  func.return
}
// CHECK-NOT:   remark
// CHECK-LABEL: func.func @silent(%m: memref<64xf32>) {
// CHECK:         scf.for %i{{.*}} = %c0 to %n step %c1 {
// CHECK-NEXT:      %x{{.*}} = memref.load %m[%i{{.*}}] : memref<64xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i{{.*}} = %c0 to %n step %c1 {
// CHECK-NEXT:      %x{{.*}} = memref.load %m[%i{{.*}}] {stage = 0 : i32}
// CHECK-NEXT:      "test.pureop"(%x{{.*}}) {stage = 1 : i32}
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i{{.*}} = %c0 to %n step %c1 {
// CHECK-NEXT:      %x{{.*}} = memref.load %m[%i{{.*}}] {stage = 0 : i32, iter_offset = 0 : i32}
// CHECK-NEXT:      "test.pureop"(%x{{.*}}) {stage = 3 : i32, iter_offset = -3 : i32}
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i{{.*}} = %c0 to %n step %c1 {
// CHECK-NEXT:      %x{{.*}} = memref.load %m[%i{{.*}}] {stage = 1 : i32, iter_offset = -1 : i32}
// CHECK-NEXT:      "test.pureop"(%x{{.*}}) {stage = 0 : i32, iter_offset = 0 : i32}
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i{{.*}} = %c0 to %n step %c1 {
// CHECK-NEXT:      %x{{.*}} = memref.load %m[%i{{.*}}] {stage = 0 : i32, iter_offset = 0 : i32}
// CHECK-NEXT:    }

// -----

// A function with agents is skipped whole: its pipelining belongs to the agents.
func.func @agents() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1>} {
    scf.for %i = %c0 to %n step %c1 {
      %ap, %ta = nv_tileas.async.pipeline.produce_one_async %i attributes {stage = 0 : i32, iter_offset = 0 : i32} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
      %a, %tac = nv_tileas.async.pipeline.consume_one %ta attributes {stage = 2 : i32, iter_offset = -2 : i32} : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
    }
  } : () -> ()
  func.return
}
// CHECK-LABEL: @agents
// CHECK:           iter_offset = 0 : i32
// CHECK:           iter_offset = -2 : i32
