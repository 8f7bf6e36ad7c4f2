#smem = #nv_tileas.layout<smem>
!s = tensor<16x32xf32, #smem>
!t = tensor<16x32xf32>
!m = memref<?x?xf32>
func.func @f(%x: !m, %w: !m, %y: !m, %z: !m, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = nv_tileaa.tiled_load %x[%c0, %c0] : (!m, index, index) -> !s
  %b = nv_tileaa.tiled_load %w[%c1, %c0] : (!m, index, index) -> !s
  scf.for %k = %c0 to %n step %c1 {
  %odd = arith.remui %k, %c2 : index
  %is = arith.cmpi eq, %odd, %c0 : index
  %r = scf.if %is -> (!s) {
  scf.yield %a : !s
  } else {
  scf.yield %b : !s
  }
  %v = nv_tileas.convert_layout %r : (!s) -> !t
  nv_tileaa.tiled_store %y[%k, %c0], %v : (!m, !t, index, index) -> ()
  }
  func.return
}
