// A store to a block that need not have started
//
// kind: absent
// level: nvvm mbarriers
// between: llvm.store, func.func
// mirrors: facebookexperimental/triton#2292
// happened: A test of remote stores let each block write to its peer at once. Nothing said that the peer had started by
//   then. Where it was late, its own first writes came over the words that it had been sent.
// wrong: Each block writes to the other one first, and meets it afterwards.
// says: behind the start of its block
// fix: The blocks meet before the first remote access, too.

func.func @swap_words(%mine: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %other = arith.xori %rank, %c1 : i32
  %peer = nvvm.mapa %mine, %other : !llvm.ptr<3> -> !llvm.ptr<7>
  scf.for %k = %c0 to %n step %c1 : i32 {
    %there = llvm.getelementptr %peer[%k] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, f32
    llvm.store %one, %there : f32, !llvm.ptr<7>
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %k = %c0 to %n step %c1 : i32 {
    %here = llvm.getelementptr %mine[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %here : !llvm.ptr<3> -> f32
  }
  func.return
}
