// RUN: xdsl-opt %s -p convert-queue-to-pipeline,verify-dominance --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p convert-queue-to-pipeline,convert-pipeline-to-queue,verify-dominance --split-input-file | filecheck %s --check-prefix=BACK

// Two groups ahead: three stages. The wait at the end forces two groups, so it becomes two turns of the consumer.
func.func @rotating(%src: memref<64xf32>, %ring: memref<3xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c2 step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<64xf32>
        memref.store %x, %ring[%i] : memref<3xf32>
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c2 : index
    %next_slot = arith.remui %next, %c3 : index
    %slot = arith.remui %i, %c3 : index
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%next] : memref<64xf32>
        memref.store %x, %ring[%next_slot] : memref<3xf32>
      }
    }
    async_queue.wait 0, 2 {
      %x = memref.load %ring[%slot] : memref<3xf32>
      memref.store %x, %out[%i] : memref<64xf32>
    }
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: @rotating
// CHECK-NEXT:    %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 3 : i32
// CHECK:         scf.for
// CHECK-NEXT:      {{%.*}} = nv_tileas.async.pipeline.produce_one %p {
// CHECK-NEXT:        async_queue.scope {
// CHECK:             nv_tileas.async.pipeline.yield
// CHECK:         scf.for
// CHECK:           {{%.*}} = nv_tileas.async.pipeline.produce_one %p {
// CHECK-NEXT:        async_queue.scope {
// CHECK:           {{%.*}} = nv_tileas.async.pipeline.consume_one %c {
// CHECK-NEXT:        memref.load
// CHECK:         {{%.*}} = nv_tileas.async.pipeline.consume_one %c {
// CHECK:         {{%.*}} = nv_tileas.async.pipeline.consume_one %c {
// CHECK:         func.return

// BACK-LABEL: @rotating
// BACK-NOT:     nv_tileas
// BACK:         scf.for
// BACK-NEXT:      async_queue.commit 0 {
// BACK-NEXT:        async_queue.scope {
// BACK:         scf.for
// BACK:           async_queue.commit 0 {
// BACK-NEXT:        async_queue.scope {
// BACK:           async_queue.wait 0, 2 {
// BACK-NEXT:        memref.load
// BACK:         async_queue.wait 0, 1
// BACK:         async_queue.wait 0, 0
// BACK:         func.return

// -----

// A wait that forces nothing leaves its body; one in a commit to another queue is a turn in a turn.
func.func @two_queues() {
  async_queue.commit 0 {
    async_queue.scope {
    }
  }
  async_queue.wait 0, 1 {
    "test.op"() : () -> ()
  }
  async_queue.commit 4 {
    async_queue.wait 0, 0 {
      async_queue.scope {
      }
    }
  }
  async_queue.wait 4, 0
  func.return
}
// CHECK-LABEL: @two_queues
// CHECK-NEXT:    %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32
// CHECK-NEXT:    %p_1, %c_1 = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32
// CHECK-NEXT:    {{%.*}} = nv_tileas.async.pipeline.produce_one %p {
// CHECK:         "test.op"() : () -> ()
// CHECK-NEXT:    {{%.*}} = nv_tileas.async.pipeline.produce_one %p_1 {
// CHECK-NEXT:      {{%.*}} = nv_tileas.async.pipeline.consume_one %c {
// CHECK-NEXT:        async_queue.scope {
// CHECK:         {{%.*}} = nv_tileas.async.pipeline.consume_one %c_1 {

// BACK-LABEL: @two_queues
// BACK:         async_queue.commit 1 {
// BACK-NEXT:      async_queue.wait 0, 0 {
// BACK-NEXT:        async_queue.scope {
// BACK:         async_queue.wait 1, 0
