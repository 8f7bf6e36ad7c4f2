// The good twin of register-pool-too-small.bad.mlir: what the producers give back is what the consumers take.

func.func @gemm() attributes {nvvm.reqntid = array<i32: 256>, nvvm.maxnreg = 128 : i32} {
  %consumers = arith.constant 128 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %consumes = arith.cmpi ult, %tid, %consumers : i32
  scf.if %consumes {
    nvvm.setmaxregister increase 216
  } else {
    nvvm.setmaxregister decrease 40
  }
  nvvm.barrier0
  func.return
}
