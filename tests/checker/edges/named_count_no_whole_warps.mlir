// expect: malformed; 127 threads are no whole warps (PTX ISA, barrier: a multiple of the warp size)

func.func @tiny_gemm(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %slot: !llvm.ptr<3>, %full: !llvm.ptr<3>,
    %empty: !llvm.ptr<3>, %n: i32) attributes {nvvm.reqntid = array<i32: 160>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %compute = arith.constant 128 : i32
  %bytes = arith.constant 512 : i32
  %odd = arith.constant 127 : i32
  %ticks = arith.constant 1000 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  scf.if %first {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.barrier0
  %loads = arith.cmpi uge, %tid, %compute : i32
  scf.if %loads {
    // Warp 4: waits until the slot is free, and lets the copy engine fill it.
    %one = nvvm.elect.sync -> i1
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      scf.if %one {
        nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %full, %bytes : !llvm.ptr<3>, <1>
      }
    }
  } else {
    // Warps 0 to 3: each thread takes its element; when all have, one of them gives the slot back.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %mine = llvm.getelementptr %slot[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.load %mine : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier id = %c1 number_of_threads = %odd
      scf.if %first {
        nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      }
      %line = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
      %to = llvm.getelementptr %line[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %to : f32, !llvm.ptr<1>
    }
  }
  func.return
}
