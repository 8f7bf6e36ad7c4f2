// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// One refusal of every kind; tests/dialects/nv_tileas_refusals.py has the full table.

// A block argument stands for one payload type.
func.func @f(%p: !nv_tileas.producer_token, %v: tensor<8xf16>) {
  %p1 = nv_tileas.async.pipeline.produce_one %p attributes {producer_types = [tensor<8xf16>]} {
  ^bb0(%slot: f32):
    nv_tileas.async.pipeline.yield %v : (tensor<8xf16>) -> ()
  } : (!nv_tileas.producer_token) -> !nv_tileas.producer_token
  func.return
}
// CHECK: op expects region arguement types to match with producer types [tensor<8xf16>], but got: [f32]

// -----

// A consume op prints its consumer types, under the word producer all the same.
func.func @f(%t: !nv_tileas.token) {
  %v = nv_tileas.async.pipeline.consume_one %t attributes {consumer_types = [tensor<8xf16>]} {
    %r = nv_tileas.async.pipeline.consumer_read %t : (!nv_tileas.token) -> tensor<8xf16>
    nv_tileas.async.pipeline.yield %r : (tensor<8xf16>) -> ()
  } : (!nv_tileas.token) -> tensor<8xf16>
  func.return
}
// CHECK: op expects region arguement types to match with producer types [tensor<8xf16>], but got: []

// -----

// The body yields the op's value results.
func.func @f(%t: !nv_tileas.token, %v: f32) {
  %w, %t1 = nv_tileas.async.pipeline.consume_one %t {
    nv_tileas.async.pipeline.yield %v : (f32) -> ()
  } : (!nv_tileas.token) -> (tensor<8xf16>, !nv_tileas.token)
  func.return
}
// CHECK: op expects region result types to be match with operation result types [tensor<8xf16>], but got: [f32]

// -----

// Only the pipeline yield ends a pipeline region.
func.func @f(%t: !nv_tileas.token) {
  nv_tileas.async.pipeline.consume_one %t { nv_tileas.yield : () -> () } : (!nv_tileas.token) -> ()
  func.return
}
// CHECK: op pipeline regions must end with 'nv_tileas.async.pipeline.yield'

// -----

// A group of two has the agents 0 and 1.
func.func @f(%t: !nv_tileas.consumer_token) {
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 2>} {
  ^bb0:
    %c, %t0 = nv_tileas.async.pipeline.consume_one_async %t attributes {consumer_idx = 2 : i32} : (!nv_tileas.consumer_token) -> (!nv_tileas.consumer_token, !nv_tileas.token)
  } : () -> ()
  func.return
}
// CHECK: op consumer_idx out of range for consumer group

// -----

// Agents of one group have one number of warps.
func.func @f() {
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 2>, num_warps = array<i32: 1, 4, 2>} {
  ^bb0:
  }, {
  ^bb0:
  } : () -> ()
  func.return
}
// CHECK: op agent regions disagree on warp count

// -----

// All agents fit into one thread block.
func.func @f() {
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 2>, num_warps = array<i32: 1, 16>} {
  ^bb0:
  }, {
  ^bb0:
  } : () -> ()
  func.return
}
// CHECK: op agent warp count exceeds module budget

// -----

// A load has no region.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = "nv_tileas.tiled_load"(%v, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 0>}> ({}) : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index) -> tensor<8x16xf16>
  func.return
}
// CHECK: op requires zero regions

// -----

// A load takes one token.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index, %t: !nv_tileaa.mem_token) {
  %a, %u = nv_tileas.tiled_load %v[%i, %i] token(%t, %t) : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index, !nv_tileaa.mem_token, !nv_tileaa.mem_token) -> (tensor<8x16xf16>, !nv_tileaa.mem_token)
  func.return
}
// CHECK: op operand group starting at #3 requires 0 or 1 element, but found 2

// -----

// A view of two axes needs two coordinates.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i] : (!nv_tileas.tiled_view<8x16xf16, gmem>, index) -> tensor<8x16xf16>
  func.return
}
// CHECK: op expects 2 coordinates, but got 1

// -----

// A view gives tiles of one size.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i, %i] : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index) -> tensor<8x8xf16>
  func.return
}
// CHECK: op requires the same size for tileSize and tensor

// -----

// And of one shape.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i, %i] : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index) -> tensor<16x8xf16>
  func.return
}
// CHECK: op requires the same shape for tileSize and tensor value

// -----

// And of one element type.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i, %i] : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index) -> tensor<8x16xf32>
  func.return
}
// CHECK: op view elementType not equal with tensor element type: f16 != f32

// -----

// Tiles have extents that are powers of two.
func.func @f(%v: memref<?x?xf16>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i, %i] : (memref<?x?xf16>, index, index) -> tensor<8x3xf16>
  func.return
}
// CHECK: op all dimensions must be powers of two, got 3

// -----

// A weak access orders nothing, so it has no scope.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i, %i] attributes {mem_scope = #nv_tileas<mem_scope gpu>} : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index) -> tensor<8x16xf16>
  func.return
}
// CHECK: op mem_scope not supported when mem_semantic is weak

// -----

// A relaxed one says among whom it orders.
func.func @f(%v: memref<64x64xf16>, %a: tensor<8x16xf16>, %i: index) {
  nv_tileas.tiled_store %v[%i, %i], %a attributes {mem_semantic = #nv_tileas<mem_semantic relaxed>}
  : (memref<64x64xf16>, tensor<8x16xf16>, index, index) -> ()
  func.return
}
// CHECK: op mem_scope required when mem_semantic is not weak

// -----

// Loads do not acquire.
func.func @f(%v: !nv_tileas.tiled_view<8x16xf16, gmem>, %i: index) {
  %a = nv_tileas.tiled_load %v[%i, %i] attributes {mem_semantic = #nv_tileas<mem_semantic acquire>, mem_scope = #nv_tileas<mem_scope gpu>} : (!nv_tileas.tiled_view<8x16xf16, gmem>, index, index) -> tensor<8x16xf16>
  func.return
}
// CHECK: op unsupported mem_semantic: acquire

// -----

// An atomic says what it computes.
func.func @f(%v: !nv_tileas.tiled_view<8xf32>, %a: tensor<8xf32>, %i: index) {
  %o = nv_tileas.tiled_atomic_rmw %v[%i], %a : (!nv_tileas.tiled_view<8xf32>, tensor<8xf32>, index) -> tensor<8xf32>
  func.return
}
// CHECK: op requires attribute 'rmw_mode'

// -----

// And exchanges nothing.
func.func @f(%v: memref<64xi32>, %a: tensor<8xi32>, %i: index) {
  %o = nv_tileas.tiled_atomic_rmw %v[%i], %a attributes {rmw_mode = #nv_tileas<rmw_mode xchg>}
  : (memref<64xi32>, tensor<8xi32>, index) -> tensor<8xi32>
  func.return
}
// CHECK: op tiled_atomic_rmw op cannot use xchg operation

// -----

// A TMA load takes an atom of its family.
func.func @f(%d: !nv_tileas.tma_desc, %s: tensor<8x16xf16, #nv_tileas.layout<smem>>, %i: index) {
  %t = nv_tileas.async.tiled_tma_load %d[%i, %i], %s attributes {atom = #nv_tileas<atom tma_store>} : (!nv_tileas.tma_desc, tensor<8x16xf16, #nv_tileas.layout<smem>>, index, index) -> !nv_tileas.token
  func.return
}
// CHECK: op expect a tma_load atom type

// -----

// Descriptor and atom agree about the box.
func.func @f(%a: memref<64x64xf16>) {
  %d = nv_tileas.make_tiled_tma_desc %a attributes {atom = #nv_tileas<atom tma_load {box = array<i64: 8, 16>}>, box = array<i64: 16, 16>} : (memref<64x64xf16>) -> !nv_tileas.tma_desc
  func.return
}
// CHECK: op tmaBoxDim and atomBoxDim mismatch

// -----

// TMA reaches shared memory only.
func.func @f(%d: !nv_tileas.tma_desc, %s: tensor<8xf16, #nv_tileas.layout<rmem, "wgmma_a">>, %i: index) {
  %t = nv_tileas.async.tiled_tma_load %d[%i, %i], %s attributes {atom = #nv_tileas<atom tma_load>} : (!nv_tileas.tma_desc, tensor<8xf16, #nv_tileas.layout<rmem, "wgmma_a">>, index, index) -> !nv_tileas.token
  func.return
}
// CHECK: op smem layout is not TMA compatible

// -----

// Four bits alone are not enough.
func.func @f(%a: tensor<8x64xf4E2M1FN>, %b: tensor<64x8xf4E2M1FN>, %c: tensor<8x8xf32>) {
  %d = nv_tileas.block_scaled_mma %a, %b, %c : (tensor<8x64xf4E2M1FN>, tensor<64x8xf4E2M1FN>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return
}
// CHECK: op fp4 mma should expect scaling factors

// -----

// Both operands are scaled alike.
func.func @f(%a: tensor<8x64xf8E4M3FN>, %b: tensor<64x8xf8E4M3FN>, %c: tensor<8x8xf32>, %s: tensor<8x2xf8E8M0FNU>, %r: tensor<2x8xf8E4M3FN>) {
  %d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r) : (tensor<8x64xf8E4M3FN>, tensor<64x8xf8E4M3FN>, tensor<8x8xf32>, tensor<8x2xf8E8M0FNU>, tensor<2x8xf8E4M3FN>) -> tensor<8x8xf32>
  func.return
}
// CHECK: op sfa and sfb element type mismatch

// -----

// And equally often.
func.func @f(%a: tensor<8x64xf8E4M3FN>, %b: tensor<64x8xf8E4M3FN>, %c: tensor<8x8xf32>, %s: tensor<8x2xf8E8M0FNU>, %r: tensor<4x8xf8E8M0FNU>) {
  %d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r) : (tensor<8x64xf8E4M3FN>, tensor<64x8xf8E4M3FN>, tensor<8x8xf32>, tensor<8x2xf8E8M0FNU>, tensor<4x8xf8E8M0FNU>) -> tensor<8x8xf32>
  func.return
}
// CHECK: op Scale factor vector size mismatch: 2, 4

// -----

// Not every block-scaled configuration exists for two thread blocks.
func.func @f(%a: tensor<8x64xf4E2M1FN>, %b: tensor<64x8xf4E2M1FN>, %c: tensor<8x8xf32>, %s: tensor<8x2xf8E8M0FNU>, %r: tensor<2x8xf8E8M0FNU>) {
  %d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r) attributes {cta_group = 2 : i32} : (tensor<8x64xf4E2M1FN>, tensor<64x8xf4E2M1FN>, tensor<8x8xf32>, tensor<8x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>) -> tensor<8x8xf32>
  func.return
}
// CHECK: op unsupported block-scaled mma configuration
