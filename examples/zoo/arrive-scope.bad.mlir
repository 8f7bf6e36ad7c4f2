// An arrive at another block's barrier, with the scope of one block
//
// kind: race
// level: nvvm mbarriers
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: NVIDIA/cutlass#3643
// happened: The same example signals the leader's barrier from the peer with scope CTA, which lowers to
//   mbarrier.arrive.release.cta on a shared::cluster address. The peer's copies are released to its own block only, and
//   the leader's MMA may read them unfinished. The default for such an address would have been cluster scope.
// wrong: The arrive counts, so no block hangs. But a release of block scope makes nothing known to a thread of another
//   block.
// says: hands over nothing
// fix: Arrive with cluster scope.

func.func @peer_tile(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %ready: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %ready, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %leads {
    // The leader: reads the tile in the memory of its peer.
    %there = nvvm.mapa %tile, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    %peers = nvvm.mapa %empty, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %ready, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %there : !llvm.ptr<7> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.mbarrier.arrive %peers {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } else {
    // The peer: copies the tile, then gives word at the leader's barrier.
    %leaders = nvvm.mapa %ready, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.cp.async.shared.global %tile, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      nvvm.mbarrier.arrive %leaders {scope = #nvvm.mem_scope<cta>} : !llvm.ptr<7>
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  func.return
}
