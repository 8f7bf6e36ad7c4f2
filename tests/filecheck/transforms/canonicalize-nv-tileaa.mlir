// RUN: xdsl-opt %s -p canonicalize --split-input-file | filecheck %s

// An unused result of a get in region form goes, with what the region yields for it; the others keep their order.
func.func @prune_get(%q: !nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>]>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a, %b, %c = nv_tileaa.queue.get %q attributes {consumer_idx = 1 : i32, note} {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = arith.addf %x, %y : tensor<8xf32>
    nv_tileaa.queue.yield %y, %s, %x : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>]>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  func.return %a, %c : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @prune_get
// CHECK-NEXT:    %a, %c = nv_tileaa.queue.get %q attributes {consumer_idx = 1 : i32, note} {
// CHECK-NEXT:    ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
// CHECK-NEXT:      nv_tileaa.queue.yield %y, %x : (tensor<8xf32>, tensor<8xf32>) -> ()
// CHECK-NEXT:    } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>]>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT:    func.return %a, %c

// -----

// A get whose result nobody uses still frees its slot; the short form has no yield to prune.
func.func @keep_get(%q: !nv_tileaa.queue<[tensor<8xf32>]>) {
  %a = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>]>) -> tensor<8xf32>
  %b = nv_tileaa.queue.get %q {
  ^bb0(%x: tensor<8xf32>):
    nv_tileaa.queue.yield %x : (tensor<8xf32>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>]>) -> tensor<8xf32>
  func.return
}
// CHECK-LABEL: func.func @keep_get
// CHECK-NEXT:    %a = nv_tileaa.queue.get %q :
// CHECK-NEXT:    nv_tileaa.queue.get %q {
// CHECK-NEXT:    ^bb0(%x: tensor<8xf32>):
// CHECK-NEXT:      nv_tileaa.queue.yield : () -> ()
// CHECK-NEXT:    } : (!nv_tileaa.queue<[tensor<8xf32>]>) -> ()
// CHECK-NEXT:    func.return

// -----

// The same for a pragma.
func.func @prune_pragma(%x: f32, %y: i32) -> i32 {
  %a, %b = nv_tileaa.pragma attributes {ocgEnterDirectives = ["on"]} {
    nv_tileaa.yield %x, %y : (f32, i32) -> ()
  } : () -> (f32, i32)
  func.return %b : i32
}
// CHECK-LABEL: func.func @prune_pragma
// CHECK-NEXT:    %b = nv_tileaa.pragma attributes {ocgEnterDirectives = ["on"]} {
// CHECK-NEXT:      nv_tileaa.yield %y : (i32) -> ()
// CHECK-NEXT:    } : () -> i32

// -----

// A chain of addptr adds its offsets up, at whatever length.
func.func @addptr(%p: !nv_tileaa.ptr<f16, 1>, %i: index, %j: index, %k: index) -> !nv_tileaa.ptr<f16, 1> {
  %a = nv_tileaa.addptr %p, %i : (!nv_tileaa.ptr<f16, 1>, index) -> !nv_tileaa.ptr<f16, 1>
  %b = nv_tileaa.addptr %a, %j : (!nv_tileaa.ptr<f16, 1>, index) -> !nv_tileaa.ptr<f16, 1>
  %c = nv_tileaa.addptr %b, %k : (!nv_tileaa.ptr<f16, 1>, index) -> !nv_tileaa.ptr<f16, 1>
  func.return %c : !nv_tileaa.ptr<f16, 1>
}
// CHECK-LABEL: func.func @addptr
// CHECK-NEXT:    [[S:%[0-9a-z_]+]] = arith.addi %i, %j : index
// CHECK-NEXT:    [[T:%[0-9a-z_]+]] = arith.addi [[S]], %k : index
// CHECK-NEXT:    [[P:%[0-9a-z_]+]] = nv_tileaa.addptr %p, [[T]] :
// CHECK-NEXT:    func.return [[P]]

// -----

// Not when the offsets are of different types: they do not add.
func.func @addptr_types(%p: !nv_tileaa.ptr<f16, 1>, %i: index, %j: i32) -> !nv_tileaa.ptr<f16, 1> {
  %a = nv_tileaa.addptr %p, %i : (!nv_tileaa.ptr<f16, 1>, index) -> !nv_tileaa.ptr<f16, 1>
  %b = nv_tileaa.addptr %a, %j : (!nv_tileaa.ptr<f16, 1>, i32) -> !nv_tileaa.ptr<f16, 1>
  func.return %b : !nv_tileaa.ptr<f16, 1>
}
// CHECK-LABEL: func.func @addptr_types
// CHECK-NEXT:    %a = nv_tileaa.addptr %p, %i
// CHECK-NEXT:    %b = nv_tileaa.addptr %a, %j

// -----

// A join of one token is that token.
func.func @join(%t: !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  %j = nv_tileaa.join_mem_token %t : (!nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  func.return %j : !nv_tileaa.mem_token
}
// CHECK-LABEL: func.func @join
// CHECK-NEXT:    func.return %t

// -----

// A load under a true mask is unmasked; under a false one it is the fallback, and its token the incoming one.
func.func @loads(%p: tensor<8x!nv_tileaa.ptr<f32, 1>>, %o: tensor<8xf32>, %t: !nv_tileaa.mem_token) -> (tensor<8xf32>, tensor<8xf32>, !nv_tileaa.mem_token) {
  %yes = arith.constant dense<true> : tensor<8xi1>
  %false = arith.constant false
  %no = nv_tileaa.splat %false : (i1) -> tensor<8xi1>
  %a, %u = nv_tileaa.load %p mask(%yes) other(%o) token(%t) attributes {cache_modifier = #nv_tileaa<cache_modifier cg>} : (tensor<8x!nv_tileaa.ptr<f32, 1>>, tensor<8xi1>, tensor<8xf32>, !nv_tileaa.mem_token) -> (tensor<8xf32>, !nv_tileaa.mem_token)
  %b, %v = nv_tileaa.load %p mask(%no) other(%o) token(%u) : (tensor<8x!nv_tileaa.ptr<f32, 1>>, tensor<8xi1>, tensor<8xf32>, !nv_tileaa.mem_token) -> (tensor<8xf32>, !nv_tileaa.mem_token)
  func.return %a, %b, %v : tensor<8xf32>, tensor<8xf32>, !nv_tileaa.mem_token
}
// CHECK-LABEL: func.func @loads
// CHECK-NEXT:    %a, %u = nv_tileaa.load %p token(%t) attributes {cache_modifier = #nv_tileaa<cache_modifier cg>} : (tensor<8x!nv_tileaa.ptr<f32, 1>>, !nv_tileaa.mem_token) -> (tensor<8xf32>, !nv_tileaa.mem_token)
// CHECK-NEXT:    func.return %a, %o, %u :

// -----

// Without a fallback, what a false mask gives is not said: the load stays.
func.func @no_fallback(%p: tensor<8x!nv_tileaa.ptr<f32, 1>>) -> tensor<8xf32> {
  %no = arith.constant dense<false> : tensor<8xi1>
  %a = nv_tileaa.load %p mask(%no) : (tensor<8x!nv_tileaa.ptr<f32, 1>>, tensor<8xi1>) -> tensor<8xf32>
  func.return %a : tensor<8xf32>
}
// CHECK-LABEL: func.func @no_fallback
// CHECK:         nv_tileaa.load %p mask(%no)

// -----

// A store under a true mask is unmasked; under a false one it goes, and the next access waits for what it waited for.
func.func @stores(%c: memref<64x64xf32>, %i: index, %v: tensor<8x8xf32>, %t: !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  %yes = arith.constant dense<true> : tensor<8x8xi1>
  %no = arith.constant dense<false> : tensor<8x8xi1>
  %u = nv_tileaa.tiled_store %c[%i, %i], %v mask(%no) token(%t) : (memref<64x64xf32>, tensor<8x8xf32>, index, index, tensor<8x8xi1>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %w = nv_tileaa.tiled_store %c[%i, %i], %v mask(%yes) token(%u) : (memref<64x64xf32>, tensor<8x8xf32>, index, index, tensor<8x8xi1>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.tiled_store %c[%i, %i], %v mask(%no) : (memref<64x64xf32>, tensor<8x8xf32>, index, index, tensor<8x8xi1>) -> ()
  func.return %w : !nv_tileaa.mem_token
}
// CHECK-LABEL: func.func @stores
// CHECK-NEXT:    %w = nv_tileaa.tiled_store %c[%i, %i], %v token(%t) : (memref<64x64xf32>, tensor<8x8xf32>, index, index, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
// CHECK-NEXT:    func.return %w

// -----

// A mask with both is left alone.
func.func @some(%p: tensor<2x!nv_tileaa.ptr<f32, 1>>, %v: tensor<2xf32>) {
  %some = arith.constant dense<[true, false]> : tensor<2xi1>
  nv_tileaa.store %p, %v mask(%some) : (tensor<2x!nv_tileaa.ptr<f32, 1>>, tensor<2xf32>, tensor<2xi1>) -> ()
  func.return
}
// CHECK-LABEL: func.func @some
// CHECK:         nv_tileaa.store %p, %v mask(%some)

// -----

// An atomic that changes nothing is a load, between the same tokens.
func.func @atomics(%p: !nv_tileaa.ptr<i32, 1>, %x: i32, %t: !nv_tileaa.mem_token) -> (i32, i32, i32, !nv_tileaa.mem_token) {
  %zero = arith.constant 0 : i32
  %ones = arith.constant -1 : i32
  %a, %u = nv_tileaa.atomic_rmw %p, %zero token(%t) attributes {rmw_mode = #nv_tileaa<rmw_mode xor>, mem_semantic = #nv_tileaa<mem_semantic relaxed>, mem_scope = #nv_tileaa<mem_scope gpu>} : (!nv_tileaa.ptr<i32, 1>, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  %b, %v = nv_tileaa.atomic_rmw %p, %ones token(%u) attributes {rmw_mode = #nv_tileaa<rmw_mode and>} : (!nv_tileaa.ptr<i32, 1>, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  %c, %w = nv_tileaa.atomic_cas %p, %x, %x token(%v) : (!nv_tileaa.ptr<i32, 1>, i32, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  func.return %a, %b, %c, %w : i32, i32, i32, !nv_tileaa.mem_token
}
// CHECK-LABEL: func.func @atomics
// CHECK-NEXT:    %a, %u = nv_tileaa.load %p token(%t) attributes {mem_semantic = #nv_tileaa<mem_semantic relaxed>, mem_scope = #nv_tileaa<mem_scope gpu>} :
// CHECK-NEXT:    %b, %v = nv_tileaa.load %p token(%u) :
// CHECK-NEXT:    %c, %w = nv_tileaa.load %p token(%v) :
// CHECK-NEXT:    func.return %a, %b, %c, %w

// -----

// An acquiring atomic orders more than a load can, and `or` with ones changes something.
func.func @strong_atomics(%p: !nv_tileaa.ptr<i32, 1>) {
  %zero = arith.constant 0 : i32
  %ones = arith.constant -1 : i32
  %a = nv_tileaa.atomic_rmw %p, %zero attributes {rmw_mode = #nv_tileaa<rmw_mode add>, mem_semantic = #nv_tileaa<mem_semantic acquire>, mem_scope = #nv_tileaa<mem_scope gpu>} : (!nv_tileaa.ptr<i32, 1>, i32) -> i32
  %b = nv_tileaa.atomic_rmw %p, %ones attributes {rmw_mode = #nv_tileaa<rmw_mode or>} : (!nv_tileaa.ptr<i32, 1>, i32) -> i32
  %c = nv_tileaa.atomic_rmw %p, %zero attributes {rmw_mode = #nv_tileaa<rmw_mode and>} : (!nv_tileaa.ptr<i32, 1>, i32) -> i32
  func.return
}
// CHECK-LABEL: func.func @strong_atomics
// CHECK:         %a = nv_tileaa.atomic_rmw
// CHECK-NEXT:    %b = nv_tileaa.atomic_rmw
// CHECK-NEXT:    %c = nv_tileaa.atomic_rmw

// -----

// Adding zero to floats can turn -0 into 0: no identity is specified, so it stays.
func.func @float_atomic(%p: !nv_tileaa.ptr<f32, 1>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %a = nv_tileaa.atomic_rmw %p, %zero attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!nv_tileaa.ptr<f32, 1>, f32) -> f32
  func.return %a : f32
}
// CHECK-LABEL: func.func @float_atomic
// CHECK:         nv_tileaa.atomic_rmw

// -----

// Views fuse, and vanish when the type comes back.
func.func @views(%t: tensor<4x8xf32>) -> (tensor<2x16xf32>, tensor<4x8xf32>) {
  %a = nv_tileaa.view %t : (tensor<4x8xf32>) -> tensor<32xf32>
  %b = nv_tileaa.view %a : (tensor<32xf32>) -> tensor<2x16xf32>
  %c = nv_tileaa.view %b : (tensor<2x16xf32>) -> tensor<4x8xf32>
  func.return %b, %c : tensor<2x16xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %b = nv_tileaa.view %t : (tensor<4x8xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:    func.return %b, %t

// -----

// Every shape of a splat is a splat.
func.func @splats(%x: f32) -> tensor<4x8x8xf32> {
  %a = nv_tileaa.splat %x : (f32) -> tensor<8xf32>
  %b = nv_tileaa.view %a : (tensor<8xf32>) -> tensor<1x8xf32>
  %c = nv_tileaa.expand_dims %b : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %d = nv_tileaa.broadcast %c : (tensor<1x1x8xf32>) -> tensor<4x8x8xf32>
  func.return %d : tensor<4x8x8xf32>
}
// CHECK-LABEL: func.func @splats
// CHECK-NEXT:    %d = nv_tileaa.splat %x : (f32) -> tensor<4x8x8xf32>
// CHECK-NEXT:    func.return %d

// -----

// A splat of a choice is a choice of splats.
func.func @select(%c: i1, %x: f32, %y: f32) -> tensor<8xf32> {
  %z = arith.select %c, %x, %y : f32
  %s = nv_tileaa.splat %z : (f32) -> tensor<8xf32>
  func.return %s : tensor<8xf32>
}
// CHECK-LABEL: func.func @select
// CHECK-NEXT:    [[X:%[0-9a-z_]+]] = nv_tileaa.splat %x
// CHECK-NEXT:    [[Y:%[0-9a-z_]+]] = nv_tileaa.splat %y
// CHECK-NEXT:    [[S:%[0-9a-z_]+]] = arith.select %c, [[X]], [[Y]] : tensor<8xf32>
// CHECK-NEXT:    func.return [[S]]

// -----

// A fact about every lane of a splat is a fact about the scalar; one about some lanes is not.
func.func @assume(%x: i32) -> (tensor<8xi32>, tensor<8xi32>) {
  %s = nv_tileaa.splat %x : (i32) -> tensor<8xi32>
  %a = nv_tileaa.assume %s attributes {predicates = [#nv_tileaa.div_by<16>, #nv_tileaa.bounded<0, ?>]} : (tensor<8xi32>) -> tensor<8xi32>
  %b = nv_tileaa.assume %s attributes {predicates = [#nv_tileaa.div_by<16, every 2 along 0>]} : (tensor<8xi32>) -> tensor<8xi32>
  func.return %a, %b : tensor<8xi32>, tensor<8xi32>
}
// CHECK-LABEL: func.func @assume
// CHECK-NEXT:    %s = nv_tileaa.splat %x
// CHECK-NEXT:    [[F:%[0-9a-z_]+]] = nv_tileaa.assume %x attributes {predicates = [#nv_tileaa.div_by<16>, #nv_tileaa.bounded<0, ?>]} : (i32) -> i32
// CHECK-NEXT:    {{%[0-9a-z_]+}} = nv_tileaa.splat [[F]]
// CHECK-NEXT:    %b = nv_tileaa.assume %s

// -----

// Only what is extracted is computed, when nobody else wants the rest.
func.func @extract(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %i: index) -> tensor<8xf16> {
  %s = nv_tileaa.addf %a, %b attributes {rounding_mode = #nv_tileaa<rounding_mode zero>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = nv_tileaa.fp_to_fp %s : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %e = nv_tileaa.extract %h[%i] : (tensor<4x8xf16>, index) -> tensor<8xf16>
  func.return %e : tensor<8xf16>
}
// CHECK-LABEL: func.func @extract
// CHECK-NEXT:    [[A:%[0-9a-z_]+]] = nv_tileaa.extract %a[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>
// CHECK-NEXT:    [[B:%[0-9a-z_]+]] = nv_tileaa.extract %b[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>
// CHECK-NEXT:    [[S:%[0-9a-z_]+]] = nv_tileaa.addf [[A]], [[B]] attributes {rounding_mode = #nv_tileaa<rounding_mode zero>} :
// CHECK-NEXT:    [[E:%[0-9a-z_]+]] = nv_tileaa.fp_to_fp [[S]] : (tensor<8xf32>) -> tensor<8xf16>
// CHECK-NEXT:    func.return [[E]]

// -----

// Not when the sum is used elsewhere too, nor when its operands are views, which would be read later.
func.func @extract_stays(%a: tensor<4x8xf32>, %v: tensor<4x8xf32, #nv_tileas.layout<smem>>, %i: index) -> (tensor<8xf32>, tensor<4x8xf32>, tensor<8xf32, #nv_tileas.layout<smem>>) {
  %s = nv_tileaa.sqrt %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = nv_tileaa.extract %s[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>
  %r = nv_tileaa.sqrt %v : (tensor<4x8xf32, #nv_tileas.layout<smem>>) -> tensor<4x8xf32, #nv_tileas.layout<smem>>
  %f = nv_tileaa.extract %r[%i] : (tensor<4x8xf32, #nv_tileas.layout<smem>>, index) -> tensor<8xf32, #nv_tileas.layout<smem>>
  func.return %e, %s, %f : tensor<8xf32>, tensor<4x8xf32>, tensor<8xf32, #nv_tileas.layout<smem>>
}
// CHECK-LABEL: func.func @extract_stays
// CHECK-NEXT:    %s = nv_tileaa.sqrt %a
// CHECK-NEXT:    %e = nv_tileaa.extract %s[%i]
// CHECK-NEXT:    %r = nv_tileaa.sqrt %v
// CHECK-NEXT:    %f = nv_tileaa.extract %r[%i]

// -----

// Taking away the axis that was just inserted.
func.func @extract_expanded(%a: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  %x = nv_tileaa.expand_dims %a : (tensor<8xf32>) -> tensor<1x8xf32>
  %e = nv_tileaa.extract %x[%i] : (tensor<1x8xf32>, index) -> tensor<8xf32>
  func.return %e : tensor<8xf32>
}
// CHECK-LABEL: func.func @extract_expanded
// CHECK-NEXT:    func.return %a

// -----

// Nothing times something leaves the accumulator, unless NaN is to be propagated.
func.func @dots(%a: tensor<8x4xf16>, %c: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4x8xf16>
  %d = nv_tileaa.dot %a, %zero, %c : (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = nv_tileaa.dot %a, %zero, %d attributes {propagate_nan = true} : (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %d, %e : tensor<8x8xf32>, tensor<8x8xf32>
}
// CHECK-LABEL: func.func @dots
// CHECK:         %e = nv_tileaa.dot %a, %zero, %c attributes {propagate_nan = true}
// CHECK-NEXT:    func.return %c, %e
