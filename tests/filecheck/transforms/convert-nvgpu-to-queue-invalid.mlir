// RUN: not xdsl-opt %s -p convert-nvgpu-to-queue 2>&1 | filecheck %s

func.func @too_few(%src: memref<64x4xf32>, %ring: memref<3x4xf32, 3>) {
  %c0 = arith.constant 0 : index
  %a = nvgpu.device_async_copy %src[%c0, %c0], %ring[%c0, %c0], 4 : memref<64x4xf32> to memref<3x4xf32, 3>
  %g = nvgpu.device_async_create_group %a
  nvgpu.device_async_wait %g {numGroups = 1 : i32}
  func.return
}
// CHECK: error: 'nvgpu.device_async_wait' op leaves 1 groups unfinished, and its own may be among them: committed by 'nvgpu.device_async_create_group', and none since
// CHECK-NEXT: help: leave numGroups out, or write 0 at most
