// The good twin of wait-inside-its-group.bad.mlir: the copy's group is closed before the wait.

func.func @one_stage(%a: memref<?xi32>, %shared: memref<?xi32>, %d: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %a[%i] : memref<?xi32>
        memref.store %x, %shared[%i] : memref<?xi32>
      }
    }
    async_queue.commit 0 {
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
