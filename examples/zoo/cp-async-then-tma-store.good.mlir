// The good twin of cp-async-then-tma-store.bad.mlir: the thread fences between the wait and the store.

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
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.cp.async.bulk.global.shared.cta %to, %tile, %bytes : <1>, <3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
  }
  func.return
}
