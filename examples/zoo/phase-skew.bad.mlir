// One barrier for a follower that runs up to three iterations ahead
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.mbarrier.init
// mirrors: triton-lang/triton#10669, facebookexperimental/triton#3472
// happened: A leader waits in each iteration for word from a follower, on one barrier. The follower runs ahead as far
//   as the ring allows. With three stages its arrivals flip the barrier again before the leader has looked. A parity
//   cannot tell one phase from the one after the next, so the leader misses a phase or hangs. Triton gave such barriers
//   a second buffer and a counter; the two-CTA rendezvous got one barrier a stage.
// wrong: The follower needs an empty slot, not an answer, before it arrives again. When the leader first asks, up to
//   three phases are complete, and parity 0 means phase 0, 2 or none.
// says: phase(s) ahead of a waiting agent
// fix: Give each stage a barrier of its own; the slot that it guards keeps the follower from arriving twice.

func.func @rendezvous(%out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %ready: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 3 : i32
  %barriers = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %r = llvm.getelementptr %ready[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %r, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The follower: fills a slot and gives word.
    %one = arith.constant 1.0 : f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      %s = arith.remui %k, %stages : i32
      %round = arith.divui %k, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %b = arith.remui %k, %barriers : i32
      %r = llvm.getelementptr %ready[%b] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32
      llvm.store %one, %slot : f32, !llvm.ptr<3>
      nvvm.mbarrier.arrive %r : !llvm.ptr<3>
    }
  }, {
    // The leader: waits for word of iteration k.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %s = arith.remui %k, %stages : i32
      %b = arith.remui %k, %barriers : i32
      %flips = arith.divui %k, %barriers : i32
      %parity = arith.andi %flips, %c1 : i32
      %r = llvm.getelementptr %ready[%b] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %r, %parity, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
