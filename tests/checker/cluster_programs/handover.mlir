// One block writes to the other, word by word, each to be released before the next.
func.func @handover(%slot: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %elected = nvvm.elect.sync -> i1
  %produces = arith.cmpi eq, %rank, %c0 : i32
  scf.if %elected {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  scf.if %produces {
    %there = nvvm.mapa %slot, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    %ready = nvvm.mapa %full, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      llvm.store %one, %there : f32, !llvm.ptr<7>
      scf.if %elected {
        nvvm.mbarrier.arrive %ready {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
      }
    }
  } else {
    %free = nvvm.mapa %empty, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      scf.if %elected {
        nvvm.mbarrier.arrive %free {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
      }
    }
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  func.return
}
