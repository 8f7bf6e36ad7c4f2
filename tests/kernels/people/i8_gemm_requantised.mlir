// C = round(A * B / 16) of i8: the sums are exact, cut to the range of i8, and stored as i8.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xi8, #smem>
!b = tensor<32x64xi8, #smem>
!c = tensor<64x64xi32>
!q = tensor<64x64xi8>
func.func @f(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<?x?xi8>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : !c
  %half = arith.constant dense<8> : !c
  %four = arith.constant dense<4> : !c
  %least = arith.constant dense<-128> : !c
  %most = arith.constant dense<127> : !c
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xi8>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xi8>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc attributes {signedness_a = #nv_tileaa<signedness signed>, signedness_b = #nv_tileaa<signedness signed>} : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %up = arith.addi %sum, %half : !c
  %down = arith.shrsi %up, %four : !c
  %low = arith.maxsi %down, %least : !c
  %cut = arith.minsi %low, %most : !c
  %bytes = arith.trunci %cut : !c to !q
  nv_tileaa.tiled_store %c[%c0, %c0], %bytes : (memref<?x?xi8>, !q, index, index) -> ()
  func.return
}
