// The good twin of split-loop-tail.bad.mlir: the second half waits before it reads.

func.func @copy(%source: memref<8xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %split = arith.constant 2 : index
  %one = arith.constant 1 : index
  %tile = memref.alloc() : memref<4xf32, 3>
  scf.for %k = %split to %n step %one {
    %copy = nvgpu.device_async_copy %source[%zero], %tile[%zero], 4 : memref<8xf32> to memref<4xf32, 3>
    %group = nvgpu.device_async_create_group %copy
    nvgpu.device_async_wait %group
    %x = memref.load %tile[%zero] : memref<4xf32, 3>
  }
  func.return
}
