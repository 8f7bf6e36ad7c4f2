// The parity of a ring of three, asked of a barrier that flips in every iteration
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.mbarrier.init
// mirrors: tile-ai/tilelang#3087
// happened: A synchronous T.gemm(mbar=...) in a pipelined loop waited with the parity of the compiler's ring, (k /
//   stages) % 2. The user's barrier is a single one and flips once an iteration. The wait returned at once, and the
//   copies of the next iteration overwrote a stage that the running MMA was reading. Results are wrong from three
//   stages on.
// wrong: `%done` completes a phase in every iteration. In iteration 1 the wait asks for parity (1 / 3) % 2 = 0, which
//   is phase 0, complete since iteration 0. The copy that follows refills the slot that the matrix unit reads.
// says: ahead of a waiting agent
// fix: Wait with the parity of the iteration, k % 2.

func.func @gemm(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>,
    %full: !llvm.ptr<3>, %issued: !llvm.ptr<3>, %done: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 3 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.mbarrier.init %issued, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %done, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %short = arith.minui %n, %stages : i32
  scf.for %k = %c0 to %short step %c1 : i32 {
    %f = llvm.getelementptr %full[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
    nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
  }
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The threads of the kernel: issue product k and wait for it, then refill its slot with tile k + 3.
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.mbarrier.arrive %issued : !llvm.ptr<3>
      %round = arith.divui %k, %stages : i32
      %parity = arith.andi %round, %c1 : i32
      nvvm.mbarrier.try_wait.parity %done, %parity, %ticks : !llvm.ptr<3>, i32, i32
      %ahead = arith.addi %k, %stages : i32
      %more = arith.cmpi ult, %ahead, %n : i32
      scf.if %more {
        %s = arith.remui %ahead, %stages : i32
        %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
        %tile = llvm.getelementptr %src[%ahead] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
        nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
      }
    }
  }, {
    // The matrix unit: multiplies slot k % 3 when it is told to, and says so.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %s = arith.remui %k, %stages : i32
      %round = arith.divui %k, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %turn = arith.andi %k, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %issued, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %done : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
