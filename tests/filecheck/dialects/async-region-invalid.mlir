// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A region has one block ...
func.func @no_block() {
  %t = async_region.region {}
  return
}
// CHECK: 'async_region.region' op expects region #0 to have one block

// -----

// ... and no more: what it forwards must not depend on a branch.
func.func @two_blocks() {
  %t = async_region.region {
    cf.br ^bb1
  ^bb1:
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op expects region #0 to have one block

// -----

// The body says what it yields.
func.func @no_yield() {
  %t = async_region.region {
    "test.termop"() : () -> ()
  }
  return
}
// CHECK: 'async_region.region' op expects its body to end with 'async_region.yield'

// -----

// The terminator belongs to a region or a launch.
func.func @yield_elsewhere() {
  async_region.yield
}
// CHECK: 'async_region.yield' op expects parent op 'async_region.region', 'async_region.launch'

// -----

// Dependencies are tokens unless they say otherwise ...
func.func @untyped_dependency(%p: !async.value<f32>) {
  %t = async_region.region [%p] {
    async_region.yield
  }
  return
}
// CHECK: use of value '%p' expects different type than prior uses: '!async.token' vs '!async.value<f32>'

// -----

// ... and never anything but tokens and promises.
func.func @dependency(%x: f32) {
  %t = async_region.region [%x: f32] {
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op operand #0 must be variadic of async value type or async token type, but got 'f32'

// -----

// Only promises can be unwrapped; a region sees everything else anyway.
func.func @unwrap(%x: f32) {
  %t = async_region.region (%x as %y: f32) {
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op operand #0 must be variadic of async value type, but got 'f32'

// -----

// The arguments are the payloads of the promises.
func.func @payload(%p: !async.value<f32>) {
  %t = "async_region.region"(%p) <{operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%x: i32):
    async_region.yield
  }) : (!async.value<f32>) -> !async.token
  return
}
// CHECK: 'async_region.region' op expects body arguments of types ('f32'), but they are of types ('i32')

// -----

// A region with a token runs before any payload is there ...
func.func @token_and_payload(%p: !async.value<f32>, %t: !async.token) {
  %u = async_region.region [%t as %ready] (%p as %x: !async.value<f32>) {
    async_region.yield
  }
  return
}
// CHECK: a region with a token argument runs before its promises are complete: list them among the dependencies, or leave the token argument out

// -----

// ... so the token is its only argument ...
func.func @two_arguments() {
  %t = "async_region.region"() <{operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%ready: !async.token, %x: f32):
    async_region.yield
  }) : () -> !async.token
  return
}
// CHECK: 'async_region.region' op with a region token takes no other argument

// -----

// ... and a token.
func.func @not_a_token() {
  %t = "async_region.region"() <{operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%x: f32):
    async_region.yield
  }) : () -> !async.token
  return
}
// CHECK: 'async_region.region' op region token must be an entry argument of async token type

// -----

// It only issues: it does not touch memory,
func.func @store_at_issue(%m: memref<f32>, %x: f32, %t: !async.token) {
  %u = async_region.region [%t as %ready] {
    memref.store %x, %m[] : memref<f32>
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op has a region token, so its body is issued at once and may not wait or touch memory, but 'memref.store' is synchronous; leave the token argument out, or put the operation into a region of its own

// -----

// does not wait,
func.func @wait_at_issue(%t: !async.token) {
  %u = async_region.region [%t as %ready] {
    async.await %ready : !async.token
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op has a region token, so its body is issued at once and may not wait or touch memory, but 'async.await' blocks;

// -----

// also not in a loop.
func.func @load_in_loop(%m: memref<8xf32>, %n: index, %t: !async.token) {
  %u = async_region.region [%t as %ready] {
    scf.for %i = %n to %n step %n {
      %x = memref.load %m[%i] : memref<8xf32>
    }
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op has a region token, so its body is issued at once and may not wait or touch memory, but 'memref.load' is synchronous;

// -----

// One token takes one group.
func.func @too_many_groups(%a: !async.token) {
  %t = async_region.region {
    async_region.yield after [], [%a]
  }
  return
}
// CHECK: 'async_region.region' op has 1 result token, but its body yields 2 groups of tokens

// -----

// There is a group of yielded tokens for each token returned ...
func.func @groups(%a: !async.token) {
  %t, %u = async_region.region -> !async.token {
    async_region.yield after [%a]
  }
  return
}
// CHECK: 'async_region.region' op has 2 result tokens, but its body yields 1 group of tokens

// -----

// ... and a yielded value for each value returned ...
func.func @values() {
  %t, %v = async_region.region -> f32 {
    async_region.yield
  }
  return
}
// CHECK: 'async_region.region' op has 1 result values, but its body yields 0

// -----

// ... of its type, or as a promise of it.
func.func @value_type(%x: f32) {
  %t, %v = async_region.region -> !async.value<i32> {
    async_region.yield %x : f32
  }
  return
}
// CHECK: 'async_region.region' op result value #0 must be 'f32' or '!async.value<f32>', as its body yields 'f32', but is '!async.value<i32>'

// -----

// Tokens come before values ...
func.func @token_last(%x: f32, %a: !async.token) {
  %t, %v, %u = async_region.region -> (f32, !async.token) {
    async_region.yield %x : f32 after [], [%a]
  }
  return
}
// CHECK: 'async_region.region' op expects its tokens in front of its values

// -----

// ... and are not yielded as values.
func.func @token_as_value(%a: !async.token) {
  %t, %u = async_region.region -> !async.token {
    async_region.yield %a : !async.token
  }
  return
}
// CHECK: 'async_region.yield' op operand #0 is a token, which is no value: yield it 'after [...]'

// -----

// What is yielded 'after' completes.
func.func @after(%x: f32) {
  %t = async_region.region {
    async_region.yield after [%x: f32]
  }
  return
}
// CHECK: 'async_region.yield' op operand #0 must be variadic of async value type or async token type, but got 'f32'

// -----

// The groups add up ...
func.func @group_sizes(%a: !async.token) {
  %t, %u = async_region.region -> !async.token {
    "async_region.yield"(%a) <{group_sizes = array<i32: 1, 1>, operandSegmentSizes = array<i32: 0, 1>}> : (!async.token) -> ()
  }
  return
}
// CHECK: 'async_region.yield' op 'group_sizes' [1, 1] do not add up to its 1 tokens

// -----

// ... and one group is not counted.
func.func @one_group(%a: !async.token) {
  %t = async_region.region {
    "async_region.yield"(%a) <{group_sizes = array<i32: 1>, operandSegmentSizes = array<i32: 0, 1>}> : (!async.token) -> ()
  }
  return
}
// CHECK: 'async_region.yield' op with one group of tokens has no 'group_sizes'

// -----

// A launch sees nothing that is not passed in,
func.func @isolated(%m: memref<f32>, %x: f32) {
  %t = async_region.launch {
    memref.store %x, %m[] : memref<f32>
    async_region.yield
  }
  return
}
// CHECK: 'async_region.launch' op sees no values from outside: pass them in as '(%value as %argument: type)'. Operation using value defined out of its IsolatedFromAbove parent: StoreOp(memref.store %x, %m[] : memref<f32>)

// -----

// gets what is passed in,
func.func @passed(%x: f32) {
  %t = "async_region.launch"(%x) <{operandSegmentSizes = array<i32: 0, 1, 0>}> ({
    async_region.yield
  }) : (f32) -> !async.token
  return
}
// CHECK: 'async_region.launch' op expects body arguments of types ('f32'), but they are of types ()

// -----

// and runs on a resource.
func.func @resource(%x: index) {
  %t = "async_region.launch"(%x) <{operandSegmentSizes = array<i32: 0, 0, 1>}> ({
    async_region.yield
  }) : (index) -> !async.token
  return
}
// CHECK: 'async_region.launch' op operand #0 must be resource type, but got 'index'

// -----

// So does a copy.
func.func @copy_resource(%a: memref<8xf32>, %b: memref<8xf32>, %x: index) {
  %t = async_region.copy %a to %b on %x : memref<8xf32> to memref<8xf32>
  return
}
// CHECK: use of value '%x' expects different type than prior uses: '!async_region.resource' vs 'index'

// -----

// A copy is between buffers
func.func @copy_tensor(%a: tensor<8xf32>, %b: memref<8xf32>) {
  %t = async_region.copy %a to %b : tensor<8xf32> to memref<8xf32>
  return
}
// CHECK: 'async_region.copy' op operand #0 must be memref type, but got 'tensor<8xf32>'

// -----

// of one shape
func.func @copy_shape(%a: memref<8x?xf32>, %b: memref<4x?xf32, 1>) {
  %t = async_region.copy %a to %b : memref<8x?xf32> to memref<4x?xf32, 1>
  return
}
// CHECK: 'async_region.copy' op cannot copy 'memref<8x?xf32>' to 'memref<4x?xf32, 1 : i64>': shapes and element types must agree

// -----

// and element type
func.func @copy_element(%a: memref<8xf32>, %b: memref<8xf16>) {
  %t = async_region.copy %a to %b : memref<8xf32> to memref<8xf16>
  return
}
// CHECK: 'async_region.copy' op cannot copy 'memref<8xf32>' to 'memref<8xf16>': shapes and element types must agree

// -----

// that are two.
func.func @copy_onto_itself(%a: memref<8xf32>) {
  %t = async_region.copy %a to %a : memref<8xf32> to memref<8xf32>
  return
}
// CHECK: 'async_region.copy' op source and destination are the same buffer

// -----

// An allocation makes a buffer
func.func @alloc_tensor() {
  %v, %t = async_region.alloc : tensor<8xf32>
  return
}
// CHECK: 'async_region.alloc' op result #0 must be memref type, but got 'tensor<8xf32>'

// -----

// and knows its sizes.
func.func @alloc_sizes(%n: index) {
  %b, %t = async_region.alloc (%n) : memref<?x?xf32>
  return
}
// CHECK: 'async_region.alloc' op 'memref<?x?xf32>' needs 2 dynamic sizes, but has 1

// -----

// The segments of generic operands add up.
func.func @segments(%t: !async.token) {
  %u = "async_region.region"(%t) <{operandSegmentSizes = array<i32: 0, 0>}> ({
    async_region.yield
  }) : (!async.token) -> !async.token
  return
}
// CHECK: 'async_region.region' op operand count (1) does not match with the total size (0) specified in attribute 'operandSegmentSizes'

// -----

// A token argument has a name.
func.func @unnamed(%t: !async.token) {
  %u = async_region.region [%t as] {
    async_region.yield
  }
  return
}
// CHECK: Expected block argument!
