#smem = #nv_tileas.layout<smem>
!s = tensor<8x32xf32, #smem>
!t = tensor<8x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %n step %c1 {
    %rest = arith.remui %k, %c2 : index
    %even = arith.cmpi eq, %rest, %c0 : index
    scf.if %even {
      scf.for %j = %c0 to %c2 step %c1 {
        %at = arith.addi %j, %k : index
        %u = nv_tileaa.tiled_load %x[%at, %c0] : (memref<?x?xf32>, index, index) -> !s
        %v = nv_tileas.convert_layout %u : (!s) -> !t
        %w = arith.addf %v, %v : !t
        nv_tileaa.tiled_store %y[%at, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
      }
    }
  }
  func.return
}
