// Gradients are kept in f8E5M2, which has more range: C = A * B of two of them, in bf16.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xf8E5M2, #smem>
!b = tensor<32x32xf8E5M2, #smem>
!c = tensor<64x32xf32>
!h = tensor<64x32xbf16>
func.func @f(%a: memref<?x?xf8E5M2>, %b: memref<?x?xf8E5M2>, %c: memref<?x?xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf8E5M2>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf8E5M2>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %rounded = arith.truncf %sum : !c to !h
  nv_tileaa.tiled_store %c[%c0, %c0], %rounded : (memref<?x?xbf16>, !h, index, index) -> ()
  func.return
}
