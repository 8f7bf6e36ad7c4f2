// The sum of tiles, and their largest elements.
#smem = #nv_tileas.layout<smem>
!s = tensor<16x16xf32, #smem>
!t = tensor<16x16xf32>
func.func @f(%x: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %r, %m = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %most = %zero) -> (!t, !t) {
    %xt = nv_tileaa.tiled_load %x[%c0, %k] : (memref<?x?xf32>, index, index) -> !s
    %xv = nv_tileas.convert_layout %xt : (!s) -> !t
    %sum = arith.addf %acc, %xv : !t
    %larger = arith.maximumf %most, %xv : !t
    scf.yield %sum, %larger : !t, !t
  }
  %e = arith.addf %r, %m : !t
  nv_tileaa.tiled_store %c[%c0, %c0], %e : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
