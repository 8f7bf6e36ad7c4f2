// A copy is put into a second group
//
// kind: malformed
// level: nvgpu
// between: nvgpu.device_async_create_group
// mirrors: NVIDIA (PTX ISA, cp.async.commit_group)
// happened: A group closes over the copies that are in none yet. A copy that is named a second time makes an empty
//   group, and a wait that counts groups counts one too many.
// wrong: The group that is waited for names a copy that is in another one.
// says: names a copy that is in a group already
// fix: Wait for the group in which the copy is.

func.func @load(%source: memref<8xf32>, %out: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %tile = memref.alloc() : memref<4xf32, 3>
  %copy = nvgpu.device_async_copy %source[%zero], %tile[%zero], 4 : memref<8xf32> to memref<4xf32, 3>
  %first = nvgpu.device_async_create_group %copy
  %second = nvgpu.device_async_create_group %copy
  nvgpu.device_async_wait %second
  %x = memref.load %tile[%zero] : memref<4xf32, 3>
  memref.store %x, %out[%zero] : memref<4xf32>
  func.return
}
