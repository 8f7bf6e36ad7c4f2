// C = A * B in bf16, with two tiles of K loaded in each step.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xbf16, #smem>
!b = tensor<16x64xbf16, #smem>
!c = tensor<64x64xf32>
!h = tensor<64x64xbf16>
func.func @f(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %first = arith.muli %k, %c2 : index
    %second = arith.addi %first, %c1 : index
    %a0 = nv_tileaa.tiled_load %a[%c0, %first] : (memref<?x?xbf16>, index, index) -> !a
    %b0 = nv_tileaa.tiled_load %b[%first, %c0] : (memref<?x?xbf16>, index, index) -> !b
    %a1 = nv_tileaa.tiled_load %a[%c0, %second] : (memref<?x?xbf16>, index, index) -> !a
    %b1 = nv_tileaa.tiled_load %b[%second, %c0] : (memref<?x?xbf16>, index, index) -> !b
    %half = nv_tileaa.dot %a0, %b0, %acc : (!a, !b, !c) -> !c
    %next = nv_tileaa.dot %a1, %b1, %half : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %rounded = arith.truncf %sum : !c to !h
  nv_tileaa.tiled_store %c[%c0, %c0], %rounded : (memref<?x?xbf16>, !h, index, index) -> ()
  func.return
}
