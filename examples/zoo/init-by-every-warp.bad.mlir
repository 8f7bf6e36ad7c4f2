// A barrier made by all warps of the block
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.init
// mirrors: NVIDIA/Fuser#1990
// happened: nvFuser once made the barriers of its TMA loads without a predicate. Every thread of the block executed the
//   init, and its reviewers did not know whether that is defined.
// wrong: An init where a valid barrier lies is not defined (PTX ISA, mbarrier.init). And the init of a slow warp may
//   come when others have arrived.
// says: is made by 32 threads
// fix: One thread makes the barrier, and the block meets behind it.

func.func @load(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>)
    attributes {nvvm.reqntid = array<i32: 128>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 512 : i32
  %ticks = arith.constant 1000 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nvvm.barrier0
  scf.if %first {
    nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %tile, %src, %full, %bytes : !llvm.ptr<3>, <1>
  }
  nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
  %mine = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %v = llvm.load %mine : !llvm.ptr<3> -> f32
  %to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %v, %to : f32, !llvm.ptr<1>
  func.return
}
