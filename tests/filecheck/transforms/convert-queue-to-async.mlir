// RUN: xdsl-opt %s -p convert-queue-to-async,verify-dominance --split-input-file | filecheck %s

// Two groups ahead: two tokens travel, the third is awaited. The prologue is a loop of two trips.
func.func @rotating(%src: memref<64xf32>, %ring: memref<3xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c2 step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<64xf32>
        memref.store %x, %ring[%i] : memref<3xf32>
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c2 : index
    %next_slot = arith.remui %next, %c3 : index
    %slot = arith.remui %i, %c3 : index
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%next] : memref<64xf32>
        memref.store %x, %ring[%next_slot] : memref<3xf32>
      }
    }
    async_queue.wait 0, 2 {
      %x = memref.load %ring[%slot] : memref<3xf32>
      memref.store %x, %out[%i] : memref<64xf32>
    }
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: @rotating
// CHECK-NEXT:    %done = async.execute {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK:         [[P0:%.*]], [[P1:%.*]] = scf.for %i = %c0 to %c2 step %c1 iter_args([[A0:%.*]] = %done, {{%.*}} = %done) -> (!async.token, !async.token) {
// CHECK-NEXT:      [[T:%.*]] = async.execute {
// CHECK:             async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield [[T]], [[A0]] : !async.token, !async.token
// CHECK-NEXT:    }
// CHECK-NEXT:    [[R0:%.*]], [[R1:%.*]] = scf.for %i_1 = %c0 to %n step %c1 iter_args([[B0:%.*]] = [[P0]], [[B1:%.*]] = [[P1]]) -> (!async.token, !async.token) {
// CHECK:           [[U:%.*]] = async.execute {
// CHECK:           async.await [[B1]] : !async.token
// CHECK-NEXT:      memref.load %ring[%slot]
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      scf.yield [[U]], [[B0]] : !async.token, !async.token
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await [[R1]] : !async.token
// CHECK-NEXT:    async.await [[R0]] : !async.token
// CHECK-NEXT:    func.return

// -----

// Any number of groups: those that fall off the end of the window are joined.
func.func @any_number(%n: index, %c0: index, %c1: index) {
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
      }
    }
  }
  async_queue.wait 0, 1
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: @any_number
// CHECK:         [[R:%.*]], [[OLDER:%.*]] = scf.for %i = %c0 to %n step %c1 iter_args([[A:%.*]] = %done, [[B:%.*]] = %done) -> (!async.token, !async.token) {
// CHECK-NEXT:      [[T:%.*]] = async.execute {
// CHECK-NEXT:        async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      [[JOINED:%.*]] = async.execute {{\[}}[[A]], [[B]]] {
// CHECK-NEXT:        async.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield [[T]], [[JOINED]] : !async.token, !async.token
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await [[OLDER]] : !async.token
// CHECK-NEXT:    async.await [[R]] : !async.token
// CHECK-NEXT:    func.return

// -----

// Several scopes in a group, one of them under a condition; a count that is computed.
func.func @group(%c: i1, %e: index) {
  %c2 = arith.constant 2 : index
  %n = arith.remui %e, %c2 : index
  async_queue.commit 3 {
    async_queue.scope {
    }
    scf.if %c {
      async_queue.scope {
      }
    }
  }
  async_queue.commit 3
  async_queue.wait 3, %n
  async_queue.wait 3, 0
  func.return
}
// CHECK-LABEL: @group
// CHECK:         %done = async.execute {
// CHECK:         [[T:%.*]] = async.execute {
// CHECK:         [[IF:%.*]] = scf.if %c -> (!async.token) {
// CHECK-NEXT:      [[U:%.*]] = async.execute {
// CHECK:           scf.yield [[U]] : !async.token
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %done : !async.token
// CHECK-NEXT:    }
// CHECK-NEXT:    %group = async.execute {{\[}}[[T]], [[IF]]] {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await %group : !async.token
// CHECK-NEXT:    func.return

// -----

// A count that is computed, a queue that is computed.
func.func @computed(%e: index) {
  %c2 = arith.constant 2 : index
  %n = arith.remui %e, %c2 : index
  async_queue.commit %n {
    async_queue.scope {
    }
  }
  async_queue.commit 0 {
    async_queue.scope {
    }
  }
  async_queue.wait 0, %n
  async_queue.wait 0, 0
  async_queue.wait 1, 0
  func.return
}
// CHECK-LABEL: @computed
// CHECK:         [[T:%.*]] = async.execute {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK:         [[IS0:%.*]] = arith.cmpi eq, %n, %c0 : index
// CHECK-NEXT:    [[W0:%.*]] = scf.if [[IS0]] -> (!async.token) {
// CHECK-NEXT:      scf.yield %t : !async.token
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %done : !async.token
// CHECK-NEXT:    }
// CHECK-NEXT:    [[IS1:%.*]] = arith.cmpi eq, %n, %c1 : index
// CHECK-NEXT:    [[W1:%.*]] = scf.if [[IS1]] -> (!async.token) {
// CHECK:         [[U:%.*]] = async.execute {
// CHECK:         async.await [[W0]] : !async.token
// CHECK-NEXT:    [[NONE:%.*]] = arith.cmpi sle, %n, %c0 : index
// CHECK-NEXT:    scf.if [[NONE]] {
// CHECK-NEXT:      async.await [[U]] : !async.token
// CHECK-NEXT:    }
// CHECK-NEXT:    async.await [[U]] : !async.token
// CHECK-NEXT:    async.await [[W1]] : !async.token
// CHECK-NEXT:    func.return
