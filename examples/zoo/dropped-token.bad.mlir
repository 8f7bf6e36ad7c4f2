// Two waits merged into one that keeps one token
//
// kind: race
// level: async tokens
// between: memref.store, memref.load
// mirrors: triton-lang/triton#6384
// happened: A pass of Triton combines redundant waits into one. It left out the tokens of the wait that it started
//   from; no wait completed the copies behind those any more.
// wrong: The group that stands for both waits has one member; A's token was dropped.
// says: read after write on
// fix: Put the tokens of both waits into the group.

func.func @product(%a: memref<?xi32>, %b: memref<?xi32>, %ta: memref<1xi32>, %tb: memref<1xi32>, %dst: memref<?xi32>,
                   %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tokens = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %load_a = async.execute {
      %x = memref.load %a[%i] : memref<?xi32>
      memref.store %x, %ta[%c0] : memref<1xi32>
      async.yield
    }
    %load_b = async.execute {
      %y = memref.load %b[%i] : memref<?xi32>
      memref.store %y, %tb[%c0] : memref<1xi32>
      async.yield
    }
    %both = async.create_group %tokens : !async.group
    %second = async.add_to_group %load_b, %both : !async.token
    async.await_all %both
    %u = memref.load %ta[%c0] : memref<1xi32>
    %v = memref.load %tb[%c0] : memref<1xi32>
    %w = arith.muli %u, %v : i32
    memref.store %w, %dst[%i] : memref<?xi32>
  }
  func.return
}
