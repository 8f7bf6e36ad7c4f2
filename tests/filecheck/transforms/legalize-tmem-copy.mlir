// RUN: xdsl-opt %s -p tileas-legalize-tmem-copy --split-input-file | filecheck %s

// Out of tensor memory into shared memory: the layout in registers is one from which stmatrix stores.

func.func @out(%t: tensor<128x64xf16, #nv_tileas.layout<tmem, row_major>>, %s: tensor<128x64xf16, #nv_tileas.layout<smem, swizzle<128>>>) attributes {nv_tileaa.compute_capability = 100 : i32} {
  nv_tileas.copy %t, %s : (tensor<128x64xf16, #nv_tileas.layout<tmem, row_major>>, tensor<128x64xf16, #nv_tileas.layout<smem, swizzle<128>>>) -> ()
  func.return
}

// CHECK-LABEL: func.func @out
// CHECK-NEXT: %[[HELD:.*]] = nv_tileas.copy %t attributes {atom_descriptor = #cute<atom "tcgen05.ld.sync.aligned.16x128b.x8.b32 x 2">}
// CHECK-NEXT: nv_tileas.copy %[[HELD]], %s attributes {atom_descriptor = #cute<atom "stmatrix.x4">}
// CHECK-NEXT: func.return

// -----

// Into tensor memory from registers of another layout: a conversion with its plan, then the store.

func.func @into(%x: tensor<128x64xf32, #nv_tileas.layout<rmem, blocked<[1, 4], [2, 16], [4, 1], order = [1, 0]>>>) -> tensor<128x64xf32, #nv_tileas.layout<tmem, row_major>> attributes {nv_tileaa.compute_capability = 103 : i32} {
  %t = nv_tileas.copy %x : (tensor<128x64xf32, #nv_tileas.layout<rmem, blocked<[1, 4], [2, 16], [4, 1], order = [1, 0]>>>) -> tensor<128x64xf32, #nv_tileas.layout<tmem, row_major>>
  func.return %t : tensor<128x64xf32, #nv_tileas.layout<tmem, row_major>>
}

// CHECK-LABEL: func.func @into
// CHECK: %[[TAKEN:.*]] = nv_tileas.convert_layout {{.*}} attributes {atom_plan
// CHECK-NEXT: %t = nv_tileas.copy %[[TAKEN]] attributes {atom_descriptor = #cute<atom "tcgen05.st
