// A slot refilled while the next stage still reads it
//
// kind: race
// level: async_queue
// between: async_queue.scope, async_queue.scope
// mirrors: apache/tvm#12171
// happened: TVM's three-stage example gives its first buffer two slots. The first stage refills a slot while the
//   second, asynchronous as well, may not have read it. The wait in the loop lets its youngest group be in flight. On
//   one engine that works in order all goes well; on two it is a race. A schedule with an asynchronous write-back was
//   dropped from TVM's tests for want of this analysis.
// wrong: Stage 0 of iteration t + 1 writes the slot of B that stage 1 of iteration t reads, and nothing makes it wait.
// says: write after read on
// fix: Wait for the second stage before its source is written again (or give B a third slot).

func.func @three_stages(%a: memref<16xi32>, %d: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  %one = arith.constant 1 : i32
  %b = memref.alloc() : memref<2xi32>
  %c = memref.alloc() : memref<2xi32>
  async_queue.commit 0 {
    async_queue.scope {
      %p = memref.load %a[%c0] : memref<16xi32>
      %p1 = arith.addi %p, %one : i32
      memref.store %p1, %b[%c0] : memref<2xi32>
    }
  }
  async_queue.commit 0 {
    async_queue.scope {
      %q = memref.load %a[%c1] : memref<16xi32>
      %q1 = arith.addi %q, %one : i32
      memref.store %q1, %b[%c1] : memref<2xi32>
    }
  }
  async_queue.commit 1 {
    async_queue.wait 0, 1 {
      async_queue.scope {
        %r = memref.load %b[%c0] : memref<2xi32>
        %r1 = arith.addi %r, %one : i32
        memref.store %r1, %c[%c0] : memref<2xi32>
      }
    }
  }
  scf.for %i = %c0 to %c14 step %c1 {
    %i1 = arith.addi %i, %c1 : index
    %i2 = arith.addi %i, %c2 : index
    %s = arith.remui %i, %c2 : index
    %s1 = arith.remui %i1, %c2 : index
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %a[%i2] : memref<16xi32>
        %x1 = arith.addi %x, %one : i32
        memref.store %x1, %b[%s] : memref<2xi32>
      }
    }
    async_queue.commit 1 {
      async_queue.wait 0, 1 {
        async_queue.scope {
          %y = memref.load %b[%s1] : memref<2xi32>
          %y1 = arith.addi %y, %one : i32
          memref.store %y1, %c[%s1] : memref<2xi32>
        }
      }
    }
    async_queue.wait 1, 1 {
      %z = memref.load %c[%s] : memref<2xi32>
      memref.store %z, %d[%i] : memref<16xi32>
    }
  }
  async_queue.commit 1 {
    async_queue.wait 0, 0 {
      async_queue.scope {
        %u = memref.load %b[%c1] : memref<2xi32>
        %u1 = arith.addi %u, %one : i32
        memref.store %u1, %c[%c1] : memref<2xi32>
      }
    }
  }
  async_queue.wait 1, 1 {
    %v = memref.load %c[%c0] : memref<2xi32>
    memref.store %v, %d[%c14] : memref<16xi32>
  }
  async_queue.wait 1, 0 {
    %w = memref.load %c[%c1] : memref<2xi32>
    memref.store %w, %d[%c15] : memref<16xi32>
  }
  func.return
}
