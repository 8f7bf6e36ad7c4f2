// The good twin of plan-buffer-reuse.bad.mlir: the last copy is awaited before the buffer is written again.

func.func @plan(%metadata: memref<?xi32>, %pinned: memref<1xi32>, %device: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = async.execute {
    async.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%copied = %start) -> (!async.token) {
    async.await %copied : !async.token
    %m = memref.load %metadata[%i] : memref<?xi32>
    memref.store %m, %pinned[%c0] : memref<1xi32>
    %copy = async.execute [%copied] {
      %x = memref.load %pinned[%c0] : memref<1xi32>
      memref.store %x, %device[%i] : memref<?xi32>
      async.yield
    }
    scf.yield %copy : !async.token
  }
  async.await %last : !async.token
  func.return
}
