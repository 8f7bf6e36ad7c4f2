// A block that ends before its peer gives back the last slot
//
// kind: absent
// level: nvvm mbarriers
// between: func.return, nvvm.mbarrier.arrive
// mirrors: NVIDIA (CUTLASS, PipelineTmaAsync, producer_tail)
// happened: A consumer gives its slots back at a barrier in the producer's block, which may be another one of the
//   cluster. The producer waits for a free slot before each load, and so never for the last ones. CUTLASS has
//   producer_tail for that: "prevents early exit of blocks in the cluster".
// wrong: The first block returns behind its last handover, and the second one still arrives at its barrier.
// says: may be gone
// fix: The producer waits once more, until the last slot is given back.

func.func @feed(%full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %feeds = arith.cmpi eq, %rank, %c0 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %feeds {
    %there = nvvm.mapa %full, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive %there {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    }
  } else {
    %back = nvvm.mapa %empty, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive %back {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    }
  }
  func.return
}
