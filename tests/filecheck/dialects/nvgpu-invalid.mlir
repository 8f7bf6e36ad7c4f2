// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A copy ends in shared memory.
func.func @refused(%a: memref<64xf32>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i], %a[%i], 4 : memref<64xf32> to memref<64xf32>
  func.return
}
// CHECK: destination memref must have a memory space attribute of IntegerAttr(3) or gpu::AddressSpaceAttr(Workgroup)

// -----

// A copy has 4, 8 or 16 bytes.
func.func @refused(%a: memref<64xf32>, %s: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i], %s[%i], 3 : memref<64xf32> to memref<64xf32, 3>
  func.return
}
// CHECK: Requested copy elements is 3 with width 32. But copy elements could be one of 1, 2, 4.

// -----

// Only 16 bytes go around the L1 cache.
func.func @refused(%a: memref<64xf32>, %s: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i], %s[%i], 2 {bypassL1} : memref<64xf32> to memref<64xf32, 3>
  func.return
}
// CHECK: with destination element 2. Unset bypassL1, or set destination element to 4

// -----

// An index for each dimension.
func.func @refused(%a: memref<64xf32>, %s: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i, %i], %s[%i], 4 : memref<64xf32> to memref<64xf32, 3>
  func.return
}
// CHECK: 'nvgpu.device_async_copy' op expected 1 source indices, got 2

// -----

// What is copied keeps its type.
func.func @refused(%a: memref<64xf16>, %s: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i], %s[%i], 4 : memref<64xf16> to memref<64xf32, 3>
  func.return
}
// CHECK: source and destination must have the same element type

// -----

// Neighbours are neighbours in memory.
func.func @refused(%a: memref<64xf32, strided<[2]>>, %s: memref<64xf32, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i], %s[%i], 4 : memref<64xf32, strided<[2]>> to memref<64xf32, 3>
  func.return
}
// CHECK: source memref most minor dim must have unit stride

// -----

// Elements have a fixed width (MLIR crashes here).
func.func @refused(%a: memref<64xindex>, %s: memref<64xindex, 3>, %i: index) {
  %0 = nvgpu.device_async_copy %a[%i], %s[%i], 1 : memref<64xindex> to memref<64xindex, 3>
  func.return
}
// CHECK: 'nvgpu.device_async_copy' op copies elements of a fixed width: found index, use an integer or a float type

// -----

// Groups are made of tokens.
func.func @refused(%i: index) {
  %0 = "nvgpu.device_async_create_group"(%i) : (index) -> !nvgpu.device.async.token
  func.return
}
// CHECK: 'nvgpu.device_async_create_group' op operand #0 must be variadic of device async token type, but got 'index'

// -----

// A number of groups has 32 bits.
func.func @refused(%t: !nvgpu.device.async.token) {
  nvgpu.device_async_wait %t {numGroups = 1 : i64}
  func.return
}
// CHECK: 'nvgpu.device_async_wait' op attribute 'numGroups' failed to satisfy constraint: 32-bit signless integer attribute
