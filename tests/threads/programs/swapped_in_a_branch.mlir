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
  %p, %q = scf.for %k = %c0 to %n step %c1 iter_args(%g = %a, %h = %b) -> (!s, !s) {
  %odd = arith.remui %k, %c2 : index
  %is = arith.cmpi eq, %odd, %c0 : index
  %v = nv_tileas.convert_layout %g : (!s) -> !t
  nv_tileaa.tiled_store %y[%k, %c0], %v : (!m, !t, index, index) -> ()
  %r, %u = scf.if %is -> (!s, !s) {
  scf.yield %h, %g : !s, !s
  } else {
  %l = nv_tileaa.tiled_load %x[%k, %c0] : (!m, index, index) -> !s
  scf.yield %l, %h : !s, !s
  }
  scf.yield %r, %u : !s, !s
  }
  %vp = nv_tileas.convert_layout %p : (!s) -> !t
  nv_tileaa.tiled_store %z[%c0, %c0], %vp : (!m, !t, index, index) -> ()
  %vq = nv_tileas.convert_layout %q : (!s) -> !t
  nv_tileaa.tiled_store %z[%c1, %c0], %vq : (!m, !t, index, index) -> ()
  func.return
}
