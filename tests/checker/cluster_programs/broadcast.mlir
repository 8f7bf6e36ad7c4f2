// The first of four blocks writes to all, and tells each. Who has been told may leave.
func.func @broadcast(%word: !llvm.ptr<3>, %told: !llvm.ptr<3>) attributes {nvvm.cluster_dim = array<i32: 4, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %elected = nvvm.elect.sync -> i1
  %is_first = arith.cmpi eq, %rank, %c0 : i32
  %tells = arith.andi %is_first, %elected : i1
  scf.if %elected {
    nvvm.mbarrier.init %told, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  scf.if %tells {
    scf.for %r = %c0 to %c4 step %c1 : i32 {
      %there = nvvm.mapa %word, %r : !llvm.ptr<3> -> !llvm.ptr<7>
      %then = nvvm.mapa %told, %r : !llvm.ptr<3> -> !llvm.ptr<7>
      llvm.store %one, %there : f32, !llvm.ptr<7>
      nvvm.mbarrier.arrive %then {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    }
  }
  nvvm.mbarrier.try_wait.parity %told, %c0, %ticks : !llvm.ptr<3>, i32, i32
  %v = llvm.load %word : !llvm.ptr<3> -> f32
  func.return
}
