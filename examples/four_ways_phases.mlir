// One program, four ways of saying "not yet" (docs/four-ways.md). This is the way of phases.
//
// `@double` doubles `%n` numbers. They come in through a ring of three slots, two numbers ahead of the arithmetic. Each slot is
// a stage of a pipeline; its phase flips when the copy into it is complete. A produce op takes the next free stage, a consume
// op the oldest full one.

func.func @double(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2.000000e+00 : f32
  %ring = memref.alloc() : memref<3xf32, 3>
  %full0 = nv_tileas.async.pipeline.produce_one %p {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<66xf32>
      memref.store %x, %ring[%c0] : memref<3xf32, 3>
    }
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
  %full1 = nv_tileas.async.pipeline.produce_one %p {
    async_queue.scope {
      %x_1 = memref.load %src[%c1] : memref<66xf32>
      memref.store %x_1, %ring[%c1] : memref<3xf32, 3>
    }
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c2 : index
    %fill = arith.remui %ahead, %c3 : index
    %use = arith.remui %i, %c3 : index
    %full = nv_tileas.async.pipeline.produce_one %p {
      async_queue.scope {
        %x_2 = memref.load %src[%ahead] : memref<66xf32>
        memref.store %x_2, %ring[%fill] : memref<3xf32, 3>
      }
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
    %empty = nv_tileas.async.pipeline.consume_one %c {
      %x_3 = memref.load %ring[%use] : memref<3xf32, 3>
      %y = arith.mulf %x_3, %two : f32
      memref.store %y, %out[%i] : memref<64xf32>
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
  }
  %empty_1 = nv_tileas.async.pipeline.consume_one %c {
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
  %empty_2 = nv_tileas.async.pipeline.consume_one %c {
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.consumer_token) -> !nv_tileas.consumer_token
  memref.dealloc %ring : memref<3xf32, 3>
  func.return
}
