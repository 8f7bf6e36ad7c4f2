// RUN: xdsl-opt %s -p tileas-materialize-convert-layout{compute-capability=sm_90a} | filecheck %s
// RUN: xdsl-opt %s -p tileas-materialize-convert-layout{compute-capability=sm_80} | filecheck %s --check-prefix=OLDER

#acc = #nv_tileas.layout<rmem, mma<m64n64k16, operand = acc, warps = 4>>
#wide = #nv_tileas.layout<rmem, blocked<[1, 4], [4, 8], [4, 1], order = [1, 0]>>

// The tile has to go to other warps: it stays in shared memory, whence TMA takes it.
func.func @stored(%x: tensor<64x64xf32, #acc>, %c: memref<?x?xf32>, %i: index) {
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
  nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  func.return
}
// CHECK-LABEL: func.func @stored
// CHECK-NEXT:    %y = nv_tileas.alloc_tensor : () -> tensor<64x64xf32, #nv_tileas.layout<smem, swizzle<32>>>
// CHECK-NEXT:    nv_tileas.copy %x, %y attributes {atom_descriptor = #cute<atom "st.shared 8 bytes">}
// CHECK-NEXT:    nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #nv_tileas.layout<smem, swizzle<32>>>, index, index) -> ()
// OLDER-LABEL: func.func @stored
// OLDER:         nv_tileas.convert_layout

// In a loop, the memory of one turn would have to be free for the next.
func.func @in_a_loop(%x: tensor<64x64xf32, #acc>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
    nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func @in_a_loop
// CHECK:         nv_tileas.convert_layout
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<rmem,

// Behind a loop, the next turn waits for it before the memory is used again.
func.func @behind_a_loop(%x: tensor<64x64xf32, #acc>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %z = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<64x64xf32, #acc>) {
      %t = arith.addf %s, %x : tensor<64x64xf32, #acc>
      scf.yield %t : tensor<64x64xf32, #acc>
    }
    %y = nv_tileas.convert_layout %z : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
    nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func @behind_a_loop
// CHECK:         %y = nv_tileas.alloc_tensor
// CHECK-NEXT:    nv_tileas.copy %z, %y
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<smem,

// In a branch, not every turn stores.
func.func @in_a_branch(%x: tensor<64x64xf32, #acc>, %c: memref<?x?xf32>, %n: index, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %n step %c1 {
    }
    scf.if %b {
      %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
      nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
    }
  }
  func.return
}
// CHECK-LABEL: func.func @in_a_branch
// CHECK:         nv_tileas.convert_layout
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<rmem,

// The array is read, too, by another proxy.
func.func @read_too(%x: tensor<64x64xf32, #acc>, %c: memref<?x?xf32>, %i: index) -> tensor<64x64xf32, #wide> {
  %old = nv_tileaa.tiled_load %c[%i, %i] : (memref<?x?xf32>, index, index) -> tensor<64x64xf32, #wide>
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
  nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  func.return %old : tensor<64x64xf32, #wide>
}
// CHECK-LABEL: func.func @read_too
// CHECK:         nv_tileas.convert_layout
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<rmem,

// No thread needs what another warp has: the registers are stored as they are, without a way through shared memory.
func.func @in_registers(%x: tensor<64x64xf32, #wide>, %c: memref<?x?xf32>, %i: index) {
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #wide>) -> tensor<64x64xf32, #wide>
  nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  func.return
}
// CHECK-LABEL: func.func @in_registers
// CHECK:         nv_tileas.convert_layout
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<rmem,

// One of two stores to the array is done from registers: so are both.
func.func @stored_twice(%x: tensor<64x64xf32, #acc>, %z: tensor<64x64xf32, #wide>, %c: memref<?x?xf32>, %i: index, %j: index) {
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
  nv_tileaa.tiled_store %c[%i, %i], %y : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  nv_tileaa.tiled_store %c[%j, %j], %z : (memref<?x?xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  func.return
}
// CHECK-LABEL: func.func @stored_twice
// CHECK:         nv_tileas.convert_layout
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<rmem,

// Rows of 280 bytes are no multiple of 16: no tensor map has them.
func.func @narrow_rows(%x: tensor<64x64xf32, #acc>, %c: memref<64x70xf32>, %i: index) {
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #wide>
  nv_tileaa.tiled_store %c[%i, %i], %y : (memref<64x70xf32>, tensor<64x64xf32, #wide>, index, index) -> ()
  func.return
}
// CHECK-LABEL: func.func @narrow_rows
// CHECK:         nv_tileas.convert_layout
// CHECK-NEXT:    nv_tileaa.tiled_store {{.*}} #nv_tileas.layout<rmem,
