// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// The destination of a transfer is in LDS.
func.func @refused(%g: !llvm.ptr<1>) {
  rocdl.load.async.to.lds %g, %g, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<1>
  func.return
}
// CHECK: 'rocdl.load.async.to.lds' op operand #1 must be LLVM pointer in address space 3, but got '!llvm.ptr<1>'

// -----

// The source of this one is in global memory.
func.func @refused(%p: !llvm.ptr, %l: !llvm.ptr<3>) {
  rocdl.global.load.async.to.lds.b32 %p, %l, 0, 0 : !llvm.ptr, !llvm.ptr<3>
  func.return
}
// CHECK: 'rocdl.global.load.async.to.lds.b32' op operand #0 must be LLVM pointer in address space 1, but got '!llvm.ptr'

// -----

// A number of marks has 16 bits.
func.func @refused() {
  "rocdl.wait.asyncmark"() <{count = 2 : i32}> : () -> ()
  func.return
}
// CHECK: 'rocdl.wait.asyncmark' op attribute 'count' failed to satisfy constraint: 16-bit signless integer attribute

// -----

// A wait has a number.
func.func @refused() {
  "rocdl.wait.asyncmark"() : () -> ()
  func.return
}
// CHECK: property 'count' expected in operation 'rocdl.wait.asyncmark'

// -----

// A tensor descriptor begins with a group of four.
func.func @refused(%e: vector<8xi32>) {
  "rocdl.tensor.load.to.lds.d2"(%e, %e) <{cachePolicy = 0 : i32}> : (vector<8xi32>, vector<8xi32>) -> ()
  func.return
}
// CHECK: 'rocdl.tensor.load.to.lds.d2' op operand #0 must be fixed-length vector of 32-bit signless integer values of length 4, but got 'vector<8xi32>'

// -----

// A named barrier is in LDS.
func.func @refused(%p: !llvm.ptr) {
  rocdl.s.barrier.join %p : !llvm.ptr
  func.return
}
// CHECK: 'rocdl.s.barrier.join' op operand #0 must be LLVM pointer in address space 3, but got '!llvm.ptr'

// -----

// Alias scopes are LLVM's.
func.func @refused(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {
  rocdl.load.to.lds %g, %l, 4, 0, 0 {alias_scopes = [1 : i32]} : <1>
  func.return
}
// CHECK: 'rocdl.load.to.lds' op attribute 'alias_scopes' failed to satisfy constraint: LLVM dialect alias scope array

// -----

// Arriving first is a yes or a no.
func.func @refused() {
  %0 = rocdl.s.barrier.signal.isfirst id = 1 -> i32
  func.return
}
// CHECK: 'rocdl.s.barrier.signal.isfirst' op result #0 must be 1-bit signless integer, but got 'i32'
