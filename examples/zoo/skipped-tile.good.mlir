// The good twin of skipped-tile.bad.mlir: a stage that is skipped is given back as well.

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
        nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
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
