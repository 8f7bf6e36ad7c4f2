// The good twin of copy-cluster-parity.bad.mlir: every barrier is in its first phase, so every wait asks for parity 0.

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
    %parity = arith.andi %s, %c0 : i32
    nvvm.mbarrier.try_wait.parity %b, %parity, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %to : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
