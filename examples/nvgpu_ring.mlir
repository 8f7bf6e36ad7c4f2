// Device copies by token: rows come in through a ring of three slots, two rows ahead of their use.
//
// The tokens of the two rows ahead travel through the loop. Each iteration starts a copy for the row two ahead and waits
// for the oldest of the three copies that are under way. MLIR's own lowering forgets the tokens and waits for all of
// them; `convert-nvgpu-to-queue` makes counts of them: 2, and 1 and 0 behind the loop.

func.func @ring(%src: memref<?x4xf32>, %out: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %ring = memref.alloc() : memref<3x4xf32, 3>
  %copy0 = nvgpu.device_async_copy %src[%c0, %c0], %ring[%c0, %c0], 4 : memref<?x4xf32> to memref<3x4xf32, 3>
  %group0 = nvgpu.device_async_create_group %copy0
  %copy1 = nvgpu.device_async_copy %src[%c1, %c0], %ring[%c1, %c0], 4 : memref<?x4xf32> to memref<3x4xf32, 3>
  %group1 = nvgpu.device_async_create_group %copy1
  %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %group0, %b = %group1) -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
    %ahead = arith.addi %i, %c2 : index
    %slot = arith.remui %ahead, %c3 : index
    %copy = nvgpu.device_async_copy %src[%ahead, %c0], %ring[%slot, %c0], 4 : memref<?x4xf32> to memref<3x4xf32, 3>
    %group = nvgpu.device_async_create_group %copy
    nvgpu.device_async_wait %a
    %here = arith.remui %i, %c3 : index
    %row = vector.load %ring[%here, %c0] : memref<3x4xf32, 3>, vector<4xf32>
    vector.store %row, %out[%i, %c0] : memref<?x4xf32>, vector<4xf32>
    scf.yield %b, %group : !nvgpu.device.async.token, !nvgpu.device.async.token
  }
  nvgpu.device_async_wait %last#1
  func.return
}
