// Rows of a table by their numbers, 16 tokens a step: each lane reads the row that its token names.
!t = tensor<16x32xf16>
!i = tensor<16x32xi32>
!n = tensor<16x32xindex>
func.func @f(%table: memref<?x?xf16>, %token: memref<?xi32>, %y: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %column = nv_tileaa.generate {
  ^bb0(%r: i32, %c: i32):
    nv_tileaa.yield %c : (i32) -> ()
  } : () -> !i
  %lane = arith.index_cast %column : !i to !n
  scf.for %i = %c0 to %n step %c1 {
    %ids = nv_tileaa.tiled_load %token[%i] : (memref<?xi32>, index) -> tensor<16xi32>
    %col = nv_tileaa.expand_dims %ids : (tensor<16xi32>) -> tensor<16x1xi32>
    %wide = nv_tileaa.broadcast %col : (tensor<16x1xi32>) -> !i
    %row = arith.index_cast %wide : !i to !n
    %v = nv_tileaa.gather_load %table[%row, %lane] : (memref<?x?xf16>, !n, !n) -> !t
    nv_tileaa.tiled_store %y[%i, %c0], %v : (memref<?x?xf16>, !t, index, index) -> ()
  }
  func.return
}
