// A kernel that writes with stores what its successor reads by TMA
//
// kind: missing-fence
// level: nvvm mbarriers
// between: llvm.store, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: flashinfer-ai/flashinfer#3361
// happened: The quantisation kernel of FlashInfer's mxfp8 path lets the GEMM behind it start early. The GEMM loads by
//   TMA what the quantiser wrote with ordinary stores; without fence.proxy.async in the writer 373 of 400 runs gave
//   NaN on GB200. The fence costs about 3 %.
// wrong: The writer arrives after its store, and the reader waits for that, so the two are in order. But the store
//   went through the generic proxy, and the bulk copy reads through the asynchronous one.
// says: generic write, then asynchronous read of global 'quantized'
// fix: fence.proxy.async by the writer, between its last store and its arrive.

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
