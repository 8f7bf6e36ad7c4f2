// C = A * B' of i8 into i32, where both lie along K in memory: activations are unsigned, weights signed.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x64xi8, #smem>
!b = tensor<32x64xi8, #smem>
!t = tensor<64x32xi8, #smem>
!c = tensor<64x32xi32>
func.func @f(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<?x?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xi8>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%c0, %k] : (memref<?x?xi8>, index, index) -> !b
    %turned = nv_tileaa.permute %bt attributes {permutation = array<i64: 1, 0>} : (!b) -> !t
    %next = nv_tileaa.dot %at, %turned, %acc attributes {signedness_a = #nv_tileaa<signedness unsigned>, signedness_b = #nv_tileaa<signedness signed>} : (!a, !t, !c) -> !c
    scf.yield %next : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xi32>, !c, index, index) -> ()
  func.return
}
