// RUN: xdsl-opt %s -p convert-queue-to-rocdl,verify-dominance --split-input-file --parsing-diagnostics 2>&1 | filecheck %s
// RUN: xdsl-opt %s -p 'convert-queue-to-rocdl{target=gfx1250},verify-dominance' --split-input-file --parsing-diagnostics 2>&1 | filecheck %s --check-prefix=NEW

func.func @two_queues(%src: memref<8xf32>, %s: memref<8xf32, 3>) {
  %c0 = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      %v = memref.load %src[%c0] : memref<8xf32>
      memref.store %v, %s[%c0] : memref<8xf32, 3>
    }
  }
  async_queue.commit 1
  async_queue.wait 0, 0
  async_queue.wait 1, 0
  func.return
}
// CHECK-LABEL: func.func @two_queues
// CHECK:         rocdl.global.load.async.lds %{{.*}}, %{{.*}}, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
// CHECK-NEXT:    rocdl.asyncmark
// CHECK-NEXT:    rocdl.asyncmark
// CHECK-NEXT:    rocdl.wait.asyncmark 1
// CHECK-NEXT:    rocdl.wait.asyncmark 0
// CHECK-NEXT:    rocdl.s.barrier
// CHECK-NEXT:    func.return
// NEW:           rocdl.global.load.async.to.lds.b32 %{{.*}}, %{{.*}}, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
// NEW-NEXT:      rocdl.asyncmark

// -----

// Nothing to do.
func.func @no_queue() {
  rocdl.wait.asyncmark 3
  func.return
}
// CHECK-LABEL: func.func @no_queue
// CHECK-NEXT:    rocdl.wait.asyncmark 3
