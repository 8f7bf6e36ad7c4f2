// Two groups an iteration in the loop, one in its prologue
//
// kind: race
// level: async_queue
// between: async_queue.scope, memref.load
// mirrors: apache/tvm-rfcs#80, apache/tvm#12171
// happened: The RFC of TVM's asynchronous pipelines shows two copies with the consumer between them. Each iteration
//   commits two groups, and the wait leaves five in flight. Its prologue commits both copies as one group. The listing,
//   the implementation and the CUDA text that its tests keep race in the first two iterations; from the third on five
//   is right.
// wrong: After three iterations of the prologue there are three groups, not six. With the first commit of the loop
//   there are four when the wait for all but five is reached: it waits for nothing.
// says: with nothing that orders the two
// fix: Cut the prologue into groups like the loop.

func.func @interleaved(%a: memref<16xi32>, %b: memref<16xi32>, %c: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c13 = arith.constant 13 : index
  %sa = memref.alloc() : memref<4xi32>
  %sb = memref.alloc() : memref<4xi32>
  scf.for %i = %c0 to %c3 step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %va = memref.load %a[%i] : memref<16xi32>
        memref.store %va, %sa[%i] : memref<4xi32>
      }
      async_queue.scope {
        %vb = memref.load %b[%i] : memref<16xi32>
        memref.store %vb, %sb[%i] : memref<4xi32>
      }
    }
  }
  scf.for %i = %c0 to %c13 step %c1 {
    %j = arith.addi %i, %c3 : index
    %t = arith.remui %j, %c4 : index
    async_queue.commit 0 {
      async_queue.scope {
        %va = memref.load %a[%j] : memref<16xi32>
        memref.store %va, %sa[%t] : memref<4xi32>
      }
    }
    async_queue.wait 0, 5 {
      %s = arith.remui %i, %c4 : index
      %x = memref.load %sa[%s] : memref<4xi32>
      %y = memref.load %sb[%s] : memref<4xi32>
      %z = arith.addi %x, %y : i32
      memref.store %z, %c[%i] : memref<16xi32>
    }
    async_queue.commit 0 {
      async_queue.scope {
        %vb = memref.load %b[%j] : memref<16xi32>
        memref.store %vb, %sb[%t] : memref<4xi32>
      }
    }
  }
  %e0 = arith.constant 13 : index
  %u0 = arith.constant 1 : index
  async_queue.wait 0, 4 {
    %x0 = memref.load %sa[%u0] : memref<4xi32>
    %y0 = memref.load %sb[%u0] : memref<4xi32>
    %z0 = arith.addi %x0, %y0 : i32
    memref.store %z0, %c[%e0] : memref<16xi32>
  }
  %e1 = arith.constant 14 : index
  %u1 = arith.constant 2 : index
  async_queue.wait 0, 2 {
    %x1 = memref.load %sa[%u1] : memref<4xi32>
    %y1 = memref.load %sb[%u1] : memref<4xi32>
    %z1 = arith.addi %x1, %y1 : i32
    memref.store %z1, %c[%e1] : memref<16xi32>
  }
  %e2 = arith.constant 15 : index
  %u2 = arith.constant 3 : index
  async_queue.wait 0, 0 {
    %x2 = memref.load %sa[%u2] : memref<4xi32>
    %y2 = memref.load %sb[%u2] : memref<4xi32>
    %z2 = arith.addi %x2, %y2 : i32
    memref.store %z2, %c[%e2] : memref<16xi32>
  }
  func.return
}
