// The gradients of gain and offset of a layer norm: sums over all rows, kept in registers, stored with one axis.
!t = tensor<16x32xf32>
!row = tensor<32xf32>
func.func @f(%x: memref<?x?xf32>, %dy: memref<?x?xf32>, %dg: memref<?xf32>, %db: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %gain, %offset = scf.for %i = %c0 to %n step %c1 iter_args(%p = %zero, %q = %zero) -> (!t, !t) {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %d = nv_tileaa.tiled_load %dy[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %p1 = nv_tileaa.fma %v, %d, %p : (!t, !t, !t) -> !t
    %q1 = arith.addf %q, %d : !t
    scf.yield %p1, %q1 : !t, !t
  }
  %g = nv_tileaa.reduce %gain attributes {axis = 0 : i32} {
  ^bb0(%u: f32, %w: f32):
    %r = arith.addf %u, %w : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (!t) -> !row
  %b = nv_tileaa.reduce %offset attributes {axis = 0 : i32} {
  ^bb0(%u: f32, %w: f32):
    %r = arith.addf %u, %w : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (!t) -> !row
  nv_tileaa.tiled_store %dg[%c0], %g : (memref<?xf32>, !row, index) -> ()
  nv_tileaa.tiled_store %db[%c0], %b : (memref<?xf32>, !row, index) -> ()
  func.return
}
