// A wrong answer: the race comes with n = 5 already, where any test finds it.

func.func @far(%dst: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 16 : i32
  %there = llvm.getelementptr %dst[16] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %to = llvm.getelementptr %dst[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    nvvm.cp.async.bulk.global.shared.cta %to, %tile, %bytes : <1>, <3>
    nvvm.cp.async.bulk.commit.group
    %seen = llvm.load %there : !llvm.ptr<1> -> f32
  }
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
