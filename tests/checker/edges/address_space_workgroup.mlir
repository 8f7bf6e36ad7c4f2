// expect: safe; buffers in #gpu.address_space<workgroup>, copied by groups of nvgpu
builtin.module attributes {transform.with_named_sequence} {
  func.func @kernel(%arg0: memref<128xf32>, %arg1: memref<128xf32>) {
    %0 = arith.constant 0 : index
    %1 = arith.constant 96 : index
    %2 = arith.constant 4 : index
    %3 = arith.constant 1 : index
    %4 = memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
    %5 = arith.constant 0 : index
    %6 = arith.muli %2, %5 : index
    %7 = arith.addi %0, %6 : index
    %8 = nvgpu.device_async_copy %arg0[%7], %4[%7], 4 : memref<128xf32> to memref<128xf32, #gpu.address_space<workgroup>>
    %9 = nvgpu.device_async_create_group %8
    %10 = arith.constant 1 : index
    %11 = arith.muli %2, %10 : index
    %12 = arith.addi %0, %11 : index
    %13 = nvgpu.device_async_copy %arg0[%12], %4[%12], 4 : memref<128xf32> to memref<128xf32, #gpu.address_space<workgroup>>
    %14 = nvgpu.device_async_create_group %13
    %15 = arith.constant 2 : index
    %16 = arith.muli %2, %15 : index
    %17 = arith.subi %1, %16 : index
    %18, %19 = scf.for %arg2 = %0 to %17 step %2 iter_args(%arg3 = %9, %arg4 = %14) -> (!nvgpu.device.async.token, !nvgpu.device.async.token) {
      nvgpu.device_async_wait %arg3 {numGroups = 1 : i32}
      %20 = arith.constant 0 : index
      %21 = arith.muli %2, %20 : index
      %22 = arith.addi %arg2, %21 : index
      %23 = memref.load %4[%22] : memref<128xf32, #gpu.address_space<workgroup>>
      %24 = arith.constant 0 : index
      %25 = arith.muli %2, %24 : index
      %26 = arith.addi %arg2, %25 : index
      memref.store %23, %arg1[%26] : memref<128xf32>
      %27 = arith.constant 2 : index
      %28 = arith.muli %2, %27 : index
      %29 = arith.addi %arg2, %28 : index
      %30 = arith.constant 2 : index
      %31 = arith.muli %2, %30 : index
      %32 = arith.addi %arg2, %31 : index
      %33 = nvgpu.device_async_copy %arg0[%32], %4[%29], 4 : memref<128xf32> to memref<128xf32, #gpu.address_space<workgroup>>
      %34 = nvgpu.device_async_create_group %33
      scf.yield %arg4, %34 : !nvgpu.device.async.token, !nvgpu.device.async.token
    }
    %35 = arith.constant 0 : index
    %36 = arith.constant 1 : index
    %37 = arith.cmpi slt, %2, %35 : index
    %38 = arith.constant -1 : index
    %39 = arith.select %37, %36, %38 : index
    %40 = arith.subi %1, %0 : index
    %41 = arith.addi %40, %2 : index
    %42 = arith.addi %41, %39 : index
    %43 = arith.divsi %42, %2 : index
    %44 = arith.constant 2 : index
    %45 = arith.subi %43, %44 : index
    %46 = arith.maxsi %35, %45 : index
    %47 = arith.muli %2, %46 : index
    %48 = arith.addi %0, %47 : index
    %49 = arith.addi %46, %36 : index
    %50 = arith.muli %2, %49 : index
    %51 = arith.addi %0, %50 : index
    %52 = arith.addi %49, %36 : index
    nvgpu.device_async_wait %18 {numGroups = 1 : i32}
    %53 = memref.load %4[%48] : memref<128xf32, #gpu.address_space<workgroup>>
    memref.store %53, %arg1[%48] : memref<128xf32>
    nvgpu.device_async_wait %19 {numGroups = 0 : i32}
    %54 = memref.load %4[%51] : memref<128xf32, #gpu.address_space<workgroup>>
    memref.store %54, %arg1[%51] : memref<128xf32>
    func.return
  }
}

