// The good twin of quantize-then-tma.bad.mlir: the quantiser fences its stores before it says that they are done.

func.func @quantize_gemm(%src: !llvm.ptr<1>, %quantized: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>,
    %written: !llvm.ptr<3>, %loaded: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %written, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %loaded, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The quantiser: rounds all tiles, then says so.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      %to = llvm.getelementptr %quantized[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      %v = llvm.load %from : !llvm.ptr<1> -> f32
      %half = arith.truncf %v : f32 to f16
      %rounded = arith.extf %half : f16 to f32
      llvm.store %rounded, %to : f32, !llvm.ptr<1>
    }
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
    nvvm.mbarrier.arrive %written : !llvm.ptr<3>
  }, {
    // The GEMM: loads a tile at a time.
    nvvm.mbarrier.try_wait.parity %written, %c0, %ticks : !llvm.ptr<3>, i32, i32
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      %from = llvm.getelementptr %quantized[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.arrive.expect_tx %loaded, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %tile, %from, %loaded, %bytes : !llvm.ptr<3>, <1>
      nvvm.mbarrier.try_wait.parity %loaded, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %tile : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
