// The loss of each row: its log-sum-exp, less the score of the label. The label picks its column by a comparison.
!t = tensor<16x64xf32>
!i = tensor<16x64xi32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @f(%x: memref<?x?xf32>, %label: memref<?xi32>, %loss: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %column = nv_tileaa.generate {
  ^bb0(%r: i32, %c: i32):
    nv_tileaa.yield %c : (i32) -> ()
  } : () -> !i
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %labels = nv_tileaa.tiled_load %label[%i] : (memref<?xi32>, index) -> tensor<16xi32>
    %label_col = nv_tileaa.expand_dims %labels : (tensor<16xi32>) -> tensor<16x1xi32>
    %label_wide = nv_tileaa.broadcast %label_col : (tensor<16x1xi32>) -> !i
    %is_label = arith.cmpi eq, %column, %label_wide : !i
    %only = arith.select %is_label, %v, %zero : tensor<16x64xi1>, !t
    %score = nv_tileaa.reduce %only attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %top = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.maximumf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %col = nv_tileaa.expand_dims %top : (!row) -> !col
    %wide = nv_tileaa.broadcast %col : (!col) -> !t
    %below = arith.subf %v, %wide : !t
    %e = math.exp %below : !t
    %sum = nv_tileaa.reduce %e attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %log = math.log %sum : !row
    %all = arith.addf %log, %top : !row
    %out = arith.subf %all, %score : !row
    nv_tileaa.tiled_store %loss[%i], %out : (memref<?xf32>, !row, index) -> ()
  }
  func.return
}
