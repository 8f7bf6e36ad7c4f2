// The last slot of a ring has barrier 16
//
// kind: malformed
// level: nvvm named barriers
// between: nvvm.barrier.arrive
// mirrors: NVIDIA (PTX ISA, barrier)
// happened: A block has 16 named barriers, 0 to 15. Kernels number those of a ring from the first free one on, and
//   another stage or another warp group is one too many. PTX does not define what another number does.
// wrong: The ring has four slots, and its barriers begin with 13: the last slot has barrier 16.
// says: uses barrier 16
// fix: Begin with a barrier that leaves room for all slots.

func.func @k(%ring: !llvm.ptr<3>, %out: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %first = arith.constant 13 : i32
  %slots = arith.constant 4 : i32
  %warp = arith.constant 32 : i32
  %threads = arith.constant 64 : i32
  %one = arith.constant 1.0 : f32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %writes = arith.cmpi ult, %tid, %warp : i32
  scf.for %k = %c0 to %slots step %c1 : i32 {
    %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %full = arith.addi %first, %k : i32
    scf.if %writes {
      llvm.store %one, %slot : f32, !llvm.ptr<3>
      nvvm.barrier.arrive id = %full number_of_threads = %threads
    } else {
      nvvm.barrier id = %full number_of_threads = %threads
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      llvm.store %v, %out : f32, !llvm.ptr<1>
    }
  }
  func.return
}
