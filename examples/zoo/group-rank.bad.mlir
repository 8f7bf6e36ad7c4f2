// The first member of a group is taken for the first task
//
// kind: race
// level: async tokens
// between: memref.store, memref.load
// mirrors: LLVM (MLIR, async.add_to_group)
// happened: Two tasks put their results into the slots that their ranks in a group name. The program awaits the task that
//   was started first, and reads slot 0. A rank says which task came first, not which one was started first.
// wrong: Nothing orders the two tasks. Where the second one adds its member first, slot 0 is its own, and the load of
//   slot 0 only waits for the other.
// says: memref.store
// fix: Await both tasks before a slot is read.

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
  %result = memref.load %slots[%c0] : memref<2xf32>
  async.await %second : !async.token
  async.await_all %done
  func.return
}
