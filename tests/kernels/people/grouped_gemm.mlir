// Rows of A belong to groups, each with weights of its own: the group of a row of tiles is read from memory.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b3 = tensor<1x16x32xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %w: memref<8x?x?xf16>, %group: memref<?xi32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %i = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %g32 = nv_tileaa.load %group[%i] : (memref<?xi32>, index) -> i32
  %g = arith.index_cast %g32 : i32 to index
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%i, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt3 = nv_tileaa.tiled_load %w[%g, %k, %c0] : (memref<8x?x?xf16>, index, index, index) -> !b3
    %bt = nv_tileaa.view %bt3 : (!b3) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  nv_tileaa.tiled_store %c[%i, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
