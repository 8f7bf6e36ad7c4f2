!h = tensor<128xf16>
!ids = tensor<128xi32>
!t = tensor<128xindex>
func.func @f(%x: memref<?xf16>, %i: memref<?xi32>, %y: memref<?xf16>) {
  %c0 = arith.constant 0 : index
  %c70 = arith.constant dense<70> : !ids
  %given = nv_tileaa.tiled_load %i[%c0] : (memref<?xi32>, index) -> !ids
  %far = arith.muli %given, %c70 : !ids
  %rows = arith.index_cast %far : !ids to !t
  %v = nv_tileaa.gather_load %x[%rows] : (memref<?xf16>, !t) -> !h
  nv_tileaa.tiled_store %y[%c0], %v : (memref<?xf16>, !h, index) -> ()
  func.return
}
