// RUN: xdsl-opt %s -p async-region-to-execute,verify-dominance --split-input-file | filecheck %s

// A copy becomes a task, a token that the body yields is awaited before the yield.
func.func @nested(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %x: f32) -> !async.token {
  %c0 = arith.constant 0 : index
  %done = async_region.region {
    memref.store %x, %a[%c0] : memref<8xf32>
    %copied = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    async_region.yield after [%copied]
  }
  %more = async_region.copy [%done] %b to %c : memref<8xf32> to memref<8xf32>
  func.return %more : !async.token
}
// CHECK-LABEL: func.func @nested
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %done = async.execute {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %copied = async.execute {
// CHECK-NEXT:        memref.copy %a, %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:        async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      async.await %copied : !async.token
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %more = async.execute [%done] {
// CHECK-NEXT:      memref.copy %b, %c : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %more : !async.token
// CHECK-NEXT:  }

// -----

// A body that is issued at once moves in front; a token that stands for two, and has two users, becomes one task.
func.func @issued(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %s: !async.token, %t: !async.token) -> !async.token {
  %done = async_region.region [%s, %t as %ready] {
    %first = async_region.copy [%ready] %a to %b : memref<8xf32> to memref<8xf32>
    %second = async_region.copy [%ready] %a to %c : memref<8xf32> to memref<8xf32>
    async_region.yield after [%first, %second]
  }
  func.return %done : !async.token
}
// CHECK-LABEL: func.func @issued
// CHECK-NEXT:    %ready = async.execute [%s, %t] {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %first = async.execute [%ready] {
// CHECK-NEXT:      memref.copy %a, %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %second = async.execute [%ready] {
// CHECK-NEXT:      memref.copy %a, %c : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %done = async.execute [%ready, %first, %second] {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %done : !async.token
// CHECK-NEXT:  }

// -----

// A task that completes in parts: what it does by itself becomes a task, what it starts is started after that one.
func.func @in_parts(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %go: !async.token, %x: f32)
    -> (!async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %done, %early, %sum = async_region.region [%go] -> (!async.token, f32) {
    %y = arith.addf %x, %x : f32
    %old = memref.load %a[%c0] : memref<8xf32>
    %z = arith.addf %old, %y : f32
    memref.store %z, %a[%c0] : memref<8xf32>
    %first = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    %second = async_region.copy %a to %c : memref<8xf32> to memref<8xf32>
    async_region.yield %z : f32 after [%second], [%first]
  }
  %used = async_region.region [%early] {
    memref.store %sum, %d[%c0] : memref<8xf32>
    async_region.yield
  }
  func.return %done, %used : !async.token, !async.token
}
// CHECK-LABEL: func.func @in_parts
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %y = arith.addf %x, %x : f32
// CHECK-NEXT:    %0, %z = async.execute [%go] -> !async.value<f32> {
// CHECK-NEXT:      %old = memref.load %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %z_1 = arith.addf %old, %y : f32
// CHECK-NEXT:      memref.store %z_1, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      async.yield %z_1 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %first = async.execute [%0] {
// CHECK-NEXT:      memref.copy %a, %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %second = async.execute [%0] {
// CHECK-NEXT:      memref.copy %a, %c : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %used = async.execute [%0, %first] (%z as %z_2: !async.value<f32>) {
// CHECK-NEXT:      memref.store %z_2, %d[%c0] : memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %done = async.execute [%0, %second, %first] {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %done, %used : !async.token, !async.token
// CHECK-NEXT:  }

// -----

// Memory of a size that comes later comes later itself.
func.func @sized_later(%a: memref<?xf32>, %n: index) -> !async.token {
  %known, %size = async_region.region -> index {
    %twice = arith.addi %n, %n : index
    async_region.yield %twice : index
  }
  %buffer, %there = async_region.alloc [%known] (%size) : memref<?xf32>
  %copied = async_region.copy [%there] %a to %buffer : memref<?xf32> to memref<?xf32>
  func.return %copied : !async.token
}
// CHECK-LABEL: func.func @sized_later
// CHECK-NEXT:    %known, %size = async.execute -> !async.value<index> {
// CHECK-NEXT:      %twice = arith.addi %n, %n : index
// CHECK-NEXT:      async.yield %twice : index
// CHECK-NEXT:    }
// CHECK-NEXT:    %there, %buffer = async.execute [%known] (%size as %size_1: !async.value<index>) -> !async.value<memref<?xf32>> {
// CHECK-NEXT:      %0 = memref.alloc(%size_1) : memref<?xf32>
// CHECK-NEXT:      async.yield %0 : memref<?xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %copied = async.execute [%there] (%buffer as %buffer_1: !async.value<memref<?xf32>>) {
// CHECK-NEXT:      memref.copy %a, %buffer_1 : memref<?xf32> to memref<?xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %copied : !async.token
// CHECK-NEXT:  }

// -----

// Two on one engine get the order of their issue, also where launches give it another name.
func.func @one_engine(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) -> (!async.token, !async.token) {
  %dma = async_region.create_resource "dma"
  %both = async_region.launch (%dma as %r: !async_region.resource, %a as %p: memref<8xf32>, %b as %q: memref<8xf32>,
                               %c as %s: memref<8xf32>) {
    %first = async_region.copy %p to %q on %r : memref<8xf32> to memref<8xf32>
    %second = async_region.copy %p to %s on %r : memref<8xf32> to memref<8xf32>
    async_region.yield after [%first, %second]
  }
  func.return %both, %both : !async.token, !async.token
}
// CHECK-LABEL: func.func @one_engine
// CHECK-NEXT:    %both = async.execute {
// CHECK-NEXT:      %first = async.execute {
// CHECK-NEXT:        memref.copy %a, %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:        async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %second = async.execute [%first] {
// CHECK-NEXT:        memref.copy %a, %c : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:        async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      async.await %first : !async.token
// CHECK-NEXT:      async.await %second : !async.token
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %both, %both : !async.token, !async.token
// CHECK-NEXT:  }

// -----

// What is upstream already stays as it is.
func.func @upstream(%m: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %t = async.execute {
    memref.store %x, %m[%c0] : memref<8xf32>
    async.yield
  }
  async.await %t : !async.token
  func.return
}
// CHECK-LABEL: func.func @upstream
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %t = async.execute {
// CHECK-NEXT:      memref.store %x, %m[%c0] : memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await %t : !async.token
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
