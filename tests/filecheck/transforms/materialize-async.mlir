// RUN: xdsl-opt %s -p tileas-materialize-async,verify-dominance --split-input-file | filecheck %s

// A loop over two queues: all producers, one commit, and a wait; then the consumers; then the computation, one release, and a wait.
// (The description of TileAS shows an abbreviated output, without inner waits, reads and wrappers; its ops come in this order, too.)
#smem = #nv_tileas.layout<smem>
!a = tensor<128x64xf16, #smem>
!b = tensor<64x128xf16, #smem>
func.func @sample(%qa: !nv_tileaa.queue<[!a], depth = 3>, %qb: !nv_tileaa.queue<[!b], depth = 3>, %init: tensor<128x128xf32>, %n: index) -> tensor<128x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<128x128xf32>) {
    %a = nv_tileaa.queue.get %qa[%i] : (!nv_tileaa.queue<[!a], depth = 3>, index) -> !a
    %b = nv_tileaa.queue.get %qb[%i] : (!nv_tileaa.queue<[!b], depth = 3>, index) -> !b
    %c = nv_tileas.dot %a, %b, %acc : (!a, !b, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %c : tensor<128x128xf32>
  }
  func.return %out : tensor<128x128xf32>
}
// CHECK-LABEL: func.func @sample
// The token that the loop carries starts as one that is complete.
// CHECK:         %none = nv_tileas.create_none : () -> !nv_tileas.token
// CHECK-NEXT:    %out, %final = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %last = %none) -> (tensor<128x128xf32>, !nv_tileas.token) {
// The producers of %a and %b. The queue access becomes the body, so that no read is lost; `producer_kind` names its instruction family.
// CHECK-NEXT:      %a_owner, %a_filled = nv_tileas.async.pipeline.produce_one_async %i attributes {producer_types = [tensor<128x64xf16, #nv_tileas.layout<smem>>], producer_kind = "tma", pipeline_stage = 0 : i32} {
// CHECK-NEXT:      ^bb0(%a_slot: tensor<128x64xf16, #nv_tileas.layout<smem>>):
// CHECK-NEXT:        %a = nv_tileaa.queue.get %qa[%i]
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %a
// CHECK-NEXT:      } : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:      %b_owner, %b_filled = nv_tileas.async.pipeline.produce_one_async %i attributes {producer_types = [tensor<64x128xf16, #nv_tileas.layout<smem>>], producer_kind = "tma", pipeline_stage = 0 : i32} {
// CHECK-NEXT:      ^bb0(%b_slot: tensor<64x128xf16, #nv_tileas.layout<smem>>):
// CHECK-NEXT:        %b = nv_tileaa.queue.get %qb[%i]
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %b
// CHECK-NEXT:      } : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// One commit for both. It gives a token, which token_to_async reads; the wait stands before the first consumer.
// CHECK-NEXT:      %committed = nv_tileas.async.pipeline.producer_commit %a_filled, %b_filled : (!nv_tileas.token, !nv_tileas.token) -> !nv_tileas.token
// CHECK-NEXT:      %full = nv_tileas.async.token_to_async %committed
// CHECK-NEXT:      nv_tileas.async.wait %full attributes {pipeline_stage = 1 : i32}
// The consumer of %a: the read is an op of its own, and so is the one that returns the completion; two wrappers for each value read.
// CHECK-NEXT:      %a_held = nv_tileas.async.pipeline.consume_one %a_filled attributes {consumer_types = [tensor<128x64xf16, #nv_tileas.layout<smem>>], pipeline_stage = 1 : i32} : (!nv_tileas.token) -> !nv_tileas.token
// CHECK-NEXT:      %a_1 = nv_tileas.async.pipeline.consumer_read %a_held
// CHECK-NEXT:      %a_read = nv_tileas.async.pipeline.consume_one_async %a_held attributes {consumer_types = [tensor<128x64xf16, #nv_tileas.layout<smem>>], pipeline_stage = 1 : i32}
// CHECK-NEXT:      %a_2 = nv_tileas.async.to_async %a_1 attributes {kind = "storage"}
// CHECK-NEXT:      %a_token = nv_tileas.async.to_async %a_1 attributes {kind = "token"}
// The consumer of %b.
// CHECK-NEXT:      %b_held = nv_tileas.async.pipeline.consume_one %b_filled attributes {consumer_types = [tensor<64x128xf16, #nv_tileas.layout<smem>>], pipeline_stage = 1 : i32} : (!nv_tileas.token) -> !nv_tileas.token
// CHECK-NEXT:      %b_1 = nv_tileas.async.pipeline.consumer_read %b_held
// CHECK-NEXT:      %b_read = nv_tileas.async.pipeline.consume_one_async %b_held attributes {consumer_types = [tensor<64x128xf16, #nv_tileas.layout<smem>>], pipeline_stage = 1 : i32}
// CHECK-NEXT:      %b_2 = nv_tileas.async.to_async %b_1 attributes {kind = "storage"}
// CHECK-NEXT:      %b_token = nv_tileas.async.to_async %b_1 attributes {kind = "token"}
// The computation, and one release of both stages. The consumer's sequence ends with a wait.
// CHECK-NEXT:      %c = nv_tileas.dot %a_2, %b_2, %acc
// CHECK-NEXT:      %released = nv_tileas.async.pipeline.consumer_release %a_read, %b_read : (!nv_tileas.token, !nv_tileas.token) -> !nv_tileas.token
// CHECK-NEXT:      nv_tileas.async.wait %released
// The loop yields the newest token of the iteration, so that a wait behind the loop covers all of it.
// CHECK-NEXT:      scf.yield %c, %released
// CHECK-NEXT:    } {token_iter_idx = 1 : i32}
// CHECK-NEXT:    nv_tileas.async.future_wait %final
// CHECK-NEXT:    nv_tileas.async.wait %final
// CHECK-NEXT:    func.return %out

// -----

// The families: a tile of an array into shared memory is TMA, any other load there an asynchronous copy, one into registers synchronous.
// Index arithmetic that a later load needs goes in front of the first one. Attributes of the loop stay.
#smem = #nv_tileas.layout<smem>
!tile = tensor<8x8xf16>
!shared = tensor<8x8xf16, #smem>
func.func @families(%m: memref<?x?xf16>, %rows: index, %lb: index, %ub: index, %step: index, %init: !tile) -> !tile {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %lb to %ub step %step iter_args(%acc = %init) -> (!tile) {
    %a = nv_tileaa.tiled_load %m[%i, %c1] : (memref<?x?xf16>, index, index) -> !shared
    %squared = arith.mulf %acc, %acc : !tile
    %row = arith.muli %i, %rows : index
    %behind = arith.addi %row, %c1 : index
    %b = nv_tileaa.load %m[%behind, %i] : (memref<?x?xf16>, index, index) -> !shared
    %c = nv_tileaa.tiled_load %m[%i, %row] : (memref<?x?xf16>, index, index) -> !tile
    %ab = nv_tileaa.addf %a, %b : (!shared, !shared) -> !shared
    %next = arith.addf %squared, %c : !tile
    scf.yield %next : !tile
  } {my.note = "kept"}
  func.return %r : !tile
}
// CHECK-LABEL: func.func @families
// CHECK:         scf.for
// CHECK-NEXT:      %row = arith.muli %i, %rows : index
// CHECK-NEXT:      %behind = arith.addi %row, %c1 : index
// CHECK-NEXT:      %a_owner, %a_filled = nv_tileas.async.pipeline.produce_one_async %i attributes {{.*}}producer_kind = "tma"
// CHECK:             %a = nv_tileaa.tiled_load %m[%i, %c1]
// CHECK:           %b_owner, %b_filled = nv_tileas.async.pipeline.produce_one_async %i attributes {{.*}}producer_kind = "async_copy"
// CHECK:             %b = nv_tileaa.load %m[%behind, %i]
// CHECK:           %c_owner, %c_filled = nv_tileas.async.pipeline.produce_one_async %i attributes {{.*}}producer_kind = "sync"
// CHECK:             %c = nv_tileaa.tiled_load %m[%i, %row]
// CHECK:           nv_tileas.async.pipeline.producer_commit %a_filled, %b_filled, %c_filled
// CHECK:           %c_token =
// CHECK-NEXT:      %squared = arith.mulf %acc, %acc
// CHECK-NEXT:      %ab = nv_tileaa.addf %a_2, %b_2
// CHECK-NEXT:      %next = arith.addf %squared, %c_2
// CHECK-NEXT:      %released = nv_tileas.async.pipeline.consumer_release %a_read, %b_read, %c_read
// CHECK:         } {my.note = "kept", token_iter_idx = 1 : i32}

// -----

// Loads that stay: the loop writes what the first one reads, the second one's tile is carried to the next iteration as a view.
#smem = #nv_tileas.layout<smem>
!tile = tensor<8x8xf32>
!shared = tensor<8x8xf32, #smem>
func.func @stay(%m: memref<?x?xf32>, %other: memref<?x?xf32>, %n: index, %first: !shared) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %first) -> (!shared) {
    %changes = nv_tileaa.tiled_load %other[%i, %c0] : (memref<?x?xf32>, index, index) -> !tile
    %escapes = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf32>, index, index) -> !shared
    %staged = nv_tileaa.tiled_load %m[%i, %c1] : (memref<?x?xf32>, index, index) -> !tile
    %sum = arith.addf %changes, %staged : !tile
    %whole = nv_tileaa.addf %escapes, %old : (!shared, !shared) -> !shared
    nv_tileaa.tiled_store %other[%i, %c1], %sum : (memref<?x?xf32>, !tile, index, index) -> ()
    scf.yield %escapes : !shared
  }
  func.return
}
// CHECK-LABEL: func.func @stay
// CHECK:         scf.for
// CHECK-NEXT:      %changes = nv_tileaa.tiled_load %other
// CHECK-NEXT:      %escapes = nv_tileaa.tiled_load %m[%i, %c0]
// CHECK-NEXT:      %staged_owner, %staged_filled = nv_tileas.async.pipeline.produce_one_async
// CHECK:           %sum = arith.addf %changes, %staged_2
// CHECK-NEXT:      %released = nv_tileas.async.pipeline.consumer_release %staged_read
// CHECK-NEXT:      nv_tileas.async.wait %released
// CHECK-NEXT:      %whole = nv_tileaa.addf %escapes, %old
// CHECK-NEXT:      nv_tileaa.tiled_store %other[%i, %c1], %sum
// CHECK-NEXT:      scf.yield %escapes, %released

// -----

// A loop without a chain (a copy is none) is flagged, and its function has bit 2; a loop around one that has a chain is not.
func.func @flagged(%m: memref<?x?xf32>, %other: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %copied = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x8xf32>
    nv_tileaa.tiled_store %other[%i, %c1], %copied : (memref<?x?xf32>, tensor<8x8xf32>, index, index) -> ()
  }
  scf.for %o = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %t = nv_tileaa.tiled_load %m[%i, %o] : (memref<?x?xf32>, index, index) -> tensor<8x8xf32>
      %d = arith.addf %t, %t : tensor<8x8xf32>
    }
  }
  func.return
}
// CHECK-LABEL: func.func @flagged
// CHECK-SAME:    attributes {nv_tileas.pass_status = {"tileas-materialize-async" = 4 : i32}} {
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %copied = nv_tileaa.tiled_load
// CHECK-NEXT:      nv_tileaa.tiled_store
// CHECK-NEXT:    } {nv_tileas.not_pipelinable}
// CHECK-NEXT:    scf.for %o = %c0 to %n step %c1 {
// CHECK:           } {token_iter_idx = 0 : i32}
// CHECK-NEXT:      nv_tileas.async.future_wait %final
// CHECK-NEXT:      nv_tileas.async.wait %final
// CHECK-NEXT:    }{{$}}

// -----

// Region forms. The load goes into the region of its producer; the commit goes behind the producer, the release behind the last use of
// what was read, each once; what the consumer did besides waiting goes behind it.
#smem = #nv_tileas.layout<smem>
!t = tensor<8x8xf16, #smem>
!p = !nv_tileas.producer_token
!c = !nv_tileas.consumer_token
func.func @regions(%m: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!p, !c)
  scf.for %i = %c0 to %n step %c1 {
    %t = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf16>, index, index) -> !t
    %p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {my.note = "kept"} {
      %own = nv_tileas.async.pipeline.producer_acquire %p, %i : (!p, index) -> !p
      %full = nv_tileas.async.pipeline.producer_write %own, %i attributes {producer_types = [!t]} {
      ^bb0(%slot: !t):
        nv_tileas.async.pipeline.yield %t : (!t) -> ()
      } : (!p, index) -> !p
      nv_tileas.async.pipeline.producer_commit %full : (!p) -> ()
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!p, index) -> !p
    %v, %d = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_idx = 0 : i32} {
      %got = nv_tileas.async.pipeline.consumer_wait %c, %i attributes {consumer_idx = 0 : i32} : (!c, index) -> !c
      %tile = nv_tileas.async.pipeline.consumer_read %got, %i attributes {consumer_idx = 0 : i32} : (!c, index) -> !t
      nv_tileas.async.pipeline.yield %tile : (!t) -> ()
    } : (!c, index) -> (!t, !c)
    %s = nv_tileaa.addf %v, %v : (!t, !t) -> !t
    nv_tileas.async.pipeline.consumer_release %d : (!c) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func @regions
// CHECK:         %final = scf.for %i = %c0 to %n step %c1 iter_args(%last = %none) -> (!nv_tileas.token) {
// CHECK-NEXT:      %p1, %filled = nv_tileas.async.pipeline.produce_one_async %p, %i attributes {my.note = "kept", producer_kind = "tma", pipeline_stage = 0 : i32} {
// CHECK-NEXT:        %own = nv_tileas.async.pipeline.producer_acquire %p, %i
// CHECK-NEXT:        %full = nv_tileas.async.pipeline.producer_write %own, %i
// CHECK-NEXT:        ^bb0(%slot: tensor<8x8xf16, #nv_tileas.layout<smem>>):
// CHECK-NEXT:          %t = nv_tileaa.tiled_load %m[%i, %c0]
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %t
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.yield : () -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:      %committed = nv_tileas.async.pipeline.producer_commit %filled
// CHECK-NEXT:      %full_1 = nv_tileas.async.token_to_async %committed
// CHECK-NEXT:      nv_tileas.async.wait %full_1 attributes {pipeline_stage = 1 : i32}
// CHECK-NEXT:      %v_held = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_idx = 0 : i32, pipeline_stage = 1 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %c, %i
// CHECK-NEXT:        nv_tileas.async.pipeline.yield : () -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:      %tile = nv_tileas.async.pipeline.consumer_read %v_held, %i
// CHECK-NEXT:      %d, %v_read = nv_tileas.async.pipeline.consume_one_async %v_held attributes {consumer_idx = 0 : i32, pipeline_stage = 1 : i32}
// CHECK-NEXT:      %v = nv_tileas.async.to_async %tile attributes {kind = "storage"}
// CHECK-NEXT:      %tile_token = nv_tileas.async.to_async %tile attributes {kind = "token"}
// CHECK-NEXT:      %s = nv_tileaa.addf %v, %v
// CHECK-NEXT:      %released = nv_tileas.async.pipeline.consumer_release %v_read
// CHECK-NEXT:      nv_tileas.async.wait %released
// CHECK-NEXT:      scf.yield %released
// CHECK-NEXT:    } {token_iter_idx = 0 : i32}

// -----

// A loop that only fills: nothing is awaited inside, or every copy would be awaited before the next is issued; the tail waits.
!p = !nv_tileas.producer_token
func.func @fills(%p: !p, %x: tensor<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [tensor<4xf32>]} {
    ^bb0(%slot: tensor<4xf32>):
      nv_tileas.async.pipeline.yield %x : (tensor<4xf32>) -> ()
    } : (!p, index) -> !p
  }
  func.return
}
// CHECK-LABEL: func.func @fills
// CHECK:           } : (!nv_tileas.producer_token, index) -> (!nv_tileas.producer_token, !nv_tileas.token)
// CHECK-NEXT:      %committed = nv_tileas.async.pipeline.producer_commit %filled
// CHECK-NEXT:      %full = nv_tileas.async.token_to_async %committed
// CHECK-NEXT:      scf.yield %full
// CHECK-NEXT:    } {token_iter_idx = 0 : i32}
// CHECK-NEXT:    nv_tileas.async.future_wait %final
// CHECK-NEXT:    nv_tileas.async.wait %final

// -----

// Queues that are left over become pipelines first; the iterators come before the token.
func.func @left_over(%n: index, %x: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<4xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<4xf32>], depth = 2>, tensor<4xf32>) -> ()
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<4xf32>], depth = 2>) -> tensor<4xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @left_over
// CHECK-NOT:     nv_tileaa.
// CHECK:         iter_args(%q_pi_2 = %q_pi, %q_ci_2 = %q_ci, %last = %none)
// CHECK:           nv_tileas.async.pipeline.produce_one_async %q_p, %q_pi_2
// CHECK:           nv_tileas.async.pipeline.consume_one %q_c, %q_ci_2
// CHECK:           nv_tileas.async.pipeline.inc_iter %q_ci_2
// CHECK:         } {token_iter_idx = 2 : i32}

// -----

// A loop with a token is done, and so is one that has been flagged.
func.func @done(%m: memref<?x?xf32>, %n: index, %t0: !nv_tileas.token) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t1 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0) -> (!nv_tileas.token) {
    %x = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x8xf32>
    %y = arith.addf %x, %x : tensor<8x8xf32>
    scf.yield %t : !nv_tileas.token
  } {token_iter_idx = 0 : i32}
  scf.for %i = %c0 to %n step %c1 {
    %x = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x8xf32>
    %y = arith.addf %x, %x : tensor<8x8xf32>
  } {nv_tileas.not_pipelinable}
  func.return
}
// CHECK-LABEL: func.func @done
// CHECK-SAME:    attributes {nv_tileas.pass_status = {"tileas-materialize-async" = 4 : i32}} {
// CHECK:         scf.for
// CHECK-NEXT:      %x = nv_tileaa.tiled_load
// CHECK-NEXT:      %y = arith.addf
// CHECK-NEXT:      scf.yield %t
// CHECK-NEXT:    } {token_iter_idx = 0 : i32}
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %x_1 = nv_tileaa.tiled_load
// CHECK-NEXT:      %y_1 = arith.addf
// CHECK-NEXT:    } {nv_tileas.not_pipelinable}

// -----

// AsyncWaitOpRemoval: the second wait goes, across a future_wait, which does not count as a use. A release in between takes the token;
// a wait in another block, and one in front of which there is none, stay.
func.func @waits(%t: !nv_tileas.token, %u: !nv_tileas.token, %b: i1) {
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  nv_tileas.async.future_wait %t : (!nv_tileas.token) -> ()
  nv_tileas.async.wait %u : (!nv_tileas.token) -> ()
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  nv_tileas.async.pipeline.consumer_release %t : (!nv_tileas.token) -> ()
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  scf.if %b {
    nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  }
  nv_tileas.async.future_wait %u : (!nv_tileas.token) -> ()
  func.return
}
// CHECK-LABEL: func.func @waits
// CHECK-NEXT:    nv_tileas.async.wait %t
// CHECK-NEXT:    nv_tileas.async.future_wait %t
// CHECK-NEXT:    nv_tileas.async.wait %u
// CHECK-NEXT:    nv_tileas.async.pipeline.consumer_release %t
// CHECK-NEXT:    nv_tileas.async.wait %t
// CHECK-NEXT:    scf.if %b {
// CHECK-NEXT:      nv_tileas.async.wait %t
// CHECK-NEXT:    }
// CHECK-NEXT:    nv_tileas.async.future_wait %u

// -----

// ExtractSliceOpToAsync: the source is a result beside an async token, or a storage wrapper that has a token wrapper; a slice of
// such a slice has a token as well. Anything else stays, and nothing dead is removed.
func.func @slices(%c: !nv_tileas.consumer_token, %x: tensor<8xf32>, %i: index) {
  %v, %own, %done = nv_tileas.async.pipeline.consume_one_async %c, %i : (!nv_tileas.consumer_token, index) -> (tensor<8xf32>, !nv_tileas.consumer_token, !nv_tileas.token)
  %a = nv_tileas.extract_slice %v[%i] attributes {my.note = "kept"} : (tensor<8xf32>, index) -> tensor<4xf32>
  %b = nv_tileas.extract_slice %a attributes {static_offsets = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  %storage = nv_tileas.async.to_async %x attributes {kind = "storage"} : (tensor<8xf32>) -> tensor<8xf32>
  %token = nv_tileas.async.to_async %x attributes {kind = "token"} : (tensor<8xf32>) -> !nv_tileas.token
  %s = nv_tileas.extract_slice %storage[%i] : (tensor<8xf32>, index) -> tensor<4xf32>
  %plain = nv_tileas.extract_slice %x[%i] : (tensor<8xf32>, index) -> tensor<4xf32>
  func.return
}
// CHECK-LABEL: func.func @slices
// CHECK:         %a, %a_token = nv_tileas.async.extract_slice %v[%i], %done attributes {my.note = "kept"} : (tensor<8xf32>, !nv_tileas.token, index) -> (tensor<4xf32>, !nv_tileas.token)
// CHECK-NEXT:    %b, %b_token = nv_tileas.async.extract_slice %a, %a_token attributes {static_offsets = array<i64: 1>}
// CHECK:         %s, %s_token = nv_tileas.async.extract_slice %storage[%i], %token
// CHECK-NEXT:    %plain = nv_tileas.extract_slice %x[%i]
