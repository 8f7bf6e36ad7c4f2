// C = sum of (2 * X) * W, tile by tile in three agents: the first loads, the second doubles what it takes and puts it
// into a queue of its own, the third multiplies.
#smem = #nv_tileas.layout<smem>
!x = tensor<64x16xf16, #smem>
!w = tensor<16x64xf16, #smem>
!t = tensor<64x16xf16>
!c = tensor<64x64xf32>
!x_queue = !nv_tileaa.queue<[!x], depth = 2>
!w_queue = !nv_tileaa.queue<[!w], depth = 3>
!d_queue = !nv_tileaa.queue<[!x], depth = 2>
func.func @f(%x: memref<?x?xf16>, %w: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qx = nv_tileaa.create_queue : () -> !x_queue
  %qw = nv_tileaa.create_queue : () -> !w_queue
  %qd = nv_tileaa.create_queue : () -> !d_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %xt = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf16>, index, index) -> !x
      nv_tileaa.queue.put %qx[%k], %xt : (!x_queue, index, !x) -> ()
      %wt = nv_tileaa.tiled_load %w[%k, %c0] : (memref<?x?xf16>, index, index) -> !w
      nv_tileaa.queue.put %qw[%k], %wt : (!w_queue, index, !w) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %xt = nv_tileaa.queue.get %qx[%k] : (!x_queue, index) -> !x
      %v = nv_tileas.convert_layout %xt : (!x) -> !t
      %two = arith.addf %v, %v : !t
      %d = nv_tileas.convert_layout %two : (!t) -> !x
      nv_tileaa.queue.put %qd[%k], %d : (!d_queue, index, !x) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !c
    %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %dt = nv_tileaa.queue.get %qd[%k] : (!d_queue, index) -> !x
      %wt = nv_tileaa.queue.get %qw[%k] : (!w_queue, index) -> !w
      %sum = nv_tileaa.dot %dt, %wt, %acc : (!x, !w, !c) -> !c
      scf.yield %sum : !c
    }
    nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}
