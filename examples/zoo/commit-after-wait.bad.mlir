// A group that is committed after the wait for it
//
// kind: race
// level: nvvm cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: csarofeen/pytorch#2457, csarofeen/pytorch#2463
// happened: nvFuser emitted the commit of a cp.async group behind the wait that was to cover it. Such a wait sees only
//   groups that exist; the copy stays in flight, and the code that follows reads what was there before.
// wrong: When the wait is reached, no group has been committed in this iteration.
// says: read after write on shared 'tile'
// fix: Commit first, then wait.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    nvvm.cp.async.shared.global %tile, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.wait.group 0
    nvvm.cp.async.commit.group
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  nvvm.cp.async.wait.group 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
