// RUN: xdsl-opt %s -p 'async-join-regions{siblings=true},verify-dominance' --split-input-file | filecheck %s

// Two regions that wait for the same and could overlap.
func.func @neighbours(%a: memref<8xf32>, %b: memref<8xf32>, %x: f32, %go: !async.token) -> (!async.token, !async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %s = async_region.region [%go] {
    memref.store %x, %a[%c0] : memref<8xf32>
    %copied = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
    async_region.yield after [%copied]
  }
  %t, %v = async_region.region [%go] -> f32 {
    %y = arith.addf %x, %x : f32
    async_region.yield %y : f32
  }
  %u = async_region.region [%s, %t] {
    memref.store %v, %b[%c0] : memref<8xf32>
    async_region.yield
  }
  func.return %s, %t, %u : !async.token, !async.token, !async.token
}
// CHECK-LABEL: func.func @neighbours
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %t, %v = async_region.region [%go] -> f32 {
// CHECK-NEXT:      memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:      %copied = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
// CHECK-NEXT:      %y = arith.addf %x, %x : f32
// CHECK-NEXT:      async_region.yield %y : f32 after [%copied]
// CHECK-NEXT:    }
// CHECK-NEXT:    %u = async_region.region [%t] {
// CHECK-NEXT:      memref.store %v, %b[%c0] : memref<8xf32>
// CHECK-NEXT:      async_region.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %t, %t, %u : !async.token, !async.token, !async.token
// CHECK-NEXT:  }
