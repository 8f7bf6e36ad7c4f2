// A tile copied by cp.async and stored by TMA
//
// kind: missing-fence
// level: nvvm cp.async and bulk groups
// between: nvvm.cp.async.shared.global, nvvm.cp.async.bulk.global.shared.cta
// mirrors: pytorch/pytorch#181248, triton-lang/triton#10552
// happened: cp.async is asynchronous, but it does not belong to the asynchronous proxy: to TMA and to wgmma its writes
//   are ordinary ones. An issue of PyTorch's came down to this combination, and Triton added a test of its own for it.
// wrong: The wait for the group completes the copy. The store reads through another proxy, and no fence lies between.
// says: generic write, then asynchronous read of shared 'tile'
// fix: fence.proxy.async after the wait, by the thread that issues the store.

func.func @copy(%src: !llvm.ptr<1>, %dst: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 16 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    %to = llvm.getelementptr %dst[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    nvvm.cp.async.shared.global %tile, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.cp.async.bulk.global.shared.cta %to, %tile, %bytes : <1>, <3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
  }
  func.return
}
