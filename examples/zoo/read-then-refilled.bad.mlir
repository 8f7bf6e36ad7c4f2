// A tile read by the threads and refilled by TMA, with only a barrier between
//
// kind: missing-fence
// level: nvvm mbarriers
// between: llvm.load, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: triton-lang/triton#7262, triton-lang/triton#9610
// happened: Triton inserted fences between ordinary writes of shared memory and asynchronous reads. It inserted none
//   between ordinary reads and the asynchronous write of the next tile. A pass for these was added later.
// wrong: The barrier orders the threads, not the two ways to memory. Ordinary loads go through the generic proxy, the
//   refill through the asynchronous one (PTX ISA, Proxies).
// says: generic read, then asynchronous write of shared 'tile'
// fix: fence.proxy.async by each thread that has read, before the barrier.

func.func @stream(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>, %n: i32)
    attributes {nvvm.reqntid = array<i32: 128>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 512 : i32
  %ticks = arith.constant 1000 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  %mine = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  scf.if %first {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.barrier0
  scf.for %k = %c0 to %n step %c1 : i32 {
    scf.if %first {
      %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
      nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %tile, %from, %full, %bytes : !llvm.ptr<3>, <1>
    }
    %bit = arith.andi %k, %c1 : i32
    nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %mine : !llvm.ptr<3> -> f32
    nvvm.barrier0
    %line = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
    %to = llvm.getelementptr %line[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %to : f32, !llvm.ptr<1>
  }
  func.return
}
