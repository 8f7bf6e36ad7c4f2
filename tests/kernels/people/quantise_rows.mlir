// Rows to bytes, each with a scale of its own: two outputs, one of them with one axis.
!t = tensor<32x64xf32>
!q = tensor<32x64xi8>
!row = tensor<32xf32>
!col = tensor<32x1xf32>
func.func @f(%x: memref<?x?xf32>, %q: memref<?x?xi8>, %s: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant dense<1.0> : !row
  %steps = arith.constant dense<127.0> : !row
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %size = math.absf %v : !t
    %most = nv_tileaa.reduce %size attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %some = arith.maximumf %most, %least : !row
    %inverse = arith.divf %steps, %some : !row
    %scale = arith.divf %some, %steps : !row
    nv_tileaa.tiled_store %s[%i], %scale : (memref<?xf32>, !row, index) -> ()
    %col = nv_tileaa.expand_dims %inverse : (!row) -> !col
    %wide = nv_tileaa.broadcast %col : (!col) -> !t
    %scaled = arith.mulf %v, %wide : !t
    %whole = arith.fptosi %scaled : !t to !q
    nv_tileaa.tiled_store %q[%i, %c0], %whole : (memref<?x?xi8>, !q, index, index) -> ()
  }
  func.return
}
