// C = (x - z) * W: activations of unsigned bytes with a zero point become operand A, from registers.
#smem = #nv_tileas.layout<smem>
!q = tensor<64x16xi8>
!x = tensor<64x16xf16>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
func.func @f(%x: memref<?x?xi8>, %w: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %point = arith.constant dense<2.0> : !x
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %bytes = nv_tileaa.tiled_load %x[%c0, %k] : (memref<?x?xi8>, index, index) -> !q
    %bt = nv_tileaa.tiled_load %w[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %whole = arith.uitofp %bytes : !q to !x
    %centred = arith.subf %whole, %point : !x
    %next = nv_tileaa.dot %centred, %bt, %acc : (!x, !b, !c) -> !c
    scf.yield %next : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
