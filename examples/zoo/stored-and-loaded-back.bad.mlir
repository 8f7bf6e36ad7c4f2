// A tile loaded again when its store has only been read
//
// kind: race
// level: nvvm tensor maps
// between: nvvm.cp.async.bulk.tensor.global.shared.cta, nvvm.cp.async.bulk.tensor.shared.cluster.global
// mirrors: triton-lang/triton#10415, HazyResearch/ThunderKittens#194
// happened: Triton waited for descriptor stores with wait_group.read, and set a flag that said that the tensor was
//   written. The same wait stood before the signal of an all-reduce in ThunderKittens.
// wrong: wait_group.read tells that the copy engine has read the tile in shared memory, not that it has written the
//   tensor (PTX ISA, cp.async.bulk.wait_group). The load of the same box by the same map may come first.
// says: nothing that orders the two
// fix: wait_group without .read, before the tensor is read.

func.func @in_place(%map: !llvm.ptr, %tile: !llvm.ptr<3>, %back: !llvm.ptr<3>, %full: !llvm.ptr<3>,
    %out: !llvm.ptr<1>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  scf.for %k = %c0 to %n step %c1 : i32 {
    // Write a tile through the map.
    llvm.store %one, %tile : f32, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.cp.async.bulk.tensor.global.shared.cta %map, %tile, box[%k, %c0]
      {tileas.box_bytes = 1024 : i32} : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    // Read it back.
    %bit = arith.andi %k, %c1 : i32
    nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %back, %map, %full, box[%k, %c0]
      {isCTAOnly = true, tileas.box_bytes = 1024 : i32} : !llvm.ptr<3>, !llvm.ptr
    nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %back : !llvm.ptr<3> -> f32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %o : f32, !llvm.ptr<1>
  }
  func.return
}
