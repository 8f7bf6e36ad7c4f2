// A warpgroup asks for more registers than the other one gives back
//
// kind: deadlock
// level: nvvm registers
// between: nvvm.barrier0, nvvm.barrier0
// mirrors: tile-ai/tilelang#2406, tile-ai/tilelang#2559, pytorch/helion#3620
// happened: TileLang moved registers by fixed numbers, 24 and 240, that fit one producer and two consumers. With more
//   warpgroups, or with two blocks on a multiprocessor, kernels hung at their launch, without an error. Kernels of
//   Helion hung in which no warpgroup gave any back.
// wrong: The block is launched with 128 registers for each thread. The consumers want 216, and the producers keep 48. An
//   increase waits until the pool of the block has what it needs (PTX ISA, setmaxnreg), and it never has.
// says: more free registers
// fix: The producers keep 40: 216 and 40 are twice 128.

func.func @gemm() attributes {nvvm.reqntid = array<i32: 256>, nvvm.maxnreg = 128 : i32} {
  %consumers = arith.constant 128 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %consumes = arith.cmpi ult, %tid, %consumers : i32
  scf.if %consumes {
    nvvm.setmaxregister increase 216
  } else {
    nvvm.setmaxregister decrease 48
  }
  nvvm.barrier0
  func.return
}
