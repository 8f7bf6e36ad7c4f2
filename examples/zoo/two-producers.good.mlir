// The good twin of two-producers.bad.mlir: each producer has a queue of its own.

func.func @k(%v: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 1>
  %other = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 1>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
    nv_tileaa.queue.put %q, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
  }, {
    nv_tileaa.queue.put %other, %v : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
  }, {
    %a = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
    %b = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
    %c = nv_tileaa.queue.get %other : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
  } : () -> ()
  func.return
}
