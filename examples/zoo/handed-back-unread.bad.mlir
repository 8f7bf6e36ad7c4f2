// A slot is handed back over a named barrier before it is read
//
// kind: race
// level: nvvm named barriers
// between: llvm.load, llvm.store
// mirrors: NVIDIA (PTX ISA, barrier: producers and consumers)
// happened: Two named barriers hand a slot to and fro: one side arrives and the other waits. Who arrives says that it is
//   done with the slot. An arrival that a scheduler moves up says so too early.
// wrong: The warp that reads arrives at the barrier of the way back before its load.
// says: llvm.load
// fix: Hand the slot back behind the load.

func.func @to_and_fro(%slot: !llvm.ptr<3>, %out: !llvm.ptr<1>, %n: i32) attributes {nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %warp = arith.constant 32 : i32
  %threads = arith.constant 64 : i32
  %one = arith.constant 1.0 : f32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %writes = arith.cmpi ult, %tid, %warp : i32
  scf.if %writes {
    scf.for %k = %c0 to %n step %c1 : i32 {
      llvm.store %one, %slot : f32, !llvm.ptr<3>
      nvvm.barrier.arrive id = %c1 number_of_threads = %threads
      nvvm.barrier id = %c2 number_of_threads = %threads
    }
  } else {
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.barrier id = %c1 number_of_threads = %threads
      nvvm.barrier.arrive id = %c2 number_of_threads = %threads
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      llvm.store %v, %out : f32, !llvm.ptr<1>
    }
  }
  func.return
}
