// The greatest number so far in each column, a scan down the rows of each tile.
!t = tensor<32x16xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%c0, %j] : (memref<?x?xf32>, index, index) -> !t
    %most = nv_tileaa.scan %v attributes {axis = 0 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !t
    nv_tileaa.tiled_store %y[%c0, %j], %most : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
