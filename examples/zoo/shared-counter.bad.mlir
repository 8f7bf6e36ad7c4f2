// A wait on a counter that ordinary loads share
//
// kind: race
// level: AMDGPU counters and marks
// between: rocdl.load.async.to.lds, llvm.load
// mirrors: triton-lang/triton#9883
// happened: On CDNA3 and CDNA4 transfers to LDS and ordinary buffer loads count on one hardware counter. Triton
//   computed waits for the first, LLVM for the second, and neither knew of the other. Mostly that waited for far too
//   much; a count that includes a load which the compiler then moves away waits for too little. Triton went over to
//   marks, which count transfers alone.
// wrong: The count of two was made for a loop with a load of the bias in it. The load is invariant and was hoisted;
//   now two is one too many.
// says: read after write on shared 'ring'
// fix: Wait by marks, which no other instruction can shift.

func.func @biased_sum(%src: !llvm.ptr<1>, %bias: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %b = llvm.load %bias : !llvm.ptr<1> -> f32
  %any = arith.cmpi ult, %c0, %n : i32
  scf.if %any {
    rocdl.load.async.to.lds %src, %ring, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  rocdl.asyncmark
  %last = arith.subi %n, %c1 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %last step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %after = arith.addi %k, %c1 : i32
    %t = arith.remui %after, %stages : i32
    %slot = llvm.getelementptr %ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %tile = llvm.getelementptr %src[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    rocdl.load.async.to.lds %tile, %slot, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
    rocdl.s.waitcnt 3954
    %s = arith.remui %k, %stages : i32
    %use = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %w = arith.addf %v, %b : f32
    %next = arith.addf %acc, %w : f32
    scf.yield %next : f32
  }
  rocdl.wait.asyncmark 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
