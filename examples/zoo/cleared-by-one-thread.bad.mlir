// One thread clears what all of them read
//
// kind: race
// level: nvvm threads
// between: nvvm.st.bulk, llvm.load
// mirrors: NVIDIA (PTX ISA, st.bulk)
// happened: st.bulk clears an array of shared memory, and one thread executes it for all. It is a store like any other:
//   the threads of other warps see it behind a barrier.
// wrong: Nothing stands between the clearing and the loads of the second warp.
// says: nvvm.st.bulk
// fix: Let the threads meet behind the clearing.

func.func @histogram(%out: !llvm.ptr<1>, %bins: !llvm.ptr<3>) attributes {nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : i32
  %size = arith.constant 256 : i64
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  scf.if %first {
    nvvm.st.bulk %bins, size = %size : !llvm.ptr<3>
  }
  %mine = llvm.getelementptr %bins[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %mine : !llvm.ptr<3> -> i32
  %to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %to : i32, !llvm.ptr<1>
  func.return
}
