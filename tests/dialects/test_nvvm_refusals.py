"""
What the dialect `nvvm` rejects, mlir-opt 22 rejects as well, in the same words.
"""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.dialects import nvvm_matrix_lines
from tests.dialects.test_nvvm import LOAD, REDUCE, STORE, TABLE
from tests.support.ir import parse
from tests.support.mlir import mlir_opt_rejects

POINTER = "LLVM pointer in address space"
MODE = "mode = #nvvm.tma_load_mode"
TWO = "<{operandSegmentSizes = array<i32: 1, 1, 2, 1, 0, 0, 0, 0>}>"

REFUSALS = {
    # mbarrier
    "nvvm.mbarrier.init %d, %i : !llvm.ptr<7>, i32": (
        f"'nvvm.mbarrier.init' op operand #0 must be {POINTER} 0 or {POINTER} 3, but got '!llvm.ptr<7>'"
    ),
    "nvvm.mbarrier.init %s, %l : !llvm.ptr<3>, i64": (
        "'nvvm.mbarrier.init' op operand #1 must be 32-bit signless integer, but got 'i64'"
    ),
    "nvvm.mbarrier.init %s, %i, predicate = %i : !llvm.ptr<3>, i32, i32": (
        "'nvvm.mbarrier.init' op operand #2 must be 1-bit signless integer, but got 'i32'"
    ),
    "nvvm.mbarrier.inval %g : !llvm.ptr<1>": (
        f"'nvvm.mbarrier.inval' op operand #0 must be {POINTER} 0 or {POINTER} 3, but got '!llvm.ptr<1>'"
    ),
    "nvvm.mbarrier.expect_tx %p, %i : !llvm.ptr, i32": (
        f"'nvvm.mbarrier.expect_tx' op operand #0 must be {POINTER} 3 or {POINTER} 7, but got '!llvm.ptr'"
    ),
    "nvvm.mbarrier.expect_tx %s, %i {scope = #nvvm.mem_scope<gpu>} : !llvm.ptr<3>, i32": (
        "mbarrier scope must be either CTA or Cluster"
    ),
    "nvvm.mbarrier.complete_tx %s, %i {scope = #nvvm.mem_scope<sys>} : !llvm.ptr<3>, i32": (
        "mbarrier scope must be either CTA or Cluster"
    ),
    "%0 = nvvm.mbarrier.arrive %d : !llvm.ptr<7> -> i64": "mbarrier in shared_cluster space cannot return any value",
    "nvvm.mbarrier.arrive %s {scope = #nvvm.mem_scope<gpu>} : !llvm.ptr<3>": (
        "mbarrier scope must be either CTA or Cluster"
    ),
    "%0 = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i32": (
        "'nvvm.mbarrier.arrive' op result #0 must be 64-bit signless integer, but got 'i32'"
    ),
    "nvvm.mbarrier.arrive %c : !llvm.ptr<4>": (
        f"'nvvm.mbarrier.arrive' op operand #0 must be {POINTER} 0 or {POINTER} 3 or {POINTER} 7, "
        "but got '!llvm.ptr<4>'"
    ),
    "%0 = nvvm.mbarrier.arrive_drop %d : !llvm.ptr<7> -> i64": (
        "mbarrier in shared_cluster space cannot return any value"
    ),
    "%0 = nvvm.mbarrier.arrive.nocomplete %d, %i : !llvm.ptr<7>, i32 -> i64": (
        f"op operand #0 must be {POINTER} 0 or {POINTER} 3, but got '!llvm.ptr<7>'"
    ),
    "%0 = nvvm.mbarrier.arrive_drop.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i32": (
        "'nvvm.mbarrier.arrive_drop.nocomplete' op result #0 must be 64-bit signless integer, but got 'i32'"
    ),
    "%0 = nvvm.mbarrier.arrive_drop.expect_tx %d, %i : !llvm.ptr<7>, i32 -> i64": (
        "mbarrier in shared_cluster space cannot return any value"
    ),
    "nvvm.mbarrier.arrive.expect_tx %s, %i {scope = #nvvm.mem_scope<sys>} : !llvm.ptr<3>, i32": (
        "mbarrier scope must be either CTA or Cluster"
    ),
    "nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b {scope = #nvvm.mem_scope<cluster>}"
    " : !llvm.ptr<3>, i32, i1": "mbarrier scope must be CTA when using predicate",
    "nvvm.mbarrier.arrive.expect_tx %d, %i, predicate = %b : !llvm.ptr<7>, i32, i1": (
        "mbarrier in shared_cluster space is not supported when using predicate"
    ),
    "%0 = nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1 -> i64": (
        "return-value is not supported when using predicate"
    ),
    "nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b {relaxed = true} : !llvm.ptr<3>, i32, i1": (
        "mbarrier with relaxed semantics is not supported when using predicate"
    ),
    "nvvm.mbarrier.try_wait.parity %d, %i, %j : !llvm.ptr<7>, i32, i32": (
        f"op operand #0 must be {POINTER} 0 or {POINTER} 3, but got '!llvm.ptr<7>'"
    ),
    "%0 = nvvm.mbarrier.try_wait %s, %i {scope = #nvvm.mem_scope<sys>} : !llvm.ptr<3>, i32 -> i1": (
        "mbarrier scope must be either CTA or Cluster"
    ),
    "%0 = nvvm.mbarrier.try_wait %s, %h : !llvm.ptr<3>, i16 -> i1": (
        "'nvvm.mbarrier.try_wait' op operand #1 must be 64-bit signless integer or 32-bit signless integer, "
        "but got 'i16'"
    ),
    "%0 = nvvm.mbarrier.try_wait %s, %i, %l : !llvm.ptr<3>, i32, i64 -> i1": (
        "'nvvm.mbarrier.try_wait' op operand #2 must be 32-bit signless integer, but got 'i64'"
    ),
    "%0 = nvvm.mbarrier.test.wait %s, %i : !llvm.ptr<3>, i32 -> i32": (
        "'nvvm.mbarrier.test.wait' op result #0 must be 1-bit signless integer, but got 'i32'"
    ),
    "%0 = nvvm.mbarrier.test.wait %s, %i {scope = #nvvm.mem_scope<gpu>} : !llvm.ptr<3>, i32 -> i1": (
        "mbarrier scope must be either CTA or Cluster"
    ),
    '"nvvm.mbarrier.arrive"(%s) <{scope = 1 : i32}> : (!llvm.ptr<3>) -> ()': (
        "Invalid attribute `scope` in property conversion: 1 : i32"
    ),
    # cp.async
    "nvvm.cp.async.shared.global %s, %g, 16, cache = cs : !llvm.ptr<3>, !llvm.ptr<1>": (
        "Only CG and CA cache modifiers are supported."
    ),
    "nvvm.cp.async.shared.global %s, %g, 12, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>": (
        "expected byte size to be either 4, 8 or 16."
    ),
    "nvvm.cp.async.shared.global %s, %g, 8, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>": (
        "CG cache modifier is only support for 16 bytes copy."
    ),
    "nvvm.cp.async.shared.global %g, %s, 16, cache = cg : !llvm.ptr<1>, !llvm.ptr<3>": (
        f"'nvvm.cp.async.shared.global' op operand #0 must be {POINTER} 3, but got '!llvm.ptr<1>'"
    ),
    "nvvm.cp.async.shared.global %s, %g, 16, cache = cg, %l : !llvm.ptr<3>, !llvm.ptr<1>, i64": (
        "'nvvm.cp.async.shared.global' op operand #2 must be 32-bit signless integer, but got 'i64'"
    ),
    '"nvvm.cp.async.shared.global"(%s, %g) <{modifier = #nvvm<load_cache_modifier cg>, size = 16 : i64}>'
    " : (!llvm.ptr<3>, !llvm.ptr<1>) -> ()": (
        "'nvvm.cp.async.shared.global' op attribute 'size' failed to satisfy constraint: "
        "32-bit signless integer attribute"
    ),
    '"nvvm.cp.async.wait.group"() <{n = 2 : i64}> : () -> ()': (
        "'nvvm.cp.async.wait.group' op attribute 'n' failed to satisfy constraint: 32-bit signless integer attribute"
    ),
    "nvvm.cp.async.mbarrier.arrive %d : !llvm.ptr<7>": (
        f"op operand #0 must be {POINTER} 0 or {POINTER} 3, but got '!llvm.ptr<7>'"
    ),
    # bulk groups
    "nvvm.cp.async.bulk.wait_group -1": (
        "'nvvm.cp.async.bulk.wait_group' op attribute 'group' failed to satisfy constraint: "
        "32-bit signless integer attribute whose minimum value is 0"
    ),
    '"nvvm.cp.async.bulk.wait_group"() <{group = 1 : i64}> : () -> ()': (
        "32-bit signless integer attribute whose minimum value is 0"
    ),
    '"nvvm.cp.async.bulk.wait_group"() <{group = 1 : i32, read = 1 : i32}> : () -> ()': (
        "Invalid attribute `read` in property conversion: 1 : i32"
    ),
    # tensor loads
    f"{LOAD} %s, %p, %m, box[%i] : !llvm.ptr<3>, !llvm.ptr": "Shared::cluster destination requires address-space 7.",
    f"{LOAD} %d, %p, %m, box[%i] {{isCTAOnly = true}} : !llvm.ptr<7>, !llvm.ptr": (
        "Shared::cta destination requires address-space 3."
    ),
    f"{LOAD} %s, %p, %m, box[%i] multicast_mask = %h {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr": (
        "Multicast is not supported with shared::cta mode."
    ),
    f"{LOAD} %s, %p, %m, box[%i] {{group = #nvvm.cta_group<cta_1>, isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr": (
        "CTAGroup is not supported with shared::cta mode."
    ),
    f"{LOAD} %s, %p, %m, box[%i] predicate = %b {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr": (
        "Predicate is supported only for shared::cluster mode."
    ),
    f"{LOAD} %s, %p, %m, box[%i] im2col[%h, %h] predicate = %b {{{MODE}<im2col_w>}} : !llvm.ptr<3>, !llvm.ptr": (
        "Predicate is supported only for Tile and Im2col modes."
    ),
    f"{LOAD} %d, %p, %m, box[] : !llvm.ptr<7>, !llvm.ptr": "expects coordinates between 1 to 5 dimension",
    f"{LOAD} %d, %p, %m, box[%i, %i, %i, %i, %i, %i] : !llvm.ptr<7>, !llvm.ptr": (
        "expects coordinates between 1 to 5 dimension"
    ),
    f"{LOAD} %d, %p, %m, box[%i, %i] im2col[%h] {{{MODE}<im2col>}} : !llvm.ptr<7>, !llvm.ptr": (
        "to use im2col mode, the tensor has to be at least 3-dimensional"
    ),
    f"{LOAD} %d, %p, %m, box[%i, %i] im2col[%h] {{{MODE}<im2col_w_128>}} : !llvm.ptr<7>, !llvm.ptr": (
        "to use im2col_w_128 mode, the tensor has to be at least 3-dimensional"
    ),
    f"{LOAD} %d, %p, %m, box[%i, %i, %i, %i] im2col[%h] {{{MODE}<im2col>}} : !llvm.ptr<7>, !llvm.ptr": (
        " im2col offsets expected 2 (provided 1)"
    ),
    f"{LOAD} %d, %p, %m, box[%i, %i, %i] im2col[%h] {{{MODE}<im2col_w>}} : !llvm.ptr<7>, !llvm.ptr": (
        " im2col offsets expected 2 (provided 1)"
    ),
    f"{LOAD} %d, %p, %m, box[%i, %i] im2col[%h] : !llvm.ptr<7>, !llvm.ptr": " im2col offsets expected 0 (provided 1)",
    f"{LOAD} %d, %p, %m, box[%i, %i] {{{MODE}<tile_gather4>}} : !llvm.ptr<7>, !llvm.ptr": (
        "Gather4 mode expects 5 coordinates"
    ),
    f'"{LOAD}"(%d, %g, %i, %j, %m) {TWO} : (!llvm.ptr<7>, !llvm.ptr<1>, i32, i32, !llvm.ptr<3>) -> ()': (
        f"op operand #1 must be {POINTER} 0, but got '!llvm.ptr<1>'"
    ),
    f'"{LOAD}"(%d, %p, %i, %l, %m) {TWO} : (!llvm.ptr<7>, !llvm.ptr, i32, i64, !llvm.ptr<3>) -> ()': (
        f"'{LOAD}' op operand #3 must be variadic of 32-bit signless integer, but got 'i64'"
    ),
    f'"{LOAD}"(%d, %p, %i, %j, %s) <{{operandSegmentSizes = array<i32: 1, 1, 2, 1, 0, 0, 0, 1>}}>'
    " : (!llvm.ptr<7>, !llvm.ptr, i32, i32, !llvm.ptr<3>) -> ()": (
        "operand count (5) does not match with the total size (6) specified in attribute 'operandSegmentSizes'"
    ),
    # tensor stores, reductions, prefetches
    f"{STORE} %p, %s, box[%i, %j] l2_cache_hint = %l, predicate = %b : !llvm.ptr, <3>": (
        "Inline-ptx lowering unsupported with L2 cache-hint."
    ),
    f"{STORE} %p, %s, box[%i, %j, %k], predicate = %b {{mode = #nvvm.tma_store_mode<im2col>}} : !llvm.ptr, <3>": (
        "Inline-ptx lowering supported only for Tile mode."
    ),
    f"{STORE} %p, %s, box[%i, %j] {{mode = #nvvm.tma_store_mode<im2col>}} : !llvm.ptr, <3>": (
        "to use im2col mode, the tensor has to be at least 3-dimensional"
    ),
    f"{STORE} %p, %s, box[%i, %j] {{mode = #nvvm.tma_store_mode<tile_scatter4>}} : !llvm.ptr, <3>": (
        "Scatter4 mode expects 5 coordinates"
    ),
    f"{STORE} %p, %s, box[] : !llvm.ptr, <3>": "expects coordinates between 1 to 5 dimension",
    f"{STORE} %p, %g, box[%i] : !llvm.ptr, <1>": f"op operand #1 must be {POINTER} 3, but got '!llvm.ptr<1>'",
    f"{REDUCE} %p, %s, box[%i] {{mode = #nvvm.tma_store_mode<tile_scatter4>, redKind = #nvvm.tma_redux_kind<add>}}"
    " : !llvm.ptr, <3>": "Scatter mode unsupported for CpAsyncBulkTensorReduceOp",
    f"{REDUCE} %p, %s, box[] {{redKind = #nvvm.tma_redux_kind<add>}} : !llvm.ptr, <3>": (
        "expects coordinates between 1 to 5 dimension"
    ),
    f'"{REDUCE}"(%i, %s, %i) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>, redKind = #nvvm.tma_redux_kind<add>}}>'
    " : (i32, !llvm.ptr<3>, i32) -> ()": f"'{REDUCE}' op operand #0 must be LLVM pointer type, but got 'i32'",
    "nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j] im2col[%h] : !llvm.ptr": (
        " im2col offsets expected 0 (provided 1)"
    ),
    # bulk copies
    "nvvm.cp.async.bulk.shared.cluster.global %s, %g, %m, %i multicast_mask = %h : !llvm.ptr<3>, <1>": (
        "Multicast is not supported with shared::cta mode."
    ),
    "nvvm.cp.async.bulk.shared.cluster.global %p, %g, %m, %i : !llvm.ptr, <1>": (
        f"op operand #0 must be {POINTER} 3 or {POINTER} 7, but got '!llvm.ptr'"
    ),
    "nvvm.cp.async.bulk.shared.cluster.shared.cta %s, %s, %m, %i : <3>, <3>": (
        f"op operand #0 must be {POINTER} 7, but got '!llvm.ptr<3>'"
    ),
    "nvvm.cp.async.bulk.global.shared.cta %p, %s, %i : !llvm.ptr, <3>": (
        f"op operand #0 must be {POINTER} 1, but got '!llvm.ptr'"
    ),
    "nvvm.cp.async.bulk.prefetch %p, %i : !llvm.ptr": f"op operand #0 must be {POINTER} 1, but got '!llvm.ptr'",
    # prefetch
    "nvvm.prefetch %p : !llvm.ptr": "'nvvm.prefetch' op requires specification of either cache level or tensormap",
    "nvvm.prefetch level = L1 uniform, %g : !llvm.ptr<1>": "prefetch to uniform cache requires a generic pointer",
    "nvvm.prefetch level = L2 uniform, %p : !llvm.ptr": (
        "unsupported cache level, the only supported uniform cache level is L1"
    ),
    "nvvm.prefetch level = L2, evict_priority = evict_last, %p : !llvm.ptr": (
        "cache eviction priority requires a global pointer"
    ),
    "nvvm.prefetch level = L1, evict_priority = evict_last, %g : !llvm.ptr<1>": (
        "cache eviction priority supported only for cache level L2"
    ),
    "nvvm.prefetch level = L2, evict_priority = no_allocate, %g : !llvm.ptr<1>": (
        "unsupported cache eviction priority, only evict_last and evict_normal are supported"
    ),
    "nvvm.prefetch level = L1, %c : !llvm.ptr<4>": (
        "prefetch to cache level requires a generic, global, or local pointer"
    ),
    "nvvm.prefetch level = L1, %p, predicate = %b : !llvm.ptr, i1": "predicate supported only on prefetch tensormap",
    "nvvm.prefetch tensormap, evict_priority = evict_last, %p : !llvm.ptr": (
        "prefetch tensormap does not support eviction priority"
    ),
    "nvvm.prefetch tensormap in_param_space, %c : !llvm.ptr<4>": (
        "in_param_space can only be specified for a generic pointer"
    ),
    "nvvm.prefetch tensormap, %g : !llvm.ptr<1>": "prefetch tensormap requires a generic or constant pointer",
    "nvvm.prefetch level = L1, %s : !llvm.ptr<3>": (
        f"'nvvm.prefetch' op operand #0 must be {POINTER} 1 or {POINTER} 5 or {POINTER} 0 or {POINTER} 4, "
        "but got '!llvm.ptr<3>'"
    ),
    '"nvvm.prefetch"(%p) <{cacheLevel = #nvvm<prefetch_cache_level L1>, tensormap}> : (!llvm.ptr) -> ()': (
        "cannot specify both tensormap and cache level"
    ),
    # matrices
    **nvvm_matrix_lines.REFUSALS,
    '"nvvm.wgmma.wait.group.sync.aligned"() <{group = 0 : i32}> : () -> ()': (
        "op attribute 'group' failed to satisfy constraint: 64-bit signless integer attribute"
    ),
    # barriers
    "nvvm.barrier number_of_threads = %j": (
        "'nvvm.barrier' op barrier id is missing, it should be set between 0 to 15"
    ),
    '"nvvm.barrier"(%i, %j) <{operandSegmentSizes = array<i32: 1, 0, 1>, reductionOp = #nvvm.reduction<and>}>'
    " : (i32, i32) -> ()": "'nvvm.barrier' op reduction are only available when id is 0",
    '"nvvm.barrier"(%i) <{operandSegmentSizes = array<i32: 0, 0, 1>}> : (i32) -> ()': (
        "'nvvm.barrier' op reduction predicate and reduction operation must be specified together"
    ),
    '"nvvm.barrier"() <{operandSegmentSizes = array<i32: 0, 0, 0>, reductionOp = #nvvm.reduction<and>}> : () -> ()': (
        "'nvvm.barrier' op reduction predicate and reduction operation must be specified together"
    ),
    "nvvm.bar.warp.sync %l : i64": (
        "'nvvm.bar.warp.sync' op operand #0 must be 32-bit signless integer, but got 'i64'"
    ),
    '"nvvm.barrier.arrive"(%l) : (i64) -> ()': (
        "'nvvm.barrier.arrive' op operand #0 must be 32-bit signless integer, but got 'i64'"
    ),
    '"nvvm.cluster.wait"() <{aligned = 1 : i32}> : () -> ()': (
        "Invalid attribute `aligned` in property conversion: 1 : i32"
    ),
    "%0 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr": (
        "'nvvm.mapa' op failed to verify that Valid address-space check(or mapping) for mapa Op"
    ),
    "%0 = nvvm.mapa %p, %i : !llvm.ptr -> !llvm.ptr<7>": (
        "'nvvm.mapa' op failed to verify that Valid address-space check(or mapping) for mapa Op"
    ),
    "%0 = nvvm.mapa %g, %i : !llvm.ptr<1> -> !llvm.ptr<7>": (
        f"'nvvm.mapa' op operand #0 must be {POINTER} 0 or {POINTER} 3, but got '!llvm.ptr<1>'"
    ),
    "%0 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<3>": (
        f"'nvvm.mapa' op result #0 must be {POINTER} 0 or {POINTER} 7, but got '!llvm.ptr<3>'"
    ),
    # fences
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>}": (
        "'nvvm.fence.proxy' op async_shared fence requires space attribute"
    ),
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>, space = #nvvm.shared_space<cta>}": (
        "'nvvm.fence.proxy' op only async_shared fence can have space attribute"
    ),
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<tensormap>}": (
        "'nvvm.fence.proxy' op tensormap proxy is not a supported proxy kind"
    ),
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<generic>}": (
        "'nvvm.fence.proxy' op generic proxy not a supported proxy kind"
    ),
    "nvvm.fence.proxy.release <gpu> from_proxy = <async>": (
        "'nvvm.fence.proxy.release' op uni-directional proxies only support generic for from_proxy attribute"
    ),
    "nvvm.fence.proxy.release <gpu> to_proxy = <async>": (
        "'nvvm.fence.proxy.release' op uni-directional proxies only support tensormap for to_proxy attribute"
    ),
    "nvvm.fence.proxy.acquire <gpu> %p, %i from_proxy = <async>": (
        "'nvvm.fence.proxy.acquire' op uni-directional proxies only support generic for from_proxy attribute"
    ),
    "nvvm.fence.proxy.acquire <gpu> %p, %i to_proxy = <alias>": (
        "'nvvm.fence.proxy.acquire' op uni-directional proxies only support tensormap for to_proxy attribute"
    ),
    "nvvm.fence.sync_restrict {order = #nvvm.mem_order<weak>}": (
        "'nvvm.fence.sync_restrict' op only acquire and release semantics are supported"
    ),
    "nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<sc>}": (
        "'nvvm.fence.proxy.sync_restrict' op only acquire and release semantics are supported"
    ),
    "nvvm.fence.proxy.sync_restrict {fromProxy = #nvvm.proxy_kind<async>, order = #nvvm.mem_order<acquire>}": (
        "'nvvm.fence.proxy.sync_restrict' op only generic is support for from_proxy attribute"
    ),
    "nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<acquire>, toProxy = #nvvm.proxy_kind<generic>}": (
        "'nvvm.fence.proxy.sync_restrict' op only async is supported for to_proxy attribute"
    ),
    # registers
    "nvvm.setmaxregister increase 25": "'nvvm.setmaxregister' op new register size must be multiple of 8",
    "nvvm.setmaxregister increase 264": "'nvvm.setmaxregister' op new register size must be in between 24 to 256",
    "nvvm.setmaxregister decrease 16": "'nvvm.setmaxregister' op new register size must be in between 24 to 256",
    "%0 = nvvm.elect.sync -> i32": ("'nvvm.elect.sync' op result #0 must be 1-bit signless integer, but got 'i32'"),
    "%0 = nvvm.read.ptx.sreg.tid.x range <i32, 7, 7> : i32": (
        "'nvvm.read.ptx.sreg.tid.x' op invalid range attribute: Lower == Upper, but they aren't min (0) or max "
        "(4294967295) value! This is an invalid constant range."
    ),
    "%0 = nvvm.read.ptx.sreg.tid.x range <index, 0, 3> : i32": (
        "invalid kind of type specified: expected builtin.integer, but found 'index'"
    ),
    "%0 = nvvm.read.ptx.sreg.tid.x : index": (
        "'nvvm.read.ptx.sreg.tid.x' op result #0 must be LLVM dialect-compatible type, but got 'index'"
    ),
    "%0 = nvvm.read.ptx.sreg.laneid : si32": "result #0 must be LLVM dialect-compatible type, but got 'si32'",
    "%0 = nvvm.read.ptx.sreg.clock : vector<4x4xi32>": (
        "result #0 must be LLVM dialect-compatible type, but got 'vector<4x4xi32>'"
    ),
    # threads
    "%0 = nvvm.shfl.sync bfly %i, %f, %k, %k : f32 -> i32": (
        "'nvvm.shfl.sync' op expected return type to be of type 'f32' but got 'i32' instead"
    ),
    "%0 = nvvm.shfl.sync bfly %i, %f, %k, %k : f32 -> !llvm.struct<(f32, i1)>": (
        "'nvvm.shfl.sync' op \"return_value_and_is_valid\" attribute must be specified when the return type "
        "is a struct type"
    ),
    "%0 = nvvm.shfl.sync bfly %i, %f, %k, %k {return_value_and_is_valid} : f32 -> f32": (
        "'nvvm.shfl.sync' op expected return type to be a two-element struct"
    ),
    "%0 = nvvm.shfl.sync bfly %i, %f, %k, %k {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i32)>": (
        "'nvvm.shfl.sync' op expected second element in the returned struct to be of type 'i1' but got 'i32' instead"
    ),
    "%0 = nvvm.shfl.sync bfly %i, %f, %k, %k {return_value_and_is_valid} : f32 -> !llvm.struct<(i32, i1)>": (
        "'nvvm.shfl.sync' op expected first element in the returned struct to be of type 'f32' but got 'i32' instead"
    ),
    "%0 = nvvm.shfl.sync bfly %i, %l, %k, %k : i64 -> i64": (
        "'nvvm.shfl.sync' op operand #1 must be 32-bit signless integer or 32-bit float, but got 'i64'"
    ),
    "%0 = nvvm.vote.sync ballot %i, %b -> i1": "'nvvm.vote.sync' op vote.sync 'ballot' returns an i32",
    "%0 = nvvm.vote.sync any %i, %b -> i32": ("'nvvm.vote.sync' op vote.sync 'any', 'all' and 'uni' returns an i1"),
    "%0 = nvvm.vote.sync uni %i, %b -> i64": (
        "'nvvm.vote.sync' op result #0 must be 32-bit signless integer or 1-bit signless integer, but got 'i64'"
    ),
    '"nvvm.nanosleep"(%l) : (i64) -> ()': (
        "'nvvm.nanosleep' op operand #0 must be 32-bit signless integer, but got 'i64'"
    ),
}

OTHER_WORDS = {
    **nvvm_matrix_lines.OTHER_WORDS,
    # Rejected by both; what parses and counts operands is xDSL's, and so are its words.
    '"nvvm.mbarrier.expect_tx"(%s) : (!llvm.ptr<3>) -> ()': "Expected 2 operands, but got 1",
    '%0:2 = "nvvm.mbarrier.arrive"(%s) : (!llvm.ptr<3>) -> (i64, i64)': "Expected 0 or 1 results, but got 2",
    "nvvm.mbarrier.arrive %s, %l : !llvm.ptr<3> -> i64": "operand is used with type i32, but has been previously used",
    '"nvvm.mbarrier.arrive"(%s) <{relaxed = 1 : i32}> : (!llvm.ptr<3>) -> ()': (
        "'nvvm.mbarrier.arrive' op attribute 'relaxed' failed to satisfy constraint: 1-bit signless integer attribute"
    ),
    "nvvm.cp.async.shared.global %s, %g, 16, cache = xx : !llvm.ptr<3>, !llvm.ptr<1>": (
        "Expected `ca`, `cg`, `cs`, `lu`, or `cv`"
    ),
    '"nvvm.cp.async.wait.group"() : () -> ()': "property 'n' expected in operation 'nvvm.cp.async.wait.group'",
    "nvvm.barrier.arrive id = %i": "Expected 'number_of_threads'",
    "nvvm.fence.proxy": "property 'kind' expected in operation 'nvvm.fence.proxy'",
    "nvvm.memory.barrier gpu": "'<' expected",
    "nvvm.fence.proxy.acquire <gpu> %g, %i": "operand is used with type !llvm.ptr",
    "nvvm.setmaxregister bogus 40": "Expected `increase`, or `decrease`",
    "nvvm.griddepcontrol bogus": "Expected `wait`, or `launch_dependents`",
    "%0 = nvvm.read.ptx.sreg.clock range <i32, 0, 3> : i32": "Expected ':'",
    f"{REDUCE} %p, %s, box[%i] : !llvm.ptr, <3>": f"property 'redKind' expected in operation '{REDUCE}'",
}


@pytest.mark.parametrize("line", [*REFUSALS, *OTHER_WORDS])
def test_we_refuse(line: str) -> None:
    with pytest.raises((VerifyException, ParseError)) as refusal:
        parse(TABLE.function(line))
    assert (REFUSALS | OTHER_WORDS)[line] in str(refusal.value)


@pytest.mark.parametrize("line", REFUSALS)
def test_mlir_refuses_in_the_same_words(line: str) -> None:
    assert REFUSALS[line] in mlir_opt_rejects(TABLE.function(line))


@pytest.mark.parametrize("line", OTHER_WORDS)
def test_mlir_refuses_in_other_words(line: str) -> None:
    assert "error: " in mlir_opt_rejects(TABLE.function(line))
