// Dropout: whether an element is kept is a hash of its number, so that the backward pass can compute it again.
!t = tensor<16x64xf32>
!i = tensor<16x64xi32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %seed: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %scale = arith.constant dense<2.0> : !t
  %middle = arith.constant dense<0> : !i
  %c64 = arith.constant 64 : i32
  %c16 = arith.constant 16 : i32
  %prime = arith.constant dense<-1640531527> : !i
  %c15 = arith.constant dense<15> : !i
  %seeds = nv_tileaa.splat %seed : (i32) -> !i
  scf.for %k = %c0 to %n step %c1 {
    %k32 = arith.index_cast %k : index to i32
    %first = arith.muli %k32, %c16 : i32
    %number = nv_tileaa.generate {
    ^bb0(%r: i32, %c: i32):
      %row = arith.addi %r, %first : i32
      %start = arith.muli %row, %c64 : i32
      %at = arith.addi %start, %c : i32
      nv_tileaa.yield %at : (i32) -> ()
    } : () -> !i
    %salted = arith.xori %number, %seeds : !i
    %product = arith.muli %salted, %prime : !i
    %high = arith.shrui %product, %c15 : !i
    %mixed = arith.xori %product, %high : !i
    %hash = arith.muli %mixed, %prime : !i
    %keep = arith.cmpi slt, %hash, %middle : !i
    %v = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !t
    %larger = arith.mulf %v, %scale : !t
    %w = arith.select %keep, %larger, %zero : tensor<16x64xi1>, !t
    nv_tileaa.tiled_store %y[%k, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
