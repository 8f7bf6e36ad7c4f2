#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!m = memref<?x?xf16>
func.func @f(%x: !m, %v: !m, %w: !m, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !c
  %first = nv_tileaa.tiled_load %v[%c0, %c0] : (!m, index, index) -> !a
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %b = nv_tileaa.tiled_load %w[%k, %c0] : (!m, index, index) -> !b
    %odd = arith.remui %k, %c2 : index
    %is = arith.cmpi eq, %odd, %c0 : index
    %a = scf.if %is -> (!a) {
      %l = nv_tileaa.tiled_load %x[%c0, %k] : (!m, index, index) -> !a
      scf.yield %l : !a
    } else {
      scf.yield %first : !a
    }
    %d = nv_tileaa.dot %a, %b, %acc : (!a, !b, !c) -> !c
    scf.yield %d : !c
  }
  nv_tileaa.tiled_store %y[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
