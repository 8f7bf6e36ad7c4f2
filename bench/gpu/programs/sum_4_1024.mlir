!t = tensor<4x1024xf32>
func.func @sum(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %i = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %j = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %a = nv_tileaa.tiled_load %x[%i, %j] : (memref<?x?xf32>, index, index) -> !t
  %b = nv_tileaa.tiled_load %y[%i, %j] : (memref<?x?xf32>, index, index) -> !t
  %s = arith.addf %a, %b : !t
  nv_tileaa.tiled_store %c[%i, %j], %s : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
