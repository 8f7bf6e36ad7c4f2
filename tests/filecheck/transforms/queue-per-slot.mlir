// RUN: xdsl-opt %s -p queue-per-slot,verify-dominance --split-input-file | filecheck %s

// The answer to "each time you call commit you need to pass in a new static integer?": the id is computed, nothing is unrolled.
func.func @rotating(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  async_queue.commit 0 {
    async_queue.scope {
    }
  }
  async_queue.commit 0 {
    async_queue.scope {
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
      }
    }
    async_queue.wait 0, 2 {
      "test.op"() : () -> ()
    }
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: @rotating
// CHECK:         async_queue.commit 0 {
// CHECK:         async_queue.commit 1 {
// CHECK:         scf.for %i = {{.*}} to %n step {{.*}} {
// CHECK-NEXT:      [[NEXT:%.*]] = arith.addi %i, [[TWO:%.*]] : index
// CHECK-NEXT:      [[FILL:%.*]] = arith.remui [[NEXT]], [[THREE:%.*]] : index
// CHECK-NEXT:      async_queue.commit [[FILL]] {
// CHECK:           [[USE:%.*]] = arith.remui %i, [[THREE]] : index
// CHECK-NEXT:      async_queue.wait [[USE]], 0 {
// CHECK-NEXT:        "test.op"() : () -> ()
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK:         async_queue.wait %slot{{.*}}, 0
// CHECK:         async_queue.wait %slot{{.*}}, 0
// CHECK-NEXT:    func.return

// -----

// Commits that happen or not: their number travels. A second queue begins where the first one ends.
func.func @sometimes(%n: index, %c: i1, %c0: index, %c1: index) {
  scf.for %i = %c0 to %n step %c1 {
    async_queue.wait 0, 1
    scf.if %c {
      async_queue.commit 0
    }
    async_queue.commit 5
    async_queue.wait 5, 0
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK-LABEL: @sometimes
// CHECK:         [[END:%.*]] = scf.for %i = {{.*}} to %n step {{.*}} iter_args([[TURN:%.*]] = [[ZERO:%.*]]) -> (index) {
// CHECK-NEXT:      [[OLD:%.*]] = arith.remui [[TURN]], [[TWO:%.*]] : index
// CHECK-NEXT:      async_queue.wait [[OLD]], 0
// CHECK-NEXT:      [[THEN:%.*]] = scf.if %c -> (index) {
// CHECK-NEXT:        [[NOW:%.*]] = arith.remui [[TURN]], [[TWO]] : index
// CHECK-NEXT:        async_queue.commit [[NOW]]
// CHECK-NEXT:        [[LATER:%.*]] = arith.addi [[TURN]], [[ONE:%.*]] : index
// CHECK-NEXT:        [[NEXT:%.*]] = arith.remui [[LATER]], [[TWO]] : index
// CHECK-NEXT:        scf.yield [[NEXT]] : index
// CHECK-NEXT:      } else {
// CHECK:           async_queue.commit 2
// CHECK-NEXT:      async_queue.wait 2, 0

// -----

// A wait that cannot block leaves its body.
func.func @idle() {
  async_queue.commit 0
  async_queue.wait 0, 1 {
    "test.op"() : () -> ()
  }
  async_queue.wait 3, 0 {
    "test.op"() : () -> ()
  }
  func.return
}
// CHECK-LABEL: @idle
// CHECK-NEXT:    async_queue.commit 0
// CHECK-NEXT:    "test.op"() : () -> ()
// CHECK-NEXT:    "test.op"() : () -> ()
// CHECK-NEXT:    func.return
