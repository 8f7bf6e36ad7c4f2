// A wait whose number counts instructions, where marks are counted
//
// kind: race
// level: AMDGPU marks
// between: rocdl.load.async.to.lds, llvm.load
// mirrors: triton-lang/triton#8575
// happened: In Triton's AMD backend the number of an async_wait meant groups before one pass and hardware instructions
//   after it. The pass rewrote it in place, and nothing in the IR said which it was. The two differ as soon as a group
//   takes more than one instruction, so a new op was made for the second meaning.
// wrong: A tile takes two transfers and one mark. To leave the next tile in flight is to leave one mark outstanding;
//   the number 2 is that of its transfers.
// says: read after write on shared 'ring'
// fix: Leave one mark outstanding.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %any = arith.cmpi ult, %c0, %n : i32
  scf.if %any {
    %ring_1 = llvm.getelementptr %ring[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    %src_1 = llvm.getelementptr %src[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    rocdl.load.async.to.lds %src, %ring, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.load.async.to.lds %src_1, %ring_1, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  rocdl.asyncmark
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %after = arith.addi %k, %c1 : i32
    %more = arith.cmpi ult, %after, %n : i32
    scf.if %more {
      %t = arith.remui %after, %stages : i32
      %slot = llvm.getelementptr %ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<8 x f32>
      %tile = llvm.getelementptr %src[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<8 x f32>
      %slot_1 = llvm.getelementptr %slot[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
      %tile_1 = llvm.getelementptr %tile[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      rocdl.load.async.to.lds %tile, %slot, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
      rocdl.load.async.to.lds %tile_1, %slot_1, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    }
    rocdl.asyncmark
    rocdl.wait.asyncmark 2
    %s = arith.remui %k, %stages : i32
    %use = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<8 x f32>
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
