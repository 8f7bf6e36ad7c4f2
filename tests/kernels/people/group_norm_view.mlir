// Each row has four groups of 16 numbers: a view parts them, and each group is divided by its greatest magnitude.
!t = tensor<16x64xf32>
!g = tensor<16x4x16xf32>
!s = tensor<16x4xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant dense<0.5> : !s
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %groups = nv_tileaa.view %v : (!t) -> !g
    %size = math.absf %groups : !g
    %most = nv_tileaa.reduce %size attributes {axis = 2 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!g) -> !s
    %some = arith.maximumf %most, %least : !s
    %deep = nv_tileaa.expand_dims %some : (!s) -> tensor<16x4x1xf32>
    %wide = nv_tileaa.broadcast %deep : (tensor<16x4x1xf32>) -> !g
    %normal = arith.divf %groups, %wide : !g
    %back = nv_tileaa.view %normal : (!g) -> !t
    nv_tileaa.tiled_store %y[%i, %c0], %back : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
