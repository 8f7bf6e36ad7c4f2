// A wrong answer: a stage without ops changes nothing; four versions are too many.

func.func @scale(%src: memref<64x4xf32>, %out: memref<64x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %tile = memref.alloc() : memref<4xf32, 3>
    async_queue.block {
      scf.for %j = %c0 to %c4 step %c1 {
        %x = memref.load %src[%i, %j] : memref<64x4xf32>
        memref.store %x, %tile[%j] : memref<4xf32, 3>
      }
    }
    async_queue.block {
      scf.for %j = %c0 to %c4 step %c1 {
        %x = memref.load %tile[%j] : memref<4xf32, 3>
        %y = arith.mulf %x, %two : f32
        memref.store %y, %out[%i, %j] : memref<64x4xf32>
      }
    }
  } {software_pipeline_stage = array<i64: 0, 4>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}
