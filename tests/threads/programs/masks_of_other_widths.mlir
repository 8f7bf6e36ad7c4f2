!h = tensor<16x32xf16>
!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf16>, %z: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %limit = arith.constant dense<0.0> : !h
  %none = arith.constant dense<0.0> : !t
  %w = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf16>, index, index) -> !h
  %m = arith.cmpf ogt, %w, %limit : !h
  %v = nv_tileaa.tiled_load %z[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %q = arith.select %m, %v, %none : tensor<16x32xi1>, !t
  nv_tileaa.tiled_store %y[%c0, %c0], %q mask(%m) : (memref<?x?xf32>, !t, index, index, tensor<16x32xi1>) -> ()
  func.return
}
