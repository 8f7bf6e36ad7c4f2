// expect: race; loadcnt does not count stores: both transfers may be in flight
func.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  %next = llvm.getelementptr %lds[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  rocdl.load.async.to.lds %src, %lds, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.load.async.to.lds %src, %next, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  llvm.store %fone, %out : f32, !llvm.ptr<1>
  rocdl.s.wait.loadcnt 2
  %v = llvm.load %lds : !llvm.ptr<3> -> f32
  rocdl.s.waitcnt 3952
  func.return
}
