// Tasks of different iterations, and no token from one to the next
//
// kind: race
// level: async tokens
// between: memref.store, memref.store
// mirrors: Xilinx/mlir-air#152
// happened: In the runner of MLIR-AIR the tokens of a loop's body ran freely. The load of the next iteration did not
//   wait for the store of this one, though both use one buffer. The repair carries a token through the loop.
// wrong: The load of iteration i + 1 depends on nothing. It overwrites the tile that the store of iteration i reads,
//   or even runs beside the load of iteration i.
// says: with nothing that orders the two
// fix: Make the load depend on the token that the loop carries.

func.func @air(%src: memref<?xi32>, %tile: memref<1xi32>, %dst: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = async.execute {
    async.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %start) -> (!async.token) {
    %load = async.execute {
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
