!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %other = arith.constant dense<-1.0> : !t
  %limit = arith.constant dense<0.0> : !t
  %w = nv_tileaa.tiled_load %y[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %m = arith.cmpf ogt, %w, %limit : !t
  %v = nv_tileaa.tiled_load %x[%c0, %c0] mask(%m) other(%other) : (memref<?x?xf32>, index, index, tensor<16x32xi1>, !t) -> !t
  %n = arith.cmpf olt, %v, %limit : !t
  nv_tileaa.tiled_store %y[%c0, %c0], %v mask(%n) : (memref<?x?xf32>, !t, index, index, tensor<16x32xi1>) -> ()
  func.return
}
