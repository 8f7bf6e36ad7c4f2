// A tile overwritten while the other warpgroup still reads it
//
// kind: race
// level: nvvm cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: tile-ai/tilelang#2613
// happened: A GEMM without pipelining, whose operand is copied by all threads and read by two warpgroups, silently
//   races on Hopper. TileLang puts a __syncthreads behind the copy and none at the end of the loop, because each
//   warpgroup waits for its own reads. No warpgroup waits for the other's.
// wrong: A warpgroup that is done with iteration k copies its half of tile k + 1. The other may still be reading what
//   lies there.
// says: on shared 'tile'
// fix: All threads meet again before the next copy.

func.func @gemm(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %half_0 = llvm.getelementptr %tile[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  %half_1 = llvm.getelementptr %tile[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  %out_0 = llvm.getelementptr %out[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %out_1 = llvm.getelementptr %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // Warpgroup 0: copies its half of the tile, uses both.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %whole = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<8 x f32>
      %from = llvm.getelementptr %whole[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      nvvm.cp.async.shared.global %half_0, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      nvvm.barrier0
      %x = llvm.load %half_0 : !llvm.ptr<3> -> f32
      %y = llvm.load %half_1 : !llvm.ptr<3> -> f32
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %product : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %out_0 : f32, !llvm.ptr<1>
  }, {
    // Warpgroup 1: copies its half of the tile, uses both.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %whole = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<8 x f32>
      %from = llvm.getelementptr %whole[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      nvvm.cp.async.shared.global %half_1, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      nvvm.barrier0
      %x = llvm.load %half_0 : !llvm.ptr<3> -> f32
      %y = llvm.load %half_1 : !llvm.ptr<3> -> f32
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %product : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %out_1 : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
