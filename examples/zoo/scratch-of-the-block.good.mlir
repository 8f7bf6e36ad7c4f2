// The good twin of scratch-of-the-block.bad.mlir: the threads meet before they read.

func.func @reversed(%src: memref<64xf32>, %out: memref<64xf32>) attributes {nvvm.reqntid = array<i32: 64>} {
  %last = arith.constant 63 : index
  %t = gpu.thread_id x
  %r = arith.subi %last, %t : index
  %scratch = memref.alloc() : memref<64xf32, 3>
  %v = memref.load %src[%t] : memref<64xf32>
  memref.store %v, %scratch[%t] : memref<64xf32, 3>
  nvvm.barrier0
  %w = memref.load %scratch[%r] : memref<64xf32, 3>
  memref.store %w, %out[%t] : memref<64xf32>
  func.return
}
