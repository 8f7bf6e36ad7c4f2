// The good twin of wait-in-another-thread.bad.mlir: all threads meet after the leader's wait.

func.func @quantize(%dst: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 16 : i32
  %half_0 = llvm.getelementptr %tile[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  %half_1 = llvm.getelementptr %tile[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  %one = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The leader: writes its half, stores the tile.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %to = llvm.getelementptr %dst[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      llvm.store %one, %half_0 : f32, !llvm.ptr<3>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier0
      nvvm.cp.async.bulk.global.shared.cta %to, %tile, %bytes : <1>, <3>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
      nvvm.barrier0
    }
    nvvm.cp.async.bulk.wait_group 0
  }, {
    // The helper: writes its half.
    scf.for %k = %c0 to %n step %c1 : i32 {
      llvm.store %one, %half_1 : f32, !llvm.ptr<3>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier0
      nvvm.cp.async.bulk.wait_group 0 {read}
      nvvm.barrier0
    }
  } : () -> ()
  func.return
}
