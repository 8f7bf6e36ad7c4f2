// A commit behind the predicate of its copy
//
// kind: race
// level: nvvm cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: tile-ai/tilelang#3137, tile-ai/tilelang#1399
// happened: A wait that counts groups is right only as long as each iteration commits one. TileLang reworked its counts
//   for extents that are not constant, and later allowed copies under a condition only with the commit outside of it.
//   An iteration that copies nothing then commits an empty group.
// wrong: In the last iteration nothing is copied and nothing is committed. So the youngest group is the one that is
//   needed, and `wait.group 1` leaves it in flight.
// says: read after write on shared 'ring'
// fix: Commit in every iteration, also when there is nothing to copy.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ahead = arith.constant 2 : i32
  %stages = arith.constant 3 : i32
  scf.for %k = %c0 to %ahead step %c1 : i32 {
    %some = arith.cmpi ult, %k, %n : i32
    scf.if %some {
      %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      nvvm.cp.async.shared.global %slot, %tile, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    }
    nvvm.cp.async.commit.group
  }
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    nvvm.cp.async.wait.group 1
    %next_k = arith.addi %k, %ahead : i32
    %more = arith.cmpi ult, %next_k, %n : i32
    scf.if %more {
      %t = arith.remui %next_k, %stages : i32
      %slot = llvm.getelementptr %ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
      %tile = llvm.getelementptr %src[%next_k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      nvvm.cp.async.shared.global %slot, %tile, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
    }
    %s = arith.remui %k, %stages : i32
    %use = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  nvvm.cp.async.wait.group 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
