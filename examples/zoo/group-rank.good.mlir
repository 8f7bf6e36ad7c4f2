// The good twin of group-rank.bad.mlir: both tasks are awaited before a slot is read.

func.func @results(%slots: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %done = async.create_group %c2 : !async.group
  %first = async.execute {
    %part = async.execute {
      async.yield
    }
    %rank = async.add_to_group %part, %done : !async.token
    memref.store %one, %slots[%rank] : memref<2xf32>
    async.yield
  }
  %second = async.execute {
    %part = async.execute {
      async.yield
    }
    %rank = async.add_to_group %part, %done : !async.token
    memref.store %one, %slots[%rank] : memref<2xf32>
    async.yield
  }
  async.await %first : !async.token
  async.await %second : !async.token
  %result = memref.load %slots[%c0] : memref<2xf32>
  async.await_all %done
  func.return
}
