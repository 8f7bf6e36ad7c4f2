// A tile that is skipped is not given back
//
// kind: deadlock
// level: nv_tileas pipelines
// between: nv_tileas.async.pipeline.producer_acquire, nv_tileas.async.pipeline.consumer_wait
// mirrors: tile-ai/tilelang#374, jax-ml/jax (Pallas interpret mode)
// happened: Block-sparse and causal kernels skip tiles, and the barriers around that `if` are where they go wrong.
//   TileLang's block-sparse GEMM on Hopper had its mbarriers in the wrong order. A consumer whose release stands inside
//   the `if` keeps the slots of the tiles that it skips. Compilers say nothing and the GPU hangs; Pallas' interpreter,
//   made to find races on a CPU, hangs as well when a release is missing.
// wrong: In iterations 1, 3, 5, ... the consumer waits and does not release. The producer, two stages deep, wants the
//   slot of stage 1 back for stage 3.
// says: no agent can go on
// fix: Release every stage, used or not.

#smem = #nv_tileas.layout<smem>
!tile = tensor<8x4xf32, #smem>
!value = tensor<8x4xf32>
!iter = !nv_tileas.pipeline_iter<!tile>

func.func @block_sparse(%n: index, %data: !value) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline
    attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
    : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %ip = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !iter
  %ic = nv_tileas.async.pipeline.create_iterator %c : (!nv_tileas.consumer_token) -> !iter
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %i = %c0 to %n step %c1 iter_args(%it = %ip) -> (!iter) {
      %own = nv_tileas.async.pipeline.producer_acquire %p, %it : (!nv_tileas.producer_token, !iter) -> !nv_tileas.producer_token
      %full = nv_tileas.async.pipeline.producer_write %own, %it {
        nv_tileas.async.pipeline.yield %data : (!value) -> ()
      } : (!nv_tileas.producer_token, !iter) -> !nv_tileas.producer_token
      nv_tileas.async.pipeline.producer_commit %full : (!nv_tileas.producer_token) -> ()
      %next = nv_tileas.async.pipeline.inc_iter %it : (!iter) -> !iter
      scf.yield %next : !iter
    }
  }, {
    %zero = arith.constant dense<0.0> : !value
    scf.for %i = %c0 to %n step %c1 iter_args(%it = %ic, %acc = %zero) -> (!iter, !value) {
      %got = nv_tileas.async.pipeline.consumer_wait %c, %it : (!nv_tileas.consumer_token, !iter) -> !nv_tileas.consumer_token
      %view, %read = nv_tileas.async.pipeline.consumer_read %got, %it : (!nv_tileas.consumer_token, !iter) -> (!tile, !nv_tileas.consumer_token)
      %odd = arith.remui %i, %c2 : index
      %skip = arith.cmpi eq, %odd, %c1 : index
      %sum = scf.if %skip -> (!value) {
        scf.yield %acc : !value
      } else {
        %loaded = nv_tileas.convert_layout %view : (!tile) -> !value
        nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
        %more = arith.addf %acc, %loaded : !value
        scf.yield %more : !value
      }
      %next = nv_tileas.async.pipeline.inc_iter %it : (!iter) -> !iter
      scf.yield %next, %sum : !iter, !value
    }
  } : () -> ()
  func.return
}
