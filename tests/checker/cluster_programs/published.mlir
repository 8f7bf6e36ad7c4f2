// Barriers that a fence publishes need no more than a relaxed barrier of the cluster before blocks reach for them.
func.func @published(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 512 : i32
  %mask = arith.constant 3 : i16
  %ticks = arith.constant 1000 : i32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %elected = nvvm.elect.sync -> i1
  %to = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>
  %is_first = arith.cmpi eq, %rank, %c0 : i32
  %copies = arith.andi %is_first, %elected : i1
  scf.if %elected {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive.relaxed {aligned}
  nvvm.cluster.wait {aligned}
  scf.if %elected {
    nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
  }
  scf.if %copies {
    nvvm.cp.async.bulk.shared.cluster.global %to, %src, %full, %bytes multicast_mask = %mask : !llvm.ptr<7>, <1>
  }
  nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
  %v = llvm.load %tile : !llvm.ptr<3> -> f32
  func.return
}
