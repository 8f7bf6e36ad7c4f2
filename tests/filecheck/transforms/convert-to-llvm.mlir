// RUN: xdsl-opt %s -p 'convert-to-llvm{threads=32},convert-nvvm-to-llvm,verify-dominance' -t llvm-ir | filecheck %s

// A copy of a row by one thread: a loop, a buffer of unknown size, a copy of cp.async that another pass has made.
"memref.global"() <{sym_name = "slot", type = memref<8xf32, 3>, initial_value, sym_visibility = "private", alignment = 16 : i64}> : () -> ()
func.func @row(%from: memref<?x8xf32>, %to: memref<8xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %slot = memref.get_global @slot : memref<8xf32, 3>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  scf.for %j = %c0 to %c8 step %c1 {
    %x = memref.load %from[%i, %j] : memref<?x8xf32>
    memref.store %x, %slot[%j] : memref<8xf32, 3>
  }
  gpu.barrier
  %y = memref.load %slot[%c1] : memref<8xf32, 3>
  memref.store %y, %to[%c0] : memref<8xf32>
  func.return
}
// CHECK:       @slot = internal addrspace(3) global [8 x float] undef, align 16
// CHECK:       define ptx_kernel void @row(ptr %from, i64 %from.1, ptr %to, i64 %i) #0 {
// CHECK:         call void @llvm.nvvm.cp.async.commit.group()
// CHECK-NEXT:    call void @llvm.nvvm.cp.async.wait.group(i32 0)
// CHECK:         %j = phi i64 [ %[[NEXT:.*]], %[[BODY:.*]] ], [ 0, %bb0 ]
// CHECK-NEXT:    %[[MORE:.*]] = icmp slt i64 %j, 8
// CHECK:       [[BODY]]:
// CHECK-NEXT:    %[[ROW:.*]] = mul i64 %i, 8
// CHECK-NEXT:    %[[PLACE:.*]] = add i64 %[[ROW]], %j
// CHECK-NEXT:    %[[FROM:.*]] = getelementptr float, ptr %from, i64 %[[PLACE]]
// CHECK-NEXT:    %x = load float, ptr %[[FROM]], align 4
// CHECK-NEXT:    %[[TO:.*]] = getelementptr float, ptr addrspace(3) @slot, i64 %j
// CHECK-NEXT:    store float %x, ptr addrspace(3) %[[TO]], align 4
// CHECK-NEXT:    %[[NEXT]] = add i64 %j, 1
// CHECK:         call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
// CHECK-NEXT:    %[[ONE:.*]] = getelementptr float, ptr addrspace(3) @slot, i32 1
// CHECK:         ret void
// CHECK:       attributes #0 = { "nvvm.reqntid"="32,1,1" }
