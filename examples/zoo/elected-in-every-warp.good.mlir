// The good twin of elected-in-every-warp.bad.mlir: four arrivals are counted, one for each warp.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %slot: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>,
    %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %releases = arith.constant 4 : i32
  %bytes = arith.constant 512 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %releases : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
    num_warps = array<i32: 1, 4>, isolated = false} {
    // The load warp: one thread announces the bytes and starts the copy.
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
  }, {
    // Four compute warps: each reads the tile, and one thread of each gives it back.
    %one = nvvm.elect.sync -> i1
    %zero = arith.constant 0.0 : f32
    scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      scf.if %one {
        nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      }
      scf.yield %next : f32
    }
  } : () -> ()
  func.return
}
