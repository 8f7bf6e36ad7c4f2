// C = alpha * A * B + R in f16, where R lies in memory in f16: a residual connection.
#smem = #nv_tileas.layout<smem>
!a = tensor<128x32xf16, #smem>
!b = tensor<32x64xf16, #smem>
!c = tensor<128x64xf32>
!h = tensor<128x64xf16>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %r: memref<?x?xf16>, %c: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %alpha = arith.constant dense<0.125> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %old = nv_tileaa.tiled_load %r[%c0, %c0] : (memref<?x?xf16>, index, index) -> !h
  %residual = arith.extf %old : !h to !c
  %new = nv_tileaa.fma %sum, %alpha, %residual : (!c, !c, !c) -> !c
  %half = arith.truncf %new : !c to !h
  nv_tileaa.tiled_store %c[%c0, %c0], %half : (memref<?x?xf16>, !h, index, index) -> ()
  func.return
}
