// One query against the keys and values so far: sums along rows instead of products, since there is one row only.
!t = tensor<32x64xf32>
!h = tensor<32x64xf16>
!key = tensor<32xf32>
!dim = tensor<64xf32>
func.func @f(%q: memref<?xf32>, %k: memref<?x?xf16>, %v: memref<?x?xf16>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !dim
  %scale = arith.constant dense<0.125> : !key
  %least = arith.constant dense<1.0> : !dim
  %qt = nv_tileaa.tiled_load %q[%c0] : (memref<?xf32>, index) -> !dim
  %q_row = nv_tileaa.expand_dims %qt : (!dim) -> tensor<1x64xf32>
  %q_wide = nv_tileaa.broadcast %q_row : (tensor<1x64xf32>) -> !t
  %acc, %weights = scf.for %j = %c0 to %n step %c1 iter_args(%out = %zero, %l = %zero) -> (!dim, !dim) {
    %k_half = nv_tileaa.tiled_load %k[%j, %c0] : (memref<?x?xf16>, index, index) -> !h
    %v_half = nv_tileaa.tiled_load %v[%j, %c0] : (memref<?x?xf16>, index, index) -> !h
    %kt = arith.extf %k_half : !h to !t
    %vt = arith.extf %v_half : !h to !t
    %each = arith.mulf %kt, %q_wide : !t
    %s = nv_tileaa.reduce %each attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !key
    %scaled = arith.mulf %s, %scale : !key
    %p = nv_tileaa.exp2 %scaled : (!key) -> !key
    %p_col = nv_tileaa.expand_dims %p : (!key) -> tensor<32x1xf32>
    %p_wide = nv_tileaa.broadcast %p_col : (tensor<32x1xf32>) -> !t
    %weighted = arith.mulf %vt, %p_wide : !t
    %part = nv_tileaa.reduce %weighted attributes {axis = 0 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !dim
    %sum = nv_tileaa.reduce %p_wide attributes {axis = 0 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !dim
    %out1 = arith.addf %out, %part : !dim
    %l1 = arith.addf %l, %sum : !dim
    scf.yield %out1, %l1 : !dim, !dim
  }
  %some = arith.maximumf %weights, %least : !dim
  %result = arith.divf %acc, %some : !dim
  nv_tileaa.tiled_store %y[%c0], %result : (memref<?xf32>, !dim, index) -> ()
  func.return
}
