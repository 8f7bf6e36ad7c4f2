// C = A * (s * W): weights of i8 with one scale for each row of a tile become f16 in front of the product.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!q = tensor<16x32xi8>
!w = tensor<16x32xf16>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %w: memref<?x?xi8>, %s: memref<?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %qt = nv_tileaa.tiled_load %w[%k, %c0] : (memref<?x?xi8>, index, index) -> !q
    %st = nv_tileaa.tiled_load %s[%k] : (memref<?xf16>, index) -> tensor<16xf16>
    %deep = nv_tileaa.expand_dims %st : (tensor<16xf16>) -> tensor<16x1xf16>
    %wide = nv_tileaa.broadcast %deep : (tensor<16x1xf16>) -> !w
    %whole = arith.sitofp %qt : !q to !w
    %scaled = arith.mulf %whole, %wide : !w
    %bt = nv_tileas.convert_layout %scaled : (!w) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
