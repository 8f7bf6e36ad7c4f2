// Copy, double, store: all in one stage, so each iteration waits for its own copy. TODO: other stages.

func.func @double(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc() : memref<1xf32, 3>
    %b = memref.alloc() : memref<1xf32, 3>
    async_queue.block {
      %x = memref.load %src[%i] : memref<66xf32>
      memref.store %x, %a[%c0] : memref<1xf32, 3>
    }
    async_queue.block {
      %x = memref.load %a[%c0] : memref<1xf32, 3>
      %y = arith.addf %x, %x : f32
      memref.store %y, %b[%c0] : memref<1xf32, 3>
    }
    async_queue.block {
      %y = memref.load %b[%c0] : memref<1xf32, 3>
      memref.store %y, %out[%i] : memref<64xf32>
    }
  } {software_pipeline_stage = array<i64: 0, 0, 0>, software_pipeline_order = array<i64: 0, 1, 2>, software_pipeline_async_stages = array<i64: 0>}
  func.return
}
