// C = relu(A * B + bias): one bias for each column, from an array of one axis.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xf16, #smem>
!b = tensor<32x64xf16, #smem>
!c = tensor<64x64xf32>
!h = tensor<64x64xf16>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %bias: memref<?xf32>, %c: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %i = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %j = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%i, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %j] : (memref<?x?xf16>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %row = nv_tileaa.tiled_load %bias[%j] : (memref<?xf32>, index) -> tensor<64xf32>
  %deep = nv_tileaa.expand_dims %row : (tensor<64xf32>) -> tensor<1x64xf32>
  %wide = nv_tileaa.broadcast %deep : (tensor<1x64xf32>) -> !c
  %biased = arith.addf %sum, %wide : !c
  %positive = arith.maximumf %biased, %zero : !c
  %half = arith.truncf %positive : !c to !h
  nv_tileaa.tiled_store %c[%i, %j], %half : (memref<?x?xf16>, !h, index, index) -> ()
  func.return
}
