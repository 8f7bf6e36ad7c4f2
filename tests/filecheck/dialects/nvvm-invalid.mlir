// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A barrier that is initialised lies in the own CTA.
func.func @refused(%d: !llvm.ptr<7>, %i: i32) {
  nvvm.mbarrier.init %d, %i : !llvm.ptr<7>, i32
  func.return
}
// CHECK: 'nvvm.mbarrier.init' op operand #0 must be LLVM pointer in address space 0 or LLVM pointer in address space 3, but got '!llvm.ptr<7>'

// -----

// Bytes are expected at a barrier in shared memory, not behind a generic pointer.
func.func @refused(%p: !llvm.ptr, %i: i32) {
  nvvm.mbarrier.expect_tx %p, %i : !llvm.ptr, i32
  func.return
}
// CHECK: 'nvvm.mbarrier.expect_tx' op operand #0 must be LLVM pointer in address space 3 or LLVM pointer in address space 7, but got '!llvm.ptr'

// -----

// A barrier synchronises within the cluster at most.
func.func @refused(%s: !llvm.ptr<3>) {
  nvvm.mbarrier.arrive %s {scope = #nvvm.mem_scope<gpu>} : !llvm.ptr<3>
  func.return
}
// CHECK: mbarrier scope must be either CTA or Cluster

// -----

// Another CTA's barrier does not tell its state.
func.func @refused(%d: !llvm.ptr<7>) {
  %0 = nvvm.mbarrier.arrive %d : !llvm.ptr<7> -> i64
  func.return
}
// CHECK: mbarrier in shared_cluster space cannot return any value

// -----

// A predicated arrival becomes inline PTX, which has no result.
func.func @refused(%s: !llvm.ptr<3>, %i: i32, %b: i1) {
  %0 = nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1 -> i64
  func.return
}
// CHECK: return-value is not supported when using predicate

// -----

// The property is a scope.
func.func @refused(%s: !llvm.ptr<3>) {
  nvvm.mbarrier.arrive %s {scope = 1 : i32} : !llvm.ptr<3>
  func.return
}
// CHECK: invalid properties for op nvvm.mbarrier.arrive: Invalid attribute `scope` in property conversion: 1 : i32 (expected nvvm.mem_scope)

// -----

// Copies have 4, 8 or 16 bytes.
func.func @refused(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %s, %g, 12, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  func.return
}
// CHECK: expected byte size to be either 4, 8 or 16.

// -----

// Copies around the L1 cache have 16.
func.func @refused(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %s, %g, 8, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  func.return
}
// CHECK: CG cache modifier is only support for 16 bytes copy.

// -----

// Other cache modifiers are for ordinary loads.
func.func @refused(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %s, %g, 16, cache = lu : !llvm.ptr<3>, !llvm.ptr<1>
  func.return
}
// CHECK: Only CG and CA cache modifiers are supported.

// -----

// No fewer than no groups can be unfinished.
func.func @refused() {
  nvvm.cp.async.bulk.wait_group -1
  func.return
}
// CHECK: 'nvvm.cp.async.bulk.wait_group' op attribute 'group' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0

// -----

// A tensor is loaded to the cluster's shared memory ...
func.func @refused(%s: !llvm.ptr<3>, %p: !llvm.ptr, %i: i32) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %p, %s, box[%i] : !llvm.ptr<3>, !llvm.ptr
  func.return
}
// CHECK: Shared::cluster destination requires address-space 7.

// -----

// ... or to the own CTA's, if it says so.
func.func @refused(%d: !llvm.ptr<7>, %p: !llvm.ptr, %m: !llvm.ptr<3>, %i: i32) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i] {isCTAOnly = true} : !llvm.ptr<7>, !llvm.ptr
  func.return
}
// CHECK: Shared::cta destination requires address-space 3.

// -----

// A box has 1 to 5 dimensions.
func.func @refused(%d: !llvm.ptr<7>, %p: !llvm.ptr, %m: !llvm.ptr<3>) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[] : !llvm.ptr<7>, !llvm.ptr
  func.return
}
// CHECK: expects coordinates between 1 to 5 dimension

// -----

// Offsets are for im2col modes.
func.func @refused(%d: !llvm.ptr<7>, %p: !llvm.ptr, %m: !llvm.ptr<3>, %i: i32, %h: i16) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i] im2col[%h] : !llvm.ptr<7>, !llvm.ptr
  func.return
}
// CHECK: im2col offsets expected 0 (provided 1)

// -----

// A predicated store cannot take a cache hint.
func.func @refused(%p: !llvm.ptr, %s: !llvm.ptr<3>, %i: i32, %l: i64, %b: i1) {
  nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i] l2_cache_hint = %l, predicate = %b : !llvm.ptr, <3>
  func.return
}
// CHECK: Inline-ptx lowering unsupported with L2 cache-hint.

// -----

// Reductions do not scatter.
func.func @refused(%p: !llvm.ptr, %s: !llvm.ptr<3>, %i: i32) {
  nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i] {mode = #nvvm.tma_store_mode<tile_scatter4>, redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, <3>
  func.return
}
// CHECK: Scatter mode unsupported for CpAsyncBulkTensorReduceOp

// -----

// A multicast goes to the cluster.
func.func @refused(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %i: i32, %h: i16) {
  nvvm.cp.async.bulk.shared.cluster.global %s, %g, %s, %i multicast_mask = %h : !llvm.ptr<3>, <1>
  func.return
}
// CHECK: Multicast is not supported with shared::cta mode.

// -----

// A prefetch fills a cache.
func.func @refused(%p: !llvm.ptr) {
  nvvm.prefetch %p : !llvm.ptr
  func.return
}
// CHECK: 'nvvm.prefetch' op requires specification of either cache level or tensormap

// -----

// Some threads meet at a barrier that has a number.
func.func @refused(%i: i32) {
  nvvm.barrier number_of_threads = %i
  func.return
}
// CHECK: 'nvvm.barrier' op barrier id is missing, it should be set between 0 to 15

// -----

// A reduction has a predicate.
func.func @refused(%i: i32) {
  "nvvm.barrier"(%i) <{operandSegmentSizes = array<i32: 0, 0, 1>}> : (i32) -> ()
  func.return
}
// CHECK: 'nvvm.barrier' op reduction predicate and reduction operation must be specified together

// -----

// Segments add up to the operands.
func.func @refused(%i: i32) {
  "nvvm.barrier"(%i) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32) -> ()
  func.return
}
// CHECK: operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'

// -----

// The address of a shared barrier in another CTA is a cluster address.
func.func @refused(%s: !llvm.ptr<3>, %i: i32) {
  %0 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr
  func.return
}
// CHECK: 'nvvm.mapa' op failed to verify that Valid address-space check(or mapping) for mapa Op

// -----

// Which shared memory?
func.func @refused() {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>}
  func.return
}
// CHECK: 'nvvm.fence.proxy' op async_shared fence requires space attribute

// -----

// Not the generic proxy against itself.
func.func @refused() {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<generic>}
  func.return
}
// CHECK: 'nvvm.fence.proxy' op generic proxy not a supported proxy kind

// -----

// Which proxy?
func.func @refused() {
  nvvm.fence.proxy
  func.return
}
// CHECK: property 'kind' expected in operation 'nvvm.fence.proxy'

// -----

// A fence in one direction acquires or releases.
func.func @refused() {
  nvvm.fence.sync_restrict {order = #nvvm.mem_order<weak>}
  func.return
}
// CHECK: 'nvvm.fence.sync_restrict' op only acquire and release semantics are supported

// -----

// Registers come by eights.
func.func @refused() {
  nvvm.setmaxregister increase 25
  func.return
}
// CHECK: 'nvvm.setmaxregister' op new register size must be multiple of 8

// -----

// A thread has 24 to 256.
func.func @refused() {
  nvvm.setmaxregister decrease 16
  func.return
}
// CHECK: 'nvvm.setmaxregister' op new register size must be in between 24 to 256

// -----

// Registers go up or down.
func.func @refused() {
  nvvm.setmaxregister sideways 40
  func.return
}
// CHECK: Expected `increase`, or `decrease`.

// -----

// An empty range is spelled with the least or the greatest number.
func.func @refused() {
  %0 = nvvm.read.ptx.sreg.tid.x range <i32, 7, 7> : i32
  func.return
}
// CHECK: 'nvvm.read.ptx.sreg.tid.x' op invalid range attribute: Lower == Upper, but they aren't min (0) or max (4294967295) value!

// -----

// A register has a type of LLVM.
func.func @refused() {
  %0 = nvvm.read.ptx.sreg.tid.x : index
  func.return
}
// CHECK: 'nvvm.read.ptx.sreg.tid.x' op result #0 must be LLVM dialect-compatible type, but got 'index'

// -----

// The clocks promise no range.
func.func @refused() {
  %0 = nvvm.read.ptx.sreg.clock range <i32, 0, 3> : i32
  func.return
}
// CHECK: Expected ':'

// -----

// A ballot is a number.
func.func @refused(%i: i32, %b: i1) {
  %0 = nvvm.vote.sync ballot %i, %b -> i1
  func.return
}
// CHECK: 'nvvm.vote.sync' op vote.sync 'ballot' returns an i32

// -----

// A shuffle hands on what it is given.
func.func @refused(%i: i32, %f: f32) {
  %0 = nvvm.shfl.sync idx %i, %f, %i, %i : f32 -> i32
  func.return
}
// CHECK: 'nvvm.shfl.sync' op expected return type to be of type 'f32' but got 'i32' instead

// -----

// An op that MLIR does not have either: the one to use is nvvm.mbarrier.try_wait.parity.
func.func @refused(%s: !llvm.ptr<3>, %i: i32) {
  nvvm.mbarrier.try_wait.parity.shared %s, %i, %i : !llvm.ptr<3>, i32, i32
  func.return
}
// CHECK: Operation nvvm.mbarrier.try_wait.parity.shared is not registered

// -----

// A lane has as many registers as the shape of a transfer asks for.
func.func @refused(%t: !llvm.ptr<6>) {
  %v = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<2xi32>
  func.return
}
// CHECK: invalid result type length 2 for shape shape_16x256b in tcgen05.ld Op
