#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %s = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %s : !c
  }
  nv_tileaa.tiled_store %y[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
