!t = tensor<16x64xf16>
!h = tensor<16x32xf16>
!q = tensor<8x32xf16>
func.func @f(%x: memref<?x?xf16>, %y: memref<?x?xf16>, %z: memref<?x?xf16>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf16>, index, index) -> !t
  %a = nv_tileaa.extract_slice %v attributes {static_offsets = array<i64: 0, 0>} : (!t) -> !h
  %b = nv_tileaa.extract_slice %v attributes {static_offsets = array<i64: 0, 32>} : (!t) -> !h
  %corner = nv_tileaa.extract_slice %v attributes {static_offsets = array<i64: 8, 32>} : (!t) -> !q
  %difference = arith.subf %a, %b : !h
  %turned = nv_tileaa.cat %b, %difference attributes {axis = 1 : i32} : (!h, !h) -> !t
  nv_tileaa.tiled_store %y[%c0, %c0], %turned : (memref<?x?xf16>, !t, index, index) -> ()
  nv_tileaa.tiled_store %z[%c0, %c0], %corner : (memref<?x?xf16>, !q, index, index) -> ()
  func.return
}
