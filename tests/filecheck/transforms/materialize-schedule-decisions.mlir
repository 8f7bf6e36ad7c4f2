// RUN: xdsl-opt %s -p 'tileas-materialize-schedule{compute-capability=sm_90}' | filecheck %s --check-prefix=AGENTS
// RUN: sed -e '/produce_one_async/s/stage = 0 : i32, //' %s | not xdsl-opt -p 'tileas-materialize-schedule{compute-capability=sm_90}' 2>&1 | filecheck %s --check-prefix=ALIAS
// RUN: sed -e '/async.dot/s/stage = 1 : i32/stage = "late"/' %s | xdsl-opt -p 'tileas-materialize-schedule{compute-capability=sm_90}' | filecheck %s --check-prefix=HEADER
// RUN: sed -e 's/stage_count = 3 : i32, total_work = 3/stage_count = 3 : i32, total_work = 5/' %s | xdsl-opt -p 'tileas-materialize-schedule{compute-capability=sm_90}' | filecheck %s --check-prefix=FEWER
// RUN: xdsl-opt %s -p 'tileas-materialize-schedule{compute-capability=sm_90 enable-schedule-rewrite=false}' | filecheck %s --check-prefix=BLOCKS

// What TileAS' pass decides by the schedule that it is given, and where it fails.
#smem = #nv_tileas.layout<smem>
func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
  %at_ring, %at_end = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8, nv_tileas.depth = 3 : i32, nv_tileas.buffer = {class = "smem", stages = 3 : i32, footprint = 16384 : i32, offset = 0 : i32, barrier = 0 : i32, lifetime = [11 : i32, 33 : i32]}} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %bt_ring, %bt_end = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8, nv_tileas.depth = 3 : i32, nv_tileas.buffer = {class = "smem", stages = 3 : i32, footprint = 16384 : i32, offset = 49152 : i32, barrier = 1 : i32, lifetime = [16 : i32, 33 : i32]}} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %at_in = nv_tileas.async.pipeline.create_iterator %at_ring : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
  %at_out = nv_tileas.async.pipeline.create_iterator %at_end : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
  %bt_in = nv_tileas.async.pipeline.create_iterator %bt_ring : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>
  %bt_out = nv_tileas.async.pipeline.create_iterator %bt_end : (!nv_tileas.consumer_token) -> !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>
  %product, %at_in_1, %at_out_1, %bt_in_1, %bt_out_1 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %at_in_2 = %at_in, %at_out_2 = %at_out, %bt_in_2 = %bt_in, %bt_out_2 = %bt_out) -> (tensor<128x128xf32>, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) {
    %at_own = nv_tileas.async.pipeline.producer_acquire %at_ring, %at_in_2 attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 4 : i32} : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.producer_token
    %at_filled, %0 = nv_tileas.async.pipeline.produce_one_async %at_own, %at_in_2 attributes {producer_types = [tensor<128x64xf16, #smem>], producer_kind = "tma", stage = 0 : i32, iter_offset = 0 : i32, order = 5 : i32} {
    ^bb0(%at_slot: tensor<128x64xf16, #smem>):
      %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> tensor<128x64xf16, #smem>
      nv_tileas.async.pipeline.yield %at : (tensor<128x64xf16, #smem>) -> ()
    } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> (!nv_tileas.producer_token, !nv_tileas.token)
    nv_tileas.async.pipeline.producer_commit %at_filled attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 16 : i32} : (!nv_tileas.producer_token) -> ()
    %bt_own = nv_tileas.async.pipeline.producer_acquire %bt_ring, %bt_in_2 attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 6 : i32} : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) -> !nv_tileas.producer_token
    %bt_filled, %1 = nv_tileas.async.pipeline.produce_one_async %bt_own, %bt_in_2 attributes {producer_types = [tensor<64x128xf16, #smem>], producer_kind = "tma", stage = 0 : i32, iter_offset = 0 : i32, order = 7 : i32} {
    ^bb0(%bt_slot: tensor<64x128xf16, #smem>):
      %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> tensor<64x128xf16, #smem>
      nv_tileas.async.pipeline.yield %bt : (tensor<64x128xf16, #smem>) -> ()
    } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) -> (!nv_tileas.producer_token, !nv_tileas.token)
    nv_tileas.async.pipeline.producer_commit %bt_filled attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 17 : i32} : (!nv_tileas.producer_token) -> ()
    %at_got = nv_tileas.async.pipeline.consumer_wait %at_end, %at_out_2 attributes {stage = 1 : i32, iter_offset = -1 : i32, order = 8 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.consumer_token
    %at_1, %at_read = nv_tileas.async.pipeline.consumer_read %at_got, %at_out_2 attributes {stage = 1 : i32, iter_offset = -1 : i32, order = 10 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> (tensor<128x64xf16, #smem>, !nv_tileas.consumer_token)
    %bt_got = nv_tileas.async.pipeline.consumer_wait %bt_end, %bt_out_2 attributes {stage = 1 : i32, iter_offset = -1 : i32, order = 9 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) -> !nv_tileas.consumer_token
    %bt_1, %bt_read = nv_tileas.async.pipeline.consumer_read %bt_got, %bt_out_2 attributes {stage = 1 : i32, iter_offset = -1 : i32, order = 11 : i32} : (!nv_tileas.consumer_token, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) -> (tensor<64x128xf16, #smem>, !nv_tileas.consumer_token)
    %sum, %sum_done = nv_tileas.async.dot %at_1, %bt_1, %acc attributes {stage = 1 : i32, iter_offset = -1 : i32, order = 12 : i32} : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> (tensor<128x128xf32>, !nv_tileas.token)
    nv_tileas.async.wait %sum_done attributes {stage = 2 : i32, iter_offset = -2 : i32, order = 13 : i32} : (!nv_tileas.token) -> ()
    nv_tileas.async.pipeline.consumer_release %bt_read attributes {stage = 2 : i32, iter_offset = -2 : i32, order = 14 : i32} : (!nv_tileas.consumer_token) -> ()
    nv_tileas.async.pipeline.consumer_release %at_read attributes {stage = 2 : i32, iter_offset = -2 : i32, order = 15 : i32} : (!nv_tileas.consumer_token) -> ()
    %at_in_3 = nv_tileas.async.pipeline.inc_iter %at_in_2 attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 0 : i32} : (!nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
    %at_out_3 = nv_tileas.async.pipeline.inc_iter %at_out_2 attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 1 : i32} : (!nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>) -> !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>
    %bt_in_3 = nv_tileas.async.pipeline.inc_iter %bt_in_2 attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 2 : i32} : (!nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) -> !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>
    %bt_out_3 = nv_tileas.async.pipeline.inc_iter %bt_out_2 attributes {stage = 0 : i32, iter_offset = 0 : i32, order = 3 : i32} : (!nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>) -> !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>
    scf.yield %sum, %at_in_3, %at_out_3, %bt_in_3, %bt_out_3 : tensor<128x128xf32>, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>, !nv_tileas.pipeline_iter<tensor<128x64xf16, #smem>>, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>, !nv_tileas.pipeline_iter<tensor<64x128xf16, #smem>>
  } {nv_tileas.schedule = {strategy = "cost-based", ii = 530 : i32, mii = 530 : i32, bound = "RecMII", stages = 3 : i32, stage_count = 3 : i32, total_work = 3 : i32, iters = 1 : i32, arms = ["PERMUTE"], truncated = false}}
  nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, tensor<128x128xf32>, index, index) -> ()
  func.return
}

// 3 stages are more than 0.6 times the work of an iteration, 3: two agents could be fed.
// AGENTS-LABEL: @gemm
// AGENTS-NOT:     pass_status
// AGENTS:         agent_switch
// AGENTS:         use_dual_simt = true

// They are not more than 0.6 times 5.
// FEWER-LABEL: @gemm
// FEWER-NOT:     pass_status
// FEWER:         agent_switch
// FEWER:         use_dual_simt = false

// A slot is filled by an op without a stage, and emptied in stage 1.
// ALIAS: error: Alias is not expected here.

// The schedule does not fit the loop: the bit is set, and the loop stays in one agent.
// HEADER-LABEL: @gemm
// HEADER-SAME:    nv_tileas.agents = {agents = 1 : i32, reason =
// HEADER-SAME:    pass_status = {"tileas-materialize-schedule" = 4 : i32}
// HEADER-NOT:     agent_switch
// HEADER:         scf.for

// Without the fold the steady state has a block for each stage, the latest first.
// BLOCKS-LABEL: @gemm
// BLOCKS:         agent_switch
// BLOCKS:         }, {
// BLOCKS:           scf.for
// BLOCKS:             nv_tileas.async.wait {{.*}}nv_tile.aws.stage = 2
// BLOCKS:             nv_tileas.async.dot {{.*}}nv_tile.aws.stage = 1
