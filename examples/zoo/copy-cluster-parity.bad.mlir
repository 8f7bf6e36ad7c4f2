// A parity taken from the loop counter, on barriers that are used once
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: tile-ai/tilelang#2927
// happened: T.copy_cluster derives the parity of its wait from the enclosing loop, whichever barrier the user hands it.
//   With one barrier an iteration, `bar[s].wait(s & 1)`, every odd iteration passes at once, on the phase before the
//   first. It reads what has not arrived: silent corruption on sm_90.
// wrong: Barrier s completes its phase 0 once. In iteration 1 the wait asks for parity 1, that of the phase before
//   phase 0. It goes through while the copy is in flight.
// says: passes on phase -1 of mbarrier
// fix: Each barrier is in its first phase: wait for parity 0.

func.func @copies(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tiles: !llvm.ptr<3>, %bars: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %n step %c1 : i32 {
    %b = llvm.getelementptr %bars[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %b, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %s = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %b = llvm.getelementptr %bars[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %to = llvm.getelementptr %tiles[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    %from = llvm.getelementptr %src[%s] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
    nvvm.mbarrier.arrive.expect_tx %b, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %to, %from, %b, %bytes : !llvm.ptr<3>, <1>
    %parity = arith.andi %s, %c1 : i32
    nvvm.mbarrier.try_wait.parity %b, %parity, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %to : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
