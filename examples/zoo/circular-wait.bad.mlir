// A slot given back only after data that is loaded behind it
//
// kind: deadlock
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.mbarrier.try_wait.parity
// mirrors: tile-ai/tilelang#2567
// happened: The attention-sink backward example of TileLang hangs on Hopper for lengths that are not aligned. The
//   arrive that gives the buffer of Q back came to stand behind loads whose data the producer only brings once it has
//   that buffer.
// wrong: The producer brings Q of the next iteration before dO of this one. It waits for Q's slot; the consumer holds
//   it until dO has arrived.
// says: no agent can go on
// fix: Give Q's slot back right after the last read of Q.

func.func @attention_backward(%q: !llvm.ptr<1>, %do: !llvm.ptr<1>, %out: !llvm.ptr<1>,
    %q_tile: !llvm.ptr<3>, %do_tile: !llvm.ptr<3>, %bars: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %full_q = llvm.getelementptr %bars[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %empty_q = llvm.getelementptr %bars[%c1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %full_do = llvm.getelementptr %bars[%c2] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %empty_do = llvm.getelementptr %bars[%c3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  nvvm.mbarrier.init %full_q, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty_q, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %full_do, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty_do, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %any = arith.cmpi ult, %c0, %n : i32
  scf.if %any {
    nvvm.mbarrier.arrive.expect_tx %full_q, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %q_tile, %q, %full_q, %bytes : !llvm.ptr<3>, <1>
  }
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer: Q of the next iteration first, then dO of this one.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %after = arith.addi %k, %c1 : i32
      %more = arith.cmpi ult, %after, %n : i32
      scf.if %more {
        %next_q = llvm.getelementptr %q[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
        nvvm.mbarrier.try_wait.parity %empty_q, %bit, %ticks : !llvm.ptr<3>, i32, i32
        nvvm.mbarrier.arrive.expect_tx %full_q, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %q_tile, %next_q, %full_q, %bytes : !llvm.ptr<3>, <1>
      }
      %this_do = llvm.getelementptr %do[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %empty_do, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %full_do, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %do_tile, %this_do, %full_do, %bytes : !llvm.ptr<3>, <1>
    }
  }, {
    // The consumer.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full_q, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %x = llvm.load %q_tile : !llvm.ptr<3> -> f32
      nvvm.mbarrier.try_wait.parity %full_do, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %y = llvm.load %do_tile : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %empty_q : !llvm.ptr<3>
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %product : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %empty_do : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
