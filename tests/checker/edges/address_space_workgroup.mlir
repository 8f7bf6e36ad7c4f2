// expect: safe; buffers in #gpu.address_space<workgroup>, copied by groups of nvgpu
"builtin.module"() ({
  "func.func"() <{function_type = (memref<128xf32>, memref<128xf32>) -> (), sym_name = "kernel"}> ({
  ^bb0(%arg0: memref<128xf32>, %arg1: memref<128xf32>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 96 : index}> : () -> index
    %2 = "arith.constant"() <{value = 4 : index}> : () -> index
    %3 = "arith.constant"() <{value = 1 : index}> : () -> index
    %4 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<128xf32, #gpu.address_space<workgroup>>
    %5 = "arith.constant"() <{value = 0 : index}> : () -> index
    %6 = "arith.muli"(%2, %5) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %7 = "arith.addi"(%0, %6) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %8 = "nvgpu.device_async_copy"(%4, %7, %arg0, %7) <{dstElements = 4 : index, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (memref<128xf32, #gpu.address_space<workgroup>>, index, memref<128xf32>, index) -> !nvgpu.device.async.token
    %9 = "nvgpu.device_async_create_group"(%8) : (!nvgpu.device.async.token) -> !nvgpu.device.async.token
    %10 = "arith.constant"() <{value = 1 : index}> : () -> index
    %11 = "arith.muli"(%2, %10) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %12 = "arith.addi"(%0, %11) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %13 = "nvgpu.device_async_copy"(%4, %12, %arg0, %12) <{dstElements = 4 : index, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (memref<128xf32, #gpu.address_space<workgroup>>, index, memref<128xf32>, index) -> !nvgpu.device.async.token
    %14 = "nvgpu.device_async_create_group"(%13) : (!nvgpu.device.async.token) -> !nvgpu.device.async.token
    %15 = "arith.constant"() <{value = 2 : index}> : () -> index
    %16 = "arith.muli"(%2, %15) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %17 = "arith.subi"(%1, %16) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %18:2 = "scf.for"(%0, %17, %2, %9, %14) ({
    ^bb0(%arg2: index, %arg3: !nvgpu.device.async.token, %arg4: !nvgpu.device.async.token):
      "nvgpu.device_async_wait"(%arg3) <{numGroups = 1 : i32}> : (!nvgpu.device.async.token) -> ()
      %39 = "arith.constant"() <{value = 0 : index}> : () -> index
      %40 = "arith.muli"(%2, %39) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %41 = "arith.addi"(%arg2, %40) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %42 = "memref.load"(%4, %41) : (memref<128xf32, #gpu.address_space<workgroup>>, index) -> f32
      %43 = "arith.constant"() <{value = 0 : index}> : () -> index
      %44 = "arith.muli"(%2, %43) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %45 = "arith.addi"(%arg2, %44) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      "memref.store"(%42, %arg1, %45) : (f32, memref<128xf32>, index) -> ()
      %46 = "arith.constant"() <{value = 2 : index}> : () -> index
      %47 = "arith.muli"(%2, %46) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %48 = "arith.addi"(%arg2, %47) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %49 = "arith.constant"() <{value = 2 : index}> : () -> index
      %50 = "arith.muli"(%2, %49) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %51 = "arith.addi"(%arg2, %50) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %52 = "nvgpu.device_async_copy"(%4, %48, %arg0, %51) <{dstElements = 4 : index, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (memref<128xf32, #gpu.address_space<workgroup>>, index, memref<128xf32>, index) -> !nvgpu.device.async.token
      %53 = "nvgpu.device_async_create_group"(%52) : (!nvgpu.device.async.token) -> !nvgpu.device.async.token
      "scf.yield"(%arg4, %53) : (!nvgpu.device.async.token, !nvgpu.device.async.token) -> ()
    }) : (index, index, index, !nvgpu.device.async.token, !nvgpu.device.async.token) -> (!nvgpu.device.async.token, !nvgpu.device.async.token)
    %19 = "arith.constant"() <{value = 0 : index}> : () -> index
    %20 = "arith.constant"() <{value = 1 : index}> : () -> index
    %21 = "arith.cmpi"(%2, %19) <{predicate = 2 : i64}> : (index, index) -> i1
    %22 = "arith.constant"() <{value = -1 : index}> : () -> index
    %23 = "arith.select"(%21, %20, %22) : (i1, index, index) -> index
    %24 = "arith.subi"(%1, %0) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %25 = "arith.addi"(%24, %2) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %26 = "arith.addi"(%25, %23) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %27 = "arith.divsi"(%26, %2) : (index, index) -> index
    %28 = "arith.constant"() <{value = 2 : index}> : () -> index
    %29 = "arith.subi"(%27, %28) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %30 = "arith.maxsi"(%19, %29) : (index, index) -> index
    %31 = "arith.muli"(%2, %30) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %32 = "arith.addi"(%0, %31) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %33 = "arith.addi"(%30, %20) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %34 = "arith.muli"(%2, %33) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %35 = "arith.addi"(%0, %34) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %36 = "arith.addi"(%33, %20) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    "nvgpu.device_async_wait"(%18#0) <{numGroups = 1 : i32}> : (!nvgpu.device.async.token) -> ()
    %37 = "memref.load"(%4, %32) : (memref<128xf32, #gpu.address_space<workgroup>>, index) -> f32
    "memref.store"(%37, %arg1, %32) : (f32, memref<128xf32>, index) -> ()
    "nvgpu.device_async_wait"(%18#1) <{numGroups = 0 : i32}> : (!nvgpu.device.async.token) -> ()
    %38 = "memref.load"(%4, %35) : (memref<128xf32, #gpu.address_space<workgroup>>, index) -> f32
    "memref.store"(%38, %arg1, %35) : (f32, memref<128xf32>, index) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) {transform.with_named_sequence} : () -> ()

