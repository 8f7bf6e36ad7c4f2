// A wrong answer: without the wait it is fast, and reads the slot too early.

func.func @biased(%src: memref<64xf32>, %bias: memref<64xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %slot = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %s = memref.load %src[%i] : memref<64xf32>
        memref.store %s, %slot[%c0] : memref<1xf32, 3>
      }
    }
    %b = memref.load %bias[%i] : memref<64xf32>
    %x = memref.load %slot[%c0] : memref<1xf32, 3>
    %y = arith.addf %x, %x : f32
    %z = arith.addf %y, %b : f32
    memref.store %z, %out[%i] : memref<64xf32>
  }
  func.return
}
