// expect: race; only the elected thread has copies to wait for; the others read what may be under way
func.func @k(%src: !llvm.ptr<1>, %ring: !llvm.ptr<3>) attributes {nvvm.reqntid = array<i32: 32>} {
  %elected = nvvm.elect.sync -> i1
  scf.if %elected {
    nvvm.cp.async.shared.global %ring, %src, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
  }
  nvvm.cp.async.wait.group 0
  %v = llvm.load %ring : !llvm.ptr<3> -> f32
  func.return
}
