// The good twin of rendezvous-ahead.bad.mlir: each slot has a barrier of its own for the meeting.

func.func @rendezvous(%met: !llvm.ptr<3>, %done: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %ticks = arith.constant 1000 : i32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  scf.for %s = %c0 to %c3 step %c1 : i32 {
    %m = llvm.getelementptr %met[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %d = llvm.getelementptr %done[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %m, %c2 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %d, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %k = %c0 to %n step %c1 : i32 {
    %slot = arith.remui %k, %c3 : i32
    %round = arith.divui %k, %c3 : i32
    %bit = arith.andi %round, %c1 : i32
    %turn = arith.xori %bit, %c1 : i32
    %own = llvm.getelementptr %done[%slot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.try_wait.parity %own, %turn, %ticks : !llvm.ptr<3>, i32, i32
    %mine = llvm.getelementptr %met[%slot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %leaders = nvvm.mapa %mine, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    nvvm.mbarrier.arrive %leaders {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    scf.if %leads {
      nvvm.mbarrier.try_wait.parity %mine, %bit, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive %own : !llvm.ptr<3>
      %peers = nvvm.mapa %own, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
      nvvm.mbarrier.arrive %peers {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  func.return
}
