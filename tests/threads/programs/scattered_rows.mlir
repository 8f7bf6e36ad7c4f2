!h = tensor<128xf16>
!ids = tensor<128xi32>
!t = tensor<128xindex>
func.func @f(%x: memref<?xf16>, %y: memref<?xf16>) {
  %c0 = arith.constant 0 : index
  %c70 = arith.constant dense<70> : !ids
  %places = nv_tileaa.generate {
  ^bb0(%i: tensor<i32>):
    nv_tileaa.yield %i : (tensor<i32>) -> ()
  } : () -> !ids
  %far = arith.muli %places, %c70 : !ids
  %rows = arith.index_cast %far : !ids to !t
  %wanted = arith.cmpi ne, %places, %c70 : !ids
  %v = nv_tileaa.tiled_load %x[%c0] : (memref<?xf16>, index) -> !h
  nv_tileaa.scatter_store %y[%rows], %v mask(%wanted) : (memref<?xf16>, !h, !t, tensor<128xi1>) -> ()
  func.return
}
