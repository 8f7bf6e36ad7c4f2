#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xi8, #smem>
!b = tensor<32x64xi8, #smem>
!c = tensor<64x64xi32>
func.func @f(%x: memref<?x?xi8>, %y: memref<?x?xi8>, %z: memref<?x?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %x[%c0, %k] : (memref<?x?xi8>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %y[%k, %c0] : (memref<?x?xi8>, index, index) -> !b
    %s = nv_tileaa.dot %at, %bt, %acc attributes {signedness_a = #nv_tileaa<signedness signed>, signedness_b = #nv_tileaa<signedness unsigned>} : (!a, !b, !c) -> !c
    scf.yield %s : !c
  }
  nv_tileaa.tiled_store %z[%c0, %c0], %r : (memref<?x?xi32>, !c, index, index) -> ()
  func.return
}
