// RUN: xdsl-opt %s --split-input-file | filecheck %s

// Copies, groups and waits, by token.
func.func @tokens(%a: memref<128x128xf32>, %s: memref<3x16x128xf32, 3>, %i: index, %n: index, %t: !nvgpu.device.async.token, %h: memref<16xf16>, %hs: memref<16xf16, 3>, %b: memref<16xi8>, %bs: memref<16xi8, 3>, %z: memref<f32>, %zs: memref<f32, 3>, %dy: memref<?x?xf32, strided<[?, 1], offset: ?>>, %m: memref<16xi1>, %ms: memref<16xi1, 3>) {
// CHECK-LABEL: func.func @tokens(
  %r0 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 4 : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  // CHECK-NEXT: %r0 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 4 : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  %r1 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 1 : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  // CHECK-NEXT: %r1 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 1 : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  %r2 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 4 {bypassL1} : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  // CHECK-NEXT: %r2 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 4 {bypassL1} : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  %r3 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 4, %n {a, bypassL1, z = 1 : i32} : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  // CHECK-NEXT: %r3 = nvgpu.device_async_copy %a[%i, %i], %s[%i, %i, %i], 4, %n {a, bypassL1, z = 1 : i32} : memref<128x128xf32> to memref<3x16x128xf32, 3 : i64>
  %r4 = nvgpu.device_async_copy %h[%i], %hs[%i], 8 : memref<16xf16> to memref<16xf16, 3 : i64>
  // CHECK-NEXT: %r4 = nvgpu.device_async_copy %h[%i], %hs[%i], 8 : memref<16xf16> to memref<16xf16, 3 : i64>
  %r5 = nvgpu.device_async_copy %b[%i], %bs[%i], 16 {bypassL1} : memref<16xi8> to memref<16xi8, 3 : i64>
  // CHECK-NEXT: %r5 = nvgpu.device_async_copy %b[%i], %bs[%i], 16 {bypassL1} : memref<16xi8> to memref<16xi8, 3 : i64>
  %r6 = nvgpu.device_async_copy %z[], %zs[], 1 : memref<f32> to memref<f32, 3 : i64>
  // CHECK-NEXT: %r6 = nvgpu.device_async_copy %z[], %zs[], 1 : memref<f32> to memref<f32, 3 : i64>
  %r7 = nvgpu.device_async_copy %dy[%i, %i], %s[%i, %i, %i], 2 : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<3x16x128xf32, 3 : i64>
  // CHECK-NEXT: %r7 = nvgpu.device_async_copy %dy[%i, %i], %s[%i, %i, %i], 2 : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<3x16x128xf32, 3 : i64>
  %r8 = nvgpu.device_async_copy %m[%i], %ms[%i], 128 : memref<16xi1> to memref<16xi1, 3 : i64>
  // CHECK-NEXT: %r8 = nvgpu.device_async_copy %m[%i], %ms[%i], 128 : memref<16xi1> to memref<16xi1, 3 : i64>
  %r9 = nvgpu.device_async_create_group %t {tag}
  // CHECK-NEXT: %r9 = nvgpu.device_async_create_group %t {tag}
  %r10 = nvgpu.device_async_create_group %t, %t
  // CHECK-NEXT: %r10 = nvgpu.device_async_create_group %t, %t
  nvgpu.device_async_wait %t
  // CHECK-NEXT: nvgpu.device_async_wait %t
  nvgpu.device_async_wait %t {numGroups = 1 : i32}
  // CHECK-NEXT: nvgpu.device_async_wait %t {numGroups = 1 : i32}
  nvgpu.device_async_wait %t {a, numGroups = -1 : i32, z}
  // CHECK-NEXT: nvgpu.device_async_wait %t {a, numGroups = -1 : i32, z}
  func.return
}

// -----

// An empty group before an op with results: the empty dictionary keeps the two apart.
func.func @empty_group() {
// CHECK-LABEL: func.func @empty_group(
  %g = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  // CHECK-NEXT: %g = nvgpu.device_async_create_group {}
  %h = nvgpu.device_async_create_group
  // CHECK-NEXT: %h = nvgpu.device_async_create_group{{$}}
  nvgpu.device_async_wait %h
  // CHECK-NEXT: nvgpu.device_async_wait %h
  func.return
}
