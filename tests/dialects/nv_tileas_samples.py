"""
One sample or more of every op of `nv_tileas`: the arguments of a function, and what stands in it.

`$T` and its like in the texts are written out by `program`.
"""

from __future__ import annotations

from string import Template

TYPES = {
    "S": "tensor<8xf16, #nv_tileas.layout<smem>>",
    "SW": 'tensor<8xf16, #nv_tileas.layout<smem, "swizzled">>',
    "R": 'tensor<8xf16, #nv_tileas.layout<rmem, "wgmma_a">>',
    "T": "tensor<8xf16>",
    "M": "tensor<8xi1>",
    "I": "tensor<8xi32>",
    "BUF": "tensor<2x8xf16>",
    "TILE": "tensor<8x16xf16>",
    "SMEM": "tensor<8x16xf16, #nv_tileas.layout<smem>>",
    "VIEW": "!nv_tileas.tiled_view<8x16xf16, gmem>",
    "F32": "!nv_tileas.tiled_view<8xf32>",
    "P": "tensor<8x!nv_tileaa.ptr<f16, 1>>",
    "ARRAY": "memref<64x64xf16>",
    "PROD": "!nv_tileas.producer_token",
    "CONS": "!nv_tileas.consumer_token",
    "TOK": "!nv_tileas.token",
    "MEM": "!nv_tileaa.mem_token",
    "IT": "!nv_tileas.pipeline_iter<tensor<8xf16>>",
    "DESC": "!nv_tileas.tma_desc",
    "BAR": "!nv_tileas.mbarrier",
    "PID": "!nv_tileaa.program_id",
    "A8": "tensor<128x64xf8E4M3FN>",
    "B8": "tensor<64x16xf8E5M2>",
    "C8": "tensor<128x16xf32>",
    "C": "tensor<8x8xf32>",
    "SA": "tensor<128x2xf8E8M0FNU>",
    "SB": "tensor<2x16xf8E8M0FNU>",
    "LOAD": "atom = #nv_tileas<atom tma_load>",
    "STORE": "atom = #nv_tileas<atom tma_store>",
    "ADD": "rmw_mode = #nv_tileas<rmw_mode add>",
}
"""Short name -> type or attribute."""

PIPELINE = {
    "create_pipeline": (
        "",
        """%p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8,
           consumerGroupId = 1 : i8} : () -> ($PROD, $CONS)""",
    ),
    "create_pipeline of a buffer": (
        "%b: $BUF",
        """%p, %c = nv_tileas.async.pipeline.create_pipeline %b attributes {numStages = 2 : i32,
           producerGroupId = 0 : i8, consumerGroupId = 1 : i8, sharedMem = true, dynamic = false}
           : ($BUF) -> ($PROD, $CONS)""",
    ),
    "create_iterator": ("%p: $PROD", "%i = nv_tileas.async.pipeline.create_iterator %p : ($PROD) -> $IT"),
    "create_iterator with a depth": (
        "%c: $CONS",
        "%i = nv_tileas.async.pipeline.create_iterator %c : ($CONS) -> !nv_tileas.pipeline_iter<i32, depth = 3>",
    ),
    "inc_iter": ("%i: $IT", "%j = nv_tileas.async.pipeline.inc_iter %i : ($IT) -> $IT"),
    "create_null_token": ("", "%t = nv_tileas.async.pipeline.create_null_token : () -> $TOK"),
    "produce_one": (
        "%p: $PROD, %i: $IT",
        "%p1 = nv_tileas.async.pipeline.produce_one %p, %i : ($PROD, $IT) -> $PROD",
    ),
    "produce_one with a body": (
        "%p: $PROD, %i: index, %v: $T",
        """%p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [$T]} {
           ^bb0(%slot: $T):
             nv_tileas.async.pipeline.yield %v : ($T) -> ()
           } : ($PROD, index) -> $PROD""",
    ),
    "produce_one of values": (
        "%i: index, %v: $T",
        """%w, %p1 = nv_tileas.async.pipeline.produce_one %i {
             nv_tileas.async.pipeline.yield %v : ($T) -> ()
           } : (index) -> ($T, $PROD)""",
    ),
    "produce_one_async": (
        "%i: index",
        """%p, %t = nv_tileas.async.pipeline.produce_one_async %i attributes {pipeline_stage = 0 : i32,
           producer_kind = "tma", num_stages = 3 : i32} : (index) -> ($PROD, $TOK)""",
    ),
    "consume_one": (
        "%c: $CONS, %i: $IT",
        """%v, %c1 = nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_types = [$T]} {
           ^bb0(%slot: $IT):
             %r = nv_tileas.async.pipeline.consumer_read %c, %i : ($CONS, $IT) -> $T
             nv_tileas.async.pipeline.yield %r : ($T) -> ()
           } : ($CONS, $IT) -> ($T, $CONS)""",
    ),
    "consume_one of an iterator": (
        "%t: $TOK, %i: $IT, %v: $T",
        """%w, %j, %t1 = nv_tileas.async.pipeline.consume_one %t {
             nv_tileas.async.pipeline.yield %v, %i : ($T, $IT) -> ()
           } : ($TOK) -> ($T, $IT, $TOK)""",
    ),
    "consume_one with producer types": (
        "%t: $TOK",
        """%w = nv_tileas.async.pipeline.consume_one %t attributes {producer_types = [$T]} {
           ^bb0(%slot: $T):
             nv_tileas.async.pipeline.yield %slot : ($T) -> ()
           } : ($TOK) -> $T""",
    ),
    "consume_one_async": ("%t: $TOK", "%t1 = nv_tileas.async.pipeline.consume_one_async %t : ($TOK) -> $TOK"),
    "consume_one_async of ownership": (
        "%c: $CONS",
        "%v, %c1, %t1 = nv_tileas.async.pipeline.consume_one_async %c : ($CONS) -> ($T, $CONS, $TOK)",
    ),
    "producer_acquire": (
        "%p: $PROD, %i: $IT",
        "%o = nv_tileas.async.pipeline.producer_acquire %p, %i : ($PROD, $IT) -> $PROD",
    ),
    "producer_write": (
        "%p: $PROD, %i: index, %v: $T",
        """%f = nv_tileas.async.pipeline.producer_write %p, %i, %v attributes {producer_types = [$T]}
           : ($PROD, index, $T) -> $PROD""",
    ),
    "producer_write of a token": (
        "%p: $PROD, %t: $TOK",
        """%f = nv_tileas.async.pipeline.producer_write %p attributes {producer_types = [$T]} {
           ^bb0(%slot: $T):
             nv_tileas.async.pipeline.yield %t : ($TOK) -> ()
           } : ($PROD) -> $PROD""",
    ),
    "producer_commit": (
        "%t: $TOK, %s: $TOK",
        "nv_tileas.async.pipeline.producer_commit %t, %s : ($TOK, $TOK) -> ()",
    ),
    "consumer_wait": (
        "%c: $CONS, %i: $IT",
        """%g = nv_tileas.async.pipeline.consumer_wait %c, %i attributes {consumer_idx = 1 : i32}
           : ($CONS, $IT) -> $CONS""",
    ),
    "consumer_read": (
        "%c: $CONS, %i: $IT",
        "%v, %d = nv_tileas.async.pipeline.consumer_read %c, %i : ($CONS, $IT) -> ($T, $CONS)",
    ),
    "consumer_read with a body": (
        "%c: $CONS, %i: $IT",
        """%v = nv_tileas.async.pipeline.consumer_read %c, %i attributes {consumer_types = [$T]} {
           ^bb0(%slot: $T):
             nv_tileas.async.pipeline.yield %slot : ($T) -> ()
           } : ($CONS, $IT) -> $T""",
    ),
    "consumer_release": (
        "%c: $CONS",
        "%f = nv_tileas.async.pipeline.consumer_release %c : ($CONS) -> $CONS",
    ),
    "agent_switch": (
        "%v: $T",
        """nv_tileas.async.pipeline.agent_switch %v attributes {num_agents_per_group = array<i32: 1, 2>,
           isolated = true, max_regs = array<i32: 40, -1>, num_warps = array<i32: 1, 4, 4>} {
           ^bb0(%w: $T):
             %t = nv_tileas.create_none : () -> $TOK
           }, {
           ^bb0(%number: index, %w: $T):
             nv_tileas.async.pipeline.yield : () -> ()
           } : ($T) -> ()""",
    ),
    "agent_switch of equal groups": (
        "",
        """nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = 2 : i32} {
           ^bb0(%number: index):
           }, {
           ^bb0:
           } : () -> ()""",
    ),
}

TOKENS = {
    "create_none": ("", "%t = nv_tileas.create_none : () -> $TOK"),
    "create_none of a value": ("", "%t = nv_tileas.create_none : () -> $T"),
    "to_async, storage": ("%a: $T", '%b = nv_tileas.async.to_async %a attributes {kind = "storage"} : ($T) -> $T'),
    "to_async, token": ("%a: $T", '%b = nv_tileas.async.to_async %a attributes {kind = "token"} : ($T) -> $TOK'),
    "token_to_async": ("%p: $PROD", "%t = nv_tileas.async.token_to_async %p : ($PROD) -> $TOK"),
    "token_to_async of memory": ("%m: $MEM", "%t = nv_tileas.async.token_to_async %m : ($MEM) -> $TOK"),
    "wait": ("%t: $TOK", "nv_tileas.async.wait %t : ($TOK) -> ()"),
    "future_wait": ("%t: $TOK", "nv_tileas.async.future_wait %t : ($TOK) -> ()"),
}

STRUCTURE = {
    "alloc_tensor": ("", "%t = nv_tileas.alloc_tensor : () -> $S"),
    "alloc_tensor of stages": ("", "%t = nv_tileas.alloc_tensor attributes {stages = 3 : i32} : () -> $S"),
    "view": ("%a: $S", "%v = nv_tileas.view %a : ($S) -> $SW"),
    "view of a slot": ("%b: $BUF, %i: index", "%v = nv_tileas.view %b[%i] : ($BUF, index) -> $T"),
    "view by an iterator": ("%b: $BUF, %i: $IT", "%v = nv_tileas.view %b[%i] : ($BUF, $IT) -> $T"),
    "view of bytes": ("%a: $T", "%v = nv_tileas.view %a : ($T) -> tensor<16xi8>"),
    "reinterpret": ("%a: $T", "%v = nv_tileas.reinterpret %a : ($T) -> tensor<16xi8>"),
    "expand_dims": ("%a: $TILE", "%v = nv_tileas.expand_dims %a : ($TILE) -> tensor<8x1x16xf16>"),
    "copy": ("%a: $R, %b: $S", "nv_tileas.copy %a, %b : ($R, $S) -> ()"),
    "copy to a value": (
        "%a: $S",
        '%b = nv_tileas.copy %a attributes {atom_descriptor = #cute<atom "TiledCopy<...>">} : ($S) -> $R',
    ),
    "convert_layout": ("%a: $S", "%b = nv_tileas.convert_layout %a : ($S) -> $R"),
    "convert_layout by a plan": (
        "%a: $SW",
        """%b = nv_tileas.convert_layout %a attributes {atom_plan = #nv_tileas.atom_plan<tag = 1,
           smem = #nv_tileas.layout<smem, "swizzled">>, reinterpret_byte} : ($SW) -> $R""",
    ),
    "shuffle": ("%a: $R, %p: $I", "%b = nv_tileas.shuffle %a, %p : ($R, $I) -> $R"),
    "shuffle by an atom": (
        "%a: $R",
        '%b = nv_tileas.shuffle %a attributes {atom_descriptor = #cute<atom "x">} : ($R) -> $R',
    ),
    "extract_slice": (
        "%a: $TILE, %i: index",
        "%b = nv_tileas.extract_slice %a[%i, %i] : ($TILE, index, index) -> tensor<4x8xf16>",
    ),
    "extract_slice, static": (
        "%a: $TILE",
        """%b = nv_tileas.extract_slice %a attributes {static_offsets = array<i64: 0, 8>,
           static_sizes = array<i64: 8, 4>, static_strides = array<i64: 1, 2>} : ($TILE) -> tensor<8x4xf16>""",
    ),
    "extract_slice of sizes and strides": (
        "%a: $TILE, %i: index",
        """%b = nv_tileas.extract_slice %a[%i, %i] sizes(%i, %i) strides(%i, %i)
           : ($TILE, index, index, index, index, index, index) -> tensor<?x?xf16>""",
    ),
    "extract_slice of a row": (
        "%a: $TILE, %i: index",
        "%b = nv_tileas.extract_slice %a[%i, %i] : ($TILE, index, index) -> tensor<16xf16>",
    ),
    "insert_slice": (
        "%a: tensor<4x8xf16>, %d: $TILE, %i: index",
        "%b = nv_tileas.insert_slice %a, %d[%i, %i] : (tensor<4x8xf16>, $TILE, index, index) -> $TILE",
    ),
    "async.extract_slice": (
        "%a: $T, %t: $TOK, %i: index",
        "%b, %u = nv_tileas.async.extract_slice %a[%i], %t : ($T, $TOK, index) -> (tensor<4xf16>, $TOK)",
    ),
    "async.insert_slice": (
        "%a: tensor<4xf16>, %d: $T, %t: $TOK, %i: index",
        """%b, %u = nv_tileas.async.insert_slice %a, %d[%i], %t
           : (tensor<4xf16>, $T, $TOK, index) -> ($T, $TOK)""",
    ),
    "generate": (
        "",
        """%g = nv_tileas.generate {
           ^bb0(%i: tensor<i32>, %j: tensor<i32>):
             nv_tileas.yield %i : (tensor<i32>) -> ()
           } : () -> tensor<4x4xi32>""",
    ),
}

MEMORY = {
    "tiled_load": (
        "%v: $VIEW, %i: index",
        "%a = nv_tileas.tiled_load %v[%i, %i] : ($VIEW, index, index) -> $TILE",
    ),
    "tiled_load with everything": (
        "%v: $VIEW, %i: index, %o: i32, %t: $MEM, %m: tensor<8x16xi1>",
        """%a, %u = nv_tileas.tiled_load %v[%i, %i, %i] offsets(%o) token(%t) mask(%m)
           attributes {leading_offset, atom = #nv_tileas<atom sm80_cp_async_4_f16>,
           mem_semantic = #nv_tileas<mem_semantic relaxed>, mem_scope = #nv_tileas<mem_scope gpu>,
           in_bounds = array<i1: true, false>, padding_value = #nv_tileas<padding_value nan>,
           cache_modifier = #nv_tileas<cache_modifier cg>, eviction_policy = #nv_tileas<eviction_policy first>}
           : ($VIEW, index, index, index, i32, $MEM, tensor<8x16xi1>) -> ($TILE, $MEM)""",
    ),
    "tiled_load of an array": (
        "%v: $ARRAY, %i: index",
        "%a = nv_tileas.tiled_load %v[%i, %i] : ($ARRAY, index, index) -> $TILE",
    ),
    "tiled_load of nv_tileaa's views": (
        "%v: !nv_tileaa.tiled_view<8x16xf16, smem>, %i: index",
        "%a = nv_tileas.tiled_load %v[%i, %i] : (!nv_tileaa.tiled_view<8x16xf16, smem>, index, index) -> $TILE",
    ),
    "tiled_store": (
        "%v: $VIEW, %a: $TILE, %i: index, %t: $TOK",
        """%u = nv_tileas.tiled_store %v[%i, %i], %a token(%t) attributes {in_bounds = array<i1: true, true>}
           : ($VIEW, $TILE, index, index, $TOK) -> $TOK""",
    ),
    "tiled_atomic_rmw": (
        "%v: $F32, %a: tensor<8xf32>, %i: index, %t: $MEM",
        """%o, %u = nv_tileas.tiled_atomic_rmw %v[%i], %a token(%t) attributes {$ADD,
           mem_semantic = #nv_tileas<mem_semantic acq_rel>, mem_scope = #nv_tileas<mem_scope sys>}
           : ($F32, tensor<8xf32>, index, $MEM) -> (tensor<8xf32>, $MEM)""",
    ),
    "async.tiled_load": (
        "%v: $VIEW, %d: $SMEM, %i: index",
        "%t = nv_tileas.async.tiled_load %v[%i, %i], %d : ($VIEW, $SMEM, index, index) -> $TOK",
    ),
    "async.tiled_atomic_rmw": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        """%t = nv_tileas.async.tiled_atomic_rmw %v[%i], %a attributes {$ADD, atom = #nv_tileas<atom tma_redg>}
           : ($F32, tensor<8xf32>, index) -> $TOK""",
    ),
    "load": (
        "%p: $P, %m: $M, %o: $T, %t: $MEM",
        "%a, %u = nv_tileas.load %p mask(%m) other(%o) token(%t) : ($P, $M, $T, $MEM) -> ($T, $MEM)",
    ),
    "load of a scalar": (
        "%p: !nv_tileaa.ptr<f16, 1>",
        "%a = nv_tileas.load %p : (!nv_tileaa.ptr<f16, 1>) -> f16",
    ),
    "store": ("%p: $P, %a: $T, %m: $M", "nv_tileas.store %p, %a mask(%m) : ($P, $T, $M) -> ()"),
    "async.load": ("%p: $P, %d: $S", "%t = nv_tileas.async.load %p, %d : ($P, $S) -> $TOK"),
    "async.store": ("%p: $P, %a: $T", "%t = nv_tileas.async.store %p, %a : ($P, $T) -> $TOK"),
    "async.copy": (
        "%a: $R, %b: $S, %t: $TOK",
        "%u = nv_tileas.async.copy %a, %b, %t : ($R, $S, $TOK) -> $TOK",
    ),
    "gather_load": (
        "%b: $ARRAY, %i: $I, %m: $M",
        """%a = nv_tileas.gather_load %b[%i, %i] mask(%m) attributes {padding_value = 0.0 : f16}
           : ($ARRAY, $I, $I, $M) -> $T""",
    ),
    "scatter_store": (
        "%b: !nv_tileaa.ptr<f16, 1>, %a: $T, %i: $I",
        "nv_tileas.scatter_store %b[%i], %a : (!nv_tileaa.ptr<f16, 1>, $T, $I) -> ()",
    ),
}

TMA = {
    "make_tiled_tma_desc": (
        "%a: $ARRAY",
        """%d = nv_tileas.make_tiled_tma_desc %a attributes {$LOAD, box = array<i64: 8, 16>,
           element_strides = array<i64: 1, 1>, swizzle_mode = #nv_tileas<swizzle_mode "128B">,
           oob_mode = #nv_tileas<oob_mode zero>, tmaIdx = 0 : i32} : ($ARRAY) -> $DESC""",
    ),
    "make_tiled_tma_desc of operands": (
        "%a: $ARRAY, %i: index",
        """%d = nv_tileas.make_tiled_tma_desc %a, %i, %i
           attributes {atom = #nv_tileas<atom sm90_tma_store_2d_f16 {box = array<i64: 8, 16>}>}
           : ($ARRAY, index, index) -> $DESC""",
    ),
    "async.tiled_tma_load": (
        "%d: $DESC, %s: $SMEM, %i: index, %b: $BAR",
        """%t = nv_tileas.async.tiled_tma_load %d[%i, %i], %s barrier(%b) attributes {tx_count = 256 : i32,
           atom = #nv_tileas<atom tma_load {box = array<i64: 8, 16>, mode = "tile"}>,
           padding_value = #nv_tileas<padding_value zero>} : ($DESC, $SMEM, index, index, $BAR) -> $TOK""",
    ),
    "async.tiled_tma_load of an integer coordinate": (
        "%d: $DESC, %s: $SMEM, %i: i32",
        "%t = nv_tileas.async.tiled_tma_load %d[%i], %s attributes {$LOAD} : ($DESC, $SMEM, i32) -> $TOK",
    ),
    "async.tiled_tma_store": (
        "%d: $DESC, %s: $SMEM, %i: index",
        """%t = nv_tileas.async.tiled_tma_store %d[%i, %i], %s attributes {$STORE}
           : ($DESC, $SMEM, index, index) -> $TOK""",
    ),
    "async.gather_tma_load": (
        "%d: $DESC, %s: $SMEM, %i: index, %r: $I, %b: $BAR",
        """%t = nv_tileas.async.gather_tma_load %d[%i], %s, %r barrier(%b) attributes {$LOAD,
           padding_value = 0.0 : f16} : ($DESC, $SMEM, index, $I, $BAR) -> $TOK""",
    ),
    "async.scatter_tma_store": (
        "%d: $DESC, %s: $SMEM, %i: index, %r: $I",
        "%t = nv_tileas.async.scatter_tma_store %d[%i], %s, %r attributes {$STORE} : ($DESC, $SMEM, index, $I) -> $TOK",
    ),
}

COMPUTE = {
    "dot": (
        "%a: tensor<8x4xf16>, %b: tensor<4x8xf16>, %c: $C",
        "%d = nv_tileas.dot %a, %b, %c : (tensor<8x4xf16>, tensor<4x8xf16>, $C) -> $C",
    ),
    "dot of a batch, accumulating": (
        "%a: tensor<2x8x4xi8>, %b: tensor<2x4x8xi8>, %c: tensor<2x8x8xi32>, %f: i1",
        """%d = nv_tileas.dot %a, %b, %c, %f attributes {atom = #nv_tileas<atom "wgmma.m64n8k16">}
           : (tensor<2x8x4xi8>, tensor<2x4x8xi8>, tensor<2x8x8xi32>, i1) -> tensor<2x8x8xi32>""",
    ),
    "dot with scales": (
        "%a: $A8, %b: $B8, %c: $C8, %s: $SA, %r: $SB",
        "%d = nv_tileas.dot %a, %b, %c, %s, %r : ($A8, $B8, $C8, $SA, $SB) -> $C8",
    ),
    "async.dot": (
        "%a: tensor<8x4xf16>, %b: tensor<4x8xf16>, %c: $C",
        "%d, %t = nv_tileas.async.dot %a, %b, %c : (tensor<8x4xf16>, tensor<4x8xf16>, $C) -> ($C, $TOK)",
    ),
    "block_scaled_mma": (
        "%a: $A8, %b: $B8, %c: $C8, %s: $SA, %r: $SB",
        """%d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r) attributes {cta_group = 2 : i32}
           : ($A8, $B8, $C8, $SA, $SB) -> $C8""",
    ),
    "block_scaled_mma of FP4": (
        """%a: tensor<16x64x!nv_tileas.f4E0M3>, %b: tensor<64x8xf4E2M1FN>, %c: tensor<16x8xf32>,
           %s: tensor<16x4xf8E4M3FN>, %r: tensor<4x8xf8E4M3FN>""",
        """%d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r)
           : (tensor<16x64x!nv_tileas.f4E0M3>, tensor<64x8xf4E2M1FN>, tensor<16x8xf32>, tensor<16x4xf8E4M3FN>,
              tensor<4x8xf8E4M3FN>) -> tensor<16x8xf32>""",
    ),
    "reduce": (
        "%a: tensor<8x4xf32>",
        """%r = nv_tileas.reduce %a attributes {axis = 1 : i32} {
           ^bb0(%x: f32, %y: f32):
             %s = arith.addf %x, %y : f32
             nv_tileas.yield %s : (f32) -> ()
           } : (tensor<8x4xf32>) -> tensor<8xf32>""",
    ),
    "scan": (
        "%a: tensor<8x4xi32>",
        """%r = nv_tileas.scan %a attributes {axis = 0 : i32, inclusive = false} {
           ^bb0(%x: i32, %y: i32):
             %s = arith.maxsi %x, %y : i32
             nv_tileas.yield %s : (i32) -> ()
           } : (tensor<8x4xi32>) -> tensor<8x4xi32>""",
    ),
}

CONTROL = {
    "pragma": (
        "%v: f32",
        """%r = nv_tileas.pragma attributes {ocgEnterDirectives = ["enter"], ocgLeaveDirectives = ["leave", "twice"]} {
             nv_tileas.yield %v : (f32) -> ()
           } : () -> f32""",
    ),
    "pragma without a body": ("", 'nv_tileas.pragma attributes {ocgEnterDirectives = ["enter"]} : () -> ()'),
    "cancel_next_program_id": ("", "%i = nv_tileas.cancel_next_program_id : () -> $PID"),
    "async.cancel_next_program_id": (
        "",
        "%i, %t = nv_tileas.async.cancel_next_program_id : () -> ($PID, $TOK)",
    ),
}

SAMPLES: dict[str, tuple[str, str]] = {**PIPELINE, **TOKENS, **STRUCTURE, **MEMORY, **TMA, **COMPUTE, **CONTROL}
"""What is shown -> (function arguments, body)."""

FUNCTIONS = """
nv_tileas.func @kernel(%a: memref<8xf16>, %n: index) -> index attributes {nv_tileas.num_warps = 4 : i32} {
  nv_tileas.return %n : (index) -> ()
}
nv_tileas.func private @declared(memref<8xf16>) -> ()
"""


def expand(text: str) -> str:
    """`text` with its short names written out."""
    return Template(text).substitute(TYPES)


def program(arguments: str, body: str, name: str = "f") -> str:
    """A module with one function."""
    return expand(f"func.func @{name}({arguments}) {{\n{body}\nfunc.return\n}}\n")
