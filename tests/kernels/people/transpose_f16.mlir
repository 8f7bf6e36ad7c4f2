// A matrix of f16 transposed, tile by tile, along both axes.
!t = tensor<64x32xf16>
!u = tensor<32x64xf16>
func.func @f(%x: memref<?x?xf16>, %y: memref<?x?xf16>, %rows: index, %columns: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %v = nv_tileaa.tiled_load %x[%i, %j] : (memref<?x?xf16>, index, index) -> !t
      %turned = nv_tileaa.permute %v attributes {permutation = array<i64: 1, 0>} : (!t) -> !u
      nv_tileaa.tiled_store %y[%j, %i], %turned : (memref<?x?xf16>, !u, index, index) -> ()
    }
  }
  func.return
}
