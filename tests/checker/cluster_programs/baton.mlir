// Four blocks write to the same place in turns, and each tells the next.
func.func @baton(%out: !llvm.ptr<1>, %turn: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 4, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %elected = nvvm.elect.sync -> i1
  %behind = arith.addi %rank, %c1 : i32
  %next = arith.andi %behind, %c3 : i32
  %there = nvvm.mapa %turn, %next : !llvm.ptr<3> -> !llvm.ptr<7>
  %is_first = arith.cmpi eq, %rank, %c0 : i32
  %ahead = arith.select %is_first, %c1, %c0 : i32
  scf.if %elected {
    nvvm.mbarrier.init %turn, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  scf.for %k = %c0 to %n step %c1 : i32 {
    %bit = arith.andi %k, %c1 : i32
    %parity = arith.xori %bit, %ahead : i32
    nvvm.mbarrier.try_wait.parity %turn, %parity, %ticks : !llvm.ptr<3>, i32, i32
    llvm.store %one, %out : f32, !llvm.ptr<1>
    scf.if %elected {
      nvvm.mbarrier.arrive %there {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    }
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  func.return
}
