// An accumulator stage given back while it is being read
//
// kind: race
// level: nv_tileas pipelines
// between: nv_tileas.convert_layout, nv_tileas.async.pipeline.producer_write
// mirrors: flashinfer-ai/flashinfer#5334, flashinfer-ai/flashinfer#5335
// happened: Two consumer releases in FlashInfer's Blackwell gated-delta-net kernel free a tensor-memory stage
//   without waiting for the tcgen05.ld that still reads it. The same handoff elsewhere in the kernel fences
//   the load first. There is one stage, so the next MMA may write into it: the registers get a mix of two
//   chunks.
// wrong: consumer_read of a tile in tensor memory gives a view; its bytes are read by the convert_layout, which stands
//   behind the release.
// says: tensor
// fix: Bring the tile into registers before the stage is given back.

#tmem = #nv_tileas.layout<tmem>
!tile = tensor<8x4xf32, #tmem>
!value = tensor<8x4xf32>
!iter = !nv_tileas.pipeline_iter<!tile>

func.func @gated_delta_net(%n: index, %accumulators: !value) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline
    attributes {numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
    : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %ip = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !iter
  %ic = nv_tileas.async.pipeline.create_iterator %c : (!nv_tileas.consumer_token) -> !iter
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %i = %c0 to %n step %c1 iter_args(%it = %ip) -> (!iter) {
      %own = nv_tileas.async.pipeline.producer_acquire %p, %it : (!nv_tileas.producer_token, !iter) -> !nv_tileas.producer_token
      %full = nv_tileas.async.pipeline.producer_write %own, %it {
        nv_tileas.async.pipeline.yield %accumulators : (!value) -> ()
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
      nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
      %loaded = nv_tileas.convert_layout %view : (!tile) -> !value
      %sum = arith.addf %acc, %loaded : !value
      %next = nv_tileas.async.pipeline.inc_iter %it : (!iter) -> !iter
      scf.yield %next, %sum : !iter, !value
    }
  } : () -> ()
  func.return
}
