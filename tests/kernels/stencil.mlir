// Three neighbouring tiles, weighted and summed.
#smem = #nv_tileas.layout<smem>
!s = tensor<8x16xf32, #smem>
!t = tensor<8x16xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant dense<2.0> : !t
  scf.for %k = %c0 to %n step %c1 {
    %xt = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %yt = nv_tileaa.tiled_load %y[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %zt = nv_tileaa.tiled_load %z[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %xv = nv_tileas.convert_layout %xt : (!s) -> !t
    %yv = nv_tileas.convert_layout %yt : (!s) -> !t
    %zv = nv_tileas.convert_layout %zt : (!s) -> !t
    %w = arith.mulf %yv, %two : !t
    %u = arith.addf %xv, %w : !t
    %o = arith.addf %u, %zv : !t
    nv_tileaa.tiled_store %c[%k, %c0], %o : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
