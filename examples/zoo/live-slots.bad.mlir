// Two slots for three tiles that are alive
//
// kind: slot
// level: nv_tileas pipelines
// between: nv_tileas.async.pipeline.producer_write, nv_tileas.async.pipeline.producer_commit
// mirrors: triton-lang/triton#8139, triton-lang/triton#10977
// happened: Triton's pipeliner counts the buffers of a load by the distance in stages to its last use. A use may be
//   in a later cluster than the load of the same stage, behind an `if` for example. It then comes after the next load
//   has been issued. One buffer more is needed than was allocated. The kernel of the report writes 8 where 7 should
//   be.
// wrong: Tile i + 2 is written before tile i is used. Three tiles are alive then, and the pipeline has two slots. No
//   agent acquires, because the slots were counted at compile time.
// says: more live values than slots
// fix: One slot for each tile that is alive at once.

#smem = #nv_tileas.layout<smem>
!tile = tensor<8x4xf32, #smem>
!value = tensor<8x4xf32>
!iter = !nv_tileas.pipeline_iter<!tile>

func.func @late_use(%n: index, %data: !value) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline
    attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
    : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %ip = nv_tileas.async.pipeline.create_iterator %p : (!nv_tileas.producer_token) -> !iter
  %ic = nv_tileas.async.pipeline.create_iterator %c : (!nv_tileas.consumer_token) -> !iter
  %short = arith.minui %n, %c2 : index
  %primed = scf.for %i = %c0 to %short step %c1 iter_args(%it = %ip) -> (!iter) {
    %full = nv_tileas.async.pipeline.producer_write %p, %it {
      nv_tileas.async.pipeline.yield %data : (!value) -> ()
    } : (!nv_tileas.producer_token, !iter) -> !nv_tileas.producer_token
    nv_tileas.async.pipeline.producer_commit %full : (!nv_tileas.producer_token) -> ()
    %next = nv_tileas.async.pipeline.inc_iter %it : (!iter) -> !iter
    scf.yield %next : !iter
  }
  %zero = arith.constant dense<0.0> : !value
  scf.for %i = %c0 to %n step %c1 iter_args(%to = %primed, %from = %ic, %acc = %zero) -> (!iter, !iter, !value) {
    %ahead = arith.addi %i, %c2 : index
    %more = arith.cmpi ult, %ahead, %n : index
    scf.if %more {
      %full = nv_tileas.async.pipeline.producer_write %p, %to {
        nv_tileas.async.pipeline.yield %data : (!value) -> ()
      } : (!nv_tileas.producer_token, !iter) -> !nv_tileas.producer_token
      nv_tileas.async.pipeline.producer_commit %full : (!nv_tileas.producer_token) -> ()
    }
    %to_next = nv_tileas.async.pipeline.inc_iter %to : (!iter) -> !iter
    %got = nv_tileas.async.pipeline.consumer_wait %c, %from : (!nv_tileas.consumer_token, !iter) -> !nv_tileas.consumer_token
    %view, %read = nv_tileas.async.pipeline.consumer_read %got, %from : (!nv_tileas.consumer_token, !iter) -> (!tile, !nv_tileas.consumer_token)
    %loaded = nv_tileas.convert_layout %view : (!tile) -> !value
    nv_tileas.async.pipeline.consumer_release %read : (!nv_tileas.consumer_token) -> ()
    %sum = arith.addf %acc, %loaded : !value
    %from_next = nv_tileas.async.pipeline.inc_iter %from : (!iter) -> !iter
    scf.yield %to_next, %from_next, %sum : !iter, !iter, !value
  }
  func.return
}
