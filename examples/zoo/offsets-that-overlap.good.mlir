// The good twin of offsets-that-overlap.bad.mlir: the second buffer begins behind the first one.

llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<512 x i8>
func.func @two_stores(%out: !llvm.ptr<1>, %sums: !llvm.ptr<1>) {
  %one = arith.constant 1.0 : f32
  %bytes = arith.constant 256 : i32
  %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %tile = llvm.getelementptr %smem[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %sum = llvm.getelementptr %smem[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  llvm.store %one, %tile : f32, !llvm.ptr<3>
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.cp.async.bulk.global.shared.cta %out, %tile, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  llvm.store %one, %sum : f32, !llvm.ptr<3>
  %v = llvm.load %sum : !llvm.ptr<3> -> f32
  llvm.store %v, %sums : f32, !llvm.ptr<1>
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
