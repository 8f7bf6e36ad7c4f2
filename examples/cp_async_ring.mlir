// A ring of asynchronous copies that waits by counting, as `cp.async` and TVM's pipelines do.
//
// `@scale` doubles the rows of an array. Rows come in through a ring of three slots, two rows ahead of the arithmetic.
// One group is committed for every row, in the prologue as in the loop, and also when there is no row left to copy: so
// "all but the two youngest groups" is always "row %i and those before it". Slot (i + 2) mod 3 was last read by row
// i - 1, whose arithmetic is over when the copy into it is issued.

func.func @scale(%src: memref<?x8xf32>, %out: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  %ring = memref.alloc() : memref<3x8xf32, 3>

  // The prologue: rows 0 and 1, as far as there are any.
  scf.for %i = %c0 to %c2 step %c1 {
    async_queue.commit 0 {
      %exists = arith.cmpi slt, %i, %n : index
      scf.if %exists {
        async_queue.scope {
          scf.for %j = %c0 to %c8 step %c1 {
            %x = memref.load %src[%i, %j] : memref<?x8xf32>
            memref.store %x, %ring[%i, %j] : memref<3x8xf32, 3>
          }
        }
      }
    }
  }

  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c2 : index
    %next_slot = arith.remui %next, %c3 : index
    %slot = arith.remui %i, %c3 : index
    async_queue.commit 0 {
      %exists = arith.cmpi slt, %next, %n : index
      scf.if %exists {
        async_queue.scope {
          scf.for %j = %c0 to %c8 step %c1 {
            %x = memref.load %src[%next, %j] : memref<?x8xf32>
            memref.store %x, %ring[%next_slot, %j] : memref<3x8xf32, 3>
          }
        }
      }
    }
    async_queue.wait 0, 2 {
      scf.for %j = %c0 to %c8 step %c1 {
        %x = memref.load %ring[%slot, %j] : memref<3x8xf32, 3>
        %y = arith.mulf %x, %two : f32
        memref.store %y, %out[%i, %j] : memref<?x8xf32>
      }
    }
  }
  memref.dealloc %ring : memref<3x8xf32, 3>
  func.return
}

// The same with two slots and nothing ahead of its turn: the copy of the next row is issued before the wait for this
// one, so the two overlap. One group may be unfinished.
func.func @double_buffered(%src: memref<?x8xf32>, %out: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  %ring = memref.alloc() : memref<2x8xf32, 3>
  %some = arith.cmpi slt, %c0, %n : index
  async_queue.commit 0 {
    scf.if %some {
      async_queue.scope {
        scf.for %j = %c0 to %c8 step %c1 {
          %x = memref.load %src[%c0, %j] : memref<?x8xf32>
          memref.store %x, %ring[%c0, %j] : memref<2x8xf32, 3>
        }
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c1 : index
    %next_slot = arith.remui %next, %c2 : index
    %slot = arith.remui %i, %c2 : index
    async_queue.commit 0 {
      %exists = arith.cmpi slt, %next, %n : index
      scf.if %exists {
        async_queue.scope {
          scf.for %j = %c0 to %c8 step %c1 {
            %x = memref.load %src[%next, %j] : memref<?x8xf32>
            memref.store %x, %ring[%next_slot, %j] : memref<2x8xf32, 3>
          }
        }
      }
    }
    async_queue.wait 0, 1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %x = memref.load %ring[%slot, %j] : memref<2x8xf32, 3>
        %y = arith.mulf %x, %two : f32
        memref.store %y, %out[%i, %j] : memref<?x8xf32>
      }
    }
  }
  memref.dealloc %ring : memref<2x8xf32, 3>
  func.return
}
