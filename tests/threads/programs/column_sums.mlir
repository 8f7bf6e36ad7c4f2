!t = tensor<64x32xf32>
!row = tensor<32xf32>
func.func @f(%x: memref<?x?xf32>, %o: memref<?xf32>, %p: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %q = nv_tileaa.reduce %v attributes {axis = 0 : i32} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    nv_tileaa.yield %c : (f32) -> ()
  } : (!t) -> !row
  nv_tileaa.tiled_store %o[%c0], %q : (memref<?xf32>, !row, index) -> ()
  %w = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    nv_tileaa.yield %c : (f32) -> ()
  } : (!t) -> tensor<64xf32>
  nv_tileaa.tiled_store %p[%c0], %w : (memref<?xf32>, tensor<64xf32>, index) -> ()
  func.return
}
