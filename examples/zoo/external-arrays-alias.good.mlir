// The good twin of external-arrays-alias.bad.mlir: one array, and the flag lies behind the tile.

llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x f32>

func.func @write_back(%out: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 1>} {
  %bytes = arith.constant 128 : i32
  %one = arith.constant 1.0 : f32
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %flag = llvm.getelementptr %tile[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  nvvm.cp.async.bulk.global.shared.cta %out, %tile, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  llvm.store %one, %flag : f32, !llvm.ptr<3>
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
