// A wait for all but two groups, when only two were ever issued
//
// kind: race
// level: nvvm cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: NVIDIA/cutlass#2502
// happened: The Blackwell MLA example issues stages - 1 copies ahead and then waits until at most stages - 1 groups are
//   pending. That waits for nothing. The producer commits a stage to which no copy has come; with fewer stages than the
//   author had, the results are wrong.
// wrong: Two tiles are under way when tile k is published, and the wait leaves two in flight.
// says: read after write on shared 'ring'
// fix: With two tiles under way, wait until at most one is in flight.

func.func @mla(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 3 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer: copies tile k, and publishes the tile before it.
    %rounds = arith.addi %n, %c1 : i32
    scf.for %k = %c0 to %rounds step %c1 : i32 {
      %some = arith.cmpi ult, %k, %n : i32
      scf.if %some {
        %s = arith.remui %k, %stages : i32
        %round = arith.divui %k, %stages : i32
        %bit = arith.andi %round, %c1 : i32
        %turn = arith.xori %bit, %c1 : i32
        %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
        %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
        nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32
        nvvm.cp.async.shared.global %slot, %tile, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      }
      nvvm.cp.async.commit.group
      %before = arith.cmpi ult, %c0, %k : i32
      scf.if %before {
        %last = arith.subi %k, %c1 : i32
        %s = arith.remui %last, %stages : i32
        %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.cp.async.wait.group 2
        nvvm.mbarrier.arrive %f : !llvm.ptr<3>
      }
    }
    nvvm.cp.async.wait.group 0
  }, {
    // The consumer: waits for a full slot, adds it up, gives it back.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %s = arith.remui %k, %stages : i32
      %round = arith.divui %k, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
      nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
