// The good twin of named-barrier-early-return.bad.mlir: the compute warp waits for the load warp as well.

func.func @decode(%out: !llvm.ptr<1>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
    num_warps = array<i32: 1, 1>, isolated = false} {
    // The compute warp: no work for this tile.
    scf.for %t = %c0 to %n step %c1 : i32 {
      nvvm.barrier id = %c1 number_of_threads = %threads
    }
  }, {
    // The load warp: marks the tile as loaded, and waits for the compute warp.
    %leader = nvvm.elect.sync -> i1
    %one = arith.constant 1.0 : f32
    scf.for %t = %c0 to %n step %c1 : i32 {
      %o = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      scf.if %leader {
        llvm.store %one, %o : f32, !llvm.ptr<1>
      }
      nvvm.barrier id = %c1 number_of_threads = %threads
    }
  } : () -> ()
  func.return
}
