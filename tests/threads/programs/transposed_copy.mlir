#smem = #nv_tileas.layout<smem>
!s = tensor<32x16xf32, #smem>
!u = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %u = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %w = nv_tileaa.permute %u attributes {permutation = array<i64: 1, 0>} : (!s) -> !u
    nv_tileaa.tiled_store %y[%c0, %k], %w : (memref<?x?xf32>, !u, index, index) -> ()
  }
  func.return
}
