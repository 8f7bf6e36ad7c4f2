// Bytes through a table of 256 numbers, by a gather with a mask: where the index is negative, the result is -1.
!i = tensor<16x32xi32>
!n = tensor<16x32xindex>
!t = tensor<16x32xf32>
func.func @f(%index: memref<?x?xi32>, %table: memref<?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0> : !i
  %other = arith.constant dense<-1.0> : !t
  scf.for %k = %c0 to %n step %c1 {
    %at = nv_tileaa.tiled_load %index[%k, %c0] : (memref<?x?xi32>, index, index) -> !i
    %is_index = arith.cmpi sge, %at, %none : !i
    %place = arith.index_cast %at : !i to !n
    %v = nv_tileaa.gather_load %table[%place] mask(%is_index) other(%other) : (memref<?xf32>, !n, tensor<16x32xi1>, !t) -> !t
    nv_tileaa.tiled_store %y[%k, %c0], %v : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
