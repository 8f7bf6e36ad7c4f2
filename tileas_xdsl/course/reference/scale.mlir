// Twice a matrix, row by row, with nothing asynchronous.

func.func @scale(%src: memref<64x4xf32>, %out: memref<64x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %src[%i, %j] : memref<64x4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%i, %j] : memref<64x4xf32>
    }
  }
  func.return
}
