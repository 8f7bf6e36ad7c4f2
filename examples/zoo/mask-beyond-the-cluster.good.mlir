// The good twin of mask-beyond-the-cluster.bad.mlir: the mask has a bit for each block of the cluster.

func.func @multicast(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %mask = arith.constant 3 : i16
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c2 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  %to = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>
  %released = nvvm.mapa %empty, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
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
