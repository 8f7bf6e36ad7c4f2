// The producer warp waits for the grid before, and the epilogue warp does not
//
// kind: race
// level: nvvm grids
// between: nvvm.griddepcontrol, llvm.load
// mirrors: NVIDIA/cutlass#2962, NVIDIA/cutlass#2760, NVIDIA/cccl#3131
// happened: Grouped GEMMs of CUTLASS read their problem shapes before they waited for the grid that writes them. Others
//   did not wait at all. Launched early, they read old numbers now and then.
// wrong: What an earlier grid writes is seen by the thread that waits for it, and by those that are ordered behind that
//   (PTX ISA, griddepcontrol). Warp 1 loads the scale without either.
// says: an earlier grid
// fix: Let the epilogue warp wait, too.

func.func @scaled(%a: !llvm.ptr<1>, %scale: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>)
    attributes {nvvm.reqntid = array<i32: 64>} {
  %warp_size = arith.constant 32 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %lane = arith.remui %tid, %warp_size : i32
  %produces = arith.cmpi ult, %tid, %warp_size : i32
  %slot = llvm.getelementptr %tile[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  scf.if %produces {
    // Warp 0: waits for the grid before, and hands its numbers on.
    nvvm.griddepcontrol wait
    %from = llvm.getelementptr %a[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store %v, %slot : f32, !llvm.ptr<3>
    nvvm.barrier0
  } else {
    // Warp 1: multiplies by a number that the grid before has computed.
    %factor = llvm.load %scale : !llvm.ptr<1> -> f32
    nvvm.barrier0
    %v = llvm.load %slot : !llvm.ptr<3> -> f32
    %scaled = llvm.fmul %v, %factor : f32
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %scaled, %to : f32, !llvm.ptr<1>
  }
  nvvm.griddepcontrol launch_dependents
  func.return
}
