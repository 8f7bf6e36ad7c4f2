// A wait inside the group that it is meant to cover
//
// kind: race
// level: async_queue
// between: async_queue.scope, async_queue.scope
// mirrors: apache/tvm#12171
// happened: Where a consumer has the stage of its producers and the stage is asynchronous, TVM puts all of them into
//   one commit. The wait is there as well. A group is in the queue only when its commit is left, so the wait cannot
//   cover it. A test for such stages was removed before the change was merged.
// wrong: When the wait is reached, the copy belongs to a group that is still being built.
// says: read after write on
// fix: Close the group of the copy before the wait.

func.func @one_stage(%a: memref<?xi32>, %shared: memref<?xi32>, %d: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %a[%i] : memref<?xi32>
        memref.store %x, %shared[%i] : memref<?xi32>
      }
      async_queue.wait 0, 0 {
        async_queue.scope {
          %y = memref.load %shared[%i] : memref<?xi32>
          memref.store %y, %d[%i] : memref<?xi32>
        }
      }
    }
  }
  async_queue.wait 0, 0
  func.return
}
