// A wait for marks, moved into a function
//
// kind: race
// level: AMDGPU marks
// between: rocdl.load.async.to.lds, llvm.load
// mirrors: llvm/llvm-project#180467
// happened: Marks, as LLVM introduced them in 2026, belong to one activation of a function, while transfers belong to
//   the thread. A helper that waits sees only marks that it has made itself. Inlining such a helper can only
//   strengthen its waits; outlining one, as one does to tidy up, silently takes them away.
// wrong: @drain has made no mark, so its wait is for nothing; the caller's mark is the caller's affair.
// says: read after write on shared 'tile'
// fix: Mark in the function that waits: a mark covers what the callers have issued as well.

func.func private @drain() {
  rocdl.wait.asyncmark 0
  func.return
}

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    rocdl.load.async.to.lds %from, %tile, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
    func.call @drain() : () -> ()
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  rocdl.wait.asyncmark 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
