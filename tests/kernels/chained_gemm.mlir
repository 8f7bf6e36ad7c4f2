// C = (A * B) * V, block by block of the middle axis: the first product is a factor of the second.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x16xf16, #smem>
!v = tensor<16x64xf16, #smem>
!s = tensor<64x16xf32>
!p = tensor<64x16xf16>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %v: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0.0> : !s
  %zero = arith.constant dense<0.0> : !c
  %q = nv_tileaa.tiled_load %a[%c0, %c0] : (memref<?x?xf16>, index, index) -> !a
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %bt = nv_tileaa.tiled_load %b[%c0, %k] : (memref<?x?xf16>, index, index) -> !b
    %vt = nv_tileaa.tiled_load %v[%k, %c0] : (memref<?x?xf16>, index, index) -> !v
    %s = nv_tileaa.dot %q, %bt, %none : (!a, !b, !s) -> !s
    %p = arith.truncf %s : !s to !p
    %sum = nv_tileaa.dot %p, %vt, %acc : (!p, !v, !c) -> !c
    scf.yield %sum : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
