// y = x * s for rows of 32 columns of which the first %columns hold data: a mask at each load and store of the loop.
!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %s: memref<?x?xf32>, %y: memref<?x?xf32>, %columns: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nothing = arith.constant dense<0.0> : !t
  %mask = nv_tileaa.generate {
  ^bb0(%row: i32, %column: i32):
    %inside = arith.cmpi slt, %column, %columns : i32
    nv_tileaa.yield %inside : (i1) -> ()
  } : () -> tensor<16x32xi1>
  %scale = nv_tileaa.tiled_load %s[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] mask(%mask) other(%nothing) : (memref<?x?xf32>, index, index, tensor<16x32xi1>, !t) -> !t
    %scaled = arith.mulf %v, %scale : !t
    nv_tileaa.tiled_store %y[%i, %c0], %scaled mask(%mask) : (memref<?x?xf32>, !t, index, index, tensor<16x32xi1>) -> ()
  }
  func.return
}
