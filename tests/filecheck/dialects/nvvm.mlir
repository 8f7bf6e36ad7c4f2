// RUN: xdsl-opt %s --split-input-file | filecheck %s

// Barriers that count arrivals and bytes: state, bytes, arrivals, waits.
func.func @mbarrier(%p: !llvm.ptr, %s: !llvm.ptr<3>, %d: !llvm.ptr<7>, %i: i32, %j: i32, %l: i64, %b: i1) {
// CHECK-LABEL: func.func @mbarrier(
  nvvm.mbarrier.init %s, %i : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.mbarrier.init %s, %i : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %p, %i : !llvm.ptr, i32
  // CHECK-NEXT: nvvm.mbarrier.init %p, %i : !llvm.ptr, i32
  nvvm.mbarrier.init %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1
  // CHECK-NEXT: nvvm.mbarrier.init %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1
  nvvm.mbarrier.inval %s : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.inval %s : !llvm.ptr<3>
  nvvm.mbarrier.expect_tx %s, %i : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.mbarrier.expect_tx %s, %i : !llvm.ptr<3>, i32
  nvvm.mbarrier.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  // CHECK-NEXT: nvvm.mbarrier.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  nvvm.mbarrier.complete_tx %s, %i : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.mbarrier.complete_tx %s, %i : !llvm.ptr<3>, i32
  %r0 = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64
  // CHECK-NEXT: %r0 = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64
  nvvm.mbarrier.arrive %s : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.arrive %s : !llvm.ptr<3>
  %r1 = nvvm.mbarrier.arrive %s, %i : !llvm.ptr<3> -> i64
  // CHECK-NEXT: %r1 = nvvm.mbarrier.arrive %s, %i : !llvm.ptr<3> -> i64
  nvvm.mbarrier.arrive %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  // CHECK-NEXT: nvvm.mbarrier.arrive %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  %r2 = nvvm.mbarrier.arrive %s {relaxed = true} : !llvm.ptr<3> -> i64
  // CHECK-NEXT: %r2 = nvvm.mbarrier.arrive %s {relaxed = true} : !llvm.ptr<3> -> i64
  nvvm.mbarrier.arrive %s {a, relaxed = true, s = 1 : i32, scope = #nvvm.mem_scope<cluster>, z} : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.arrive %s {a, relaxed = true, s = 1 : i32, scope = #nvvm.mem_scope<cluster>, z} : !llvm.ptr<3>
  nvvm.mbarrier.arrive %s {relaxed = true} : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.arrive %s {relaxed = true} : !llvm.ptr<3>
  %r3 = nvvm.mbarrier.arrive.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64
  // CHECK-NEXT: %r3 = nvvm.mbarrier.arrive.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64
  %r4 = nvvm.mbarrier.arrive_drop.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64
  // CHECK-NEXT: %r4 = nvvm.mbarrier.arrive_drop.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64
  %r5 = nvvm.mbarrier.arrive_drop %s : !llvm.ptr<3> -> i64
  // CHECK-NEXT: %r5 = nvvm.mbarrier.arrive_drop %s : !llvm.ptr<3> -> i64
  nvvm.mbarrier.arrive_drop %s, %i : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.arrive_drop %s, %i : !llvm.ptr<3>
  nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32
  // CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32
  %r6 = nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32 -> i64
  // CHECK-NEXT: %r6 = nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32 -> i64
  nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1
  // CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1
  nvvm.mbarrier.arrive.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  // CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  %r7 = nvvm.mbarrier.arrive_drop.expect_tx %s, %i {relaxed = true} : !llvm.ptr<3>, i32 -> i64
  // CHECK-NEXT: %r7 = nvvm.mbarrier.arrive_drop.expect_tx %s, %i {relaxed = true} : !llvm.ptr<3>, i32 -> i64
  nvvm.mbarrier.try_wait.parity %s, %i, %j : !llvm.ptr<3>, i32, i32
  // CHECK-NEXT: nvvm.mbarrier.try_wait.parity %s, %i, %j : !llvm.ptr<3>, i32, i32
  %r8 = nvvm.mbarrier.try_wait %s, %i : !llvm.ptr<3>, i32 -> i1
  // CHECK-NEXT: %r8 = nvvm.mbarrier.try_wait %s, %i : !llvm.ptr<3>, i32 -> i1
  %r9 = nvvm.mbarrier.try_wait %s, %i, %j : !llvm.ptr<3>, i32, i32 -> i1
  // CHECK-NEXT: %r9 = nvvm.mbarrier.try_wait %s, %i, %j : !llvm.ptr<3>, i32, i32 -> i1
  %r10 = nvvm.mbarrier.try_wait %s, %l : !llvm.ptr<3>, i64 -> i1
  // CHECK-NEXT: %r10 = nvvm.mbarrier.try_wait %s, %l : !llvm.ptr<3>, i64 -> i1
  %r11 = nvvm.mbarrier.try_wait %p, %l {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr, i64 -> i1
  // CHECK-NEXT: %r11 = nvvm.mbarrier.try_wait %p, %l {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr, i64 -> i1
  %r12 = nvvm.mbarrier.test.wait %s, %l : !llvm.ptr<3>, i64 -> i1
  // CHECK-NEXT: %r12 = nvvm.mbarrier.test.wait %s, %l : !llvm.ptr<3>, i64 -> i1
  %r13 = nvvm.mbarrier.test.wait %s, %i : !llvm.ptr<3>, i32 -> i1
  // CHECK-NEXT: %r13 = nvvm.mbarrier.test.wait %s, %i : !llvm.ptr<3>, i32 -> i1
  func.return
}

// -----

// Small copies with groups, or tracked by an mbarrier.
func.func @cp_async(%g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %i: i32) {
// CHECK-LABEL: func.func @cp_async(
  nvvm.cp.async.shared.global %s, %g, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.shared.global %s, %g, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %s, %g, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.shared.global %s, %g, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %s, %g, 8, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.shared.global %s, %g, 8, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %s, %g, 16, cache =  cg, %i {tag} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK-NEXT: nvvm.cp.async.shared.global %s, %g, 16, cache =  cg, %i {tag} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 2
  // CHECK-NEXT: nvvm.cp.async.wait.group 2
  nvvm.cp.async.wait.group -1
  // CHECK-NEXT: nvvm.cp.async.wait.group -1
  nvvm.cp.async.mbarrier.arrive %s : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.cp.async.mbarrier.arrive %s : !llvm.ptr<3>
  nvvm.cp.async.mbarrier.arrive %s {noinc = true} : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.cp.async.mbarrier.arrive %s {noinc = true} : !llvm.ptr<3>
  func.return
}

// -----

// Tensor and bulk copies: pointer types are shortened where MLIR shortens them.
func.func @bulk(%p: !llvm.ptr, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %m: !llvm.ptr<3>, %d: !llvm.ptr<7>, %i: i32, %j: i32, %k: i32, %l: i64, %h: i16, %b: i1, %c: !llvm.ptr<4>, %o: !llvm.ptr<5>) {
// CHECK-LABEL: func.func @bulk(
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j] : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j] multicast_mask = %h l2_cache_hint = %l : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j] multicast_mask = %h l2_cache_hint = %l : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %p, %m, box[%i] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %p, %m, box[%i] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %p, %m, box[%i, %j] predicate = %b : !llvm.ptr<3>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %p, %m, box[%i, %j] predicate = %b : !llvm.ptr<3>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j, %k, %i] im2col[%h, %h] {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j, %k, %i] im2col[%h, %h] {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j, %k] im2col[%h, %h] {mode = #nvvm.tma_load_mode<im2col_w_128>} : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j, %k] im2col[%h, %h] {mode = #nvvm.tma_load_mode<im2col_w_128>} : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j, %k, %i, %i] {mode = #nvvm.tma_load_mode<tile_gather4>} : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j, %k, %i, %i] {mode = #nvvm.tma_load_mode<tile_gather4>} : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j] {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %p, %m, box[%i, %j] {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j] : !llvm.ptr, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j] : !llvm.ptr, <3>
  nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j] l2_cache_hint = %l : !llvm.ptr, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j] l2_cache_hint = %l : !llvm.ptr, <3>
  nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j], predicate = %b : !llvm.ptr, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j], predicate = %b : !llvm.ptr, <3>
  nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j, %k, %i, %i] {mode = #nvvm.tma_store_mode<tile_scatter4>} : !llvm.ptr, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %p, %s, box[%i, %j, %k, %i, %i] {mode = #nvvm.tma_store_mode<tile_scatter4>} : !llvm.ptr, <3>
  nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i, %j] {redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i, %j] {redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, <3>
  nvvm.cp.async.bulk.tensor.reduce %g, %s, box[%i, %j, %k] {mode = #nvvm.tma_store_mode<im2col>, redKind = #nvvm.tma_redux_kind<xor>} : <1>, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.reduce %g, %s, box[%i, %j, %k] {mode = #nvvm.tma_store_mode<im2col>, redKind = #nvvm.tma_redux_kind<xor>} : <1>, <3>
  nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i] l2_cache_hint = %l {redKind = #nvvm.tma_redux_kind<inc>} : !llvm.ptr, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i] l2_cache_hint = %l {redKind = #nvvm.tma_redux_kind<inc>} : !llvm.ptr, <3>
  nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j] : !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j] : !llvm.ptr
  nvvm.cp.async.bulk.tensor.prefetch %p, box[%i] l2_cache_hint = %l : !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.prefetch %p, box[%i] l2_cache_hint = %l : !llvm.ptr
  nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j, %k] im2col[%h] {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr
  // CHECK-NEXT: nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j, %k] im2col[%h] {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr
  nvvm.prefetch tensormap, %p : !llvm.ptr
  // CHECK-NEXT: nvvm.prefetch tensormap, %p : !llvm.ptr
  nvvm.prefetch tensormap in_param_space, %p, predicate = %b : !llvm.ptr, i1
  // CHECK-NEXT: nvvm.prefetch tensormap in_param_space, %p, predicate = %b : !llvm.ptr, i1
  nvvm.prefetch level =  L1 uniform, %p : !llvm.ptr
  // CHECK-NEXT: nvvm.prefetch level =  L1 uniform, %p : !llvm.ptr
  nvvm.prefetch level =  L2, evict_priority =  evict_last, %g : !llvm.ptr<1>
  // CHECK-NEXT: nvvm.prefetch level =  L2, evict_priority =  evict_last, %g : !llvm.ptr<1>
  nvvm.prefetch level =  L2, %o : !llvm.ptr<5>
  // CHECK-NEXT: nvvm.prefetch level =  L2, %o : !llvm.ptr<5>
  nvvm.prefetch tensormap, %c : !llvm.ptr<4>
  // CHECK-NEXT: nvvm.prefetch tensormap, %c : !llvm.ptr<4>
  nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i : !llvm.ptr<7>, <1>
  // CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i : !llvm.ptr<7>, <1>
  nvvm.cp.async.bulk.shared.cluster.global %s, %g, %m, %i : !llvm.ptr<3>, <1>
  // CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.global %s, %g, %m, %i : !llvm.ptr<3>, <1>
  nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i multicast_mask = %h l2_cache_hint = %l : !llvm.ptr<7>, <1>
  // CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i multicast_mask = %h l2_cache_hint = %l : !llvm.ptr<7>, <1>
  nvvm.cp.async.bulk.global.shared.cta %g, %s, %i : <1>, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.global.shared.cta %g, %s, %i : <1>, <3>
  nvvm.cp.async.bulk.global.shared.cta %g, %s, %i l2_cache_hint = %l byte_mask = %h : <1>, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.global.shared.cta %g, %s, %i l2_cache_hint = %l byte_mask = %h : <1>, <3>
  nvvm.cp.async.bulk.shared.cluster.shared.cta %d, %s, %m, %i : <7>, <3>
  // CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %d, %s, %m, %i : <7>, <3>
  nvvm.cp.async.bulk.prefetch %g, %i : <1>
  // CHECK-NEXT: nvvm.cp.async.bulk.prefetch %g, %i : <1>
  nvvm.cp.async.bulk.prefetch %g, %i l2_cache_hint = %l : <1>
  // CHECK-NEXT: nvvm.cp.async.bulk.prefetch %g, %i l2_cache_hint = %l : <1>
  nvvm.cp.async.bulk.commit.group
  // CHECK-NEXT: nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 1
  // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1
  nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
  nvvm.cp.async.bulk.wait_group 2 {a, read, zz = 1 : i32}
  // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 2 {a, read, zz = 1 : i32}
  func.return
}

// -----

// The order of warpgroup multiplications.
func.func @wgmma() {
// CHECK-LABEL: func.func @wgmma(
  nvvm.wgmma.fence.aligned
  // CHECK-NEXT: nvvm.wgmma.fence.aligned
  nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 0
  nvvm.wgmma.wait.group.sync.aligned {tag} 3
  // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned {tag} 3
  func.return
}

// -----

// A product of a warpgroup, and one in tensor memory.
func.func @products(%a: i64, %c: !llvm.struct<(f32, f32, f32, f32)>, %t: !llvm.ptr<6>, %shape: i32, %adds: i1) {
// CHECK-LABEL: func.func @products(
  %d = nvvm.wgmma.mma_async %a, %a, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[#nvvm.wgmma_type<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  // CHECK-NEXT: nvvm.wgmma.mma_async %a, %a, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  nvvm.tcgen05.mma %t, %a, %a, %shape, %adds {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
  // CHECK-NEXT: nvvm.tcgen05.mma %t, %a, %a, %shape, %adds {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
  %v = nvvm.tcgen05.ld %t pack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  // CHECK-NEXT: nvvm.tcgen05.ld %t pack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  nvvm.tcgen05.wait #nvvm.tcgen05_wait<load>
  // CHECK-NEXT: nvvm.tcgen05.wait <load>
  func.return
}

// -----

// Barriers of CTA, warp, cluster and grid.
func.func @barrier(%p: !llvm.ptr, %s: !llvm.ptr<3>, %i: i32, %j: i32) {
// CHECK-LABEL: func.func @barrier(
  nvvm.barrier0
  // CHECK-NEXT: nvvm.barrier0
  nvvm.barrier
  // CHECK-NEXT: nvvm.barrier
  nvvm.barrier id = %i
  // CHECK-NEXT: nvvm.barrier id = %i
  nvvm.barrier id = %i number_of_threads = %j
  // CHECK-NEXT: nvvm.barrier id = %i number_of_threads = %j
  %r0 = nvvm.barrier #nvvm.reduction<popc> %i -> i32
  // CHECK-NEXT: %r0 = nvvm.barrier #nvvm.reduction<popc> %i -> i32
  nvvm.barrier #nvvm.reduction<or> %i {tag}
  // CHECK-NEXT: nvvm.barrier #nvvm.reduction<or> %i {tag}
  nvvm.barrier.arrive id = %i number_of_threads = %j
  // CHECK-NEXT: nvvm.barrier.arrive id = %i number_of_threads = %j
  nvvm.barrier.arrive number_of_threads = %j
  // CHECK-NEXT: nvvm.barrier.arrive number_of_threads = %j
  nvvm.bar.warp.sync %i : i32
  // CHECK-NEXT: nvvm.bar.warp.sync %i : i32
  nvvm.cluster.arrive
  // CHECK-NEXT: nvvm.cluster.arrive
  nvvm.cluster.arrive {aligned}
  // CHECK-NEXT: nvvm.cluster.arrive {aligned}
  nvvm.cluster.arrive {a, aligned, b}
  // CHECK-NEXT: nvvm.cluster.arrive {a, aligned, b}
  nvvm.cluster.arrive.relaxed {aligned}
  // CHECK-NEXT: nvvm.cluster.arrive.relaxed {aligned}
  nvvm.cluster.wait
  // CHECK-NEXT: nvvm.cluster.wait
  nvvm.cluster.wait {aligned}
  // CHECK-NEXT: nvvm.cluster.wait {aligned}
  %r1 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK-NEXT: %r1 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<7>
  %r2 = nvvm.mapa %p, %i : !llvm.ptr -> !llvm.ptr
  // CHECK-NEXT: %r2 = nvvm.mapa %p, %i : !llvm.ptr -> !llvm.ptr
  nvvm.griddepcontrol  wait
  // CHECK-NEXT: nvvm.griddepcontrol  wait
  nvvm.griddepcontrol  launch_dependents
  // CHECK-NEXT: nvvm.griddepcontrol  launch_dependents
  func.return
}

// -----

// Fences, between accesses of one kind and between proxies.
func.func @fence(%p: !llvm.ptr, %i: i32) {
// CHECK-LABEL: func.func @fence(
  nvvm.memory.barrier <gpu>
  // CHECK-NEXT: nvvm.memory.barrier <gpu>
  nvvm.memory.barrier <sys>
  // CHECK-NEXT: nvvm.memory.barrier <sys>
  nvvm.fence.sc.cluster
  // CHECK-NEXT: nvvm.fence.sc.cluster
  nvvm.fence.mbarrier.init
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cluster>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cluster>}
  nvvm.fence.proxy.acquire <gpu> %p, %i
  // CHECK-NEXT: nvvm.fence.proxy.acquire <gpu> %p, %i
  nvvm.fence.proxy.release <cta>
  // CHECK-NEXT: nvvm.fence.proxy.release <cta>
  nvvm.fence.proxy.release <gpu>
  // CHECK-NEXT: nvvm.fence.proxy.release <gpu>
  nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}
  // CHECK-NEXT: nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}
  nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}
  // CHECK-NEXT: nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}
  func.return
}

// -----

// Registers, election, exchange within a warp, inline PTX.
func.func @thread(%p: !llvm.ptr, %i: i32, %j: i32, %k: i32, %l: i64, %b: i1, %f: f32) {
// CHECK-LABEL: func.func @thread(
  nvvm.setmaxregister  increase 232
  // CHECK-NEXT: nvvm.setmaxregister  increase 232
  nvvm.setmaxregister  decrease 40
  // CHECK-NEXT: nvvm.setmaxregister  decrease 40
  %r0 = nvvm.elect.sync -> i1
  // CHECK-NEXT: %r0 = nvvm.elect.sync -> i1
  %r1 = nvvm.elect.sync %i -> i1
  // CHECK-NEXT: %r1 = nvvm.elect.sync %i -> i1
  nvvm.nanosleep %i
  // CHECK-NEXT: nvvm.nanosleep %i
  nvvm.nanosleep {tag} %i
  // CHECK-NEXT: nvvm.nanosleep {tag} %i
  nvvm.exit
  // CHECK-NEXT: nvvm.exit
  %r2 = nvvm.shfl.sync  idx %i, %j, %k, %k : i32 -> i32
  // CHECK-NEXT: %r2 = nvvm.shfl.sync  idx %i, %j, %k, %k : i32 -> i32
  %r3 = nvvm.shfl.sync  bfly %i, %f, %k, %k : f32 -> f32
  // CHECK-NEXT: %r3 = nvvm.shfl.sync  bfly %i, %f, %k, %k : f32 -> f32
  %r4 = nvvm.shfl.sync  up %i, %f, %k, %k {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  // CHECK-NEXT: %r4 = nvvm.shfl.sync  up %i, %f, %k, %k {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
  %r5 = nvvm.vote.sync  ballot %i, %b -> i32
  // CHECK-NEXT: %r5 = nvvm.vote.sync  ballot %i, %b -> i32
  %r6 = nvvm.vote.sync  any %i, %b -> i1
  // CHECK-NEXT: %r6 = nvvm.vote.sync  any %i, %b -> i1
  nvvm.inline_ptx "mbarrier.init.b64 [$0], $1;" ro(%p, %i : !llvm.ptr, i32), predicate = %b
  // CHECK-NEXT: nvvm.inline_ptx "mbarrier.init.b64 [$0], $1;" ro(%p, %i : !llvm.ptr, i32), predicate = %b
  nvvm.inline_ptx "nanosleep.u32 7;"
  // CHECK-NEXT: nvvm.inline_ptx "nanosleep.u32 7;"
  %r7 = nvvm.inline_ptx "mov.b32 $0, $1;" ro(%i : i32) -> i32
  // CHECK-NEXT: %r7 = nvvm.inline_ptx "mov.b32 $0, $1;" ro(%i : i32) -> i32
  %r8, %r9 = nvvm.inline_ptx "x" ro(%i : i32) rw(%l : i64), predicate = %b -> i32, f32
  // CHECK-NEXT: %r8, %r9 = nvvm.inline_ptx "x" ro(%i : i32) rw(%l : i64), predicate = %b -> i32, f32
  func.return
}

// -----

// The special registers, with and without a range (envreg1 to 30 are left out).
func.func @registers() {
// CHECK-LABEL: func.func @registers(
  %r0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
  // CHECK-NEXT: %r0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
  %r1 = nvvm.read.ptx.sreg.tid.x range <i32, -1, -1> {tag} : i32
  // CHECK-NEXT: %r1 = nvvm.read.ptx.sreg.tid.x range <i32, -1, -1> {tag} : i32
  %r2 = nvvm.read.ptx.sreg.tid.x range <i8, 0, -56> : i32
  // CHECK-NEXT: %r2 = nvvm.read.ptx.sreg.tid.x range <i8, 0, -56> : i32
  %r3 = nvvm.read.ptx.sreg.laneid range <i64, 128, 0> : i32
  // CHECK-NEXT: %r3 = nvvm.read.ptx.sreg.laneid range <i64, 128, 0> : i32
  %r4 = nvvm.read.ptx.sreg.globaltimer {tag} : i64
  // CHECK-NEXT: %r4 = nvvm.read.ptx.sreg.globaltimer {tag} : i64
  %r5 = nvvm.read.ptx.sreg.laneid : i32
  // CHECK-NEXT: %r5 = nvvm.read.ptx.sreg.laneid : i32
  %r6 = nvvm.read.ptx.sreg.warpsize : i32
  // CHECK-NEXT: %r6 = nvvm.read.ptx.sreg.warpsize : i32
  %r7 = nvvm.read.ptx.sreg.warpid : i32
  // CHECK-NEXT: %r7 = nvvm.read.ptx.sreg.warpid : i32
  %r8 = nvvm.read.ptx.sreg.nwarpid : i32
  // CHECK-NEXT: %r8 = nvvm.read.ptx.sreg.nwarpid : i32
  %r9 = nvvm.read.ptx.sreg.smid : i32
  // CHECK-NEXT: %r9 = nvvm.read.ptx.sreg.smid : i32
  %r10 = nvvm.read.ptx.sreg.nsmid : i32
  // CHECK-NEXT: %r10 = nvvm.read.ptx.sreg.nsmid : i32
  %r11 = nvvm.read.ptx.sreg.gridid : i32
  // CHECK-NEXT: %r11 = nvvm.read.ptx.sreg.gridid : i32
  %r12 = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK-NEXT: %r12 = nvvm.read.ptx.sreg.tid.x : i32
  %r13 = nvvm.read.ptx.sreg.tid.y : i32
  // CHECK-NEXT: %r13 = nvvm.read.ptx.sreg.tid.y : i32
  %r14 = nvvm.read.ptx.sreg.tid.z : i32
  // CHECK-NEXT: %r14 = nvvm.read.ptx.sreg.tid.z : i32
  %r15 = nvvm.read.ptx.sreg.ntid.x : i32
  // CHECK-NEXT: %r15 = nvvm.read.ptx.sreg.ntid.x : i32
  %r16 = nvvm.read.ptx.sreg.ntid.y : i32
  // CHECK-NEXT: %r16 = nvvm.read.ptx.sreg.ntid.y : i32
  %r17 = nvvm.read.ptx.sreg.ntid.z : i32
  // CHECK-NEXT: %r17 = nvvm.read.ptx.sreg.ntid.z : i32
  %r18 = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK-NEXT: %r18 = nvvm.read.ptx.sreg.ctaid.x : i32
  %r19 = nvvm.read.ptx.sreg.ctaid.y : i32
  // CHECK-NEXT: %r19 = nvvm.read.ptx.sreg.ctaid.y : i32
  %r20 = nvvm.read.ptx.sreg.ctaid.z : i32
  // CHECK-NEXT: %r20 = nvvm.read.ptx.sreg.ctaid.z : i32
  %r21 = nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK-NEXT: %r21 = nvvm.read.ptx.sreg.nctaid.x : i32
  %r22 = nvvm.read.ptx.sreg.nctaid.y : i32
  // CHECK-NEXT: %r22 = nvvm.read.ptx.sreg.nctaid.y : i32
  %r23 = nvvm.read.ptx.sreg.nctaid.z : i32
  // CHECK-NEXT: %r23 = nvvm.read.ptx.sreg.nctaid.z : i32
  %r24 = nvvm.read.ptx.sreg.clusterid.x : i32
  // CHECK-NEXT: %r24 = nvvm.read.ptx.sreg.clusterid.x : i32
  %r25 = nvvm.read.ptx.sreg.clusterid.y : i32
  // CHECK-NEXT: %r25 = nvvm.read.ptx.sreg.clusterid.y : i32
  %r26 = nvvm.read.ptx.sreg.clusterid.z : i32
  // CHECK-NEXT: %r26 = nvvm.read.ptx.sreg.clusterid.z : i32
  %r27 = nvvm.read.ptx.sreg.nclusterid.x : i32
  // CHECK-NEXT: %r27 = nvvm.read.ptx.sreg.nclusterid.x : i32
  %r28 = nvvm.read.ptx.sreg.nclusterid.y : i32
  // CHECK-NEXT: %r28 = nvvm.read.ptx.sreg.nclusterid.y : i32
  %r29 = nvvm.read.ptx.sreg.nclusterid.z : i32
  // CHECK-NEXT: %r29 = nvvm.read.ptx.sreg.nclusterid.z : i32
  %r30 = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
  // CHECK-NEXT: %r30 = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
  %r31 = nvvm.read.ptx.sreg.cluster.ctaid.y : i32
  // CHECK-NEXT: %r31 = nvvm.read.ptx.sreg.cluster.ctaid.y : i32
  %r32 = nvvm.read.ptx.sreg.cluster.ctaid.z : i32
  // CHECK-NEXT: %r32 = nvvm.read.ptx.sreg.cluster.ctaid.z : i32
  %r33 = nvvm.read.ptx.sreg.cluster.nctaid.x : i32
  // CHECK-NEXT: %r33 = nvvm.read.ptx.sreg.cluster.nctaid.x : i32
  %r34 = nvvm.read.ptx.sreg.cluster.nctaid.y : i32
  // CHECK-NEXT: %r34 = nvvm.read.ptx.sreg.cluster.nctaid.y : i32
  %r35 = nvvm.read.ptx.sreg.cluster.nctaid.z : i32
  // CHECK-NEXT: %r35 = nvvm.read.ptx.sreg.cluster.nctaid.z : i32
  %r36 = nvvm.read.ptx.sreg.cluster.ctarank : i32
  // CHECK-NEXT: %r36 = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %r37 = nvvm.read.ptx.sreg.cluster.nctarank : i32
  // CHECK-NEXT: %r37 = nvvm.read.ptx.sreg.cluster.nctarank : i32
  %r38 = nvvm.read.ptx.sreg.lanemask.eq : i32
  // CHECK-NEXT: %r38 = nvvm.read.ptx.sreg.lanemask.eq : i32
  %r39 = nvvm.read.ptx.sreg.lanemask.le : i32
  // CHECK-NEXT: %r39 = nvvm.read.ptx.sreg.lanemask.le : i32
  %r40 = nvvm.read.ptx.sreg.lanemask.lt : i32
  // CHECK-NEXT: %r40 = nvvm.read.ptx.sreg.lanemask.lt : i32
  %r41 = nvvm.read.ptx.sreg.lanemask.ge : i32
  // CHECK-NEXT: %r41 = nvvm.read.ptx.sreg.lanemask.ge : i32
  %r42 = nvvm.read.ptx.sreg.lanemask.gt : i32
  // CHECK-NEXT: %r42 = nvvm.read.ptx.sreg.lanemask.gt : i32
  %r43 = nvvm.read.ptx.sreg.total.smem.size : i32
  // CHECK-NEXT: %r43 = nvvm.read.ptx.sreg.total.smem.size : i32
  %r44 = nvvm.read.ptx.sreg.dynamic.smem.size : i32
  // CHECK-NEXT: %r44 = nvvm.read.ptx.sreg.dynamic.smem.size : i32
  %r45 = nvvm.read.ptx.sreg.aggr.smem.size : i32
  // CHECK-NEXT: %r45 = nvvm.read.ptx.sreg.aggr.smem.size : i32
  %r46 = nvvm.read.ptx.sreg.envreg0 : i32
  // CHECK-NEXT: %r46 = nvvm.read.ptx.sreg.envreg0 : i32
  %r47 = nvvm.read.ptx.sreg.envreg31 : i32
  // CHECK-NEXT: %r47 = nvvm.read.ptx.sreg.envreg31 : i32
  %r48 = nvvm.read.ptx.sreg.clock : i32
  // CHECK-NEXT: %r48 = nvvm.read.ptx.sreg.clock : i32
  %r49 = nvvm.read.ptx.sreg.clock64 : i32
  // CHECK-NEXT: %r49 = nvvm.read.ptx.sreg.clock64 : i32
  %r50 = nvvm.read.ptx.sreg.globaltimer : i32
  // CHECK-NEXT: %r50 = nvvm.read.ptx.sreg.globaltimer : i32
  %r51 = nvvm.read.ptx.sreg.globaltimer.lo : i32
  // CHECK-NEXT: %r51 = nvvm.read.ptx.sreg.globaltimer.lo : i32
  func.return
}
