"""What the verifiers of `nv_tileas` refuse in words of ours: function arguments, body, and the text of the refusal."""

from __future__ import annotations

from tests.dialects.nv_tileas_refusals import Refusal

PIPE = "numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8"

PIPELINE: dict[str, Refusal] = {
    "a consumer token on a produce op": (
        "%c: $CONS",
        "%p = pipe.produce_one %c : ($CONS) -> $PROD",
        "expects token operands of type !nv_tileas.producer_token or !nv_tileas.token, "
        "but got !nv_tileas.consumer_token",
    ),
    "a producer token on a consume op": (
        "%p: $PROD",
        "%c = pipe.consume_one %p : ($PROD) -> $CONS",
        "expects token operands of type !nv_tileas.consumer_token or !nv_tileas.token, "
        "but got !nv_tileas.producer_token",
    ),
    "neither token nor stage": (
        "",
        "%p = pipe.produce_one : () -> $PROD",
        "expects a token operand or a stage operand, but got neither",
    ),
    "a stage that is a float": (
        "%x: f32",
        "%p = pipe.produce_one %x : (f32) -> $PROD",
        "expects exactly 0 value operands, but got 1",
    ),
    "two stages": (
        "%i: index",
        "%p = pipe.produce_one %i, %i : (index, index) -> $PROD",
        "expects at most 1 stage operand, but got 2",
    ),
    "two tokens to consume": (
        "%t: $TOK",
        "%u = pipe.consume_one %t, %t : ($TOK, $TOK) -> $TOK",
        "expects exactly 1 token operand, but got 2",
    ),
    "no token to consume": (
        "%i: index",
        "%u = pipe.consume_one %i : (index) -> $T",
        "expects exactly 1 token operand, but got 0",
    ),
    "tokens before values": (
        "%t: $TOK",
        "%u, %v = pipe.consume_one %t : ($TOK) -> ($TOK, $T)",
        "expects results in the order values, iterators, ownership token, !nv_tileas.token, but got [$TOK, $T]",
    ),
    "iterators before values": (
        "%t: $TOK",
        "%j, %v = pipe.consume_one %t : ($TOK) -> ($IT, $T)",
        "expects results in the order values, iterators, ownership token, !nv_tileas.token, but got [$IT, $T]",
    ),
    "a bare integer as payload": (
        "%t: $TOK",
        "%v = pipe.consume_one %t : ($TOK) -> i32",
        "expects no result of type i32: wrap an integer payload in a tensor",
    ),
    "ownership of the other end": (
        "%i: index",
        "%v = pipe.produce_one %i : (index) -> $CONS",
        "expects token results of type !nv_tileas.producer_token or !nv_tileas.token, "
        "but got !nv_tileas.consumer_token",
    ),
    "ownership lost": (
        "%p: $PROD",
        "%t = pipe.produce_one %p : ($PROD) -> $TOK",
        "expects a token result of type !nv_tileas.producer_token, but got !nv_tileas.token",
    ),
    "ownership out of nothing": (
        "%t: $TOK",
        "%c = pipe.consume_one %t : ($TOK) -> $CONS",
        "expects a token result of type !nv_tileas.token, but got !nv_tileas.consumer_token",
    ),
    "ownership out of nothing, asynchronously": (
        "%t: $TOK",
        "%c, %u = pipe.consume_one_async %t : ($TOK) -> ($CONS, $TOK)",
        "expects no ownership token from an op given !nv_tileas.token",
    ),
    "an asynchronous op without completion": (
        "%i: index",
        "%p = pipe.produce_one_async %i : (index) -> $PROD",
        "expects the last result to be !nv_tileas.token, but got [$PROD]",
    ),
    "two completions": (
        "%i: index",
        "%t, %u = pipe.produce_one_async %i : (index) -> ($TOK, $TOK)",
        "expects one result of type !nv_tileas.token, but got 2",
    ),
    "a step that returns values": (
        "%p: $PROD",
        "%v, %o = pipe.producer_acquire %p : ($PROD) -> ($T, $PROD)",
        "expects exactly 0 value results, but got 1",
    ),
    "a step without result": (
        "%p: $PROD",
        "pipe.producer_acquire %p : ($PROD) -> ()",
        "expects exactly 1 token result, but got 0",
    ),
    "a read of nothing": (
        "%t: $TOK",
        "%u = pipe.consumer_read %t : ($TOK) -> $TOK",
        "expects at least 1 value result, but got 0",
    ),
    "a commit of nothing": (
        "",
        "pipe.producer_commit : () -> ()",
        "expects at least 1 token operand, but got 0",
    ),
    "a commit of ownership from nowhere": (
        "",
        f"%p, %c = pipe.create_pipeline attributes {{{PIPE}}} : () -> ($PROD, $CONS)\n"
        "%d = pipe.producer_commit %p : ($PROD) -> $PROD",
        "expects an ownership token from a write, an acquire or a produce op, "
        "but got one from 'nv_tileas.async.pipeline.create_pipeline'",
    ),
    "a release of ownership from nowhere": (
        "",
        f"%p, %c = pipe.create_pipeline attributes {{{PIPE}}} : () -> ($PROD, $CONS)\n"
        "pipe.consumer_release %c : ($CONS) -> ()",
        "expects an ownership token from a read, a wait or a consume op, "
        "but got one from 'nv_tileas.async.pipeline.create_pipeline'",
    ),
    "a payload twice": (
        "%p: $PROD, %v: $T",
        "%f = pipe.producer_write %p, %v { pipe.yield %v : ($T) -> () } : ($PROD, $T) -> $PROD",
        "expects the payload as operands or from the region, not both",
    ),
    "a payload of another type": (
        "%p: $PROD, %v: $T",
        "%f = pipe.producer_write %p, %v attributes {producer_types = [f32]} : ($PROD, $T) -> $PROD",
        "expects values of the payload types [f32], but got [$T]",
    ),
    "a payload that is no type": (
        "%p: $PROD",
        "%f = pipe.produce_one %p attributes {producer_types = [1 : i32]} : ($PROD) -> $PROD",
        "expects producer_types to list types, but got 1 : i32",
    ),
    "consumer_types on a produce op": (
        "%p: $PROD",
        "%f = pipe.produce_one %p attributes {consumer_types = [f32]} : ($PROD) -> $PROD",
        "expects the payload of a produce op in producer_types, not in consumer_types",
    ),
    "an unknown producer kind": (
        "%p: $PROD",
        '%f = pipe.produce_one %p attributes {producer_kind = "dma"} : ($PROD) -> $PROD',
        "expects producer_kind to be one of tma, async_copy, sync, got 'dma'",
    ),
    "an implicit pipeline of no slots": (
        "%i: index",
        "%f = pipe.produce_one %i attributes {num_stages = 0 : i32} : (index) -> $PROD",
        "expects num_stages to be at least 1, but got 0",
    ),
    "a negative stage": (
        "%i: index",
        "%f = pipe.produce_one %i attributes {stage = -1 : i32} : (index) -> $PROD",
        "expects stage to be zero or positive, but got -1",
    ),
    "a negative pipeline stage": (
        "%i: index",
        "%f = pipe.produce_one %i attributes {pipeline_stage = -2 : i32} : (index) -> $PROD",
        "expects pipeline_stage to be zero or positive, but got -2",
    ),
    "an iteration ahead": (
        "%t: $TOK",
        "%v = pipe.consume_one %t attributes {iter_offset = 1 : i32} : ($TOK) -> $T",
        "expects iter_offset to be zero or negative, but got 1",
    ),
    "a property on a produce op": (
        "%i: index",
        '%p = "nv_tileas.async.pipeline.produce_one"(%i) <{pipeline_stage = 0 : i32}> ({}) : (index) -> $PROD',
        "property 'pipeline_stage' is not defined by the operation 'nv_tileas.async.pipeline.produce_one'",
    ),
    "two blocks": (
        "%t: $TOK",
        "pipe.consume_one %t {\n^bb0:\n  cf.br ^bb1\n^bb1:\n  pipe.yield : () -> ()\n} : ($TOK) -> ()",
        "'nv_tileas.async.pipeline.consume_one' does not contain single-block regions",
    ),
    "a yield elsewhere": (
        "%i: i1",
        "scf.if %i { pipe.yield : () -> () }",
        "expects to end a region of a produce or consume op, producer_write, consumer_read or agent_switch, "
        "but its parent is 'scf.if'",
    ),
    "a pipeline of no slots": (
        "",
        "%p, %c = pipe.create_pipeline attributes {numStages = 0 : i32, producerGroupId = 0 : i8, "
        "consumerGroupId = 1 : i8} : () -> ($PROD, $CONS)",
        "expects numStages to be at least 1, but got 0",
    ),
    "a pipeline without depth": (
        "",
        "%p, %c = pipe.create_pipeline attributes {producerGroupId = 0 : i8, consumerGroupId = 1 : i8} "
        ": () -> ($PROD, $CONS)",
        "property 'numStages' expected in operation 'nv_tileas.async.pipeline.create_pipeline'",
    ),
    "two buffers": (
        "%b: $BUF",
        f"%p, %c = pipe.create_pipeline %b, %b attributes {{{PIPE}}} : ($BUF, $BUF) -> ($PROD, $CONS)",
        "expects at most 1 buffer operand, but got 2",
    ),
    "a buffer that is no tile": (
        "%b: f32",
        f"%p, %c = pipe.create_pipeline %b attributes {{{PIPE}}} : (f32) -> ($PROD, $CONS)",
        "expects the buffer to be a tensor or a tiled view, but got f32",
    ),
    "a buffer of another depth": (
        "%b: tensor<3x8xf16>",
        f"%p, %c = pipe.create_pipeline %b attributes {{{PIPE}}} : (tensor<3x8xf16>) -> ($PROD, $CONS)",
        "expects the leading extent of the buffer to be numStages (2), but got tensor<3x8xf16>",
    ),
    "another iterator": (
        "%i: $IT",
        "%j = pipe.inc_iter %i : ($IT) -> !nv_tileas.pipeline_iter<i32>",
        "expects a result of the operand's type $IT, but got !nv_tileas.pipeline_iter<i32>",
    ),
    "an iterator of a completion": (
        "%t: $TOK",
        "%j = pipe.create_iterator %t : ($TOK) -> $IT",
        "operand 'pipeline' at position 0 does not verify",
    ),
    "an iterator without slots": (
        "%i: !nv_tileas.pipeline_iter<i32, depth = 0>",
        "",
        "the depth of a pipeline iterator is at least 1, got 0",
    ),
}


def switch(attributes: str, bodies: str, operands: str = "", types: str = "") -> str:
    return f"pipe.agent_switch{operands} attributes {{{attributes}}} {bodies} : ({types}) -> ()"


AGENTS: dict[str, Refusal] = {
    "no region": ("", switch("num_agents_per_group = array<i32>", ""), "expects at least one region"),
    "groups against regions": (
        "",
        switch("num_agents_per_group = array<i32: 1, 2>", "{\n^bb0:\n}"),
        "expects one entry of num_agents_per_group for each region, but got 2",
    ),
    "an empty group": (
        "",
        switch("num_agents_per_group = array<i32: 0>", "{\n^bb0:\n}"),
        "expects at least one agent in each group, but got 0",
    ),
    "register budgets": (
        "",
        switch("num_agents_per_group = array<i32: 1>, max_regs = array<i32: 40, 232>", "{\n^bb0:\n}"),
        "expects one entry of max_regs for each region, but got 2",
    ),
    "warp counts": (
        "",
        switch("num_agents_per_group = array<i32: 3>, num_warps = array<i32: 4, 4>", "{\n^bb0:\n}"),
        "expects one entry of num_warps for each region or agent, but got 2",
    ),
    "a region without block": (
        "",
        switch("num_agents_per_group = array<i32: 1>", "{}"),
        "expects a block in each agent region",
    ),
    "arguments without isolation": (
        "%v: $T",
        switch("num_agents_per_group = array<i32: 1>", "{\n^bb0(%w: $T):\n}", " %v", "$T"),
        "expects agent region arguments of types [], but got [$T]",
    ),
    "no arguments in isolation": (
        "%v: $T",
        switch("num_agents_per_group = array<i32: 1>, isolated = true", "{\n^bb0:\n}", " %v", "$T"),
        "expects agent region arguments of types [$T], but got []",
    ),
    "the number of a lone agent": (
        "",
        switch("num_agents_per_group = array<i32: 1>", "{\n^bb0(%number: index):\n}"),
        "expects agent region arguments of types [], but got [index]",
    ),
}

TOKENS: dict[str, Refusal] = {
    "kind of to_async": (
        "%v: $T",
        '%w = nvt.async.to_async %v attributes {kind = "bytes"} : ($T) -> $T',
        "expects kind to be 'storage' or 'token', but got 'bytes'",
    ),
    "storage of another type": (
        "%v: $T",
        '%w = nvt.async.to_async %v attributes {kind = "storage"} : ($T) -> $TOK',
        "expects a result of type $T for kind 'storage', but got $TOK",
    ),
    "a token that is none": (
        "%v: $T",
        '%w = nvt.async.to_async %v attributes {kind = "token"} : ($T) -> $T',
        "expects a result of type $TOK for kind 'token', but got $T",
    ),
    "token_to_async of a tile": (
        "%v: $T",
        "%w = nvt.async.token_to_async %v : ($T) -> $TOK",
        "expects a token, but got $T",
    ),
    "wait for ownership": (
        "%p: $PROD",
        "nvt.async.wait %p : ($PROD) -> ()",
        "operand 'token' at position 0 does not verify",
    ),
}

STRUCTURE: dict[str, Refusal] = {
    "no stages": (
        "",
        "%t = nvt.alloc_tensor attributes {stages = 0 : i32} : () -> $S",
        "expects stages to be at least 1, but got 0",
    ),
    "too many subscripts": (
        "%a: $T, %i: index",
        "%v = nvt.view %a[%i, %i] : ($T, index, index) -> tensor<f16>",
        "expects at most 1 subscripts, but got 2",
    ),
    "a view of another size": (
        "%a: $BUF, %i: index",
        "%v = nvt.view %a[%i] : ($BUF, index) -> tensor<4xf16>",
        "expects a result as large as what is viewed (128 bits of tensor<2x8xf16>), but got tensor<4xf16>",
    ),
    "a reinterpretation of another size": (
        "%a: $T",
        "%v = nvt.reinterpret %a : ($T) -> tensor<8xi8>",
        "expects source and result of the same size, but got $T and tensor<8xi8>",
    ),
    "axes that are not unit": (
        "%a: $TILE",
        "%v = nvt.expand_dims %a : ($TILE) -> tensor<4x2x16xf16>",
        "expects a result with unit axes inserted, but got $TILE and tensor<4x2x16xf16>",
    ),
    "a copy to nowhere": (
        "%a: $R",
        "nvt.copy %a : ($R) -> ()",
        "expects a destination operand and no result, or one result and no destination, "
        "but got 0 destinations and 0 results",
    ),
    "a copy to two places": (
        "%a: $R, %b: $S",
        "%c = nvt.copy %a, %b : ($R, $S) -> $S",
        "expects a destination operand and no result, or one result and no destination, "
        "but got 1 destinations and 1 results",
    ),
    "two destinations": (
        "%a: $R, %b: $S",
        "nvt.copy %a, %b, %b : ($R, $S, $S) -> ()",
        "expects at most 1 destination operand, but got 2",
    ),
    "a copy within global memory": (
        "%a: $ARRAY",
        "nvt.copy %a, %a : ($ARRAY, $ARRAY) -> ()",
        "expects a legal pair of memory spaces, but got a copy from gmem to gmem",
    ),
    "an asynchronous copy from tensor to shared memory": (
        "%a: tensor<8xf16, #nv_tileas.layout<tmem>>, %b: $S",
        "%t = nvt.async.copy %a, %b : (tensor<8xf16, #nv_tileas.layout<tmem>>, $S) -> $TOK",
        "expects a legal pair of memory spaces, but got a copy from tmem to smem",
    ),
    "a copy of another size": (
        "%a: $T, %b: $TILE",
        "nvt.copy %a, %b : ($T, $TILE) -> ()",
        "expects source and result of the same size, but got $T and $TILE",
    ),
    "an asynchronous copy of two tokens": (
        "%a: $R, %b: $S, %t: $TOK",
        "%u = nvt.async.copy %a, %b, %t, %t : ($R, $S, $TOK, $TOK) -> $TOK",
        "expects at most 1 token operand, but got 2",
    ),
    "a conversion of elements": (
        "%a: $T",
        "%b = nvt.convert_layout %a : ($T) -> tensor<8xf32>",
        "expects source and result of one element type, but got $T and tensor<8xf32>",
    ),
    "a conversion of extents": (
        "%a: $T",
        "%b = nvt.convert_layout %a : ($T) -> $TILE",
        "expects source and result of the same element count, but got $T and $TILE",
    ),
    "a plan that stages registers": (
        "%a: $SW",
        """%b = nvt.convert_layout %a attributes {atom_plan = #nv_tileas.atom_plan<tag = 0,
           smem = #nv_tileas.layout<smem>>} : ($SW) -> $R""",
        "expects no smem layout in an atom plan of tag 0, but got #nv_tileas.layout<smem>",
    ),
    "a plan that stages through nothing": (
        "%a: $SW",
        "%b = nvt.convert_layout %a attributes {atom_plan = #nv_tileas.atom_plan<tag = 1>} : ($SW) -> $R",
        "expects an atom plan of tag 1 to name the operand's layout as smem, but got none",
    ),
    "a plan for another operand": (
        "%a: $SW",
        """%b = nvt.convert_layout %a attributes {atom_plan = #nv_tileas.atom_plan<tag = 1,
           smem = #nv_tileas.layout<smem>>} : ($SW) -> $R""",
        "expects an atom plan of tag 1 to name the operand's layout as smem, but got #nv_tileas.layout<smem>",
    ),
    "a plan of another kind": (
        "%a: $SW",
        "%b = nvt.convert_layout %a attributes {atom_plan = #nv_tileas.atom_plan<tag = 2>} : ($SW) -> $R",
        "the tag of an atom plan is 0 or 1, got 2",
    ),
    "two permutations": (
        "%a: $T, %p: $I",
        "%b = nvt.shuffle %a, %p, %p : ($T, $I, $I) -> $T",
        "expects at most 1 permutation operand, but got 2",
    ),
    "a permutation of floats": (
        "%a: $T",
        "%b = nvt.shuffle %a, %a : ($T, $T) -> $T",
        "expects a permutation of integers, but got $T",
    ),
    "a layout elsewhere": (
        "%a: tensor<8xf16, #nv_tileas.layout<disk>>",
        "",
        "a layout lives in one of rmem, smem, tmem, gmem, not in 'disk'",
    ),
    "a box that is no array": (
        "%a: $ARRAY",
        "%d = nvt.make_tiled_tma_desc %a attributes {atom = #nv_tileas<atom tma_load {box = 8 : i64}>} "
        ": ($ARRAY) -> $DESC",
        "the box of an atom is an array<i64: ...>, not 8 : i64",
    ),
    "a mode that is no string": (
        "%a: $ARRAY",
        "%d = nvt.make_tiled_tma_desc %a attributes {atom = #nv_tileas<atom tma_load {mode = 8 : i64}>} "
        ": ($ARRAY) -> $DESC",
        "the mode of an atom is a string, not 8 : i64",
    ),
    "a generator without terminator": (
        "",
        "%g = nvt.generate {\n^bb0(%i: tensor<i32>):\n} : () -> tensor<8xi32>",
        "expects a body that ends in 'nv_tileas.yield'",
    ),
    "coordinates of a generator": (
        "%x: i32",
        "%g = nvt.generate {\n^bb0(%i: i32):\n nvt.yield %x : (i32) -> ()\n} : () -> tensor<8xi32>",
        "expects 1 arguments of type tensor<i32>, but got [i32]",
    ),
    "element of a generator": (
        "%x: f32",
        "%g = nvt.generate {\n^bb0(%i: tensor<i32>):\n nvt.yield %x : (f32) -> ()\n} : () -> tensor<8xi32>",
        "expects one yielded element of type i32, but got [f32]",
    ),
}


def slice_of(attributes: str, result: str = "tensor<8x8xf16>") -> str:
    return f"%b = nvt.extract_slice %a attributes {{{attributes}}} : ($TILE) -> {result}"


SLICES: dict[str, Refusal] = {
    "no offsets": ("%a: $TILE", slice_of("static_sizes = array<i64: 8, 8>"), "expects 2 offsets, but got 0"),
    "one offset": (
        "%a: $TILE, %i: index",
        "%b = nvt.extract_slice %a[%i] : ($TILE, index) -> tensor<8x8xf16>",
        "expects 2 offsets, but got 1",
    ),
    "sizes of another rank": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 8>"),
        "expects 2 sizes, but got 1",
    ),
    "a dynamic offset without operand": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, -9223372036854775808>"),
        "expects 1 operands for dynamic offsets, but got 0",
    ),
    "sizes against the part": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 4, 8>"),
        "expects a part of sizes [4, 8], but got tensor<8x8xf16>",
    ),
    "a part that hangs over": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, 12>"),
        "expects the part to lie inside: axis 1 reaches 19 of extent 16",
    ),
    "a part strided over the edge": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, 0>, static_strides = array<i64: 1, 3>"),
        "expects the part to lie inside: axis 1 reaches 21 of extent 16",
    ),
    "a negative offset": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: -1, 0>"),
        "expects offsets of at least 0, but got -1 on axis 0",
    ),
    "a part of higher rank": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, 0>", "tensor<1x8x8xf16>"),
        "expects a part of at most rank 2, but got tensor<1x8x8xf16>",
    ),
    "elements of the part": (
        "%a: $TILE",
        slice_of("static_offsets = array<i64: 0, 0>", "tensor<8x8xf32>"),
        "expects whole and part of one element type, but got $TILE and tensor<8x8xf32>",
    ),
    "another destination": (
        "%a: $T, %d: $TILE, %i: index",
        "%b = nvt.insert_slice %a, %d[%i, %i] : ($T, $TILE, index, index) -> $T",
        "expects a result of the destination's type $TILE, but got $T",
    ),
}

MEMORY: dict[str, Refusal] = {
    "a load from a scalar": (
        "%v: f32, %i: index",
        "%a = nvt.tiled_load %v[%i] : (f32, index) -> $T",
        "expects a tiled view, an array or a TMA descriptor, but got f32",
    ),
    "a token in and none out": (
        "%v: $ARRAY, %i: index, %t: $MEM",
        "%a = nvt.tiled_load %v[%i, %i] token(%t) : ($ARRAY, index, index, $MEM) -> $TILE",
        "expects a token result exactly when there is a token operand, but got 1 token operands and 0 token results",
    ),
    "a mask of another shape": (
        "%v: $ARRAY, %i: index, %m: $M",
        "%a = nvt.tiled_load %v[%i, %i] mask(%m) : ($ARRAY, index, index, $M) -> $TILE",
        "expects a mask of i1 elements shaped like $TILE, but got $M",
    ),
    "an old tile of another type": (
        "%v: $F32, %a: tensor<8xf32>, %i: index",
        "%o = nvt.tiled_atomic_rmw %v[%i], %a attributes {$ADD} : ($F32, tensor<8xf32>, index) -> tensor<8xf64>",
        "expects a result of the value's type tensor<8xf32>, but got tensor<8xf64>",
    ),
    "a load from no pointer": (
        "%p: $T",
        "%a = nvt.load %p : ($T) -> $T",
        "expects a pointer or a tile of pointers, but got $T",
    ),
    "a load of other elements": (
        "%p: $P",
        "%a = nvt.load %p : ($P) -> tensor<8xf32>",
        "expects pointers to f32, but got $P",
    ),
    "a load of another shape": (
        "%p: $P",
        "%a = nvt.load %p : ($P) -> tensor<4xf16>",
        "expects one pointer for each element of tensor<4xf16>, but got $P",
    ),
    "a fallback of another type": (
        "%p: $P, %m: $M, %o: tensor<8xf32>",
        "%a = nvt.load %p mask(%m) other(%o) : ($P, $M, tensor<8xf32>) -> $T",
        "expects a fallback of type $T, but got tensor<8xf32>",
    ),
    "axes of a gather": (
        "%b: $ARRAY, %i: $I",
        "%a = nvt.gather_load %b[%i] : ($ARRAY, $I) -> $T",
        "expects 2 coordinates, but got 1",
    ),
    "coordinates of a gather": (
        "%b: $ARRAY, %i: $T",
        "%a = nvt.gather_load %b[%i, %i] : ($ARRAY, $T, $T) -> $T",
        "expects coordinate tiles of integers, but got $T",
    ),
    "shape of a gather": (
        "%b: $ARRAY, %i: tensor<4xi32>",
        "%a = nvt.gather_load %b[%i, %i] : ($ARRAY, tensor<4xi32>, tensor<4xi32>) -> $T",
        "expects coordinate tiles shaped like $T, but got tensor<4xi32>",
    ),
    "elements of a scatter": (
        "%b: memref<64x64xf32>, %a: $T, %i: $I",
        "nvt.scatter_store %b[%i, %i], %a : (memref<64x64xf32>, $T, $I, $I) -> ()",
        "view elementType not equal with tensor element type: f32 != f16",
    ),
    "a descriptor of shared memory": (
        "%a: !nv_tileas.tiled_view<8x16xf16, smem>",
        "%d = nvt.make_tiled_tma_desc %a attributes {$LOAD} : (!nv_tileas.tiled_view<8x16xf16, smem>) -> $DESC",
        "expects a view of global memory, but got !nv_tileas.tiled_view<8x16xf16, smem>",
    ),
    "a box twice": (
        "%a: $ARRAY, %i: index",
        "%d = nvt.make_tiled_tma_desc %a, %i, %i attributes {$LOAD, box = array<i64: 8, 16>} "
        ": ($ARRAY, index, index) -> $DESC",
        "expects the box as an attribute or as operands, not both",
    ),
    "six axes": (
        "%d: $DESC, %s: $SMEM, %i: index",
        "%t = nvt.async.tiled_tma_store %d[%i, %i, %i, %i, %i, %i], %s attributes {$STORE} "
        ": ($DESC, $SMEM, index, index, index, index, index, index) -> $TOK",
        "expects at most 5 coordinates, but got 6",
    ),
    "lanes of floats": (
        "%d: $DESC, %s: $SMEM, %i: index, %r: $T",
        "%t = nvt.async.scatter_tma_store %d[%i], %s, %r attributes {$STORE} : ($DESC, $SMEM, index, $T) -> $TOK",
        "expects a tile of coordinates or addresses, but got $T",
    ),
    "a scatter that pads": (
        "%d: $DESC, %s: $SMEM, %i: index, %r: $I",
        """%t = nvt.async.scatter_tma_store %d[%i], %s, %r attributes {$STORE, padding_value = 0.0 : f16}
           : ($DESC, $SMEM, index, $I) -> $TOK""",
        "expects no padding_value on a scatter",
    ),
}


def block_scaled(
    m: int,
    n: int,
    k: int,
    *,
    rows: int | None = None,
    columns: int | None = None,
    element: str = "f8E4M3FN",
    ctas: int = 1,
    op: str = "",
) -> tuple[str, str]:
    """A product of MxK by KxN in blocks of 32, with scales of `rows` of A and `columns` of B (None: of all)."""
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}xf32>"
    s, r = f"tensor<{rows or m}x{k // 32}xf8E8M0FNU>", f"tensor<{columns or n}x{k // 32}xf8E8M0FNU>"
    multiply = op or f"nvt.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r) attributes {{cta_group = {ctas} : i32}}"
    return f"%a: {a}, %b: {b}, %c: {c}, %s: {s}, %r: {r}", f"%d = {multiply} : ({a}, {b}, {c}, {s}, {r}) -> {c}"


def combine(op: str, attributes: str, result: str, body: str = "") -> str:
    """A reduction or scan of an 8x4 tile of f32."""
    body = body or "^bb0(%x: f32, %y: f32):\n nvt.yield %x : (f32) -> ()"
    return f"%r = nvt.{op} %a attributes {{{attributes}}} {{\n{body}\n}} : (tensor<8x4xf32>) -> {result}"


AB = "%a: tensor<8x4xf16>, %b: tensor<4x8xf16>, %c: $C"
AB_TYPES = "tensor<8x4xf16>, tensor<4x8xf16>, $C"
SOURCE = "%a: tensor<8x4xf32>"

COMPUTE: dict[str, Refusal] = {
    "a product of another type": (
        AB,
        f"%d = nvt.dot %a, %b, %c : ({AB_TYPES}) -> tensor<8x8xf64>",
        "expects a result of the type of C, $C, but got tensor<8x8xf64>",
    ),
    "three scales": (
        AB,
        f"%d = nvt.dot %a, %b, %c, %c, %c, %c : ({AB_TYPES}, $C, $C, $C) -> $C",
        "expects at most two scale tiles and one integer behind A, B and C, but got [$C, $C, $C]",
    ),
    "two accumulate flags": (
        AB + ", %f: i1",
        f"%d = nvt.dot %a, %b, %c, %f, %f : ({AB_TYPES}, i1, i1) -> $C",
        "expects at most two scale tiles and one integer behind A, B and C, but got [i1, i1]",
    ),
    "a flag before the scales": (
        AB + ", %f: i1",
        f"%d = nvt.dot %a, %b, %c, %f, %c, %c : ({AB_TYPES}, i1, $C, $C) -> $C",
        "expects the accumulate flag as the last operand",
    ),
    "three thread blocks": (
        "%a: $A8, %b: $B8, %c: $C8, %s: $SA, %r: $SB",
        "%d = nvt.block_scaled_mma %a, %b, %c sfa(%s) sfb(%r) attributes {cta_group = 3 : i32} "
        ": ($A8, $B8, $C8, $SA, $SB) -> $C8",
        "expects cta_group to be 1 or 2, but got 3",
    ),
    "rows without scale factors": (
        *block_scaled(16, 8, 64, rows=4),
        "expects scale factors for each of the 16 rows of A, but got 4 rows of them",
    ),
    "columns without scale factors": (
        *block_scaled(16, 8, 64, columns=4),
        "expects scale factors for each of the 8 columns of B, but got 4 columns of them",
    ),
    "half the K of an instruction": (
        *block_scaled(16, 8, 32, element="f4E2M1FN"),
        "expects K to be a multiple of 64, which one instruction multiplies, but got 32",
    ),
    "a K between instructions": (
        *block_scaled(16, 8, 96, element="f4E2M1FN"),
        "expects K to be a multiple of 64, which one instruction multiplies, but got 96",
    ),
    "fewer rows than an instruction of one CTA": (
        *block_scaled(8, 8, 64),
        "expects M and N to be multiples of 16 and 8, as one CTA multiplies, but got 8 and 8",
    ),
    "fewer columns than an instruction of one CTA": (
        *block_scaled(16, 4, 64),
        "expects M and N to be multiples of 16 and 8, as one CTA multiplies, but got 16 and 4",
    ),
    "fewer rows than an instruction of two CTAs": (
        *block_scaled(64, 16, 64, ctas=2),
        "expects M and N to be multiples of 128 and 16, as two CTAs multiply, but got 64 and 16",
    ),
    "fewer columns than an instruction of two CTAs": (
        *block_scaled(128, 8, 64, ctas=2),
        "expects M and N to be multiples of 128 and 16, as two CTAs multiply, but got 128 and 8",
    ),
    "a dot with rows without scale factors": (
        block_scaled(16, 8, 64, rows=4)[0],
        block_scaled(16, 8, 64, rows=4, op="nvt.dot %a, %b, %c, %s, %r")[1],
        "expects scale factors for each of the 16 rows of A, but got 4 rows of them",
    ),
    "an axis too many": (
        SOURCE,
        combine("reduce", "axis = 2 : i32", "tensor<8xf32>"),
        "expects an axis below rank 2, but got 2",
    ),
    "a reduction without axis": (
        SOURCE,
        combine("reduce", "", "tensor<8xf32>"),
        "property 'axis' expected in operation 'nv_tileas.reduce'",
    ),
    "a reduction along the other axis": (
        SOURCE,
        combine("reduce", "axis = 0 : i32", "tensor<8xf32>"),
        "expects a result of shape [4], but got tensor<8xf32>",
    ),
    "a reduction to other elements": (
        SOURCE,
        combine("reduce", "axis = 1 : i32", "tensor<8xf64>"),
        "expects a result of f32 elements, but got tensor<8xf64>",
    ),
    "a reduction without terminator": (
        SOURCE,
        combine("reduce", "axis = 1 : i32", "tensor<8xf32>", "^bb0(%x: f32, %y: f32):\n %z = arith.addf %x, %y : f32"),
        "expects a body that ends in 'nv_tileas.yield'",
    ),
    "arguments of a combiner": (
        SOURCE,
        combine("reduce", "axis = 1 : i32", "tensor<8xf32>", "^bb0(%x: f32):\n nvt.yield %x : (f32) -> ()"),
        "expects arguments of types [f32, f32], but got [f32]",
    ),
    "yield of a combiner": (
        SOURCE,
        combine("scan", "axis = 1 : i32", "tensor<8x4xf32>", "^bb0(%x: f32, %y: f32):\n nvt.yield : () -> ()"),
        "expects yielded values of types [f32], but got []",
    ),
    "a scan of another shape": (
        SOURCE,
        combine("scan", "axis = 1 : i32", "tensor<8xf32>"),
        "expects a result of shape [8, 4], but got tensor<8xf32>",
    ),
}

CONTROL: dict[str, Refusal] = {
    "a return elsewhere": ("%i: i1", "scf.if %i { nvt.return : () -> () }", "expects parent op 'nv_tileas.func'"),
    "two regions of a pragma": (
        "",
        "nvt.pragma {\n^bb0:\n}, {\n^bb0:\n} : () -> ()",
        "expects at most 1 region, but got 2",
    ),
    "results of a pragma": (
        "%v: f32",
        "%r = nvt.pragma { nvt.yield : () -> () } : () -> f32",
        "expects the body to yield the result types [f32], but got []",
    ),
}

WORDED: dict[str, Refusal] = {
    f"{family}: {name}": refusal
    for family, table in (
        ("pipeline", PIPELINE),
        ("agents", AGENTS),
        ("tokens", TOKENS),
        ("structure", STRUCTURE),
        ("slices", SLICES),
        ("memory", MEMORY),
        ("compute", COMPUTE),
        ("control", CONTROL),
    )
    for name, refusal in table.items()
}
