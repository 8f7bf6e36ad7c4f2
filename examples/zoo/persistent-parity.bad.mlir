// A persistent kernel that starts every tile with phase 0
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: tile-ai/tilelang#2674
// happened: An outer persistent loop around a pipelined K loop, warp-specialised automatically. Each tile begins with
//   stage 0 and phase 0, although the barriers stand where the last tile left them. The kernel is right only when each
//   block has one tile, or when the K loop is a multiple of twice the stages. Everything else gives wrong results from
//   the second tile on, or a launch failure.
// wrong: Three K steps on two stages leave slot 1 after one phase and slot 0 after two. In the second tile the consumer
//   asks slot 1 for parity 0 again. It passes on the phase of the last tile and adds up the old contents.
// says: passes on phase 0 of mbarrier 'full'
// fix: Count the iterations through all tiles, and take slot and phase from that count.

func.func @persistent(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>,
    %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ksteps = arith.constant 3 : i32
  %stages = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer.
    scf.for %t = %c0 to %n step %c1 : i32 {
      %before = arith.muli %t, %ksteps : i32
      scf.for %k = %c0 to %ksteps step %c1 : i32 {
        %tile_number = arith.addi %before, %k : i32
        %it = arith.addi %k, %c0 : i32
        %s = arith.remui %it, %stages : i32
        %round = arith.divui %it, %stages : i32
        %bit = arith.andi %round, %c1 : i32
        %turn = arith.xori %bit, %c1 : i32
        %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
        %tile = llvm.getelementptr %src[%tile_number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
        nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32
        nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
      }
    }
  }, {
    // The consumer: one sum for each tile of the output.
    %zero = arith.constant 0.0 : f32
    scf.for %t = %c0 to %n step %c1 : i32 {
      %before = arith.muli %t, %ksteps : i32
      %sum = scf.for %k = %c0 to %ksteps step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
        %it = arith.addi %k, %c0 : i32
        %s = arith.remui %it, %stages : i32
        %round = arith.divui %it, %stages : i32
        %bit = arith.andi %round, %c1 : i32
        %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
        nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
        %v = llvm.load %slot : !llvm.ptr<3> -> f32
        %next = arith.addf %acc, %v : f32
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        nvvm.mbarrier.arrive %e : !llvm.ptr<3>
        scf.yield %next : f32
      }
      %o = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %sum, %o : f32, !llvm.ptr<1>
    }
  } : () -> ()
  func.return
}
