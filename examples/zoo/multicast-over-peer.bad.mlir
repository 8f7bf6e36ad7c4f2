// A multicast into a block that still reads
//
// kind: race
// level: nvvm mbarriers
// between: nvvm.cp.async.bulk.shared.cluster.global, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: inclusionAI/humming#56
// happened: The leader of a cluster of two blocks used shared memory anew once its own epilogue was over. It
//   multicast the next tile to both blocks, while its peer still used the tile before: 5 to 18 % of the elements were
//   wrong.
// wrong: The leader waits until its own thread has released the tile. The peer releases it at a barrier of its own, for
//   which no agent waits.
// says: nothing that orders the two
// fix: The leader's barrier counts both blocks, and both arrive there.

func.func @multicast(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %mask = arith.constant 3 : i16
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  %to = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>
  %released = nvvm.mapa %empty, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %k = %c0 to %n step %c1 : i32 {
    %bit = arith.andi %k, %c1 : i32
    %turn = arith.xori %bit, %c1 : i32
    nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
    scf.if %leads {
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.cp.async.bulk.shared.cluster.global %to, %from, %full, %bytes multicast_mask = %mask : !llvm.ptr<7>, <1>
    }
    nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.mbarrier.arrive %released {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  func.return
}
