// The last iteration prefetches a slot that the ring does not have
//
// kind: malformed
// level: async_queue
// between: memref.load
// mirrors: general: software pipelining by hand
// happened: Each iteration copies the row of the next one. The last iteration has no next one, and reads behind the end
//   of the array.
// wrong: Row k + 1 is copied whether it is there or not.
// says: reaches outside 'rows'
// fix: Copy the next row only if there is one.

func.func @walk(%rows: memref<4xf32>, %out: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %ahead = memref.alloc() : memref<2xf32>
  %two = arith.constant 2 : index
  scf.for %k = %zero to %four step %one {
    %next = arith.addi %k, %one : index
    %slot = arith.remui %next, %two : index
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %rows[%next] : memref<4xf32>
        memref.store %x, %ahead[%slot] : memref<2xf32>
      }
    }
    async_queue.wait 0, 0
    %y = memref.load %ahead[%slot] : memref<2xf32>
    memref.store %y, %out[%k] : memref<4xf32>
  }
  func.return
}
