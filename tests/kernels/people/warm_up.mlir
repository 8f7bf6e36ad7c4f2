// Momentum, but the first step, in which there is none yet: a branch around tiles, in a function of nv_tileaa.
!t = tensor<32x32xf32>
nv_tileaa.func @f(%g: memref<?x?xf32>, %m: memref<?x?xf32>, %p: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %beta = arith.constant dense<0.5> : !t
  %rate = arith.constant dense<0.25> : !t
  scf.for %k = %c0 to %n step %c1 {
    %gt = nv_tileaa.tiled_load %g[%k, %c0] : (memref<?x?xf32>, index, index) -> !t
    %is_first = arith.cmpi eq, %k, %c0 : index
    %m1 = scf.if %is_first -> (!t) {
      scf.yield %gt : !t
    } else {
      %mt = nv_tileaa.tiled_load %m[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
      %new = nv_tileaa.fma %mt, %beta, %gt : (!t, !t, !t) -> !t
      scf.yield %new : !t
    }
    nv_tileaa.tiled_store %m[%c0, %c0], %m1 : (memref<?x?xf32>, !t, index, index) -> ()
    %pt = nv_tileaa.tiled_load %p[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
    %step = arith.mulf %m1, %rate : !t
    %p1 = arith.subf %pt, %step : !t
    nv_tileaa.tiled_store %p[%c0, %c0], %p1 : (memref<?x?xf32>, !t, index, index) -> ()
  }
  nv_tileaa.return : () -> ()
}
