// Tasks, groups and values of MLIR's `async`: the sum of an array, a task for each row.
//
// A first task clears the totals. Each row's task waits for it by its token, sums its row and adds to the row's total.
// The tasks join a group whose size is known in advance; once all of them are complete a last task adds up the totals
// and hands over the result as a value.

func.func @sum(%rows: memref<?x16xf32>, %totals: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32

  %cleared = async.execute {
    scf.for %i = %c0 to %n step %c1 {
      memref.store %zero, %totals[%i] : memref<?xf32>
    }
    async.yield
  }

  %group = async.create_group %n : !async.group
  scf.for %i = %c0 to %n step %c1 {
    %summed = async.execute [%cleared] {
      scf.for %j = %c0 to %c16 step %c1 {
        %x = memref.load %rows[%i, %j] : memref<?x16xf32>
        %before = memref.load %totals[%i] : memref<?xf32>
        %after = arith.addf %before, %x : f32
        memref.store %after, %totals[%i] : memref<?xf32>
      }
      async.yield
    }
    %number = async.add_to_group %summed, %group : !async.token
  }
  async.await %cleared : !async.token
  async.await_all %group

  %done, %sum = async.execute -> !async.value<f32> {
    %all = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %x = memref.load %totals[%i] : memref<?xf32>
      %next = arith.addf %acc, %x : f32
      scf.yield %next : f32
    }
    async.yield %all : f32
  }
  %result = async.await %sum : !async.value<f32>
  func.return %result : f32
}
