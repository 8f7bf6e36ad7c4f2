// A block that ends while its peer reads its shared memory
//
// kind: absent
// level: nvvm mbarriers
// between: llvm.load, func.return
// mirrors: facebookexperimental/triton#1105, triton-lang/triton#9413
// happened: Kernels for clusters ended without a barrier of the cluster. A block that was done left, and its place was
//   given to another one while its peer still read its shared memory. An exception followed, "cluster target block not
//   present", now and then. Both compilers now let all blocks of a cluster meet before they return.
// wrong: The first block adds up what the other one has left in its shared memory. The other one has nothing more to
//   do, and returns.
// says: before the end of its block
// fix: All blocks meet once more before they end.

func.func @add_up(%part: !llvm.ptr<3>, %out: !llvm.ptr<1>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %adds = arith.cmpi eq, %rank, %c0 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %own = llvm.getelementptr %part[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %one, %own : f32, !llvm.ptr<3>
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %adds {
    %there = nvvm.mapa %part, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %one) -> (f32) : i32 {
      %word = llvm.getelementptr %there[%k] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, f32
      %v = llvm.load %word : !llvm.ptr<7> -> f32
      %next = arith.addf %acc, %v : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  }
  func.return
}
