// C = s * A * B of f8, with one scale for each row of A. B is stored transposed, as wgmma reads it.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xf8E4M3FN, #smem>
!b = tensor<64x32xf8E4M3FN, #smem>
!t = tensor<32x64xf8E4M3FN, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E4M3FN>, %s: memref<?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf8E4M3FN>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%c0, %k] : (memref<?x?xf8E4M3FN>, index, index) -> !b
    %turned = nv_tileaa.permute %bt attributes {permutation = array<i64: 1, 0>} : (!b) -> !t
    %next = nv_tileaa.dot %at, %turned, %acc : (!a, !t, !c) -> !c
    scf.yield %next : !c
  }
  %scale = nv_tileaa.tiled_load %s[%c0] : (memref<?xf32>, index) -> tensor<64xf32>
  %deep = nv_tileaa.expand_dims %scale : (tensor<64xf32>) -> tensor<64x1xf32>
  %wide = nv_tileaa.broadcast %deep : (tensor<64x1xf32>) -> !c
  %scaled = arith.mulf %sum, %wide : !c
  nv_tileaa.tiled_store %c[%c0, %c0], %scaled : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
