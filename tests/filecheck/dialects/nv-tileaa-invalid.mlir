// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Reuse needs two queues.
%q = "test.op"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
nv_tileaa.mark_for_reuse %q attributes {partitions = array<i32: 1>} : (!nv_tileaa.queue<[tensor<8xf32>]>) -> ()
// CHECK: 'nv_tileaa.mark_for_reuse' op expect at least 2 queues, but got: 1

// -----

// Every queue belongs to a partition.
%q = "test.op"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
nv_tileaa.mark_for_reuse %q, %q attributes {partitions = array<i32: 1>} : (!nv_tileaa.queue<[tensor<8xf32>]>, !nv_tileaa.queue<[tensor<8xf32>]>) -> ()
// CHECK: 'nv_tileaa.mark_for_reuse' op expect sum(partitions) == 2, but got: 1

// -----

// Queues of different depth do not share storage.
%q, %r = "test.op"() : () -> (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, !nv_tileaa.queue<[tensor<8xf32>], depth = 2>)
nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1, 1>} : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, !nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
// CHECK: 'nv_tileaa.mark_for_reuse' op expect all operands have the same depth, but got 1 vs 2

// -----

// A put has a payload or a region.
%q = "test.op"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
nv_tileaa.queue.put %q : (!nv_tileaa.queue<[tensor<8xf32>]>) -> ()
// CHECK: 'nv_tileaa.queue.put' op expects either payload operands or a region, but got neither

// -----

// A queue cannot carry itself.
%q = "test.op"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
nv_tileaa.queue.put %q, %q : (!nv_tileaa.queue<[tensor<8xf32>]>, !nv_tileaa.queue<[tensor<8xf32>]>) -> ()
// CHECK: 'nv_tileaa.queue.put' op expects the queue not to alias operand #1

// -----

// The region of a get ends in queue.yield.
%q = "test.op"() : () -> !nv_tileaa.queue<[tensor<8xf32>]>
nv_tileaa.queue.get %q {
^bb0(%s: tensor<8xf32>):
  "test.op"() : () -> ()
} : (!nv_tileaa.queue<[tensor<8xf32>]>) -> ()
// CHECK: 'nv_tileaa.queue.get' op expects regions to end with 'nv_tileaa.queue.yield'

// -----

// A return belongs to a function of the dialect.
func.func @f() {
  nv_tileaa.return : () -> ()
}
// CHECK: 'nv_tileaa.return' expects parent op 'nv_tileaa.func'

// -----

// Floats accumulate in f32.
%a, %b, %c = "test.op"() : () -> (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf16>)
%d = nv_tileaa.dot %a, %b, %c : (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
// CHECK: 'nv_tileaa.dot' op expects #C element type to be f32, but got f16

// -----

// A tile has the extents of its view.
%v, %i = "test.op"() : () -> (!nv_tileaa.tiled_view<8x4xf32>, index)
%t = nv_tileaa.tiled_load %v[%i, %i] : (!nv_tileaa.tiled_view<8x4xf32>, index, index) -> tensor<4x8xf32>
// CHECK: 'nv_tileaa.tiled_load' op requires the same shape for tileSize and tensor value

// -----

// A relaxed load says among whom.
%p = "test.op"() : () -> !nv_tileaa.ptr<f32, 1>
%v = nv_tileaa.load %p attributes {mem_semantic = #nv_tileaa<mem_semantic relaxed>} : (!nv_tileaa.ptr<f32, 1>) -> f32
// CHECK: 'nv_tileaa.load' op mem_scope required when mem_semantic is not weak

// -----

// Divisors are powers of two.
%x = "test.op"() : () -> i32
%y = nv_tileaa.assume %x attributes {predicates = [#nv_tileaa.div_by<12>]} : (i32) -> i32
// CHECK: 'nv_tileaa.assume' op div_by divisor must be a positive power of two

// -----

// A queue carries tiles.
%q = "test.op"() : () -> !nv_tileaa.queue<[f32]>
// CHECK: a queue carries tiles (tensors), not f32

// -----

// A pointer names its address space.
%q = "test.op"() : () -> !nv_tileaa.ptr<f32>
// CHECK: Expected ',' before the address space of a pointer

// -----

// Too many operands.
%a = "test.op"() : () -> f32
%q = nv_tileaa.addf %a, %a, %a : (f32, f32, f32) -> f32
// CHECK: nv_tileaa.addf takes 2 plain operands, found 1 more
