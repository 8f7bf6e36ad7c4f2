// The second half of a split loop drops its wait
//
// kind: race
// level: nvgpu
// between: nvgpu.device_async_copy, memref.load
// mirrors: general: a loop that is split at a constant
// happened: A loop is split at a constant. Its first half is tested with small sizes. Its second half has its
//   first iteration when the size is above the constant, and no test gets there.
// wrong: The second half reads the tile before its copy is complete.
// says: a wait that completes
// fix: Wait in the second half as well.

func.func @copy(%source: memref<8xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %split = arith.constant 2 : index
  %one = arith.constant 1 : index
  %tile = memref.alloc() : memref<4xf32, 3>
  scf.for %k = %split to %n step %one {
    %copy = nvgpu.device_async_copy %source[%zero], %tile[%zero], 4 : memref<8xf32> to memref<4xf32, 3>
    %group = nvgpu.device_async_create_group %copy
    %x = memref.load %tile[%zero] : memref<4xf32, 3>
    nvgpu.device_async_wait %group
  }
  func.return
}
