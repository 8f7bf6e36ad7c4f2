// RUN: xdsl-opt %s -p rocdl-elide-marks,verify-dominance --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'rocdl-elide-marks{inline-calls=true},verify-dominance' --split-input-file | filecheck %s --check-prefix=INLINE

// The first wait cannot block, the second mark is only counted, the third is before no wait.
func.func @two_blocks(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {
  rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.wait.asyncmark 1
  rocdl.global.load.async.lds %g, %l, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.wait.asyncmark 1
  %x = llvm.load %l : !llvm.ptr<3> -> f32
  rocdl.asyncmark
  func.return
}
// CHECK-LABEL: func.func @two_blocks
// CHECK-NEXT:    rocdl.global.load.async.lds %g, %l, 4, 0, 0
// CHECK-NEXT:    rocdl.asyncmark
// CHECK-NEXT:    rocdl.global.load.async.lds %g, %l, 4, 4, 0
// CHECK-NEXT:    rocdl.wait.asyncmark 0
// CHECK-NEXT:    %x = llvm.load
// CHECK-NEXT:    func.return

// -----

// Neither post-dominated nor dominated, and needed all the same.
func.func @needed(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %c: i1) {
  scf.if %c {
    rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
  }
  scf.if %c {
    rocdl.wait.asyncmark 0
  }
  func.return
}
// CHECK-LABEL: func.func @needed
// CHECK:           rocdl.asyncmark
// CHECK:           rocdl.wait.asyncmark 0

// -----

// Inlining: the wait for B stays one for B.
func.func @foo(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %c: i1) {
  rocdl.asyncmark
  scf.if %c {
    rocdl.wait.asyncmark 0
  }
  func.return
}
func.func @bar(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %c: i1) {
  rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.global.load.async.lds %g, %l, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.global.load.async.lds %g, %l, 4, 8, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  func.call @foo(%g, %l, %c) : (!llvm.ptr<1>, !llvm.ptr<3>, i1) -> ()
  rocdl.wait.asyncmark 0
  rocdl.wait.asyncmark 1
  func.return
}
// CHECK-LABEL:  func.func @bar
// CHECK:          func.call @foo
// CHECK-NEXT:     rocdl.wait.asyncmark 0
// CHECK-NEXT:     func.return
// INLINE-LABEL: func.func @bar
// INLINE:         rocdl.global.load.async.lds %g, %l, 4, 4, 0
// INLINE-NEXT:    rocdl.asyncmark
// INLINE-NEXT:    rocdl.global.load.async.lds %g, %l, 4, 8, 0
// INLINE-NEXT:    rocdl.asyncmark
// INLINE-NEXT:    scf.if %c {
// INLINE-NEXT:      rocdl.wait.asyncmark 0
// INLINE-NEXT:    }
// INLINE-NEXT:    rocdl.wait.asyncmark 1
// INLINE-NEXT:    func.return
