// C = gelu(A * B), by the tanh formula.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %one = arith.constant dense<1.0> : !c
  %half = arith.constant dense<0.5> : !c
  %cubic = arith.constant dense<0.044715> : !c
  %root = arith.constant dense<0.7978845608> : !c
  %x = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %square = arith.mulf %x, %x : !c
  %cube = arith.mulf %square, %x : !c
  %bent = nv_tileaa.fma %cube, %cubic, %x : (!c, !c, !c) -> !c
  %inner = arith.mulf %bent, %root : !c
  %t = math.tanh %inner : !c
  %up = arith.addf %t, %one : !c
  %halved = arith.mulf %x, %half : !c
  %y = arith.mulf %halved, %up : !c
  nv_tileaa.tiled_store %c[%c0, %c0], %y : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
