// expect: safe; reductions of the same box are atomic with each other
func.func @k(%ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %map: !llvm.ptr, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %c32 = arith.constant 32 : i32
  %c128 = arith.constant 128 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.cp.async.bulk.tensor.reduce %map, %ring, box[%c0, %c0] {redKind = #nvvm.tma_redux_kind<add>, tileas.box_bytes = 1024 : i32} : !llvm.ptr, !llvm.ptr<3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.tensor.reduce %map, %ring, box[%c0, %c0] {redKind = #nvvm.tma_redux_kind<add>, tileas.box_bytes = 1024 : i32} : !llvm.ptr, !llvm.ptr<3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
