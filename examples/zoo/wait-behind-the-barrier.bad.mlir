// A barrier of the block between a copy and the wait for it
//
// kind: race
// level: nvvm cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: NVIDIA/Fuser#3428
// happened: nvFuser let some threads of a block copy a tile by cp.async, and met with the others at __syncthreads.
//   It waited for the copies behind it. A race of the copies with the loads that follow was seen by compute-sanitizer.
// wrong: A wait_group covers the copies of the thread that waits, and no others (PTX ISA, cp.async.wait_group). Behind
//   the barrier each warp waits for what it has copied itself, and reads what another warp has copied.
// says: nothing that orders the two
// fix: First the wait, then the barrier.

func.func @neighbours(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32)
    attributes {nvvm.reqntid = array<i32: 128>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = arith.constant 3 : i32
  %warp_size = arith.constant 32 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %warp = arith.divui %tid, %warp_size : i32
  %other = arith.subi %last, %warp : i32
  %mine = llvm.getelementptr %tile[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
  %theirs = llvm.getelementptr %tile[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
  %one = nvvm.elect.sync -> i1
  scf.for %k = %c0 to %n step %c1 : i32 {
    // One thread of each warp copies four numbers.
    %row = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<16 x f32>
    %from = llvm.getelementptr %row[%warp] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    scf.if %one {
      nvvm.cp.async.shared.global %mine, %from, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
    }
    nvvm.barrier0
    nvvm.cp.async.wait.group 0
    // The numbers of the warps in reverse.
    %v = llvm.load %theirs : !llvm.ptr<3> -> f32
    %line = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    %to = llvm.getelementptr %line[%warp] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    scf.if %one {
      llvm.store %v, %to : f32, !llvm.ptr<1>
    }
    nvvm.barrier0
  }
  func.return
}
