// A synchronous loop. TODO: a prologue that fills the ring, a body that copies ahead, an epilogue that drains.

func.func @double(%src: memref<?xf32>, %out: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<?xf32>
        memref.store %x, %ring[%c0] : memref<1xf32, 3>
      }
    }
    async_queue.wait 0, 0
    %x = memref.load %ring[%c0] : memref<1xf32, 3>
    %y = arith.addf %x, %x : f32
    memref.store %y, %out[%i] : memref<?xf32>
  }
  func.return
}
