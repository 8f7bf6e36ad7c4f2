!t = tensor<16x32xf32>
!h = tensor<16x32xf16>
func.func @f(%x: memref<?x?xf32>, %h: memref<?x?xf16>, %y: memref<?x?xf32>, %z: memref<?x?xf16>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %e = math.exp %v : !t
  %a = math.tanh %v : !t
  %b = math.erf %a : !t
  %l = math.log %e : !t
  %p = math.log1p %e : !t
  %s = arith.addf %b, %l : !t
  %r = arith.addf %s, %p : !t
  nv_tileaa.tiled_store %y[%c0, %c0], %r : (memref<?x?xf32>, !t, index, index) -> ()
  %w = nv_tileaa.tiled_load %h[%c0, %c0] : (memref<?x?xf16>, index, index) -> !h
  %g = math.tanh %w : !h
  nv_tileaa.tiled_store %z[%c0, %c0], %g : (memref<?x?xf16>, !h, index, index) -> ()
  func.return
}
