// `double_buffer.mlir` with one group too many in flight: the row that is doubled may still be on its way, and the slot
// that is filled next may still be written. It goes wrong in the first iteration.
//
//   tileas check examples/double_buffer_race.mlir

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
    async_queue.wait 0, 2 {
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
