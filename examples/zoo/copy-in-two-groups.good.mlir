// The good twin of copy-in-two-groups.bad.mlir: there is one group, which is waited for.

func.func @load(%source: memref<8xf32>, %out: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %tile = memref.alloc() : memref<4xf32, 3>
  %copy = nvgpu.device_async_copy %source[%zero], %tile[%zero], 4 : memref<8xf32> to memref<4xf32, 3>
  %first = nvgpu.device_async_create_group %copy
  nvgpu.device_async_wait %first
  %x = memref.load %tile[%zero] : memref<4xf32, 3>
  memref.store %x, %out[%zero] : memref<4xf32>
  func.return
}
