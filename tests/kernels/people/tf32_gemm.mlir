// C = A * B of f32, which the tensor core multiplies as tf32. B is stored transposed.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf32, #smem>
!b = tensor<64x16xf32, #smem>
!t = tensor<16x64xf32, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf32>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%c0, %k] : (memref<?x?xf32>, index, index) -> !b
    %turned = nv_tileaa.permute %bt attributes {permutation = array<i64: 1, 0>} : (!b) -> !t
    %next = nv_tileaa.dot %at, %turned, %acc : (!a, !t, !c) -> !c
    scf.yield %next : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
