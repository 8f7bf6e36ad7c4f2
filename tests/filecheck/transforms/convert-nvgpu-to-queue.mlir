// RUN: xdsl-opt %s -p convert-nvgpu-to-queue,verify-dominance --split-input-file | filecheck %s

func.func @rotating(%src: memref<64x4xf32>, %ring: memref<3x4xf32, 3>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = nvgpu.device_async_copy %src[%c0, %c0], %ring[%c0, %c0], 4 : memref<64x4xf32> to memref<3x4xf32, 3>
  %0 = nvgpu.device_async_create_group %a
  %b = nvgpu.device_async_copy %src[%c1, %c0], %ring[%c1, %c0], 4 : memref<64x4xf32> to memref<3x4xf32, 3>
  %1 = nvgpu.device_async_create_group %b
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %0, %y = %1) -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
    %c = nvgpu.device_async_copy %src[%i, %c0], %ring[%c0, %c0], 1 : memref<64x4xf32> to memref<3x4xf32, 3>
    %d = nvgpu.device_async_copy %src[%i, %c1], %ring[%c0, %c1], 1 : memref<64x4xf32> to memref<3x4xf32, 3>
    %g = nvgpu.device_async_create_group %c, %d
    nvgpu.device_async_wait %x
    scf.yield %y, %g : !nvgpu.device.async.token, !nvgpu.device.async.token
  }
  nvgpu.device_async_wait %r#0
  nvgpu.device_async_wait %r#1
  func.return
}
// CHECK-LABEL: func.func @rotating
// CHECK:         async_queue.commit 0 {
// CHECK-NEXT:      async_queue.scope {
// CHECK-NEXT:        %0 = vector.load %src[%c0, %c0] : memref<64x4xf32>, vector<4xf32>
// CHECK-NEXT:        vector.store %0, %ring[%c0, %c0] : memref<3x4xf32, 3{{.*}}>, vector<4xf32>
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      async_queue.commit 0 {
// CHECK-NEXT:        async_queue.scope {
// CHECK-NEXT:          {{%.*}} = memref.load %src[%i, %c0]
// CHECK-NEXT:          memref.store {{%.*}}, %ring[%c0, %c0]
// CHECK-NEXT:        }
// CHECK-NEXT:        async_queue.scope {
// CHECK:           async_queue.wait 0, 2
// CHECK-NEXT:    }
// CHECK-NEXT:    async_queue.wait 0, 1
// CHECK-NEXT:    async_queue.wait 0, 0
// CHECK-NEXT:    func.return

// -----

// Nothing to do.
func.func @no_copies(%n: index) {
  func.return
}
// CHECK-LABEL: func.func @no_copies
// CHECK-NEXT:    func.return
