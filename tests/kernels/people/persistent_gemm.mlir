// Each program computes every so-manieth tile of a row of tiles of C: a loop around the loop over K.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %tiles: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %me = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %all = nv_tileaa.get_num_programs attributes {axis = 0 : i32} : () -> index
  scf.for %j = %me to %tiles step %all {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
      %bt = nv_tileaa.tiled_load %b[%k, %j] : (memref<?x?xf16>, index, index) -> !b
      %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
      scf.yield %next : !c
    }
    nv_tileaa.tiled_store %c[%c0, %j], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  }
  func.return
}
