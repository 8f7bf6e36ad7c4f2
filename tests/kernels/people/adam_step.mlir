// A step of Adam, in place: both moments and the parameters are loaded, updated and stored.
!t = tensor<512xf32>
func.func @f(%p: memref<?xf32>, %g: memref<?xf32>, %m: memref<?xf32>, %v: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %beta1 = arith.constant dense<0.875> : !t
  %rest1 = arith.constant dense<0.125> : !t
  %beta2 = arith.constant dense<0.96875> : !t
  %rest2 = arith.constant dense<0.03125> : !t
  %epsilon = arith.constant dense<1.0e-1> : !t
  %rate = arith.constant dense<0.0625> : !t
  scf.for %i = %c0 to %n step %c1 {
    %gt = nv_tileaa.tiled_load %g[%i] : (memref<?xf32>, index) -> !t
    %mt = nv_tileaa.tiled_load %m[%i] : (memref<?xf32>, index) -> !t
    %vt = nv_tileaa.tiled_load %v[%i] : (memref<?xf32>, index) -> !t
    %pt = nv_tileaa.tiled_load %p[%i] : (memref<?xf32>, index) -> !t
    %m_old = arith.mulf %mt, %beta1 : !t
    %m1 = nv_tileaa.fma %gt, %rest1, %m_old : (!t, !t, !t) -> !t
    %square = arith.mulf %gt, %gt : !t
    %size = math.absf %vt : !t
    %v_old = arith.mulf %size, %beta2 : !t
    %v1 = nv_tileaa.fma %square, %rest2, %v_old : (!t, !t, !t) -> !t
    %root = nv_tileaa.sqrt %v1 : (!t) -> !t
    %below = arith.addf %root, %epsilon : !t
    %direction = arith.divf %m1, %below : !t
    %step = arith.mulf %direction, %rate : !t
    %p1 = arith.subf %pt, %step : !t
    nv_tileaa.tiled_store %m[%i], %m1 : (memref<?xf32>, !t, index) -> ()
    nv_tileaa.tiled_store %v[%i], %v1 : (memref<?xf32>, !t, index) -> ()
    nv_tileaa.tiled_store %p[%i], %p1 : (memref<?xf32>, !t, index) -> ()
  }
  func.return
}
