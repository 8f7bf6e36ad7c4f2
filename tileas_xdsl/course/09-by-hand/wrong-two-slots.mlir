// A wrong answer: two copies ahead, and the second one fills the slot that is being read.

func.func @double(%src: memref<?xf32>, %out: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = memref.alloc() : memref<2xf32, 3>
  %any0 = arith.cmpi ult, %c0, %n : index
  async_queue.commit 0 {
    scf.if %any0 {
      async_queue.scope {
        %x = memref.load %src[%c0] : memref<?xf32>
        memref.store %x, %ring[%c0] : memref<2xf32, 3>
      }
    }
  }
  %any1 = arith.cmpi ult, %c1, %n : index
  async_queue.commit 0 {
    scf.if %any1 {
      async_queue.scope {
        %x = memref.load %src[%c1] : memref<?xf32>
        memref.store %x, %ring[%c1] : memref<2xf32, 3>
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c2 : index
    %fill = arith.remui %ahead, %c2 : index
    %use = arith.remui %i, %c2 : index
    %more = arith.cmpi ult, %ahead, %n : index
    async_queue.commit 0 {
      scf.if %more {
        async_queue.scope {
          %x = memref.load %src[%ahead] : memref<?xf32>
          memref.store %x, %ring[%fill] : memref<2xf32, 3>
        }
      }
    }
    async_queue.wait 0, 2
    %x = memref.load %ring[%use] : memref<2xf32, 3>
    %y = arith.addf %x, %x : f32
    memref.store %y, %out[%i] : memref<?xf32>
  }
  async_queue.wait 0, 0
  func.return
}
