"""
One sample or more of every op of `nv_tileaa`: the arguments of a function, and what stands in it.

`$T` and its like in the texts are written out by `program`.
"""

from __future__ import annotations

from string import Template

TYPES = {
    "Q2": "!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>",
    "Q": "!nv_tileaa.queue<[tensor<8xf32>], depth = 3>",
    "PTRS": "tensor<8x!nv_tileaa.ptr<f32, 1>>",
    "PTR": "!nv_tileaa.ptr<f32, 1>",
    "TOK": "!nv_tileaa.mem_token",
    "PID": "!nv_tileaa.program_id",
    "VIEW": "!nv_tileaa.tiled_view<8x4xf32>",
    "AB": "tensor<8x4xf32>",
    "TI": "tensor<8xi32>",
    "TX": "tensor<8xindex>",
    "T": "tensor<8xf32>",
    "M": "tensor<8xi1>",
    "A2": "memref<64x64xf32>",
    "A1": "memref<64xf32>",
    "I1": "memref<64xi32>",
}
"""Short name -> type."""

COMBINER = """{
  ^bb0(%x: f32, %y: f32):
    %z = nv_tileaa.addf %x, %y : (f32, f32) -> f32
    nv_tileaa.yield %z : (f32) -> ()
}"""

ADD = "rmw_mode = #nv_tileaa<rmw_mode add>"

QUEUES = {
    "create_queue": ("", "%q = nv_tileaa.create_queue : () -> $Q2"),
    "queue.put": ("%q: $Q, %a: $T", "nv_tileaa.queue.put %q, %a : ($Q, $T) -> ()"),
    "queue.put at an index": ("%q: $Q, %i: index, %a: $T", "nv_tileaa.queue.put %q[%i], %a : ($Q, index, $T) -> ()"),
    "queue.put of two": ("%q: $Q2, %a: $T", "nv_tileaa.queue.put %q, %a, %a : ($Q2, $T, $T) -> ()"),
    "queue.put of a region": (
        "%q: $Q, %i: index",
        """nv_tileaa.queue.put %q[%i] attributes {note = 1 : i32} {
           ^bb0(%s: $T):
             nv_tileaa.queue.yield %s : ($T) -> ()
           } : ($Q, index) -> ()""",
    ),
    "queue.get": ("%q: $Q", "%a = nv_tileaa.queue.get %q : ($Q) -> $T"),
    "queue.get at an index": (
        "%q: $Q2, %i: index",
        "%a, %b = nv_tileaa.queue.get %q[%i] attributes {consumer_idx = 1 : i32} : ($Q2, index) -> ($T, $T)",
    ),
    "queue.get of a region": (
        "%q: $Q2",
        """%s = nv_tileaa.queue.get %q {
           ^bb0(%a: $T, %b: $T):
             %sum = nv_tileaa.addf %a, %b : ($T, $T) -> $T
             nv_tileaa.queue.yield %sum : ($T) -> ()
           } : ($Q2) -> $T""",
    ),
    "execute": (
        "%q: $Q, %a: $T",
        """nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 2>, max_regs = array<i32: 40, -1>} {
             nv_tileaa.queue.put %q, %a : ($Q, $T) -> ()
           }, {
           ^bb0(%number: index):
             %b = nv_tileaa.queue.get %q : ($Q) -> $T
           } : () -> ()""",
    ),
    "execute with captures": (
        "%a: $T, %b: $TI",
        """nv_tileaa.execute %a, %b attributes {num_agents_per_group = array<i32: 1>, isolated = true,
             resources = {shared_bytes = 1024 : i32}} {
           ^bb0(%x: $T, %y: $TI):
             nv_tileaa.print %x attributes {format = "%f"} : ($T) -> ()
           } : ($T, $TI) -> ()""",
    ),
    "mark_for_reuse": (
        "%q: $Q, %r: $Q, %s: $Q2",
        "nv_tileaa.mark_for_reuse %q, %r, %s attributes {partitions = array<i32: 1, 2>} : ($Q, $Q, $Q2) -> ()",
    ),
}

MEMORY = {
    "load of an element": ("%a: $A2, %i: index", "%v = nv_tileaa.load %a[%i, %i] : ($A2, index, index) -> f32"),
    "load of pointers": ("%p: $PTRS", "%v = nv_tileaa.load %p : ($PTRS) -> $T"),
    "load": (
        "%p: $PTRS, %m: $M, %o: $T, %t: $TOK",
        """%v, %u = nv_tileaa.load %p mask(%m) other(%o) token(%t) attributes {
             mem_semantic = #nv_tileaa<mem_semantic relaxed>, mem_scope = #nv_tileaa<mem_scope gpu>,
             cache_modifier = #nv_tileaa<cache_modifier ca>, eviction_policy = #nv_tileaa<eviction_policy first>
           } : ($PTRS, $M, $T, $TOK) -> ($T, $TOK)""",
    ),
    "store": ("%p: $PTR, %v: f32", "nv_tileaa.store %p, %v : ($PTR, f32) -> ()"),
    "store of a tile": (
        "%a: $A1, %i: index, %v: $T, %m: $M, %t: $TOK",
        "%u = nv_tileaa.store %a[%i], %v mask(%m) token(%t) : ($A1, $T, index, $M, $TOK) -> $TOK",
    ),
    "tiled_load": (
        "%a: $A2, %i: index",
        "%v = nv_tileaa.tiled_load %a[%i, %i] attributes {in_bounds = array<i1: true, false>} "
        ": ($A2, index, index) -> $AB",
    ),
    "tiled_load of a view": (
        "%a: $VIEW, %i: index, %t: $TOK",
        "%v, %u = nv_tileaa.tiled_load %a[%i, %i] token(%t) : ($VIEW, index, index, $TOK) -> ($AB, $TOK)",
    ),
    "tiled_store": (
        "%a: $A2, %i: index, %v: $AB",
        "nv_tileaa.tiled_store %a[%i, %i], %v : ($A2, $AB, index, index) -> ()",
    ),
    "tiled_store to a view": (
        "%a: $VIEW, %i: index, %v: $AB, %t: $TOK",
        "%u = nv_tileaa.tiled_store %a[%i, %i], %v token(%t) attributes {in_bounds = array<i1: true, true>} "
        ": ($VIEW, $AB, index, index, $TOK) -> $TOK",
    ),
    "addptr": ("%p: $PTR, %i: index", "%r = nv_tileaa.addptr %p, %i : ($PTR, index) -> $PTR"),
    "addptr of a tile": ("%p: $PTRS, %i: $TX", "%r = nv_tileaa.addptr %p, %i : ($PTRS, $TX) -> $PTRS"),
    "make_memref": (
        "%p: $PTR, %n: index",
        "%a = nv_tileaa.make_memref %p offset(%n) sizes(%n) strides(%n) attributes {alias_scope = 7 : i32} "
        ": ($PTR, index, index, index) -> !nv_tileaa.memref<?x64xf32, 1, strides = [?, 1], alias_scope = 7>",
    ),
    "make_memref of constant size": (
        "%p: $PTR",
        "%a = nv_tileaa.make_memref %p : ($PTR) -> !nv_tileaa.memref<4x64xf32, 1>",
    ),
    "create_mem_token": ("", "%t = nv_tileaa.create_mem_token : () -> $TOK"),
    "join_mem_token": ("%t: $TOK, %u: $TOK", "%j = nv_tileaa.join_mem_token %t, %u : ($TOK, $TOK) -> $TOK"),
}

ATOMICS = {
    "atomic_rmw": (
        "%a: $A1, %i: index, %v: f32, %t: $TOK",
        "%o, %u = nv_tileaa.atomic_rmw %a[%i], %v token(%t) attributes {" + ADD + "} "
        ": ($A1, f32, index, $TOK) -> (f32, $TOK)",
    ),
    "atomic_rmw with an order": (
        "%p: $PTR, %v: f32",
        "%o = nv_tileaa.atomic_rmw %p, %v attributes {rmw_mode = #nv_tileaa<rmw_mode xchg>, "
        "mem_semantic = #nv_tileaa<mem_semantic acq_rel>, mem_scope = #nv_tileaa<mem_scope sys>} : ($PTR, f32) -> f32",
    ),
    "tiled_atomic_rmw": (
        "%a: $VIEW, %i: index, %v: $AB",
        "%o = nv_tileaa.tiled_atomic_rmw %a[%i, %i], %v attributes {" + ADD + "} : ($VIEW, $AB, index, index) -> $AB",
    ),
    "atomic_cas": (
        "%a: $I1, %i: index, %c: i32, %r: i32",
        "%o = nv_tileaa.atomic_cas %a[%i], %c, %r : ($I1, i32, i32, index) -> i32",
    ),
    "gather_load": (
        "%a: $A1, %i: $TX, %m: $M, %o: $T",
        "%v = nv_tileaa.gather_load %a[%i] mask(%m) other(%o) "
        "attributes {padding_value = #nv_tileaa<padding_value nan>} : ($A1, $TX, $M, $T) -> $T",
    ),
    "scatter_store": (
        "%a: $A1, %i: $TX, %v: $T",
        "nv_tileaa.scatter_store %a[%i], %v : ($A1, $T, $TX) -> ()",
    ),
}

COMPUTE = {
    "dot": (
        "%a: tensor<8x4xf16>, %b: tensor<4x8xf16>, %c: tensor<8x8xf32>",
        "%d = nv_tileaa.dot %a, %b, %c attributes {propagate_nan = true} "
        ": (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>",
    ),
    "dot of integers": (
        "%a: tensor<2x8x4xi8>, %b: tensor<2x4x8xi8>, %c: tensor<2x8x8xi32>",
        "%d = nv_tileaa.dot %a, %b, %c attributes {signedness_a = #nv_tileaa<signedness signed>, "
        "signedness_b = #nv_tileaa<signedness unsigned>} "
        ": (tensor<2x8x4xi8>, tensor<2x4x8xi8>, tensor<2x8x8xi32>) -> tensor<2x8x8xi32>",
    ),
    "dot with scales": (
        "%a: tensor<8x64xf4E2M1FN>, %b: tensor<64x8xf4E2M1FN>, %c: tensor<8x8xf16>, %s: tensor<8x2xf8E8M0FNU>",
        "%d = nv_tileaa.dot %a, %b, %c sfa(%s) sfb(%s) : (tensor<8x64xf4E2M1FN>, tensor<64x8xf4E2M1FN>, "
        "tensor<8x8xf16>, tensor<8x2xf8E8M0FNU>, tensor<8x2xf8E8M0FNU>) -> tensor<8x8xf16>",
    ),
    "block_tile": (
        "%a: $A2",
        "%v = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 8, 4>, "
        "dimGroups = [array<i64: 0>, array<i64: 1>]} : ($A2) -> $VIEW",
    ),
    "reduce": (
        "%a: $AB",
        "%r = nv_tileaa.reduce %a attributes {axis = 1 : i32} $COMBINER : ($AB) -> $T",
    ),
    "reduce to a scalar": ("%a: $T", "%r = nv_tileaa.reduce %a attributes {axis = 0 : i32} $COMBINER : ($T) -> f32"),
    "scan": (
        "%a: $AB",
        "%r = nv_tileaa.scan %a attributes {axis = 0 : i32, inclusive = false} $COMBINER : ($AB) -> $AB",
    ),
    "conv_tile": (
        "%a: memref<1x8x8x16xf16>",
        """%v = nv_tileaa.conv_tile %a attributes {tileSizes = array<i64: 8, 16>,
             dimGroups = [array<i64: 0, 1, 2>, array<i64: 3>], filterSizes = array<i64: 3, 3>, channelAxis = 3 : i64,
             conv_params = #nv_tileaa.conv_params<stride=[1,1], dilation=[1,1]>,
             activation_layout = #nv_tileaa.activation_layout<"NHWC">, padding_value = #nv_tileaa<padding_value zero>
           } : (memref<1x8x8x16xf16>) -> !nv_tileaa.tiled_view<8x16xf16>""",
    ),
    "conv_dot": (
        "%a: tensor<8x4xf16>, %b: tensor<4x8xf16>, %c: tensor<8x8xf32>",
        "%d = nv_tileaa.conv_dot %a, %b, %c : (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>",
    ),
}

ELEMENTWISE = {
    **{
        op: ("%a: $T, %b: $T", f"%r = nv_tileaa.{op} %a, %b : ($T, $T) -> $T")
        for op in ("addf", "subf", "mulf", "divf")
    },
    **{op: ("%a: $T", f"%r = nv_tileaa.{op} %a : ($T) -> $T") for op in ("exp2", "sqrt", "rsqrt")},
    "addf of scalars, rounded": (
        "%a: f32",
        "%r = nv_tileaa.addf %a, %a attributes {rounding_mode = #nv_tileaa<rounding_mode zero>} : (f32, f32) -> f32",
    ),
    "fma": ("%a: $T", "%r = nv_tileaa.fma %a, %a, %a : ($T, $T, $T) -> $T"),
    "clampf": (
        "%a: f32",
        "%r = nv_tileaa.clampf %a, %a, %a attributes {propagate_nan = false} : (f32, f32, f32) -> f32",
    ),
    "mulhiui": ("%a: $TI", "%r = nv_tileaa.mulhiui %a, %a : ($TI, $TI) -> $TI"),
    "fp_to_fp": ("%a: $T", "%r = nv_tileaa.fp_to_fp %a : ($T) -> tensor<8xf8E4M3FN>"),
    "fp_to_fp of a block-scaled format": ("%a: $T", "%r = nv_tileaa.fp_to_fp %a : ($T) -> tensor<8xf4E2M1FN>"),
    "bitcast": ("%a: $T", "%r = nv_tileaa.bitcast %a : ($T) -> $TI"),
    "bitcast of pointers": ("%a: $PTR", "%r = nv_tileaa.bitcast %a : ($PTR) -> !nv_tileaa.ptr<i8, 1>"),
    "int_to_ptr": ("%a: i64", "%r = nv_tileaa.int_to_ptr %a : (i64) -> $PTR"),
    "ptr_to_int": ("%a: $PTRS", "%r = nv_tileaa.ptr_to_int %a : ($PTRS) -> tensor<8xi64>"),
}

STRUCTURE = {
    "view": ("%a: $AB", "%r = nv_tileaa.view %a : ($AB) -> tensor<2x4x4xf32>"),
    "splat": ("%a: f32", "%r = nv_tileaa.splat %a : (f32) -> $T"),
    "broadcast": ("%a: tensor<8x1xf32>", "%r = nv_tileaa.broadcast %a : (tensor<8x1xf32>) -> $AB"),
    "expand_dims": ("%a: $T", "%r = nv_tileaa.expand_dims %a : ($T) -> tensor<1x8x1xf32>"),
    "permute": (
        "%a: $AB",
        "%r = nv_tileaa.permute %a attributes {permutation = array<i64: 1, 0>} : ($AB) -> tensor<4x8xf32>",
    ),
    "cat": (
        "%a: $AB",
        "%r = nv_tileaa.cat %a, %a attributes {axis = 1 : i32} : ($AB, $AB) -> tensor<8x8xf32>",
    ),
    "extract": ("%a: $AB, %i: index", "%r = nv_tileaa.extract %a[%i] : ($AB, index) -> tensor<4xf32>"),
    "extract of an element": (
        "%a: $AB, %i: index",
        "%r = nv_tileaa.extract %a[%i, %i] : ($AB, index, index) -> f32",
    ),
    "extract_slice": (
        "%a: $AB, %i: index",
        "%r = nv_tileaa.extract_slice %a[%i, %i] sizes(%i, %i) strides(%i, %i) "
        ": ($AB, index, index, index, index, index, index) -> tensor<2x4xf32>",
    ),
    "extract_slice at constants": (
        "%a: $AB",
        "%r = nv_tileaa.extract_slice %a attributes {static_offsets = array<i64: 2, 0>, "
        "static_strides = array<i64: 3, 1>} : ($AB) -> tensor<2x4xf32>",
    ),
    "generate": (
        "",
        """%r = nv_tileaa.generate {
           ^bb0(%i: tensor<i32>, %j: tensor<i32>):
             nv_tileaa.yield %i : (tensor<i32>) -> ()
           } : () -> tensor<8x4xi32>""",
    ),
}

CONTROL = {
    "assume": (
        "%a: $TI",
        "%r = nv_tileaa.assume %a attributes {predicates = [#nv_tileaa.div_by<4, every 2 along 0>, "
        "#nv_tileaa.bounded<-1, ?>, #nv_tileaa.same_elements<[2]>]} : ($TI) -> $TI",
    ),
    "assert": ("%c: $M", 'nv_tileaa.assert %c attributes {message = "no"} : ($M) -> ()'),
    "print": ("%a: $T, %i: index", 'nv_tileaa.print %a, %i attributes {format = "%f %d"} : ($T, index) -> ()'),
    "pragma": ("", 'nv_tileaa.pragma attributes {ocgEnterDirectives = ["a"]} : () -> ()'),
    "pragma around a region": (
        "%a: f32",
        """%r = nv_tileaa.pragma attributes {ocgEnterDirectives = ["a"], ocgLeaveDirectives = ["b", "c"]} {
             nv_tileaa.yield %a : (f32) -> ()
           } : () -> f32""",
    ),
    "get_program_id": ("", "%r = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index"),
    "get_program_id, opaque": ("", "%r = nv_tileaa.get_program_id attributes {axis = 2 : i32} : () -> $PID"),
    "get_program_id, of another": (
        "%p: $PID",
        "%r = nv_tileaa.get_program_id %p attributes {axis = 1 : i32} : ($PID) -> index",
    ),
    "get_num_programs": ("", "%r = nv_tileaa.get_num_programs attributes {axis = 1 : i32} : () -> i32"),
    "cancel_next_program_id": ("", "%r = nv_tileaa.cancel_next_program_id : () -> $PID"),
    "is_valid_program_id": ("%p: $PID", "%r = nv_tileaa.is_valid_program_id %p : ($PID) -> i1"),
}

OPAQUE = {
    op: (
        "%a: f32",
        f'%r = "nv_tileaa.{op}"(%a) (' + '{ }, { "test.op"() : () -> () }) {k = 1 : i32} : (f32) -> f32',
    )
    for op in ("plugin", "inject_ir", "message", "launch_func", "elementwise_inline_asm", "extern_elementwise")
}

SAMPLES = {**QUEUES, **MEMORY, **ATOMICS, **COMPUTE, **ELEMENTWISE, **STRUCTURE, **CONTROL, **OPAQUE}
"""Name -> (arguments, body). The first words of a name are the op's mnemonic."""

FUNCTIONS = """
nv_tileaa.func public @kernel(%x: tensor<8xf32> {nv_tileaa.hint = 1 : i32}, %p: !nv_tileaa.ptr<f32, 1>) -> tensor<8xf32>
    attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2,1,1]>,
                nv_tileaa.compute_capability = #nv_tileaa.compute_capability<100>} {
  nv_tileaa.return %x : (tensor<8xf32>) -> ()
}
nv_tileaa.func private @elsewhere(tensor<8xf32>) -> (f32, i32)
"""


def written_out(text: str) -> str:
    """`text` with the short type names replaced."""
    return Template(text).substitute(TYPES, COMBINER=COMBINER)


def program(name: str, number: int = 0) -> str:
    """The sample `name` as a function."""
    arguments, body = SAMPLES[name]
    return f"func.func @sample{number}({written_out(arguments)}) {{\n  {written_out(body)}\n  func.return\n}}\n"
