// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics -p 'convert-rocdl-marks-to-counters{target=gfx942}' | filecheck %s

func.func @of_another_target(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {
  rocdl.global.load.async.to.lds.b32 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  func.return
}
// CHECK: error: 'rocdl.global.load.async.to.lds.b32' op is no transfer of gfx942
// CHECK-NEXT: help: use rocdl.global.load.async.lds and its like, of gfx9
