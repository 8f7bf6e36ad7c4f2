// A slot given back by one thread of every warp, where one arrival is counted
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: NVIDIA/cccl#6231, tile-ai/tilelang#2445
// happened: elect.sync elects one thread of each warp. Helpers that mean one thread of the block need the number of the
//   warp, too. libcu++ writes `elect_sync(~0) && threadIdx.x < 32` in its examples. A review of TileLang's
//   tl_shuffle_elect warned of more leaders than callers expect.
// wrong: The barrier is made for one arrival a phase, and the four consumer warps make four. The first of them gives the
//   slot back while the other three may still read it.
// says: where phase 1 is meant
// fix: The barrier counts four arrivals: one a warp.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %slot: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>,
    %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %releases = arith.constant 1 : i32
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
