!t = tensor<32x64xf32>
!n = tensor<32x64xi32>
func.func @f(%x: memref<?x?xf32>, %most: memref<?xf32>, %places: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %own = nv_tileaa.generate {
  ^bb0(%r: tensor<i32>, %c: tensor<i32>):
    nv_tileaa.yield %c : (tensor<i32>) -> ()
  } : () -> !n
  %m, %p = nv_tileaa.reduce %v others(%own) attributes {axis = 1 : i32} {
  ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
    %larger = arith.cmpf ogt, %b, %a : f32
    %equal = arith.cmpf oeq, %b, %a : f32
    %before = arith.cmpi slt, %j, %i : i32
    %first = arith.andi %equal, %before : i1
    %taken = arith.ori %larger, %first : i1
    %value = arith.select %taken, %b, %a : f32
    %place = arith.select %taken, %j, %i : i32
    nv_tileaa.yield %value, %place : (f32, i32) -> ()
  } : (!t, !n) -> (tensor<32xf32>, tensor<32xi32>)
  nv_tileaa.tiled_store %most[%c0], %m : (memref<?xf32>, tensor<32xf32>, index) -> ()
  nv_tileaa.tiled_store %places[%c0], %p : (memref<?xi32>, tensor<32xi32>, index) -> ()
  func.return
}
