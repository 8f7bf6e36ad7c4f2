// A warp without work arrives at a named barrier and does not wait
//
// kind: deadlock
// level: nvvm named barriers
// between: nvvm.barrier
// mirrors: vllm-project/vllm#26026
// happened: The CUTLASS MLA decode kernel in vLLM hung under load. Compute warps that have no work for a tile returned
//   early with an `arrive` at the epilogue's named barrier. They came round, and arrived there again before the load
//   warps had got to it for the first time.
// wrong: Two arrivals of the compute warp open a generation of the barrier that the load warp has no part in. The load
//   warp then waits for a partner who has finished.
// says: no agent can go on
// fix: Arrive and wait, also without work.

func.func @decode(%out: !llvm.ptr<1>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
    num_warps = array<i32: 1, 1>, isolated = false} {
    // The compute warp: no work for this tile.
    scf.for %t = %c0 to %n step %c1 : i32 {
      nvvm.barrier.arrive id = %c1 number_of_threads = %threads
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
