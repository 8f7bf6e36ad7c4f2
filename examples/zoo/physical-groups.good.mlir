// The good twin of physical-groups.bad.mlir: the second wait counts the groups behind B(k).

func.func @gemm(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %out: !llvm.ptr<1>, %a_ring: !llvm.ptr<3>, %b_ring: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %any = arith.cmpi ult, %c0, %n : i32
  scf.if %any {
    nvvm.cp.async.shared.global %a_ring, %a, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.shared.global %b_ring, %b, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
  }
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %after = arith.addi %k, %c1 : i32
    %more = arith.cmpi ult, %after, %n : i32
    %t = arith.remui %after, %stages : i32
    %a_next = llvm.getelementptr %a_ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %b_next = llvm.getelementptr %b_ring[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %a_tile = llvm.getelementptr %a[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    %b_tile = llvm.getelementptr %b[%after] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    scf.if %more {
      nvvm.cp.async.shared.global %a_next, %a_tile, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    }
    nvvm.cp.async.commit.group
    scf.if %more {
      nvvm.cp.async.shared.global %b_next, %b_tile, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    }
    nvvm.cp.async.commit.group
    %s = arith.remui %k, %stages : i32
    %a_use = llvm.getelementptr %a_ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %b_use = llvm.getelementptr %b_ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    nvvm.cp.async.wait.group 3
    %x = llvm.load %a_use : !llvm.ptr<3> -> f32
    nvvm.cp.async.wait.group 2
    %y = llvm.load %b_use : !llvm.ptr<3> -> f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %acc, %product : f32
    scf.yield %next : f32
  }
  nvvm.cp.async.wait.group 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
