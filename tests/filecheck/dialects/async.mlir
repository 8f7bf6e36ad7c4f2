// RUN: xdsl-opt %s --split-input-file | filecheck %s

// Tasks with every combination of lists. Empty lists and the parentheses around one result
// are read and not printed.
func.func @execute(%d: !async.token, %e: !async.token, %a: !async.value<f32>, %b: !async.value<i32>) {
  %t0 = async.execute {
    async.yield
  }
  %t1 = async.execute[%d, %e] {
    async.yield
  }
  %t2, %r2 = async.execute -> (!async.value<f32>) {
    %cst = arith.constant 1.000000e+00 : f32
    async.yield %cst : f32
  }
  %t3, %r3:2 = async.execute [] () -> (!async.value<f32>, !async.value<i32>) {
    %one = arith.constant 1.000000e+00 : f32
    %c1_i32 = arith.constant 1 : i32
    async.yield %one, %c1_i32 : f32, i32
  }
  %t4 = async.execute (%a as %x: !async.value<f32>, %b as %y: !async.value<i32>) -> () {
    async.yield
  }
  %t5, %r5 = async.execute [%d] (%a as %z: !async.value<f32>) -> !async.value<f32> attributes {tag = "p"} {
    %0 = arith.addf %z, %z : f32
    async.yield %0 : f32
  }
  return
}
// CHECK-LABEL: func.func @execute
// CHECK-NEXT:    %t0 = async.execute {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t1 = async.execute [%d, %e] {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t2, %r2 = async.execute -> !async.value<f32> {
// CHECK-NEXT:      %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      async.yield %cst : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %t3, %r3, %r3_1 = async.execute -> (!async.value<f32>, !async.value<i32>) {
// CHECK:           async.yield %one, %c1_i32 : f32, i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %t4 = async.execute (%a as %x: !async.value<f32>, %b as %y: !async.value<i32>) {
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %t5, %r5 = async.execute [%d] (%a as %z: !async.value<f32>) -> !async.value<f32> attributes {tag = "p"} {
// CHECK-NEXT:      %0 = arith.addf %z, %z : f32
// CHECK-NEXT:      async.yield %0 : f32
// CHECK-NEXT:    }

// -----

// Waiting: for a token, for a payload, for a group.
func.func @wait(%t: !async.token, %v: !async.value<f32>, %n: index) -> (f32, index) {
  async.await %t : !async.token
  %0 = async.await %v : !async.value<f32>
  %1 = async.create_group %n : !async.group
  %2 = async.add_to_group %t, %1 : !async.token
  %3 = async.add_to_group %v, %1 : !async.value<f32>
  async.await_all %1
  return %0, %2 : f32, index
}
// CHECK-LABEL: func.func @wait
// CHECK-NEXT:    async.await %t : !async.token
// CHECK-NEXT:    %0 = async.await %v : !async.value<f32>
// CHECK-NEXT:    %1 = async.create_group %n : !async.group
// CHECK-NEXT:    %2 = async.add_to_group %t, %1 : !async.token
// CHECK-NEXT:    %3 = async.add_to_group %v, %1 : !async.value<f32>
// CHECK-NEXT:    async.await_all %1

// -----

// Functions. Directly inside `async.func` the prefix is left out, one level deeper it is not.
async.func @only_token(%t: !async.token) -> !async.token {
  async.await %t : !async.token
  %token = async.execute {
    async.await %t : !async.token
    async.yield
  }
  return
}
async.func @only_value() -> !async.value<i32> {
  %c42_i32 = arith.constant 42 : i32
  return %c42_i32 : i32
}
async.func @both(%x: f32) -> (!async.token, !async.value<f32>) {
  async.return %x : f32
}
async.func private @decl(f32 {x.a}) -> !async.token
func.func @call(%x: f32, %t: !async.token) {
  %0 = async.call @only_token(%t) : (!async.token) -> !async.token
  %1:2 = async.call @both(%x) : (f32) -> (!async.token, !async.value<f32>)
  return
}
// CHECK-LABEL: async.func @only_token(%t: !async.token) -> !async.token {
// CHECK-NEXT:    await %t : !async.token
// CHECK-NEXT:    %token = execute {
// CHECK-NEXT:      async.await %t : !async.token
// CHECK-NEXT:      async.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return
// CHECK-NEXT:  }
// CHECK-NEXT:  async.func @only_value() -> !async.value<i32> {
// CHECK-NEXT:    %c42_i32 = arith.constant 42 : i32
// CHECK-NEXT:    return %c42_i32 : i32
// CHECK-NEXT:  }
// CHECK-NEXT:  async.func @both(%x: f32) -> (!async.token, !async.value<f32>) {
// CHECK-NEXT:    return %x : f32
// CHECK-NEXT:  }
// CHECK-NEXT:  async.func private @decl(f32 {x.a}) -> !async.token
// CHECK-NEXT:  func.func @call(%x: f32, %t: !async.token) {
// CHECK-NEXT:    %0 = async.call @only_token(%t) : (!async.token) -> !async.token
// CHECK-NEXT:    %1, %2 = async.call @both(%x) : (f32) -> (!async.token, !async.value<f32>)

// -----

// The generic form of a task, with its properties.
func.func @generic(%d: !async.token, %a: !async.value<f32>) -> !async.value<f32> {
  %0:2 = "async.execute"(%d, %a) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: f32):
    %1 = "arith.addf"(%x, %x) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    "async.yield"(%1) : (f32) -> ()
  }) {tag = "p"} : (!async.token, !async.value<f32>) -> (!async.token, !async.value<f32>)
  "func.return"(%0#1) : (!async.value<f32>) -> ()
}
// CHECK-LABEL: func.func @generic
// CHECK-NEXT:    %0, %1 = async.execute [%d] (%a as %x: !async.value<f32>) -> !async.value<f32> attributes {tag = "p"} {

// -----

// What tasks are lowered to: coroutines ...
func.func @coro() {
  %0 = async.coro.id
  %1 = async.coro.begin %0
  %2 = async.coro.save %1
  async.coro.suspend %2, ^bb3, ^bb1, ^bb2
^bb1:
  cf.br ^bb2
^bb2:
  async.coro.free %0, %1
  cf.br ^bb3
^bb3:
  async.coro.end %1
  return
}
// CHECK-LABEL: func.func @coro
// CHECK-NEXT:    %0 = async.coro.id
// CHECK-NEXT:    %1 = async.coro.begin %0
// CHECK-NEXT:    %2 = async.coro.save %1
// CHECK-NEXT:    async.coro.suspend %2, ^bb3, ^bb1, ^bb2
// CHECK:         async.coro.free %0, %1
// CHECK:         async.coro.end %1

// -----

// ... and the runtime. The type of a promise is shortened where only a promise can stand.
func.func @rt(%h: !async.coro.handle, %x: f32, %n: index) {
  %t = async.runtime.create : !async.token
  %v = async.runtime.create : !async.value<f32>
  %g = async.runtime.create_group %n : !async.group
  async.runtime.set_available %t : !async.token
  async.runtime.set_error %v : !async.value<f32>
  %e = async.runtime.is_error %g : !async.group
  async.runtime.await %g : !async.group
  async.runtime.resume %h
  async.runtime.await_and_resume %t, %h : !async.token
  async.runtime.store %x, %v : !async.value<f32>
  %l = async.runtime.load %v : <f32>
  %r = async.runtime.add_to_group %t, %g : !async.token
  async.runtime.add_ref %t {count = 1 : i64} : !async.token
  async.runtime.drop_ref %v {count = 2 : i64} : !async.value<f32>
  %w = async.runtime.num_worker_threads : index
  return
}
// CHECK-LABEL: func.func @rt
// CHECK-NEXT:    %t = async.runtime.create : !async.token
// CHECK-NEXT:    %v = async.runtime.create : !async.value<f32>
// CHECK-NEXT:    %g = async.runtime.create_group %n : !async.group
// CHECK-NEXT:    async.runtime.set_available %t : !async.token
// CHECK-NEXT:    async.runtime.set_error %v : !async.value<f32>
// CHECK-NEXT:    %e = async.runtime.is_error %g : !async.group
// CHECK-NEXT:    async.runtime.await %g : !async.group
// CHECK-NEXT:    async.runtime.resume %h
// CHECK-NEXT:    async.runtime.await_and_resume %t, %h : !async.token
// CHECK-NEXT:    async.runtime.store %x, %v : <f32>
// CHECK-NEXT:    %l = async.runtime.load %v : <f32>
// CHECK-NEXT:    %r = async.runtime.add_to_group %t, %g : !async.token
// CHECK-NEXT:    async.runtime.add_ref %t {count = 1 : i64} : !async.token
// CHECK-NEXT:    async.runtime.drop_ref %v {count = 2 : i64} : !async.value<f32>
// CHECK-NEXT:    %w = async.runtime.num_worker_threads : index
