// A product of matrices as one synchronous loop.

#smem = #nv_tileas.layout<smem>
!a_tile = tensor<128x64xf16, #smem>
!b_tile = tensor<64x128xf16, #smem>
!c_tile = tensor<128x128xf32>

func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c_tile
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c_tile) {
    %at = nv_tileaa.tiled_load %a[%row, %k] : (memref<?x?xf16>, index, index) -> !a_tile
    %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> !b_tile
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a_tile, !b_tile, !c_tile) -> !c_tile
    scf.yield %sum : !c_tile
  }
  nv_tileaa.tiled_store %c[%row, %col], %product : (memref<?x?xf32>, !c_tile, index, index) -> ()
  func.return
}
