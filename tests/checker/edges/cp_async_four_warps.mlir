// expect: race; each thread waits for its own copies, and reads what a thread of another warp has copied
func.func @k(%src: !llvm.ptr<1>, %ring: !llvm.ptr<3>) attributes {nvvm.reqntid = array<i32: 128>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %last = arith.constant 127 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %own = arith.muli %tid, %c4 : i32
  %from = llvm.getelementptr %src[%own] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %to = llvm.getelementptr %ring[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  nvvm.cp.async.shared.global %to, %from, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  %other = arith.subi %last, %tid : i32
  %row = arith.muli %other, %c4 : i32
  %place = llvm.getelementptr %ring[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %v = llvm.load %place : !llvm.ptr<3> -> f32
  func.return
}
