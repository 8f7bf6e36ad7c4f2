!t = tensor<1x32xf32>
func.func @f(%x: memref<?x?xf32>, %i: memref<?xi32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : i32
  scf.for %k = %c0 to %n step %c1 {
    %id = nv_tileaa.load %i[%k] : (memref<?xi32>, index) -> i32
    %shifted = arith.addi %id, %two : i32
    %row = arith.index_cast %shifted : i32 to index
    %v = nv_tileaa.tiled_load %x[%row, %c0] : (memref<?x?xf32>, index, index) -> !t
    %w = arith.addf %v, %v : !t
    nv_tileaa.tiled_store %y[%k, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
