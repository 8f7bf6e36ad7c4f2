// Tokens x heads x columns become heads x tokens x columns.
!t = tensor<8x4x16xf32>
!u = tensor<4x8x16xf32>
func.func @f(%x: memref<?x4x16xf32>, %y: memref<4x?x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0, %c0] : (memref<?x4x16xf32>, index, index, index) -> !t
    %turned = nv_tileaa.permute %v attributes {permutation = array<i64: 1, 0, 2>} : (!t) -> !u
    nv_tileaa.tiled_store %y[%c0, %i, %c0], %turned : (memref<4x?x16xf32>, !u, index, index, index) -> ()
  }
  func.return
}
