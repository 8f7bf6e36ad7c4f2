// One Jacobi step down the rows: each tile is averaged with the tiles above and below it.
!t = tensor<8x64xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %quarter = arith.constant dense<0.25> : !t
  %half = arith.constant dense<0.5> : !t
  %end = arith.addi %n, %c1 : index
  scf.for %i = %c1 to %end step %c1 {
    %above_at = arith.subi %i, %c1 : index
    %below_at = arith.addi %i, %c1 : index
    %above = nv_tileaa.tiled_load %x[%above_at, %c0] : (memref<?x?xf32>, index, index) -> !t
    %here = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %below = nv_tileaa.tiled_load %x[%below_at, %c0] : (memref<?x?xf32>, index, index) -> !t
    %around = arith.addf %above, %below : !t
    %part = arith.mulf %around, %quarter : !t
    %new = nv_tileaa.fma %here, %half, %part : (!t, !t, !t) -> !t
    nv_tileaa.tiled_store %y[%i, %c0], %new : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
