// Rotary positions: the two halves of each head are turned by angles whose sines and cosines are in memory.
!h = tensor<16x32xf16>
!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf16>, %cos: memref<?x?xf32>, %sin: memref<?x?xf32>, %y: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %c = nv_tileaa.tiled_load %cos[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %s = nv_tileaa.tiled_load %sin[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %left = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf16>, index, index) -> !h
    %right = nv_tileaa.tiled_load %x[%i, %c1] : (memref<?x?xf16>, index, index) -> !h
    %l = arith.extf %left : !h to !t
    %r = arith.extf %right : !h to !t
    %lc = arith.mulf %l, %c : !t
    %rs = arith.mulf %r, %s : !t
    %new_l = arith.subf %lc, %rs : !t
    %rc = arith.mulf %r, %c : !t
    %new_r = nv_tileaa.fma %l, %s, %rc : (!t, !t, !t) -> !t
    %l_half = arith.truncf %new_l : !t to !h
    %r_half = arith.truncf %new_r : !t to !h
    nv_tileaa.tiled_store %y[%i, %c0], %l_half : (memref<?x?xf16>, !h, index, index) -> ()
    nv_tileaa.tiled_store %y[%i, %c1], %r_half : (memref<?x?xf16>, !h, index, index) -> ()
  }
  func.return
}
