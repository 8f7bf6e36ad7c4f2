// y = a + b for the first %n elements of two arrays: the last block is masked, at the loads and at the store.
!t = tensor<1024xf32>
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %y: memref<?xf32>, %n: i32) {
  %other = arith.constant dense<0.0> : !t
  %size = arith.constant 1024 : i32
  %block = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %block32 = arith.index_cast %block : index to i32
  %first = arith.muli %block32, %size : i32
  %mask = nv_tileaa.generate {
  ^bb0(%lane: i32):
    %at = arith.addi %lane, %first : i32
    %inside = arith.cmpi slt, %at, %n : i32
    nv_tileaa.yield %inside : (i1) -> ()
  } : () -> tensor<1024xi1>
  %av = nv_tileaa.tiled_load %a[%block] mask(%mask) other(%other) : (memref<?xf32>, index, tensor<1024xi1>, !t) -> !t
  %bv = nv_tileaa.tiled_load %b[%block] mask(%mask) other(%other) : (memref<?xf32>, index, tensor<1024xi1>, !t) -> !t
  %sum = arith.addf %av, %bv : !t
  nv_tileaa.tiled_store %y[%block], %sum mask(%mask) : (memref<?xf32>, !t, index, tensor<1024xi1>) -> ()
  func.return
}
