// RUN: xdsl-opt %s -p check-async --split-input-file -o %t 2>&1 | filecheck %s
// RUN: xdsl-opt %s -p 'check-async{trip-counts=0,1 capture=issue},verify-dominance' --split-input-file | filecheck %s --check-prefix=SAME

// What is safe passes through as it was, and the verdict is a remark.
func.func @queue(%n: index, %src: memref<8xf32>, %dst: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<8xf32>
        memref.store %x, %dst[%i] : memref<8xf32>
      }
    }
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK: remark: 'builtin.module' op is not shown to be safe for every trip count: @queue: trip count 12 cannot be executed
// CHECK: remark: 'builtin.module' op is safe for trip counts 0..8
// SAME-LABEL: @queue
// SAME:           async_queue.commit 0 {
// SAME-NEXT:        async_queue.scope {
// SAME-NEXT:          %x = memref.load %src[%i] : memref<8xf32>
// SAME-NEXT:          memref.store %x, %dst[%i] : memref<8xf32>
// SAME:           async_queue.wait 0, 0

// -----

// A warp-specialised pipeline with two slots.
#smem = #nv_tileas.layout<smem>
!tile = tensor<8x4xf16, #smem>
!producer = !nv_tileas.producer_token
!consumer = !nv_tileas.consumer_token
!iter = !nv_tileas.pipeline_iter<tensor<8x4xf16, #smem>>

func.func @pipeline(%n: index, %tile: !tile) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %c = nv_tileas.async.pipeline.create_pipeline
    attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8} : () -> (!producer, !consumer)
  %ip = nv_tileas.async.pipeline.create_iterator %p : (!producer) -> !iter
  %ic = nv_tileas.async.pipeline.create_iterator %c : (!consumer) -> !iter
  nv_tileas.async.pipeline.agent_switch %p, %ip, %c, %ic attributes {num_agents_per_group = array<i32: 1, 1>} {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%it = %ip) -> (!iter) {
      %p1, %done = nv_tileas.async.pipeline.produce_one_async %p, %it {
        %own = nv_tileas.async.pipeline.producer_acquire %p, %it : (!producer, !iter) -> !producer
        %full = nv_tileas.async.pipeline.producer_write %own, %it {
          nv_tileas.async.pipeline.yield %tile : (!tile) -> ()
        } : (!producer, !iter) -> !producer
        %published = nv_tileas.async.pipeline.producer_commit %full : (!producer) -> !producer
        nv_tileas.async.pipeline.yield : () -> ()
      } : (!producer, !iter) -> (!producer, !nv_tileas.token)
      %next = nv_tileas.async.pipeline.inc_iter %it : (!iter) -> !iter
      scf.yield %next : !iter
    }
  }, {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%it = %ic) -> (!iter) {
      %c2 = nv_tileas.async.pipeline.consume_one %c, %it {
        %got = nv_tileas.async.pipeline.consumer_wait %c, %it : (!consumer, !iter) -> !consumer
        %v, %done = nv_tileas.async.pipeline.consumer_read %got, %it : (!consumer, !iter) -> (!tile, !consumer)
        %use = nv_tileas.convert_layout %v : (!tile) -> tensor<8x4xf16>
        %free = nv_tileas.async.pipeline.consumer_release %done : (!consumer) -> !consumer
        nv_tileas.async.pipeline.yield : () -> ()
      } : (!consumer, !iter) -> !consumer
      %next = nv_tileas.async.pipeline.inc_iter %it : (!iter) -> !iter
      scf.yield %next : !iter
    }
  } : (!producer, !iter, !consumer, !iter) -> ()
  func.return
}
// CHECK: remark: 'builtin.module' op is safe for every trip count
// SAME-LABEL: @pipeline

// -----

// Marks: the wait covers the transfer, so the load sees what has arrived.
llvm.func @marks(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>) {
  rocdl.load.async.to.lds %src, %lds, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.wait.asyncmark 0
  %x = llvm.load %lds : !llvm.ptr<3> -> i32
  llvm.return
}
// CHECK: remark: 'builtin.module' op is safe for every trip count
// SAME-LABEL: @marks
