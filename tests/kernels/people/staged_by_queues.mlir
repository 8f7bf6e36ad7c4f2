// Three agents: one loads, one normalises rows, one stores the running sum of what it gets.
#smem = #nv_tileas.layout<smem>
!s = tensor<16x32xf32, #smem>
!t = tensor<16x32xf32>
!row = tensor<16xf32>
!q = !nv_tileaa.queue<[!s], depth = 2>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %loaded = nv_tileaa.create_queue : () -> !q
  %normal = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %loaded[%k], %u : (!q, index, !s) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.queue.get %loaded[%k] : (!q, index) -> !s
      %v = nv_tileas.convert_layout %u : (!s) -> !t
      %top = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        nv_tileaa.yield %r : (f32) -> ()
      } : (!t) -> !row
      %col = nv_tileaa.expand_dims %top : (!row) -> tensor<16x1xf32>
      %wide = nv_tileaa.broadcast %col : (tensor<16x1xf32>) -> !t
      %below = arith.subf %v, %wide : !t
      %w = nv_tileas.convert_layout %below : (!t) -> !s
      nv_tileaa.queue.put %normal[%k], %w : (!q, index, !s) -> ()
    }
  }, {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) {
      %u = nv_tileaa.queue.get %normal[%k] : (!q, index) -> !s
      %v = nv_tileas.convert_layout %u : (!s) -> !t
      %next = arith.addf %acc, %v : !t
      nv_tileaa.tiled_store %y[%k, %c0], %next : (memref<?x?xf32>, !t, index, index) -> ()
      scf.yield %next : !t
    }
  } : () -> ()
  func.return
}
