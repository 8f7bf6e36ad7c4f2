// RUN: xdsl-opt %s -p convert-queue-to-nvvm,verify-dominance --split-input-file --parsing-diagnostics 2>&1 | filecheck %s

// Two queues on one sequence of groups: the wait for queue 0 leaves the two groups of queue 1 in flight.
func.func @two_queues(%src: memref<8xf32>, %s: memref<8xf32, 3>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  async_queue.commit 0 {
    async_queue.scope {
      %v = memref.load %src[%c0] : memref<8xf32>
      memref.store %v, %s[%c0] : memref<8xf32, 3>
    }
  }
  async_queue.commit 1 {
    async_queue.scope {
      %v = vector.load %src[%c4] : memref<8xf32>, vector<4xf32>
      vector.store %v, %s[%c4] : memref<8xf32, 3>, vector<4xf32>
    }
  }
  async_queue.commit 1
  async_queue.wait 0, 0
  async_queue.wait 1, 0
  func.return
}
// CHECK-LABEL: func.func @two_queues
// CHECK:         %[[FROM:.*]] = llvm.inttoptr {{.*}} : i64 to !llvm.ptr<1>
// CHECK:         %[[TO:.*]] = llvm.inttoptr {{.*}} : i64 to !llvm.ptr<3>
// CHECK:         nvvm.cp.async.shared.global %[[TO]], %[[FROM]], 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK:         nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.wait.group 2
// CHECK-NEXT:    nvvm.cp.async.wait.group 0
// CHECK-NEXT:    nvvm.barrier0
// CHECK-NEXT:    func.return

// -----

// What is computed is no copy. It runs at once, and the group stays.
func.func @computed(%src: memref<8xf32>, %s: memref<8xf32, 3>) {
  %c0 = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      %v = memref.load %src[%c0] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %s[%c0] : memref<8xf32, 3>
    }
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK:       remark: 'memref.store' op stays an ordinary store: it stores no plain load, and no load that is zero where a condition is false
// CHECK-LABEL: func.func @computed
// CHECK:         memref.store %w, %s[%c0]
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.wait.group 0
// CHECK-NEXT:    nvvm.barrier0

// -----

// While the ring fills fewer groups may stay unfinished: the first two turns get counts of their own.
func.func @filling(%src: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %ring = memref.alloc() : memref<3xf32, 3>
  scf.for %i = %c0 to %c16 step %c1 {
    %slot = arith.remui %i, %c3 : index
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<16xf32>
        memref.store %x, %ring[%slot] : memref<3xf32, 3>
      }
    }
    %n = arith.minui %i, %c2 : index
    async_queue.wait 0, %n
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK:       remark: 'scf.for' op has a wait whose count is computed: its first 2 turns run in front of it, so that counts are constants
// CHECK-LABEL: func.func @filling
// CHECK:         nvvm.cp.async.commit.group
// CHECK-NEXT:    {{.*}}arith.minui
// CHECK-NEXT:    nvvm.cp.async.wait.group 0
// CHECK:         nvvm.cp.async.commit.group
// CHECK:         nvvm.cp.async.wait.group 1
// CHECK:         scf.for
// CHECK:           nvvm.cp.async.commit.group
// CHECK:           nvvm.cp.async.wait.group 2
// CHECK:         nvvm.cp.async.wait.group 0

// -----

// No queue: nothing to do, also for groups that are counted wrongly.
func.func @no_queue() {
  nvvm.cp.async.wait.group 3
  func.return
}
// CHECK-LABEL: func.func @no_queue
// CHECK-NEXT:    nvvm.cp.async.wait.group 3
// CHECK-NEXT:    func.return
