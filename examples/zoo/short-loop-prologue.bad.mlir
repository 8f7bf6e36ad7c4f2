// A prologue that brings more tiles than the loop has iterations
//
// kind: undrained
// level: nv_tileaa queues
// between: nv_tileaa.queue.put
// mirrors: triton-lang/triton#2716
// happened: Where a loop's bounds are not known, the pipeliner guards each copy of an op in the prologue with a
//   predicate of its iteration. Triton's took the predicate of another stage, so with fewer iterations than stages
//   some ops of the prologue ran that should not have.
// wrong: The second tile of the prologue is guarded by "there is an iteration 0". With one iteration two tiles are
//   brought, and one is used.
// says: produced and never consumed
// fix: Guard each tile with the predicate of its own iteration.

!queue = !nv_tileaa.queue<[tensor<8xf32>], depth = 3>

func.func @short_loop(%src: memref<?x8xf32>, %dst: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q = nv_tileaa.create_queue : () -> !queue
  %has_first = arith.cmpi ult, %c0, %n : index
  scf.if %has_first {
    %tile = nv_tileaa.tiled_load %src[%c0, %c0] : (memref<?x8xf32>, index, index) -> tensor<8xf32>
    nv_tileaa.queue.put %q, %tile : (!queue, tensor<8xf32>) -> ()
  }
  %has_second = arith.cmpi ult, %c0, %n : index
  scf.if %has_second {
    %tile = nv_tileaa.tiled_load %src[%c1, %c0] : (memref<?x8xf32>, index, index) -> tensor<8xf32>
    nv_tileaa.queue.put %q, %tile : (!queue, tensor<8xf32>) -> ()
  }
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<8xf32>) {
    %ahead = arith.addi %i, %c2 : index
    %more = arith.cmpi ult, %ahead, %n : index
    scf.if %more {
      %tile = nv_tileaa.tiled_load %src[%ahead, %c0] : (memref<?x8xf32>, index, index) -> tensor<8xf32>
      nv_tileaa.queue.put %q, %tile : (!queue, tensor<8xf32>) -> ()
    }
    %x = nv_tileaa.queue.get %q : (!queue) -> tensor<8xf32>
    %next = arith.addf %acc, %x : tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  }
  nv_tileaa.tiled_store %dst[%c0], %sum : (memref<8xf32>, tensor<8xf32>, index) -> ()
  func.return
}
