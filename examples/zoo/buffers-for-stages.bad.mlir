// Four stages on three buffers
//
// kind: race
// level: AMDGPU counters
// between: rocdl.global.load.async.to.lds.b128, rocdl.global.load.async.to.lds.b128
// mirrors: triton-lang/triton#9720
// happened: With tensor loads on and asynchronous copies off, Triton's AMD pipeliner scheduled four stages and
//   allocated three buffers. A load and an access of an earlier tile met in one buffer.
// wrong: Tile k + 3 is loaded into slot (k + 3) % 3, which is slot k % 3, before tile k has been used.
// says: on shared 'ring'
// fix: One buffer for each stage.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ahead = arith.constant 3 : i32
  %buffers = arith.constant 3 : i32
  %short = arith.minui %n, %ahead : i32
  scf.for %k = %c0 to %short step %c1 : i32 {
    %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    rocdl.global.load.async.to.lds.b128 %tile, %slot, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  %full = arith.subi %n, %short : i32
  %zero = arith.constant 0.0 : f32
  %most = scf.for %k = %c0 to %full step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %next_k = arith.addi %k, %ahead : i32
    %t = arith.remui %next_k, %buffers : i32
    %slot = llvm.getelementptr %ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %tile = llvm.getelementptr %src[%next_k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    rocdl.global.load.async.to.lds.b128 %tile, %slot, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.s.wait.asynccnt 3
    %s = arith.remui %k, %buffers : i32
    %use = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  rocdl.s.wait.asynccnt 0
  %sum = scf.for %k = %full to %n step %c1 iter_args(%acc = %most) -> (f32) : i32 {
    %s = arith.remui %k, %buffers : i32
    %use = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
