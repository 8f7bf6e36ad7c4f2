// The good twin of dropped-token.bad.mlir: both tokens are in the group.

func.func @product(%a: memref<?xi32>, %b: memref<?xi32>, %ta: memref<1xi32>, %tb: memref<1xi32>, %dst: memref<?xi32>,
                   %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tokens = arith.constant 2 : index
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
    %first = async.add_to_group %load_a, %both : !async.token
    %second = async.add_to_group %load_b, %both : !async.token
    async.await_all %both
    %u = memref.load %ta[%c0] : memref<1xi32>
    %v = memref.load %tb[%c0] : memref<1xi32>
    %w = arith.muli %u, %v : i32
    memref.store %w, %dst[%i] : memref<?xi32>
  }
  func.return
}
