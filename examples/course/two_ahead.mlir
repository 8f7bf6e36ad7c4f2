// The program of chapter 4: copies run two iterations ahead, and the wait leaves two groups unfinished.

func.func @double(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %ring = memref.alloc() : memref<3xf32, 3>
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<66xf32>
      memref.store %x, %ring[%c0] : memref<3xf32, 3>
    }
  }
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c1] : memref<66xf32>
      memref.store %x, %ring[%c1] : memref<3xf32, 3>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c2 : index
    %fill = arith.remui %ahead, %c3 : index
    %use = arith.remui %i, %c3 : index
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%ahead] : memref<66xf32>
        memref.store %x, %ring[%fill] : memref<3xf32, 3>
      }
    }
    async_queue.wait 0, 2
    %x = memref.load %ring[%use] : memref<3xf32, 3>
    %y = arith.addf %x, %x : f32
    memref.store %y, %out[%i] : memref<64xf32>
  }
  async_queue.wait 0, 0
  func.return
}
