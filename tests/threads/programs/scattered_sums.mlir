!n = tensor<16x32xi32>
!t = tensor<16x32xindex>
func.func @f(%x: memref<?x?xi32>, %bins: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c15 = arith.constant dense<15> : !n
  %one = arith.constant dense<1> : !n
  %given = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xi32>, index, index) -> !n
  %low = arith.andi %given, %c15 : !n
  %places = arith.index_cast %low : !n to !t
  %old = nv_tileaa.atomic_rmw %bins[%places], %one attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (memref<?xi32>, !n, !t) -> !n
  func.return
}
