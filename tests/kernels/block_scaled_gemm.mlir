// C = A * B with a scale factor for each 32 numbers along K: elements of 8 bits, scales that are powers of two.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xf8E4M3FN, #smem>
!b = tensor<32x64xf8E4M3FN, #smem>
!sfa = tensor<64x1xf8E8M0FNU, #smem>
!sfb = tensor<1x64xf8E8M0FNU, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E4M3FN>, %p: memref<?x?xf8E8M0FNU>,
             %q: memref<?x?xf8E8M0FNU>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf8E4M3FN>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf8E4M3FN>, index, index) -> !b
    %pt = nv_tileaa.tiled_load %p[%c0, %k] : (memref<?x?xf8E8M0FNU>, index, index) -> !sfa
    %qt = nv_tileaa.tiled_load %q[%k, %c0] : (memref<?x?xf8E8M0FNU>, index, index) -> !sfb
    %sum = nv_tileaa.dot %at, %bt, %acc sfa(%pt) sfb(%qt) : (!a, !b, !c, !sfa, !sfb) -> !c
    scf.yield %sum : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
