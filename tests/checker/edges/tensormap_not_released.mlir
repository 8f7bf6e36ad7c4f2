// expect: missing-fence; acquired, and never released
func.func @k(%ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %map: !llvm.ptr, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %c32 = arith.constant 32 : i32
  %c128 = arith.constant 128 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  llvm.store %c7, %map : i32, !llvm.ptr
  nvvm.fence.proxy.acquire <gpu> %map, %c128
  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
  nvvm.cp.async.bulk.tensor.shared.cluster.global %ring, %map, %full, box[%c0, %c0] {isCTAOnly = true, tileas.box_bytes = 1024 : i32} : !llvm.ptr<3>, !llvm.ptr
  nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
  func.return
}
