// C = (X + Y) * X, a chain of element-wise ops, stored in each iteration.
#smem = #nv_tileas.layout<smem>
!s = tensor<16x16xf32, #smem>
!t = tensor<16x16xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %xt = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %yt = nv_tileaa.tiled_load %y[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %xv = nv_tileas.convert_layout %xt : (!s) -> !t
    %yv = nv_tileas.convert_layout %yt : (!s) -> !t
    %u = arith.addf %xv, %yv : !t
    %w = arith.mulf %u, %xv : !t
    nv_tileaa.tiled_store %c[%k, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
