// A buffer in shared memory is taken for one of each warp
//
// kind: race
// level: nvvm threads
// between: memref.store, memref.load
// mirrors: MLIR (dialect gpu, memory attributions)
// happened: An allocation in shared memory is one for the block, whichever thread executes it. Code that was written for
//   one warp stays without a barrier, and is run by two.
// wrong: Each thread reads what a thread of the other warp has written, and no barrier stands between.
// says: memref.load
// fix: Let the threads meet before they read.

func.func @reversed(%src: memref<64xf32>, %out: memref<64xf32>) attributes {nvvm.reqntid = array<i32: 64>} {
  %last = arith.constant 63 : index
  %t = gpu.thread_id x
  %r = arith.subi %last, %t : index
  %scratch = memref.alloc() : memref<64xf32, 3>
  %v = memref.load %src[%t] : memref<64xf32>
  memref.store %v, %scratch[%t] : memref<64xf32, 3>
  %w = memref.load %scratch[%r] : memref<64xf32, 3>
  memref.store %w, %out[%t] : memref<64xf32>
  func.return
}
