// RUN: xdsl-opt %s -p async-join-regions,verify-dominance --split-input-file | filecheck %s

// A chain becomes one region: what the first started is awaited, and what else the second waits for.
func.func @chain(%a: memref<8xf32>, %b: memref<8xf32>, %x: f32, %first: !async.token, %other: !async.token) -> !async.token {
  %c0 = arith.constant 0 : index
  %s = async_region.region [%first] {
    memref.store %x, %a[%c0] : memref<8xf32>
    %copied = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    async_region.yield after [%copied]
  }
  %t = async_region.region [%s, %other, %first] {
    memref.store %x, %b[%c0] : memref<8xf32>
    async_region.yield
  }
  func.return %t : !async.token
}
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %t = async_region.region [%first] {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %copied = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      async.await %copied : !async.token
// CHECK-NEXT:      async.await %other : !async.token
// CHECK-NEXT:      memref.store %x, %b[%c0] : memref<8xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %t : !async.token
// CHECK-NEXT:  }

// -----

// Values: what the second took from the first it now sees at once.
func.func @values(%x: f32) -> f32 {
  %s, %early, %late = async_region.region -> (f32, !async.value<f32>) {
    %y = arith.addf %x, %x : f32
    async_region.yield %y, %y : f32, f32
  }
  %t, %sum = async_region.region [%s] (%late as %z: !async.value<f32>) -> !async.value<f32> {
    %w = arith.addf %early, %z : f32
    async_region.yield %w : f32
  }
  %result = async.await %sum : !async.value<f32>
  func.return %result : f32
}
// CHECK-LABEL: func.func @values
// CHECK-NEXT:    %t, %sum = async_region.region -> !async.value<f32> {
// CHECK-NEXT:      %y = arith.addf %x, %x : f32
// CHECK-NEXT:      %w = arith.addf %y, %y : f32
// CHECK-NEXT:      async_region.yield %w : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %result = async.await %sum : !async.value<f32>
// CHECK-NEXT:    func.return %result : f32
// CHECK-NEXT:  }

// -----

// Three upstream tasks in a row.
func.func @upstream(%a: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %s = async.execute {
    memref.store %x, %a[%c0] : memref<8xf32>
    async.yield
  }
  %t, %v = async.execute [%s] -> !async.value<f32> {
    %y = memref.load %a[%c0] : memref<8xf32>
    async.yield %y : f32
  }
  %u = async.execute [%t] (%v as %y: !async.value<f32>) {
    %z = arith.addf %y, %y : f32
    memref.store %z, %a[%c0] : memref<8xf32>
    async.yield
  }
  async.await %u : !async.token
  func.return
}
// CHECK-LABEL: func.func @upstream
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %u = async.execute {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %y = memref.load %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %z = arith.addf %y, %y : f32
// CHECK-NEXT:      memref.store %z, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await %u : !async.token
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// Two wait for the first; the function waits in between; neither is joined.
func.func @stay(%a: memref<8xf32>, %b: memref<8xf32>, %x: f32, %go: !async.token) -> (!async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %s = async_region.region {
    memref.store %x, %a[%c0] : memref<8xf32>
    async_region.yield
  }
  %t = async_region.region [%s] {
    %y = memref.load %a[%c0] : memref<8xf32>
    async_region.yield
  }
  %u = async_region.region [%s] {
    %y = memref.load %a[%c0] : memref<8xf32>
    memref.store %y, %b[%c0] : memref<8xf32>
    async_region.yield
  }
  async.await %go : !async.token
  %v = async_region.region [%u] {
    memref.store %x, %b[%c0] : memref<8xf32>
    async_region.yield
  }
  func.return %t, %v : !async.token, !async.token
}
// CHECK-LABEL: func.func @stay
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %s = async_region.region {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t = async_region.region [%s] {
// CHECK-NEXT:      %y = memref.load %a[%c0] : memref<8xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %u = async_region.region [%s] {
// CHECK-NEXT:      %y_1 = memref.load %a[%c0] : memref<8xf32>
// CHECK-NEXT:      memref.store %y_1, %b[%c0] : memref<8xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await %go : !async.token
// CHECK-NEXT:    %v = async_region.region [%u] {
// CHECK-NEXT:      memref.store %x, %b[%c0] : memref<8xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %t, %v : !async.token, !async.token
// CHECK-NEXT:  }
