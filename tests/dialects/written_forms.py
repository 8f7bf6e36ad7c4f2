"""
Ops and forms as people write them, for `test_written_forms`: valid ones, and ones that are refused.

A text that does not begin with `module` or a function is the body of a function with the arguments `ARGUMENTS`. What is
refused stands with a part of our message; mlir-opt's words may be others.
"""
# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

from dataclasses import dataclass, field

ARGUMENTS = (
    "%p: !llvm.ptr, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %t: !llvm.ptr<6>, %d: !llvm.ptr<7>, %r: !llvm.ptr<8>, %b: i1, %h: i16, "
    "%i: i32, %l: i64, %n: index, %f: f32, %e: i8, %q: vector<4xi32>, %m: memref<8xf32>, %k: memref<8xf32>, %w: memref<8xi32>, "
    "%c: !llvm.struct<(f32, f32, f32, f32)>, %o: !llvm.struct<(i32, i32, i32, i32)>, "
    "%ti: tensor<4xi32>, %tb: tensor<4xi8>, %tf: tensor<4xf32>, %tm: tensor<4xi1>, %tn: tensor<4xindex>, %vi: vector<4xi32>, %vf: vector<4xf32>, %vm: vector<4xi1>"
)


@dataclass(frozen=True)
class Form:
    """Texts of one op or form."""

    valid: tuple[str, ...]
    invalid: dict[str, str]
    """Text -> a part of our message."""
    newer: dict[str, str] = field(default_factory=dict[str, str])
    """Valid texts of ops that LLVM 22 lacks -> their generic form."""
    theirs_accepts: frozenset[str] = frozenset()
    """Invalid texts that mlir-opt lets through, because it does not look into what they say."""


def function(text: str) -> str:
    """A module with `text`, which may be the body of a function."""
    if text.startswith(("module", "func.func", "llvm.func", "gpu.module", '"builtin.module"')):
        return text
    return f"func.func @f({ARGUMENTS}) {{\n{text}\nfunc.return\n}}"


MMA = "<m = 64, n = 8, k = {k}>, D[{d}, <one>], A[{a}, <one>, <row>], B[{b}, <one>, <col>]"
FLOATS = "!llvm.struct<(f32, f32, f32, f32)>"
INTEGERS = "!llvm.struct<(i32, i32, i32, i32)>"
PRODUCT = "(!llvm.ptr<6>, i64, i64, i32, i1)"
ONE = "ctaGroup = #nvvm.cta_group<cta_1>"
KIND = "kind = #nvvm.tcgen05_mma_kind"
LDST = "shape = #nvvm.tcgen05_ldst_shape"
CP = "shape = #nvvm.tcgen05_cp_shape"
CALL = 'llvm.call_intrinsic "llvm.amdgcn.'

FORMS: dict[str, Form] = {
    "nvvm.wgmma.mma_async": Form(
        (
            f"%0 = nvvm.wgmma.mma_async %l, %l, %c, {MMA.format(k=16, d='<f32>', a='<f16>', b='<f16>')} : {FLOATS} -> {FLOATS}",
            f"%0 = nvvm.wgmma.mma_async %l, %l, %o, {MMA.format(k=32, d='<s32>', a='<s8>', b='<u8>')} : {INTEGERS} -> {INTEGERS}",
        ),
        {
            f"%0 = nvvm.wgmma.mma_async %l, %l, %c, {MMA.format(k=16, d='<f32>', a='<f16>', b='<bf16>')} : {FLOATS} -> {FLOATS}": "f32 += f16 * bf16, it is not supported."
        },
    ),
    "nvvm.tcgen05.alloc": Form(
        (
            "nvvm.tcgen05.alloc %s, %i : !llvm.ptr<3>, i32",
            "nvvm.tcgen05.alloc %p, %i {group = #nvvm.cta_group<cta_2>} : !llvm.ptr, i32",
        ),
        {"nvvm.tcgen05.alloc %s, %l : !llvm.ptr<3>, i64": "operand #1 must be 32-bit signless integer"},
    ),
    "nvvm.tcgen05.relinquish_alloc_permit": Form(
        (
            "nvvm.tcgen05.relinquish_alloc_permit",
            "nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}",
        ),
        {"nvvm.tcgen05.relinquish_alloc_permit {group = 1 : i32}": "Invalid attribute `group`"},
    ),
    "nvvm.tcgen05.dealloc": Form(
        (
            "nvvm.tcgen05.dealloc %t, %i : !llvm.ptr<6>, i32",
            "nvvm.tcgen05.dealloc %t, %i {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<6>, i32",
        ),
        {"nvvm.tcgen05.dealloc %s, %i : !llvm.ptr<3>, i32": "must be LLVM pointer in address space 6"},
    ),
    "nvvm.tcgen05.mma": Form(
        (
            f"nvvm.tcgen05.mma %t, %l, %l, %i, %b {{{ONE}, {KIND}<f16>}} : {PRODUCT}",
            f"nvvm.tcgen05.mma %t, %t, %l, %i, %b scale = %l mask = %q {{aShift, {ONE}, {KIND}<tf32>}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, i64, vector<4xi32>)",
        ),
        {
            f"nvvm.tcgen05.mma %t, %l, %l, %i, %b {{aShift, {ONE}, {KIND}<f16>}} : {PRODUCT}": "A-shift can be applied only when matrix A is in tensor memory"
        },
    ),
    "nvvm.tcgen05.mma.sp": Form(
        (
            f"nvvm.tcgen05.mma.sp %t, %l, %l, %i, %b, %t {{{ONE}, {KIND}<i8>}} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)",
            f"nvvm.tcgen05.mma.sp %t, %t, %l, %i, %b, %t mask = %q {{{ONE}, {KIND}<f16>}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, !llvm.ptr<6>, vector<4xi32>)",
        ),
        {
            f"nvvm.tcgen05.mma.sp %t, %l, %l, %i, %b, %l {{{ONE}, {KIND}<i8>}} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)": "operand #5 must be LLVM pointer in address space 6"
        },
    ),
    "nvvm.tcgen05.mma.block_scale": Form(
        (
            f"nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {{{ONE}, kind = #nvvm.block_scale_kind<mxf4>}} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)",
            f"nvvm.tcgen05.mma.block_scale %t, %t, %l, %i, %b, %t, %t {{{ONE}, kind = #nvvm.block_scale_kind<mxf4nvf4>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)",
        ),
        {
            f"nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {{{ONE}, kind = #nvvm.block_scale_kind<mxf4nvf4>}} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)": "mxf4nvf4 requires block scale attribute"
        },
    ),
    "nvvm.tcgen05.mma.ws": Form(
        (
            f"nvvm.tcgen05.mma.ws %t, %l, %l, %i, %b {{{KIND}<f16>}} : {PRODUCT}",
            f"nvvm.tcgen05.mma.ws %t, %l, %l, %i, %b, %l {{{KIND}<f16>, collectorBBuffer = #nvvm.tcgen05_mma_collectorb<b1>}} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)",
        ),
        {
            f"nvvm.tcgen05.mma.ws %t, %l, %l, %i, %b, %i {{{KIND}<f16>}} : (!llvm.ptr<6>, i64, i64, i32, i1, i32)": "operand #5 must be 64-bit signless integer"
        },
    ),
    "nvvm.tcgen05.commit": Form(
        (
            "nvvm.tcgen05.commit %s : !llvm.ptr<3>",
            "nvvm.tcgen05.commit %p, multicast_mask = %h {group = #nvvm.cta_group<cta_2>} : !llvm.ptr, i16",
        ),
        {
            "nvvm.tcgen05.commit %s, multicast_mask = %i : !llvm.ptr<3>, i32": "operand #1 must be 16-bit signless integer"
        },
    ),
    "nvvm.tcgen05.ld": Form(
        (
            f"%0 = nvvm.tcgen05.ld %t {{{LDST}<shape_32x32b>}} : vector<32xi32>",
            f"%0 = nvvm.tcgen05.ld %t, %l pack {{{LDST}<shape_16x32bx2>}} : i32",
        ),
        {f"%0 = nvvm.tcgen05.ld %t {{{LDST}<shape_16x32bx2>}} : i32": "shape 16x32bx2 requires offset argument"},
    ),
    "nvvm.tcgen05.st": Form(
        (
            f"nvvm.tcgen05.st %t, %q {{{LDST}<shape_16x256b>}} : vector<4xi32>",
            f"nvvm.tcgen05.st %t, %i, %l unpack {{{LDST}<shape_16x32bx2>}} : i32",
        ),
        {f"nvvm.tcgen05.st %t, %i {{{LDST}<shape_16x256b>}} : i32": "invalid input length 1"},
    ),
    "nvvm.tcgen05.cp": Form(
        (
            f"nvvm.tcgen05.cp %t, %l {{{CP}<shape_128x256b>}}",
            f"nvvm.tcgen05.cp %t, %l {{{CP}<shape_32x128b>, multicast = #nvvm.tcgen05_cp_multicast<warpx4>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b6x16_p32>}}",
        ),
        {f"nvvm.tcgen05.cp %t, %l {{{CP}<shape_64x128b>}}": "Shape 64x128b requires multicast"},
    ),
    "nvvm.tcgen05.wait": Form(
        ("nvvm.tcgen05.wait <load>", "nvvm.tcgen05.wait #nvvm.tcgen05_wait<store>"),
        {"nvvm.tcgen05.wait <before>": "Expected `load`, or `store`"},
    ),
    "nvvm.tcgen05.fence": Form(
        ("nvvm.tcgen05.fence <before>", "nvvm.tcgen05.fence #nvvm.tcgen05_fence<after> {tag}"),
        {"nvvm.tcgen05.fence <load>": "Expected `before`, or `after`"},
    ),
    "nvvm.tcgen05.mma_smem_desc": Form(
        (
            "%0 = nvvm.tcgen05.mma_smem_desc(%i, %i, %i, %e, %b, %e) : (i32, i32, i32, i8, i1, i8) -> i64",
            "%0 = nvvm.tcgen05.mma_smem_desc(%i, %i, %i, %e, %b, %e) {tag} : (i32, i32, i32, i8, i1, i8) -> i64",
        ),
        {
            "%0 = nvvm.tcgen05.mma_smem_desc(%i, %i, %i, %e, %b, %e) : (i32, i32, i32, i8, i1, i8) -> i32": "result #0 must be 64-bit signless integer"
        },
    ),
    "llvm.cond_br": Form(
        (
            "llvm.func @f(%b: i1) {\nllvm.cond_br %b, ^x, ^y\n^x:\nllvm.br ^y\n^y:\nllvm.return\n}",
            "llvm.func @f(%b: i1, %i: i32) {\nllvm.cond_br %b, ^x(%i : i32), ^x(%i : i32)\n^x(%j: i32):\nllvm.return\n}",
        ),
        {"llvm.func @f(%b: i32) {\nllvm.cond_br %b, ^x, ^x\n^x:\nllvm.return\n}": "i1"},
    ),
    "loop of cf": Form(
        (
            "func.func @f(%n: index) {\n%z = arith.constant 0 : index\n%o = arith.constant 1 : index\ncf.br ^h(%z : index)\n^h(%i: index):\n%m = arith.cmpi slt, %i, %n : index\ncf.cond_br %m, ^b, ^x\n^b:\n%j = arith.addi %i, %o : index\ncf.br ^h(%j : index)\n^x:\nfunc.return\n}",
            "func.func @f(%b: i1) {\ncf.br ^h\n^h:\ncf.cond_br %b, ^h, ^x\n^x:\nfunc.return\n}",
        ),
        {
            "func.func @f(%n: index) {\ncf.br ^h(%n : index)\n^h(%i: i32):\nfunc.return\n}": "type mismatch for bb argument #0 of successor #0"
        },
    ),
    "scf.while": Form(
        (
            "%0 = scf.while (%a = %i) : (i32) -> i32 {\nscf.condition(%b) %a : i32\n} do {\n^bb0(%z: i32):\nscf.yield %z : i32\n}",
            "%0:2 = scf.while (%a = %i, %u = %f) : (i32, f32) -> (f32, i32) {\nscf.condition(%b) %u, %a : f32, i32\n} do {\n^bb0(%y: f32, %z: i32):\nscf.yield %z, %y : i32, f32\n}",
        ),
        {
            "%0 = scf.while (%a = %i) : (i32) -> i32 {\nscf.condition(%i) %a : i32\n} do {\n^bb0(%z: i32):\nscf.yield %z : i32\n}": ""
        },
    ),
    "scf.while without arguments": Form(
        (
            "scf.while : () -> () {\nscf.condition(%b)\n} do {\nscf.yield\n}",
            "%0 = scf.while : () -> i32 {\nscf.condition(%b) %i : i32\n} do {\n^bb0(%z: i32):\nscf.yield\n}",
        ),
        {"scf.while : (i32) -> () {\nscf.condition(%b)\n} do {\nscf.yield\n}": "expected an initial value"},
    ),
    "llvm.addrspacecast": Form(
        (
            "%0 = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr",
            "%0 = llvm.addrspacecast %s {tag} : !llvm.ptr<3> to !llvm.ptr<7>",
        ),
        {"%0 = llvm.addrspacecast %i : i32 to !llvm.ptr": ""},
    ),
    "llvm.load": Form(
        (
            "%0 = llvm.load volatile %p : !llvm.ptr -> i32",
            '%0 = llvm.load %g atomic syncscope("workgroup") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> f32',
            "%0 = llvm.load volatile %s atomic acquire {alignment = 4 : i64, nontemporal} : !llvm.ptr<3> -> i32",
            "%0 = llvm.load %p invariant invariant_group {alignment = 4 : i64, tag, tbaa = []} : !llvm.ptr -> i1",
            "%0 = llvm.load %p dereferenceable<bytes = 8> : !llvm.ptr -> !llvm.ptr",
            "%0 = llvm.load %p dereferenceable<bytes = 8, mayBeNull = true> : !llvm.ptr -> !llvm.ptr",
        ),
        {
            "%0 = llvm.load %p atomic acquire : !llvm.ptr -> i32": "expected alignment for atomic access",
            "%0 = llvm.load %p atomic acq_rel {alignment = 4 : i64} : !llvm.ptr -> i32": "unsupported ordering 'acq_rel'",
            "%0 = llvm.load %p atomic acquire {alignment = 1 : i64} : !llvm.ptr -> i1": "unsupported type 'i1'",
            "%0 = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> vector<4xi32>": "unsupported type",
            '%0 = "llvm.load"(%p) <{ordering = 0 : i64, syncscope = "a"}> : (!llvm.ptr) -> i32': "expected syncscope to be null",
            "%0 = llvm.load %p atomic relaxed {alignment = 4 : i64} : !llvm.ptr -> i32": "",
        },
    ),
    "llvm.store": Form(
        (
            "llvm.store volatile %i, %p : i32, !llvm.ptr",
            'llvm.store volatile %i, %s atomic syncscope("workgroup") release {alignment = 4 : i64} : i32, !llvm.ptr<3>',
            "llvm.store %f, %g atomic monotonic {alignment = 4 : i64, nontemporal} : f32, !llvm.ptr<1>",
            "llvm.store %i, %p invariant_group {alignment = 4 : i64, tag} : i32, !llvm.ptr",
        ),
        {
            "llvm.store %i, %p atomic release : i32, !llvm.ptr": "expected alignment for atomic access",
            "llvm.store %i, %p atomic acquire {alignment = 4 : i64} : i32, !llvm.ptr": "unsupported ordering 'acquire'",
        },
    ),
    "llvm.fence": Form(
        ("llvm.fence acquire", 'llvm.fence syncscope("agent") acq_rel', "llvm.fence seq_cst {tag}"),
        {"llvm.fence monotonic": "can be given only acquire, release, acq_rel, and seq_cst orderings"},
    ),
    "llvm.atomicrmw": Form(
        (
            "%0 = llvm.atomicrmw add %g, %i monotonic : !llvm.ptr<1>, i32",
            '%0 = llvm.atomicrmw volatile fadd %g, %f syncscope("agent") acq_rel {alignment = 4 : i64} : !llvm.ptr<1>, f32',
        ),
        {"%0 = llvm.atomicrmw add %g, %f monotonic : !llvm.ptr<1>, f32": ""},
    ),
    "llvm.cmpxchg": Form(
        (
            "%0 = llvm.cmpxchg %g, %i, %i acq_rel monotonic : !llvm.ptr<1>, i32",
            "%0 = llvm.cmpxchg weak %s, %l, %l seq_cst seq_cst : !llvm.ptr<3>, i64",
        ),
        {"%0 = llvm.cmpxchg %g, %i, %i acq_rel release : !llvm.ptr<1>, i32": ""},
    ),
    "memref.atomic_rmw": Form(
        (
            "%0 = memref.atomic_rmw addf %f, %m[%n] : (f32, memref<8xf32>) -> f32",
            "%0 = memref.atomic_rmw assign %i, %w[%n] : (i32, memref<8xi32>) -> i32",
        ),
        {"%0 = memref.atomic_rmw plus %f, %m[%n] : (f32, memref<8xf32>) -> f32": "expected one of addf"},
    ),
    "nvvm.exit": Form(
        ("nvvm.exit", "nvvm.exit {tag}"),
        {"nvvm.exit %i : i32": ""},
    ),
    "rocdl.s.barrier.signal": Form(
        ("rocdl.s.barrier.signal id = -1", "rocdl.s.barrier.signal id = 2 {tag}"),
        {'"rocdl.s.barrier.signal"() : () -> ()': ""},
    ),
    "rocdl.s.barrier.wait": Form(
        ("rocdl.s.barrier.wait id = -1", "rocdl.s.barrier.wait id = 2 {tag}"),
        {'"rocdl.s.barrier.wait"() <{id = true}> : () -> ()': "'id' failed to satisfy constraint"},
    ),
    "gpu.thread_id": Form(
        ("%0 = gpu.thread_id x", "%0 = gpu.thread_id  z {tag}"),
        {"%0 = gpu.thread_id w": ""},
    ),
    "gpu.block_id": Form(
        ("%0 = gpu.block_id x", "%0 = gpu.block_id  y"),
        {"%0 = gpu.block_id q": ""},
    ),
    "gpu.barrier": Form(
        ("gpu.barrier", "gpu.barrier {tag}"),
        {"gpu.barrier %i : i32": ""},
    ),
    "gpu.module": Form(
        (
            "gpu.module @m {\n}",
            "gpu.module @m {\ngpu.func @k() kernel {\ngpu.return\n}\n}",
        ),
        {"gpu.module {\n}": ""},
    ),
    "gpu.func": Form(
        (
            "gpu.module @m {\ngpu.func @k(%a: memref<8xf32>) kernel {\ngpu.return\n}\n}",
            "gpu.module @m {\ngpu.func @k(%a: f32) -> f32 {\ngpu.return %a : f32\n}\n}",
        ),
        {
            "gpu.module @m {\ngpu.func @k(%a: f32) -> f32 kernel {\ngpu.return %a : f32\n}\n}": "expected void return type for kernel function"
        },
    ),
    "memref.copy": Form(
        (
            "memref.copy %m, %k : memref<8xf32> to memref<8xf32>",
            "memref.copy %k, %m {tag} : memref<8xf32> to memref<8xf32>",
        ),
        {"memref.copy %m, %w : memref<8xf32> to memref<8xi32>": ""},
    ),
    "scf.forall": Form(
        (
            "scf.forall (%x, %y) in (64, %n) {\n}",
            "%0 = scf.forall (%x) in (4) shared_outs(%z = %tf) -> (tensor<4xf32>) {\nscf.forall.in_parallel {\n}\n}",
        ),
        {"scf.forall (%x) in (%f) {\n}": ""},
    ),
    "scf.parallel": Form(
        (
            "scf.parallel (%x) = (%n) to (%n) step (%n) {\nscf.reduce\n}",
            "%0 = scf.parallel (%x) = (%n) to (%n) step (%n) init (%f) -> f32 {\nscf.reduce(%f : f32) {\n^bb0(%y: f32, %z: f32):\nscf.reduce.return %y : f32\n}\n}",
        ),
        {"scf.parallel (%x, %y) = (%n) to (%n) step (%n) {\nscf.reduce\n}": ""},
    ),
    "#gpu.address_space": Form(
        (
            "func.func @f(%a: memref<8xf32, #gpu.address_space<workgroup>>) {\nfunc.return\n}",
            "func.func @f(%a: memref<8xf32, #gpu.address_space<private>>, %z: memref<4xi32, #gpu.address_space<global>>) {\nfunc.return\n}",
        ),
        {"func.func @f(%a: memref<8xf32, #gpu.address_space<shared>>) {\nfunc.return\n}": ""},
    ),
    "from_proxy": Form(
        (
            "nvvm.fence.proxy.release <gpu> from_proxy = <generic> to_proxy = <tensormap>",
            "nvvm.fence.proxy.acquire <gpu> %p, %i from_proxy = #nvvm.proxy_kind<generic>",
        ),
        {"nvvm.fence.proxy.release <gpu> from_proxy = <async>": "only support generic for from_proxy"},
    ),
    "arith.sitofp": Form(
        (
            "%0 = arith.sitofp %tb : tensor<4xi8> to tensor<4xf16>",
            "%0 = arith.sitofp %vi : vector<4xi32> to vector<4xf32>",
        ),
        {"%0 = arith.sitofp %ti : tensor<4xi32> to tensor<8xf32>": "same tensor dimensions"},
    ),
    "arith.uitofp": Form(
        ("%0 = arith.uitofp %ti : tensor<4xi32> to tensor<4xf32>", "%0 = arith.uitofp %e {tag} : i8 to f32"),
        {"%0 = arith.uitofp %tf : tensor<4xf32> to tensor<4xf64>": ""},
    ),
    "arith.fptosi": Form(
        (
            "%0 = arith.fptosi %tf : tensor<4xf32> to tensor<4xi8>",
            "%0 = arith.fptosi %vf : vector<4xf32> to vector<4xi32>",
        ),
        {"%0 = arith.fptosi %tf : tensor<4xf32> to vector<4xi32>": "same tensor dimensions"},
    ),
    "arith.extsi": Form(
        (
            "%0 = arith.extsi %tb : tensor<4xi8> to tensor<4xi32>",
            "%0 = arith.extsi %vi : vector<4xi32> to vector<4xi64>",
        ),
        {"%0 = arith.extsi %ti : tensor<4xi32> to tensor<4xi16>": "are cast incompatible"},
    ),
    "arith.trunci": Form(
        (
            "%0 = arith.trunci %ti : tensor<4xi32> to tensor<4xi8>",
            "%0 = arith.trunci %vi : vector<4xi32> to vector<4xi16>",
            "%0 = arith.trunci %ti overflow<nsw, nuw> {tag} : tensor<4xi32> to tensor<4xi8>",
        ),
        {"%0 = arith.trunci %ti : tensor<4xi32> to tensor<4xi64>": "are cast incompatible"},
    ),
    "arith.index_castui": Form(
        (
            "%0 = arith.index_castui %ti : tensor<4xi32> to tensor<4xindex>",
            "%0 = arith.index_castui %e {tag} : i8 to index",
        ),
        {"%0 = arith.index_castui %ti : tensor<4xi32> to tensor<4xi64>": "are cast incompatible"},
    ),
    "arith.index_cast": Form(
        (
            "%0 = arith.index_cast %ti : tensor<4xi32> to tensor<4xindex>",
            "%0 = arith.index_cast %tn : tensor<4xindex> to tensor<4xi64>",
        ),
        {"%0 = arith.index_cast %ti : tensor<4xi32> to tensor<4xi64>": "are cast incompatible"},
    ),
    "arith.select": Form(
        (
            "%0 = arith.select %tm, %tf, %tf : tensor<4xi1>, tensor<4xf32>",
            "%0 = arith.select %vm, %vf, %vf {tag} : vector<4xi1>, vector<4xf32>",
            "%0 = arith.select %b, %tf, %tf : tensor<4xf32>",
        ),
        {"%0 = arith.select %vm, %tf, %tf : vector<4xi1>, tensor<4xf32>": "same shape and base type"},
    ),
    "scf.for unsigned": Form(
        (
            "scf.for unsigned %x = %i to %i step %i : i32 {\n}",
            "%0 = scf.for unsigned %x = %n to %n step %n iter_args(%z = %f) -> (f32) {\nscf.yield %z : f32\n}",
        ),
        {"scf.for unsigned %x = %f to %f step %f : f32 {\n}": ""},
    ),
    "struct buffers": Form(
        (
            f'{CALL}struct.ptr.buffer.load.lds"(%r, %s, %i, %i, %i, %i, %i, %i) : (!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, i32, i32, i32, i32) -> ()',
            f'{CALL}struct.buffer.load.lds"(%q, %s, %i, %i, %i, %i, %i, %i) : (vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32, i32) -> ()',
        ),
        {f'{CALL}struct.ptr.buffer.load.lds"(%r, %s) : (!llvm.ptr<8>, !llvm.ptr<3>, i32) -> ()': ""},
    ),
    "vector resources": Form(
        (
            f'{CALL}raw.buffer.load.lds"(%q, %s, %i, %i, %i, %i, %i) : (vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()',
            f'{CALL}raw.buffer.load.async.lds"(%q, %s, %i, %i, %i, %i, %i) : (vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()',
        ),
        {f'{CALL}raw.buffer.load.lds"(%q) : (i32) -> ()': ""},
    ),
    "rocdl.global.store.async.from.lds": Form(
        (),
        {},
        {
            "rocdl.global.store.async.from.lds.b32 %g, %s, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
                '"rocdl.global.store.async.from.lds.b32"(%g, %s) <{aux = 0 : i32, offset = 0 : i32}> : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()'
            ),
            "rocdl.global.store.async.from.lds.b128 %g, %s, 16, 1 : !llvm.ptr<1>, !llvm.ptr<3>": (
                '"rocdl.global.store.async.from.lds.b128"(%g, %s) <{aux = 1 : i32, offset = 16 : i32}> : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()'
            ),
        },
    ),
}
