// RUN: xdsl-opt %s -p async-split-regions,verify-dominance --split-input-file | filecheck %s

// Three results that share a beginning: each is there as soon as it is computed.
func.func @normalised(%x: tensor<8xf32>, %y: tensor<8xf32>, %go: !async.token) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %done, %p, %q, %r = async_region.region [%go] -> (!async.value<tensor<8xf32>>, !async.value<tensor<8xf32>>, !async.value<tensor<8xf32>>) {
    %mean = arith.addf %x, %y : tensor<8xf32>
    %a = arith.mulf %mean, %x : tensor<8xf32>
    %b = arith.mulf %mean, %y : tensor<8xf32>
    async_region.yield %a, %b, %mean : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  %first = async.await %p : !async.value<tensor<8xf32>>
  %second = async.await %q : !async.value<tensor<8xf32>>
  %third = async.await %r : !async.value<tensor<8xf32>>
  func.return %first, %second, %third : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @normalised
// CHECK-NEXT:    %0, %r = async_region.region [%go] -> !async.value<tensor<8xf32>> {
// CHECK-NEXT:      %mean = arith.addf %x, %y : tensor<8xf32>
// CHECK-NEXT:      async_region.yield %mean : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1, %p = async_region.region [%go] (%r as %mean_1: !async.value<tensor<8xf32>>) -> !async.value<tensor<8xf32>> {
// CHECK-NEXT:      %a = arith.mulf %mean_1, %x : tensor<8xf32>
// CHECK-NEXT:      async_region.yield %a : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %2, %q = async_region.region [%go] (%r as %mean_2: !async.value<tensor<8xf32>>) -> !async.value<tensor<8xf32>> {
// CHECK-NEXT:      %b = arith.mulf %mean_2, %y : tensor<8xf32>
// CHECK-NEXT:      async_region.yield %b : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %first = async.await %p : !async.value<tensor<8xf32>>
// CHECK-NEXT:    %second = async.await %q : !async.value<tensor<8xf32>>
// CHECK-NEXT:    %third = async.await %r : !async.value<tensor<8xf32>>
// CHECK-NEXT:    func.return %first, %second, %third : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:  }

// -----

// Values that come later: who uses the one waits for the one. Memory of a body's own goes with the value.
func.func @later(%x: f32, %m: memref<1xf32>, %n: memref<1xf32>) -> (!async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %done, %a, %b = async_region.region -> (f32, memref<1xf32>) {
    %own = memref.alloc() : memref<1xf32>
    %twice = arith.addf %x, %x : f32
    memref.store %x, %own[%c0] : memref<1xf32>
    async_region.yield %twice, %own : f32, memref<1xf32>
  }
  %s = async_region.region [%done] {
    memref.store %a, %m[%c0] : memref<1xf32>
    async_region.yield
  }
  %t = async_region.region [%done] {
    %y = memref.load %b[%c0] : memref<1xf32>
    memref.store %y, %n[%c0] : memref<1xf32>
    async_region.yield
  }
  func.return %s, %t : !async.token, !async.token
}
// CHECK-LABEL: func.func @later
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %0, %b = async_region.region -> memref<1xf32> {
// CHECK-NEXT:      %own = memref.alloc() : memref<1xf32>
// CHECK-NEXT:      memref.store %x, %own[%c0] : memref<1xf32>
// CHECK-NEXT:      async_region.yield %own : memref<1xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1, %a = async_region.region -> f32 {
// CHECK-NEXT:      %twice = arith.addf %x, %x : f32
// CHECK-NEXT:      async_region.yield %twice : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %s = async_region.region [%1] {
// CHECK-NEXT:      memref.store %a, %m[%c0] : memref<1xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t = async_region.region [%0] {
// CHECK-NEXT:      %y = memref.load %b[%c0] : memref<1xf32>
// CHECK-NEXT:      memref.store %y, %n[%c0] : memref<1xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s, %t : !async.token, !async.token
// CHECK-NEXT:  }

// -----

// An upstream task; its token, which is awaited, stands for both parts.
func.func @upstream(%x: f32) -> f32 {
  %done, %p, %q = async.execute -> (!async.value<f32>, !async.value<f32>) {
    %a = arith.addf %x, %x : f32
    %b = arith.mulf %x, %x : f32
    async.yield %a, %b : f32, f32
  }
  async.await %done : !async.token
  %a = async.await %p : !async.value<f32>
  %b = async.await %q : !async.value<f32>
  %sum = arith.addf %a, %b : f32
  func.return %sum : f32
}
// CHECK-LABEL: func.func @upstream
// CHECK-NEXT:    %0, %p = async.execute -> !async.value<f32> {
// CHECK-NEXT:      %a = arith.addf %x, %x : f32
// CHECK-NEXT:      async.yield %a : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %1, %q = async.execute -> !async.value<f32> {
// CHECK-NEXT:      %b = arith.mulf %x, %x : f32
// CHECK-NEXT:      async.yield %b : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %done = async.execute [%0, %1] {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await %done : !async.token
// CHECK-NEXT:    %a_1 = async.await %p : !async.value<f32>
// CHECK-NEXT:    %b_1 = async.await %q : !async.value<f32>
// CHECK-NEXT:    %sum = arith.addf %a_1, %b_1 : f32
// CHECK-NEXT:    func.return %sum : f32
// CHECK-NEXT:  }

// -----

// It writes memory that others see, and who waits for one value may rely on that.
func.func @stays(%x: f32, %m: memref<1xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %done, %p, %q = async_region.region -> (!async.value<f32>, !async.value<f32>) {
    %a = arith.addf %x, %x : f32
    %b = arith.mulf %x, %x : f32
    memref.store %b, %m[%c0] : memref<1xf32>
    async_region.yield %a, %b : f32, f32
  }
  %first = async.await %p : !async.value<f32>
  %second = async.await %q : !async.value<f32>
  func.return %first, %second : f32, f32
}
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %done, %p, %q = async_region.region -> (!async.value<f32>, !async.value<f32>) {
// CHECK-NEXT:      %a = arith.addf %x, %x : f32
// CHECK-NEXT:      %b = arith.mulf %x, %x : f32
// CHECK-NEXT:      memref.store %b, %m[%c0] : memref<1xf32>
// CHECK-NEXT:      async_region.yield %a, %b : f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %first = async.await %p : !async.value<f32>
// CHECK-NEXT:    %second = async.await %q : !async.value<f32>
// CHECK-NEXT:    func.return %first, %second : f32, f32
// CHECK-NEXT:  }
