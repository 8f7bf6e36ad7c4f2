// A kernel that ends while the copy engine reads its shared memory
//
// kind: undrained
// level: nvvm bulk groups
// between: nvvm.cp.async.bulk.global.shared.cta
// mirrors: NVIDIA/TransformerEngine#3417
// happened: Quantisation kernels of TransformerEngine did not wait for all of their TMA stores. Shared memory belongs to
//   the next block as soon as a block has ended.
// wrong: In the loop a store is waited for before its buffer is written again. Behind the loop nothing waits for the
//   last two.
// says: asynchronous work may be unfinished when the function ends
// fix: wait_group.read behind the loop. What is read from shared memory is written to global memory by the end of the
//   grid, so .read is enough there. CUTLASS ends its kernels so (tma_store_wait<0>).

func.func @quantize(%out: !llvm.ptr<1>, %tiles: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %buffers = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %one = arith.constant 1.0 : f32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %s = arith.remui %k, %buffers : i32
    %tile = llvm.getelementptr %tiles[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    nvvm.cp.async.bulk.wait_group 1 {read}
    llvm.store %one, %tile : f32, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    %to = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
    nvvm.cp.async.bulk.global.shared.cta %to, %tile, %bytes : <1>, <3>
    nvvm.cp.async.bulk.commit.group
  }
  func.return
}
