// One slot for all iterations. TODO: let the task that fills it wait for the task that last read it.

func.func @double(%src: memref<?xf32>, %out: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %slot = memref.alloc() : memref<1xf32, 3>
  %start = async.execute {
    async.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %start) -> (!async.token) {
    %load = async.execute {
      %x = memref.load %src[%i] : memref<?xf32>
      memref.store %x, %slot[%c0] : memref<1xf32, 3>
      async.yield
    }
    %store = async.execute [%load] {
      %x = memref.load %slot[%c0] : memref<1xf32, 3>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%i] : memref<?xf32>
      async.yield
    }
    scf.yield %store : !async.token
  }
  async.await %last : !async.token
  func.return
}
