// As double.mlir, with a number of %bias added to each.

func.func @biased(%src: memref<64xf32>, %bias: memref<64xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %src[%i] : memref<64xf32>
    %b = memref.load %bias[%i] : memref<64xf32>
    %y = arith.addf %x, %x : f32
    %z = arith.addf %y, %b : f32
    memref.store %z, %out[%i] : memref<64xf32>
  }
  func.return
}
