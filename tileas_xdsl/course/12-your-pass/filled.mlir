// The second wait has ops in its region, which are no part of what it waits for: both stay.

func.func @double(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = memref.alloc() : memref<2xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    %slot = arith.remui %i, %c2 : index
    async_queue.commit 0 {
      async_queue.scope {
        %s = memref.load %src[%i] : memref<66xf32>
        memref.store %s, %ring[%slot] : memref<2xf32, 3>
      }
    }
    async_queue.wait 0, 0
    async_queue.wait 0, 0 {
      %x = memref.load %ring[%slot] : memref<2xf32, 3>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%i] : memref<64xf32>
    }
  }
  func.return
}
