!t = tensor<16x128xf32>
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %half = arith.constant dense<0.5> : !t
  %given = nv_tileaa.tiled_load %a[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %u = nv_tileaa.tiled_load %b[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %small = math.absf %given : !t
  %kept = arith.minnumf %small, %half : !t
  %w, %v = nv_tileaa.scan %kept others(%u) attributes {axis = 1 : i32} {
  ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
    %product = arith.mulf %a0, %a1 : f32
    %moved = arith.mulf %b0, %a1 : f32
    %sum = arith.addf %moved, %b1 : f32
    nv_tileaa.yield %product, %sum : (f32, f32) -> ()
  } : (!t, !t) -> (!t, !t)
  %both = arith.addf %w, %v : !t
  nv_tileaa.tiled_store %y[%c0, %c0], %both : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
