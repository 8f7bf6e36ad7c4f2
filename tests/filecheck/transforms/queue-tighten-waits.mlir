// RUN: xdsl-opt %s -p queue-tighten-waits,verify-dominance --split-input-file 2>/dev/null | filecheck %s
// RUN: xdsl-opt %s -p queue-tighten-waits --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=REMARK

// A ring of two slots that was drained in each iteration, and a wait for a queue that nobody fills.
func.func @ring(%n: index, %x: f32, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = memref.alloc() : memref<2xf32>
  async_queue.commit 0 {
    async_queue.scope {
      memref.store %x, %ring[%c0] : memref<2xf32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c1 : index
    %slot = arith.remui %ahead, %c2 : index
    async_queue.commit 0 {
      async_queue.scope {
        memref.store %x, %ring[%slot] : memref<2xf32>
      }
    }
    async_queue.wait 0, 0 {
      %here = arith.remui %i, %c2 : index
      %y = memref.load %ring[%here] : memref<2xf32>
      memref.store %y, %out[%i] : memref<?xf32>
    }
  }
  async_queue.wait 1, 0
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: func.func @ring
// CHECK:         async_queue.wait 0, 1 {
// CHECK-NEXT:      %here = arith.remui
// CHECK:         }
// CHECK-NEXT:  }
// CHECK-NEXT:  async_queue.wait 0, 0
// CHECK-NEXT:  func.return
// REMARK: remark: 'async_queue.wait' op raised from 0 to 1; with 2: read after write on {{.*}} in @ring(n = 1)
// REMARK-NEXT: remark: 'async_queue.wait' op removed: all is as safe without waiting for all but 0 groups

// -----

// What races before stays as it is, and says so.
func.func @race(%m: memref<4xf32>, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      memref.store %x, %m[%c0] : memref<4xf32>
    }
  }
  async_queue.wait 0, 1
  %y = memref.load %m[%c0] : memref<4xf32>
  async_queue.wait 0, 0
  func.return %y : f32
}
// CHECK-LABEL: func.func @race
// CHECK:         async_queue.wait 0, 1
// CHECK-NEXT:    %y = memref.load
// CHECK-NEXT:    async_queue.wait 0, 0
// REMARK: remark: 'async_queue.wait' op stays as it is: read after write

// -----

// The last wait for queue 0 may cover what the branch commits, and the computed one who knows what. The wait in the loop
// has nothing to do with either.
func.func @partly(%n: index, %x: f32, %ids: memref<1xindex>, %own: memref<1xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ring = memref.alloc() : memref<2xf32>
  %id = memref.load %ids[%c0] : memref<1xindex>
  async_queue.wait %id, 0
  async_queue.commit 0 {
    async_queue.scope {
      memref.store %x, %ring[%c0] : memref<2xf32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c1 : index
    %slot = arith.remui %ahead, %c2 : index
    async_queue.commit 0 {
      async_queue.scope {
        memref.store %x, %ring[%slot] : memref<2xf32>
      }
    }
    async_queue.wait 0, 0 {
      %here = arith.remui %i, %c2 : index
      %y = memref.load %ring[%here] : memref<2xf32>
      memref.store %y, %out[%i] : memref<?xf32>
    }
  }
  %more = arith.cmpi ne, %id, %c0 : index
  scf.if %more {
    async_queue.commit 0 {
      async_queue.scope {
        memref.store %x, %own[%c0] : memref<1xf32>
      }
    }
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: func.func @partly
// CHECK:         async_queue.wait %id, 0
// CHECK:         scf.for
// CHECK:           async_queue.wait 0, 1 {
// CHECK:         scf.if
// CHECK:         async_queue.wait 0, 0
// CHECK-NEXT:    func.return
// REMARK: remark: 'async_queue.wait' op stays as it is: its queue is computed, and cannot be told from the others
// REMARK-NEXT: remark: 'async_queue.wait' op raised from 0 to 1; with 2: read after write on
// REMARK-NEXT: remark: 'async_queue.wait' op stays as it is: 'scf.if' may commit groups before it that nobody sees

// -----

// Nothing to do.
func.func @no_queues(%m: memref<4xf32>) {
  func.return
}
// CHECK-LABEL: func.func @no_queues
// CHECK-NEXT:    func.return
