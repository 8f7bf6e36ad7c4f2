// A staging buffer filled again while the last copy out of it is under way
//
// kind: race
// level: async tokens
// between: memref.store, memref.load
// mirrors: sgl-project/mini-sglang#103
// happened: FlashInfer's plan writes metadata into a pinned buffer and starts an asynchronous copy of it to the
//   device. A second plan, overlapping with the first batch, fills the same buffer while the first copy may still be
//   reading: illegal addresses, now and then.
// wrong: The host writes the buffer in every iteration without awaiting the copy that reads it.
// says: with nothing that orders the two
// fix: Await the last copy before the buffer is written again.

func.func @plan(%metadata: memref<?xi32>, %pinned: memref<1xi32>, %device: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = async.execute {
    async.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%copied = %start) -> (!async.token) {
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
