// A count that is right on one path only
//
// kind: race
// level: AMDGPU counters
// between: rocdl.load.async.to.lds, llvm.load
// mirrors: triton-lang/triton#6426
// happened: Which transfers a wait may leave in flight depends on how many were issued since, and the compiler of AMD's
//   LDS transfers cannot see it. Triton counts the instructions between a copy and its wait along every path, and takes
//   the least. Too small a count costs time, too large a one is a race.
// wrong: Behind tile k comes tile k + 1, and in every other iteration a scale as well. Where no scale is loaded, a
//   count of two leaves tile k in flight.
// says: read after write on shared 'ring'
// fix: Count the transfers on the path with the fewest.

func.func @scaled_sum(%src: !llvm.ptr<1>, %scale: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %scales: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %any = arith.cmpi ult, %c0, %n : i32
  scf.if %any {
    rocdl.load.async.to.lds %src, %ring, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  %last = arith.subi %n, %c1 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %last step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %after = arith.addi %k, %c1 : i32
    %t = arith.remui %after, %stages : i32
    %slot = llvm.getelementptr %ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %tile = llvm.getelementptr %src[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    rocdl.load.async.to.lds %tile, %slot, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    %is_even = arith.cmpi eq, %t, %c0 : i32
    scf.if %is_even {
      %from = llvm.getelementptr %scale[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %to = llvm.getelementptr %scales[%after] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      rocdl.load.async.to.lds %from, %to, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    }
    // vmcnt(2)
    rocdl.s.waitcnt 3954
    %s = arith.remui %k, %stages : i32
    %use = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  // vmcnt(0)
  rocdl.s.waitcnt 3952
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
