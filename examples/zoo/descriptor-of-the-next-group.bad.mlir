// A descriptor changed while a load still uses it
//
// kind: race
// level: nvvm tensor maps
// between: nvvm.cp.async.bulk.tensor.shared.cluster.global, llvm.store
// mirrors: facebookexperimental/triton#680, deepseek-ai/DeepGEMM#343
// happened: Grouped products make one descriptor for the matrix of each group, in the same bytes. Loads are asynchronous,
//   and that of the last tile of a group still used the descriptor when it was changed for the next group.
// wrong: The producer runs ahead of the consumer by the two slots of the ring. Nothing tells it that the load has read
//   the 128 bytes of the descriptor (PTX ISA, Tensors: a tensor-map is an object in memory).
// says: nothing that orders the two
// fix: The producer waits for the load before it changes the descriptor.

func.func @grouped(%map: !llvm.ptr, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>,
    %groups: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %map_bytes = arith.constant 128 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer: makes the descriptor of the group, and loads its tile by it.
    scf.for %g = %c0 to %groups step %c1 : i32 {
      %s = arith.remui %g, %stages : i32
      %round = arith.divui %g, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      llvm.store %g, %map : i32, !llvm.ptr
      nvvm.fence.proxy.release <gpu>
      nvvm.fence.proxy.acquire <gpu> %map, %map_bytes
      nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %slot, %map, %f, box[%c0, %c0]
        {isCTAOnly = true, tileas.box_bytes = 1024 : i32} : !llvm.ptr<3>, !llvm.ptr
    }
  }, {
    // The consumer: waits for the tile, looks at it, and gives the slot back.
    scf.for %g = %c0 to %groups step %c1 : i32 {
      %s = arith.remui %g, %stages : i32
      %round = arith.divui %g, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>
      %o = llvm.getelementptr %out[%g] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %o : f32, !llvm.ptr<1>
    }
  } : () -> ()
  func.return
}
