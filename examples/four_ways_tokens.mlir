// One program, four ways of saying "not yet" (docs/four-ways.md). This is the way of tokens.
//
// `@double` doubles `%n` numbers. They come in through a ring of three slots, two numbers ahead of the arithmetic. The loop
// carries the tokens of the two numbers that are under way, and awaits the older one: that is the whole of the synchronisation.

func.func @double(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2.000000e+00 : f32
  %ring = memref.alloc() : memref<3xf32, 3>
  %first = async.execute {
    %x = memref.load %src[%c0] : memref<66xf32>
    memref.store %x, %ring[%c0] : memref<3xf32, 3>
    async.yield
  }
  %second = async.execute {
    %x_1 = memref.load %src[%c1] : memref<66xf32>
    memref.store %x_1, %ring[%c1] : memref<3xf32, 3>
    async.yield
  }
  %r0, %r1 = scf.for %i = %c0 to %n step %c1 iter_args(%younger = %second, %older = %first) -> (!async.token, !async.token) {
    %ahead = arith.addi %i, %c2 : index
    %fill = arith.remui %ahead, %c3 : index
    %use = arith.remui %i, %c3 : index
    %next = async.execute {
      %x_2 = memref.load %src[%ahead] : memref<66xf32>
      memref.store %x_2, %ring[%fill] : memref<3xf32, 3>
      async.yield
    }
    async.await %older : !async.token
    %x_3 = memref.load %ring[%use] : memref<3xf32, 3>
    %y = arith.mulf %x_3, %two : f32
    memref.store %y, %out[%i] : memref<64xf32>
    scf.yield %next, %younger : !async.token, !async.token
  }
  async.await %r1 : !async.token
  async.await %r0 : !async.token
  memref.dealloc %ring : memref<3xf32, 3>
  func.return
}
