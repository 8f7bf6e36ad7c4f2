// RUN: xdsl-opt %s -p async-reuse-buffers,verify-dominance --split-input-file | filecheck %s

// Two regions that need nothing from each other share one buffer: the second waits for the first.
func.func @sequentialized(%x: f32, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %s = async_region.region {
    memref.store %x, %a[%c0] : memref<8xf32>
    %y = memref.load %a[%c0] : memref<8xf32>
    memref.store %y, %out[%c0] : memref<2xf32>
    async_region.yield
  }
  %t = async_region.region {
    memref.store %x, %b[%c1] : memref<8xf32>
    %y = memref.load %b[%c1] : memref<8xf32>
    memref.store %y, %out[%c1] : memref<2xf32>
    async_region.yield
  }
  async.await %s : !async.token
  async.await %t : !async.token
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @sequentialized
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %a = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %s = async_region.region {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %y = memref.load %a[%c0] : memref<8xf32>
// CHECK-NEXT:      memref.store %y, %out[%c0] : memref<2xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t = async_region.region [%s] {
// CHECK-NEXT:      memref.store %x, %a[%c1] : memref<8xf32>
// CHECK-NEXT:      %y_1 = memref.load %a[%c1] : memref<8xf32>
// CHECK-NEXT:      memref.store %y_1, %out[%c1] : memref<2xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await %s : !async.token
// CHECK-NEXT:    async.await %t : !async.token
// CHECK-NEXT:    memref.dealloc %a : memref<8xf32>
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// The memory of a device: the token of the second allocation now says that the first buffer is free.
func.func @on_a_device(%x: memref<8xf32>, %y: memref<8xf32>) -> (!async.token, !async.token) {
  %a, %a_there = async_region.alloc : memref<8xf32, 3>
  %b, %b_there = async_region.alloc : memref<8xf32, 3>
  %in = async_region.copy [%a_there] %x to %a : memref<8xf32> to memref<8xf32, 3>
  %out = async_region.copy [%in] %a to %x : memref<8xf32, 3> to memref<8xf32>
  %in2 = async_region.copy [%b_there] %y to %b : memref<8xf32> to memref<8xf32, 3>
  %out2 = async_region.copy [%in2] %b to %y : memref<8xf32, 3> to memref<8xf32>
  func.return %out, %out2 : !async.token, !async.token
}
// CHECK-LABEL: func.func @on_a_device
// CHECK-NEXT:    %a, %a_there = async_region.alloc : memref<8xf32, 3 : i64>
// CHECK-NEXT:    %in = async_region.copy [%a_there] %x to %a : memref<8xf32> to memref<8xf32, 3 : i64>
// CHECK-NEXT:    %out = async_region.copy [%in] %a to %x : memref<8xf32, 3 : i64> to memref<8xf32>
// CHECK-NEXT:    %in2 = async_region.copy [%out] %y to %a : memref<8xf32> to memref<8xf32, 3 : i64>
// CHECK-NEXT:    %out2 = async_region.copy [%in2] %a to %y : memref<8xf32, 3 : i64> to memref<8xf32>
// CHECK-NEXT:    func.return %out, %out2 : !async.token, !async.token
// CHECK-NEXT:  }

// -----

// In order anyway: no new edge.
func.func @in_order(%x: f32) -> !async.token {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %s = async.execute {
    memref.store %x, %a[%c0] : memref<8xf32>
    async.yield
  }
  %t = async.execute [%s] {
    memref.store %x, %b[%c0] : memref<8xf32>
    async.yield
  }
  func.return %t : !async.token
}
// CHECK-LABEL: func.func @in_order
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %a = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %s = async.execute {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t = async.execute [%s] {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %t : !async.token
// CHECK-NEXT:  }

// -----

// Alive at the same time, of another type, given away: each stays.
func.func private @g(memref<8xf32>) -> ()
func.func @stay(%x: memref<8xf32>) -> !async.token {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = memref.alloc() : memref<4xf32>
  %d = memref.alloc() : memref<8xf32>
  %s = async_region.copy %x to %a : memref<8xf32> to memref<8xf32>
  %t = async_region.copy [%s] %a to %b : memref<8xf32> to memref<8xf32>
  func.call @g(%d) : (memref<8xf32>) -> ()
  func.return %t : !async.token
}
// CHECK-LABEL: func.func private @g
// CHECK-LABEL: func.func @stay
// CHECK-NEXT:    %a = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %b = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %c = memref.alloc() : memref<4xf32>
// CHECK-NEXT:    %d = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %s = async_region.copy %x to %a : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:    %t = async_region.copy [%s] %a to %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:    func.call @g(%d) : (memref<8xf32>) -> ()
// CHECK-NEXT:    func.return %t : !async.token
// CHECK-NEXT:  }

// -----

// Three in one memory, one after the other; the last deallocation stays.
func.func @three(%x: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  %s = async_region.copy %x to %a : memref<8xf32> to memref<8xf32>
  %t = async_region.copy %x to %b : memref<8xf32> to memref<8xf32>
  %u = async_region.copy %x to %c : memref<8xf32> to memref<8xf32>
  async.await %s : !async.token
  memref.dealloc %a : memref<8xf32>
  async.await %t : !async.token
  memref.dealloc %b : memref<8xf32>
  async.await %u : !async.token
  memref.dealloc %c : memref<8xf32>
  func.return
}
// CHECK-LABEL: func.func @three
// CHECK-NEXT:    %a = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %s = async_region.copy %x to %a : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:    %t = async_region.copy [%s] %x to %a : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:    %u = async_region.copy [%t] %x to %a : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:    async.await %s : !async.token
// CHECK-NEXT:    async.await %t : !async.token
// CHECK-NEXT:    async.await %u : !async.token
// CHECK-NEXT:    memref.dealloc %a : memref<8xf32>
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
