// C[z] = A[z] * B[z]', one batch a program.
#smem = #nv_tileas.layout<smem>
!a3 = tensor<1x64x16xf16, #smem>
!b3 = tensor<1x32x16xf16, #smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<32x16xf16, #smem>
!t = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
!c3 = tensor<1x64x32xf32>
func.func @f(%a: memref<4x?x?xf16>, %b: memref<4x?x?xf16>, %c: memref<4x?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %z = nv_tileaa.get_program_id attributes {axis = 2 : i32} : () -> index
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at3 = nv_tileaa.tiled_load %a[%z, %c0, %k] : (memref<4x?x?xf16>, index, index, index) -> !a3
    %bt3 = nv_tileaa.tiled_load %b[%z, %c0, %k] : (memref<4x?x?xf16>, index, index, index) -> !b3
    %at = nv_tileaa.view %at3 : (!a3) -> !a
    %bt = nv_tileaa.view %bt3 : (!b3) -> !b
    %turned = nv_tileaa.permute %bt attributes {permutation = array<i64: 1, 0>} : (!b) -> !t
    %next = nv_tileaa.dot %at, %turned, %acc : (!a, !t, !c) -> !c
    scf.yield %next : !c
  }
  %result = nv_tileaa.view %sum : (!c) -> !c3
  nv_tileaa.tiled_store %c[%z, %c0, %c0], %result : (memref<4x?x?xf32>, !c3, index, index, index) -> ()
  func.return
}
