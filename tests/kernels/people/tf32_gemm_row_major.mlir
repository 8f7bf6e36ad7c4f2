// C += A * B of f32 as it lies in memory, rows by rows.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf32, #smem>
!b = tensor<16x32xf32, #smem>
!c = tensor<64x32xf32>
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = nv_tileaa.tiled_load %c[%c0, %c0] : (memref<?x?xf32>, index, index) -> !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %start) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf32>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf32>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
