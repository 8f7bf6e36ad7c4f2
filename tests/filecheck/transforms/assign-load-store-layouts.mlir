// RUN: xdsl-opt %s -p "tileas-assign-load-store-layouts{compute-capability=sm_90}" | filecheck %s
// RUN: xdsl-opt %s -p "tileas-assign-load-store-layouts{compute-capability=sm_80}" | filecheck %s --check-prefix=AMPERE

#rows = #nv_tileas.layout<rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>>
#s = #nv_tileas.layout<smem, swizzle<128>>

// To registers, to shared memory, and back; a conversion whose plan names no instruction yet.
func.func @accesses(%a: memref<?x?xf16>, %i: index) {
  %x = nv_tileaa.tiled_load %a[%i, %i] : (memref<?x?xf16>, index, index) -> tensor<64x64xf16, #rows>
  %y = nv_tileaa.tiled_load %a[%i, %i] : (memref<?x?xf16>, index, index) -> tensor<64x128xf16, #s>
  %z = nv_tileas.convert_layout %y attributes {atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #s>} : (tensor<64x128xf16, #s>) -> tensor<64x128xf16, #rows>
  nv_tileaa.tiled_store %a[%i, %i], %x : (memref<?x?xf16>, tensor<64x64xf16, #rows>, index, index) -> ()
  nv_tileaa.tiled_store %a[%i, %i], %y : (memref<?x?xf16>, tensor<64x128xf16, #s>, index, index) -> ()
  func.return
}
// CHECK-LABEL: func.func @accesses
// CHECK:         nv_tileaa.tiled_load {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm90_ldg_128_f16>}
// CHECK-NEXT:    nv_tileaa.tiled_load {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm90_tma_load_2d_f16 {box = array<i64: 64, 64>}>}
// CHECK-NEXT:    nv_tileas.convert_layout {{.*}} attributes {atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #nv_tileas.layout<smem, swizzle<128>>, atom_descriptor = #cute<atom "ld.shared 16 bytes">>}
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm90_stg_128_f16>}
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm90_tma_store_2d_f16 {box = array<i64: 64, 64>}>}

// AMPERE-LABEL: func.func @accesses
// AMPERE:         nv_tileaa.tiled_load {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm70_ldg_128_f16>}
// AMPERE-NEXT:    nv_tileaa.tiled_load {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm80_cp_async_16_f16>}
// AMPERE:         nv_tileaa.tiled_store {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm70_stg_128_f16>}
// AMPERE-NEXT:    nv_tileaa.tiled_store {{.*}} attributes {nv_tileas.atom = #nv_tileas<atom sm70_stg_128_f16>}
