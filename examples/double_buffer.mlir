// Double buffering with a queue: while one row is doubled, the next one is on its way into the other half of %ring.
//
// Each iteration commits one group, an empty one when there is nothing left to copy, so "all but the youngest" always
// means that the row of this iteration has arrived. `double_buffer_race.mlir` waits for one group fewer.
//
//   tileas check examples/double_buffer.mlir
//   tileas run examples/double_buffer.mlir --arg n=8 --arg src=8x4:iota --arg dst=8x4:zeros

func.func @double_buffer(%n: index, %src: memref<?x4xf32>, %dst: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %ring = memref.alloc() : memref<2x4xf32, 3>
  %any = arith.cmpi ult, %c0, %n : index
  async_queue.commit 0 {
    scf.if %any {
      async_queue.scope {
        scf.for %j = %c0 to %c4 step %c1 {
          %x = memref.load %src[%c0, %j] : memref<?x4xf32>
          memref.store %x, %ring[%c0, %j] : memref<2x4xf32, 3>
        }
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %slot = arith.remui %i, %c2 : index
    %next = arith.addi %i, %c1 : index
    %next_slot = arith.remui %next, %c2 : index
    %more = arith.cmpi ult, %next, %n : index
    async_queue.commit 0 {
      scf.if %more {
        async_queue.scope {
          scf.for %j = %c0 to %c4 step %c1 {
            %x = memref.load %src[%next, %j] : memref<?x4xf32>
            memref.store %x, %ring[%next_slot, %j] : memref<2x4xf32, 3>
          }
        }
      }
    }
    async_queue.wait 0, 1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %x = memref.load %ring[%slot, %j] : memref<2x4xf32, 3>
        %twice = arith.addf %x, %x : f32
        memref.store %twice, %dst[%i, %j] : memref<?x4xf32>
      }
    }
  }
  async_queue.wait 0, 0
  memref.dealloc %ring : memref<2x4xf32, 3>
  func.return
}
