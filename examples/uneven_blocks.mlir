// Uneven blocks of transfers (AMDGPU's asynchronous operations): three, five and two, each with a mark behind it.
//
// The wait leaves two marks outstanding, so the first block is complete, and seven operations may be in flight:
//
//   xdsl-opt examples/uneven_blocks.mlir -p 'convert-rocdl-marks-to-counters{target=gfx942}'     s.waitcnt vmcnt(7)

func.func @uneven_blocks(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {
  // First block.
  rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 8, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark

  // Second block; longer.
  rocdl.global.load.async.lds %g, %l, 4, 12, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 16, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 20, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 24, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 28, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark

  // Third block; shorter.
  rocdl.global.load.async.lds %g, %l, 4, 32, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 36, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark

  // Wait for the first block.
  rocdl.wait.asyncmark 2
  rocdl.s.barrier
  rocdl.wait.asyncmark 0
  func.return
}
