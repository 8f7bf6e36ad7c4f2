// RUN: xdsl-opt %s -p tileas-persist-programs | filecheck %s
// RUN: xdsl-opt %s -p tileas-persist-programs{rows=4} | filecheck %s --check-prefix=GROUPS

// Constants stay in front; what the launch computes of the array are the extents of the grid as it was.
func.func @sums(%x: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x32xf32>) {
    %t = nv_tileaa.tiled_load %x[%row, %k] : (memref<?x?xf32>, index, index) -> tensor<16x32xf32>
    %more = arith.addf %acc, %t : tensor<16x32xf32>
    scf.yield %more : tensor<16x32xf32>
  }
  nv_tileaa.tiled_store %c[%row, %col], %sum : (memref<?x?xf32>, tensor<16x32xf32>, index, index) -> ()
  func.return
}
// CHECK-LABEL: func.func @sums
// CHECK-SAME:    %c_tiles0: index {tileas.name = "c", tileas.number = "tiles 0 by 16"}
// CHECK-SAME:    %c_tiles1: index {tileas.name = "c", tileas.number = "tiles 1 by 32"}
// CHECK-SAME:    tileas.persistent = 1 : i32
// CHECK:         %zero = arith.constant dense
// CHECK:         %first = nv_tileaa.get_program_id attributes {axis = 0 : i32}
// CHECK-NEXT:    %blocks = nv_tileaa.get_num_programs attributes {axis = 0 : i32}
// CHECK-NEXT:    %programs = arith.muli %c_tiles0, %c_tiles1 : index
// CHECK-NEXT:    scf.for %program = %first to %programs step %blocks {
// CHECK:           [[ROW:%.*]] = arith.remui
// CHECK:           [[COL:%.*]] = arith.divui
// CHECK:           %row = arith.index_cast [[ROW]] : i32 to index
// CHECK:           %col = arith.index_cast [[COL]] : i32 to index
// CHECK:           %sum = scf.for %k
// CHECK:           nv_tileaa.tiled_store %c[%row, %col], %sum
// GROUPS-LABEL: func.func @sums
// GROUPS:          scf.for %program
// GROUPS:            arith.constant 4 : i32
// GROUPS:            arith.minui
// GROUPS:            scf.for %k

// One axis is numbered as it is.
func.func @rows(%x: memref<?x?xf32>, %c: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> i32
  %i = arith.index_cast %row : i32 to index
  scf.for %k = %c0 to %n step %c1 {
    %t = nv_tileaa.tiled_load %x[%i, %k] : (memref<?x?xf32>, index, index) -> tensor<16x8xf32>
    nv_tileaa.tiled_store %c[%i, %c0], %t : (memref<?x8xf32>, tensor<16x8xf32>, index, index) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func @rows
// CHECK:         scf.for %program = %first to %c_tiles0 step %blocks {
// CHECK-NEXT:      %row = arith.index_cast %program : index to i32
// CHECK:           %i = arith.index_cast %row : i32 to index

// It is not known how many programs there are: an id is computed with.
func.func @halves(%c: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32>
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %i = arith.addi %row, %row : index
  scf.for %k = %c0 to %n step %c1 {
    nv_tileaa.tiled_store %c[%i, %c0], %zero : (memref<?x8xf32>, tensor<16x8xf32>, index, index) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func @halves(%c: memref<?x8xf32>, %n: index) {
// CHECK-NOT:     scf.for %program
