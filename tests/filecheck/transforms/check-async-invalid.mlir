// RUN: xdsl-opt %s -p 'check-async{trip-counts=0,1,2}' --split-input-file --verify-diagnostics --parsing-diagnostics 2>&1 | filecheck %s
// RUN: xdsl-opt %s -p 'check-async{trip-counts=0,1,2 assume-pure="test.op" function="race"}' --split-input-file --verify-diagnostics --parsing-diagnostics 2>&1 | filecheck %s --check-prefix=OPTIONS

// A race: the pipeline stops with the report, in which ops without a place are printed.
func.func @race(%n: index, %src: memref<8xf32>, %dst: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<8xf32>
        memref.store %x, %dst[%i] : memref<8xf32>
      }
    }
    %y = memref.load %dst[%i] : memref<8xf32>
  }
  async_queue.wait 0, 0
  func.return
}
// CHECK:      numbers that differ from run to run: race: read after write on global 'dst'[0] with nothing that orders the two [T058]
// CHECK-NEXT:   in @race(n = 1)
// CHECK-NEXT:     'async_queue.scope' asynchronously writes global 'dst'[0] (main, iteration 0)
// CHECK-NEXT:       async_queue.scope {
// CHECK-NEXT:     'memref.load' reads global 'dst'[0] (main, iteration 0)
// CHECK-NEXT:       %y = memref.load %dst[%i] : memref<8xf32>
// CHECK-NEXT:   missing: a wait that completes 'async_queue.scope' before 'memref.load' is reached
// CHECK-NEXT:   witness:
// CHECK-NEXT:     1. main [0]: async_queue.scope: issues an asynchronous scope
// CHECK-NEXT:     2. main [0]: async_queue.commit: commits group 1 of queue 0
// CHECK-NEXT:     => main [0]: async_queue.scope: asynchronously writes global 'dst'[0]
// CHECK-NEXT:     => main [0]: memref.load: reads global 'dst'[0]
// CHECK-EMPTY:
// CHECK-NEXT: unsafe: race
// OPTIONS: unsafe: race

// -----

// Undecided is a failure as well.
func.func private @elsewhere(memref<8xf32>)
func.func @undecided(%src: memref<8xf32>, %dst: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<8xf32>
      memref.store %x, %dst[%c0] : memref<8xf32>
    }
  }
  func.call @elsewhere(%dst) : (memref<8xf32>) -> ()
  async_queue.wait 0, 0
  func.return
}
// CHECK:      undecided: 'func.call' op may touch 'dst', which asynchronous work is still using
// CHECK-EMPTY:
// CHECK-NEXT: undecided{{$}}
// OPTIONS: error: 'builtin.module' op cannot be checked: there is no function @race with a body; there are: @undecided
// OPTIONS-NEXT:  help: see the options of check-async

// -----

// An op that nobody has given a meaning is refused by name.
func.func @unsupported() {
  "test.op"() : () -> ()
  func.return
}
// CHECK:      error: 'test.op' op has no meaning here
// CHECK-NEXT:   help: remove it, lower it, or (checking) pass it to --assume-pure

// -----

// There has to be something to check.
func.func private @nothing()
// CHECK:      error: 'builtin.module' op cannot be checked: there is no public function with a body to check
// CHECK-NEXT:   help: see the options of check-async
