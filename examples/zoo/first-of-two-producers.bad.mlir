// The first tile of a queue is taken for one producer's
//
// kind: race
// level: nv_tileaa queues
// between: memref.store, memref.load
// mirrors: general: several producers for one queue
// happened: Two agents each store to memory, then put a tile into one queue. The agent that takes from it reads, after the
//   first tile, what the first producer has stored. A queue hands out stages in the order of the puts.
// wrong: Nothing orders the two puts. Where the second producer comes first, the first tile is its own, and the load waits
//   for the wrong store.
// says: memref.store
// fix: Take both tiles before the memory is read.

func.func @k(%v: tensor<8xf32>, %done: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    memref.store %one, %done[%c0] : memref<2xf32>
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  }, {
    memref.store %one, %done[%c1] : memref<2xf32>
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  }, {
    %a = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    %x = memref.load %done[%c0] : memref<2xf32>
    %b = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  } : () -> ()
  func.return
}
