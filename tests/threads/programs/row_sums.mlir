func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> tensor<64x64xf32>
  %s = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    nv_tileaa.yield %c : (f32) -> ()
  } : (tensor<64x64xf32>) -> tensor<64xf32>
  nv_tileaa.tiled_store %y[%c0], %s : (memref<?xf32>, tensor<64xf32>, index) -> ()
  func.return
}
