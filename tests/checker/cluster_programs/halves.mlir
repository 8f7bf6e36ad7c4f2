// Each of two blocks copies one half of a tile to both. All threads meet before the next tile is copied.
func.func @halves(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  %half = arith.constant 512 : i32
  %both = arith.constant 1024 : i32
  %mask = arith.constant 3 : i16
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %elected = nvvm.elect.sync -> i1
  %own = llvm.getelementptr %tile[%rank] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<128 x f32>
  %to = llvm.addrspacecast %own : !llvm.ptr<3> to !llvm.ptr<7>
  scf.if %elected {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  scf.for %k = %c0 to %n step %c1 : i32 {
    %bit = arith.andi %k, %c1 : i32
    %pair = arith.addi %k, %k : i32
    %number = arith.addi %pair, %rank : i32
    %from = llvm.getelementptr %src[%number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
    scf.if %elected {
      nvvm.mbarrier.arrive.expect_tx %full, %both : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %to, %from, %full, %half multicast_mask = %mask : !llvm.ptr<7>, <1>
    }
    nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
  }
  func.return
}
