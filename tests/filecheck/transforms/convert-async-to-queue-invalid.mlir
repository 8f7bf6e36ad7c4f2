// RUN: not xdsl-opt %s -p convert-async-to-queue 2>&1 | filecheck %s

func.func @escapes(%m: memref<8xf32>, %box: memref<!async.token>, %f: f32) {
  %c0 = arith.constant 0 : index
  %t = async.execute {
    memref.store %f, %m[%c0] : memref<8xf32>
    async.yield
  }
  memref.store %t, %box[] : memref<!async.token>
  func.return
}
// CHECK: error: 'memref.store' op takes a token to where it cannot be followed
// CHECK-NEXT: help: inline the call, or keep the token in values
