// The good twin of token-not-carried.bad.mlir: the load waits for the token that the loop carries.

func.func @air(%src: memref<?xi32>, %tile: memref<1xi32>, %dst: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = async.execute {
    async.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %start) -> (!async.token) {
    %load = async.execute [%before] {
      %x = memref.load %src[%i] : memref<?xi32>
      memref.store %x, %tile[%c0] : memref<1xi32>
      async.yield
    }
    %store = async.execute [%load, %before] {
      %y = memref.load %tile[%c0] : memref<1xi32>
      memref.store %y, %dst[%i] : memref<?xi32>
      async.yield
    }
    scf.yield %store : !async.token
  }
  async.await %last : !async.token
  func.return
}
