// RUN: xdsl-opt %s -p 'convert-rocdl-marks-to-counters{target=gfx942},verify-dominance' --split-input-file --parsing-diagnostics 2>&1 | filecheck %s

// The "uneven blocks" example of LLVM's page "AMDGPU Asynchronous Operations": 3952 is vmcnt(0), so 3959 is vmcnt(7).
func.func @uneven(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {
  rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 8, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.global.load.async.lds %g, %l, 4, 12, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 16, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 20, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 24, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 28, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.global.load.async.lds %g, %l, 4, 32, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 36, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.wait.asyncmark 2
  rocdl.wait.asyncmark 3
  func.return
}
// CHECK-LABEL: func.func @uneven
// CHECK-NEXT:    rocdl.global.load.lds %g, %l, 4, 0, 0
// CHECK:         rocdl.global.load.lds %g, %l, 4, 36, 0
// CHECK-NEXT:    rocdl.s.waitcnt 3959
// CHECK-NEXT:    func.return

// -----

// No marks: nothing to do.
func.func @no_marks() {
  rocdl.s.waitcnt 3953
  func.return
}
// CHECK-LABEL: func.func @no_marks
// CHECK-NEXT:    rocdl.s.waitcnt 3953
