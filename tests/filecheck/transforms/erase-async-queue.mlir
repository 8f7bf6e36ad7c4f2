// RUN: xdsl-opt %s -p erase-async-queue --split-input-file | filecheck %s

// Everything is done where it is issued. A block is no scope, and what computed a queue or a count is left for dce.
func.func @scopes(%a: memref<4xf32>, %b: memref<4xf32>, %q: index) {
  %c0 = arith.constant 0 : index
  async_queue.commit %q {
    async_queue.scope {
      %v = memref.load %a[%c0] : memref<4xf32>
      memref.store %v, %b[%c0] : memref<4xf32>
    }
  }
  async_queue.wait %q, 0
  async_queue.block {
    async_queue.wait 1, 2 {
      %w = memref.load %b[%c0] : memref<4xf32>
      memref.store %w, %a[%c0] : memref<4xf32>
    }
  }
  func.return
}
// CHECK-LABEL: func.func @scopes
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %v = memref.load %a[%c0] : memref<4xf32>
// CHECK-NEXT:    memref.store %v, %b[%c0] : memref<4xf32>
// CHECK-NEXT:    async_queue.block {
// CHECK-NEXT:      %w = memref.load %b[%c0] : memref<4xf32>
// CHECK-NEXT:      memref.store %w, %a[%c0] : memref<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

func.func @nothing_to_erase(%a: memref<4xf32>) {
  func.return
}
// CHECK-LABEL: func.func @nothing_to_erase
// CHECK-NEXT:    func.return
