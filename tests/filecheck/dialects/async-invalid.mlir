// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// One refusal of every kind; tests/dialects/test_async_refusals.py has the full table and asks mlir-opt about each.

// A task returns promises only.
func.func @result(%x: f32) {
  %t, %v = async.execute -> f32 {
    async.yield %x : f32
  }
  return
}
// CHECK: 'async.execute' op result #1 must be variadic of async value type, but got 'f32'

// -----

// The body's arguments are the payloads.
func.func @argument(%a: !async.value<f32>) {
  %t = "async.execute"(%a) <{operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%x: i32):
    async.yield
  }) : (!async.value<f32>) -> !async.token
  return
}
// CHECK: 'async.execute' op along control flow edge from parent to Region #0: successor operand type #0 '!async.value<f32>' should match successor input type #0 'i32'

// -----

// Each promise is given its payload.
func.func @yield() {
  %t, %v = async.execute -> !async.value<f32> {
    async.yield
  }
  return
}
// CHECK: 'async.execute' op along control flow edge from Operation async.yield to parent: region branch point has 0 operands, but region successor needs 1 inputs

// -----

// A promise is no payload of itself.
func.func @promise(%a: !async.value<f32>) {
  %t, %v = async.execute -> !async.value<f32> {
    async.yield %a : !async.value<f32>
  }
  return
}
// CHECK: 'async.execute' op cannot return the yielded promise #0 '!async.value<f32>' as '!async.value<f32>': await it in the body and yield its payload

// -----

// Dependencies are tokens.
func.func @dependency(%v: !async.value<f32>) {
  %t = async.execute [%v] {
    async.yield
  }
  return
}
// CHECK: use of value '%v' expects different type than prior uses: '!async.token' vs '!async.value<f32>'

// -----

// A group is waited for with await_all.
func.func @group(%g: !async.group) {
  async.await %g : !async.group
  return
}
// CHECK: 'async.await' op operand #0 must be async value type or async token type, but got '!async.group'

// -----

// The token comes first.
async.func private @token_last() -> (!async.value<f32>, !async.token)
// CHECK: 'async.func' op  results' (optional) async token type is expected to appear as the 1st return value, but got 2

// -----

// A function returns its payloads.
async.func @returns(%x: f32) -> !async.value<f32> {
  return
}
// CHECK: 'async.return' op operand types do not match the types returned from the parent FuncOp

// -----

// Only an async.func can be called.
func.func @caller() {
  async.call @caller() : () -> ()
  return
}
// CHECK: 'async.call' op 'caller' does not reference a valid async function

// -----

// References are counted upwards from one.
func.func @references(%t: !async.token) {
  async.runtime.add_ref %t {count = 0 : i64} : !async.token
  return
}
// CHECK: 'async.runtime.add_ref' op attribute 'count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive

// -----

// The payload stored is the promise's.
func.func @payload(%x: f32, %v: !async.value<i32>) {
  "async.runtime.store"(%x, %v) : (f32, !async.value<i32>) -> ()
  return
}
// CHECK: 'async.runtime.store' op failed to verify that type of 'value' matches element type of 'storage'

// -----

// A promise names its payload.
func.func private @value(!async.value)
// CHECK: expected '<': failed to parse async value type
