// C = silu(X * G) * (X * U): two products share an operand; the kernel is a function of nv_tileaa.
#smem = #nv_tileas.layout<smem>
!x = tensor<64x16xf16, #smem>
!w = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
nv_tileaa.func @f(%x: memref<?x?xf16>, %g: memref<?x?xf16>, %u: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %one = arith.constant dense<1.0> : !c
  %slope = arith.constant dense<-1.4426950408> : !c
  %gate, %up = scf.for %k = %c0 to %n step %c1 iter_args(%p = %zero, %q = %zero) -> (!c, !c) {
    %xt = nv_tileaa.tiled_load %x[%c0, %k] : (memref<?x?xf16>, index, index) -> !x
    %gt = nv_tileaa.tiled_load %g[%k, %c0] : (memref<?x?xf16>, index, index) -> !w
    %ut = nv_tileaa.tiled_load %u[%k, %c0] : (memref<?x?xf16>, index, index) -> !w
    %p1 = nv_tileaa.dot %xt, %gt, %p : (!x, !w, !c) -> !c
    %q1 = nv_tileaa.dot %xt, %ut, %q : (!x, !w, !c) -> !c
    scf.yield %p1, %q1 : !c, !c
  }
  %scaled = arith.mulf %gate, %slope : !c
  %e = nv_tileaa.exp2 %scaled : (!c) -> !c
  %below = arith.addf %e, %one : !c
  %silu = arith.divf %gate, %below : !c
  %y = arith.mulf %silu, %up : !c
  nv_tileaa.tiled_store %c[%c0, %c0], %y : (memref<?x?xf32>, !c, index, index) -> ()
  nv_tileaa.return : () -> ()
}
