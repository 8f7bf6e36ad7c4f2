// RUN: xdsl-opt %s --split-input-file | filecheck %s

// Marks, and the transfers that they cover on gfx9 and gfx10 (LLVM 23).
func.func @marks(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %p: !llvm.ptr, %r: !llvm.ptr<8>, %i: i32) {
// CHECK-LABEL: func.func @marks(
  rocdl.asyncmark
  // CHECK-NEXT: rocdl.asyncmark
  rocdl.wait.asyncmark 2
  // CHECK-NEXT: rocdl.wait.asyncmark 2
  rocdl.load.async.to.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.load.async.to.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.load.async.to.lds %p, %l, 16, 0, 0 : !llvm.ptr, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.load.async.to.lds %p, %l, 16, 0, 0 : !llvm.ptr, !llvm.ptr<3>
  rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.raw.ptr.buffer.load.async.lds %r, %l, %i, %i, %i, %i, %i
  // CHECK-NEXT: rocdl.raw.ptr.buffer.load.async.lds %r, %l, %i, %i, %i, %i, %i
  func.return
}

// -----

// Transfers that the compiler orders, and the asynchronous ones of gfx1250.
func.func @transfers(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %p: !llvm.ptr, %r: !llvm.ptr<8>, %i: i32, %d: vector<4xi32>, %e: vector<8xi32>) {
// CHECK-LABEL: func.func @transfers(
  rocdl.load.to.lds %g, %l, 16, 0, 0 : <1>
  // CHECK-NEXT: rocdl.load.to.lds %g, %l, 16, 0, 0 : <1>
  rocdl.load.to.lds %p, %l, 4, 8, 1 {tag} : !llvm.ptr
  // CHECK-NEXT: rocdl.load.to.lds %p, %l, 4, 8, 1 {tag} : !llvm.ptr
  rocdl.global.load.lds %g, %l, 4, 0, 0
  // CHECK-NEXT: rocdl.global.load.lds %g, %l, 4, 0, 0
  rocdl.global.load.lds %g, %l, 4, 0, 0 {alias_scopes = [], noalias_scopes = [], tbaa = [], z}
  // CHECK-NEXT: rocdl.global.load.lds %g, %l, 4, 0, 0 {alias_scopes = [], noalias_scopes = [], tbaa = [], z}
  rocdl.raw.ptr.buffer.load.lds %r, %l, %i, %i, %i, %i, %i
  // CHECK-NEXT: rocdl.raw.ptr.buffer.load.lds %r, %l, %i, %i, %i, %i, %i
  rocdl.global.load.async.to.lds.b8 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.global.load.async.to.lds.b8 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.to.lds.b32 %g, %l, 4, 1 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.global.load.async.to.lds.b32 %g, %l, 4, 1 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.to.lds.b64 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.global.load.async.to.lds.b64 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.global.load.async.to.lds.b128 %g, %l, 0, 0 {tag} : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.global.load.async.to.lds.b128 %g, %l, 0, 0 {tag} : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.cluster.load.async.to.lds.b8 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.cluster.load.async.to.lds.b8 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.cluster.load.async.to.lds.b32 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.cluster.load.async.to.lds.b32 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.cluster.load.async.to.lds.b64 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.cluster.load.async.to.lds.b64 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.cluster.load.async.to.lds.b128 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: rocdl.cluster.load.async.to.lds.b128 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.tensor.load.to.lds %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>
  // CHECK-NEXT: rocdl.tensor.load.to.lds %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>
  rocdl.tensor.load.to.lds {tag} %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>
  // CHECK-NEXT: rocdl.tensor.load.to.lds {tag} %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>
  rocdl.tensor.store.from.lds %d, %e, %d, %d cachepolicy 3 : vector<4xi32>, vector<8xi32>
  // CHECK-NEXT: rocdl.tensor.store.from.lds %d, %e, %d, %d cachepolicy 3 : vector<4xi32>, vector<8xi32>
  rocdl.tensor.load.to.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>
  // CHECK-NEXT: rocdl.tensor.load.to.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>
  rocdl.tensor.store.from.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>
  // CHECK-NEXT: rocdl.tensor.store.from.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>
  func.return
}

// -----

// Counters.
func.func @waits() {
// CHECK-LABEL: func.func @waits(
  rocdl.s.waitcnt 3953
  // CHECK-NEXT: rocdl.s.waitcnt 3953
  rocdl.s.waitcnt {tag} 3953
  // CHECK-NEXT: rocdl.s.waitcnt {tag} 3953
  rocdl.s.wait.dscnt 0
  // CHECK-NEXT: rocdl.s.wait.dscnt 0
  rocdl.s.wait.loadcnt 0
  // CHECK-NEXT: rocdl.s.wait.loadcnt 0
  rocdl.s.wait.storecnt 0
  // CHECK-NEXT: rocdl.s.wait.storecnt 0
  rocdl.s.wait.expcnt 0
  // CHECK-NEXT: rocdl.s.wait.expcnt 0
  rocdl.s.wait.asynccnt 1 {tag}
  // CHECK-NEXT: rocdl.s.wait.asynccnt 1 {tag}
  rocdl.s.wait.tensorcnt 0
  // CHECK-NEXT: rocdl.s.wait.tensorcnt 0
  func.return
}

// -----

// Barriers.
func.func @barriers(%l: !llvm.ptr<3>, %v: i64) {
// CHECK-LABEL: func.func @barriers(
  rocdl.s.barrier
  // CHECK-NEXT: rocdl.s.barrier
  rocdl.barrier
  // CHECK-NEXT: rocdl.barrier
  rocdl.barrier {tag}
  // CHECK-NEXT: rocdl.barrier {tag}
  rocdl.s.barrier.init %l member_cnt = 4 : !llvm.ptr<3>
  // CHECK-NEXT: rocdl.s.barrier.init %l member_cnt = 4 : !llvm.ptr<3>
  rocdl.s.barrier.signal id = -1
  // CHECK-NEXT: rocdl.s.barrier.signal id = -1
  rocdl.s.barrier.signal.var %l member_cnt = 1 : !llvm.ptr<3>
  // CHECK-NEXT: rocdl.s.barrier.signal.var %l member_cnt = 1 : !llvm.ptr<3>
  rocdl.s.barrier.join %l : !llvm.ptr<3>
  // CHECK-NEXT: rocdl.s.barrier.join %l : !llvm.ptr<3>
  rocdl.s.barrier.leave id = 1
  // CHECK-NEXT: rocdl.s.barrier.leave id = 1
  rocdl.s.barrier.wait id = -1
  // CHECK-NEXT: rocdl.s.barrier.wait id = -1
  %r0 = rocdl.s.barrier.signal.isfirst id = 1 -> i1
  // CHECK-NEXT: %r0 = rocdl.s.barrier.signal.isfirst id = 1 -> i1
  %r1 = rocdl.s.get.barrier.state id = 1 -> i32
  // CHECK-NEXT: %r1 = rocdl.s.get.barrier.state id = 1 -> i32
  %r2 = rocdl.s.get.named.barrier.state %l : !llvm.ptr<3> -> i32
  // CHECK-NEXT: %r2 = rocdl.s.get.named.barrier.state %l : !llvm.ptr<3> -> i32
  rocdl.s.wakeup.barrier %l : !llvm.ptr<3>
  // CHECK-NEXT: rocdl.s.wakeup.barrier %l : !llvm.ptr<3>
  %r3 = rocdl.ds.atomic.barrier.arrive.rtn.b64 %l, %v : !llvm.ptr<3>, i64 -> i64
  // CHECK-NEXT: %r3 = rocdl.ds.atomic.barrier.arrive.rtn.b64 %l, %v : !llvm.ptr<3>, i64 -> i64
  rocdl.ds.atomic.async.barrier.arrive.b64 %l : !llvm.ptr<3>
  // CHECK-NEXT: rocdl.ds.atomic.async.barrier.arrive.b64 %l : !llvm.ptr<3>
  rocdl.sched.barrier 0
  // CHECK-NEXT: rocdl.sched.barrier 0
  rocdl.sched.group.barrier 8, 1, 0
  // CHECK-NEXT: rocdl.sched.group.barrier 8, 1, 0
  func.return
}
