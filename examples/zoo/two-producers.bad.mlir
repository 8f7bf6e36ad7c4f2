// Two agents fill one queue
//
// kind: race
// level: nv_tileaa queues
// between: nv_tileaa.queue.put, nv_tileaa.queue.put
// mirrors: general: a ring with one producer that gets a second one
// happened: The barriers of a ring count one producer. Each of two waits for the same empty slot, and both fill it. The
//   phases of its barriers then get ahead of the consumer.
// wrong: Two agents put into a queue of one slot.
// says: nv_tileaa.queue.put
// fix: Give each producer a queue of its own.

func.func @k(%v: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 1>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
  }, {
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
  }, {
    %a = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
    %b = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
    %c = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
  } : () -> ()
  func.return
}
