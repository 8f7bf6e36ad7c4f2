"""
The table of `convert-nvvm-to-llvm` against LLVM 22: what mlir-opt and mlir-translate make of each op of `nvvm` we make
of it too, and our text of what the pass gives is what mlir-translate says of it.
"""

from __future__ import annotations

import re

import pytest
from xdsl.utils.exceptions import PassFailedException

from tests.dialects import test_nvvm as samples
from tests.support.ir import parse, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates, bodies, translated
from tests.support.ptx import ptx_of, require_ptxas
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.ptxas import assemble
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nvvm.dialect import NVVM
from tileas_xdsl.transforms.to_llvm.nvvm_rules import RULES

FAMILIES = ("MBARRIER", "CP_ASYNC", "BULK", "WGMMA", "WARP_MATRIX", "BARRIER", "FENCE", "THREAD", "REGISTER")
PASS = "convert-nvvm-to-llvm"

REFUSED = {
    "nvvm.cp.async.wait.group -1": "'nvvm.cp.async.wait.group' op leaves -1 groups in flight",
    "nvvm.fence.proxy.acquire": "acquires a number of bytes that is not the constant 128",
    "tensor.reduce %g": "finds its tensor map by a '!llvm.ptr<1>'",
    "clock64 : i32": "reads a register of type i64 as i32",
    "globaltimer : i32": "reads a register of type i64 as i32",
}
"""Parts of lines that are refused, and what is said; LLVM refuses all of these or reads something else."""

DIFFERENT = {
    "nvvm.barrier.arrive": "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(",
    "range <i8, 0, 200>": "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    "range <i64, 128, 0>": "call i32 @llvm.nvvm.read.ptx.sreg.laneid()",
    "nvvm.mbarrier.test.wait %s, %i :": "mbarrier.test_wait.parity.shared.b64 P1, [$1], $2;",
    "rw(%l : i64)": '"@$4 x", "=l,=r,=f,r,b,0,~{memory}"(i32 %i, i1 %b, i64 %l)',
}
"""
Where MLIR has inline PTX and we an intrinsic, where LLVM's verifier refuses what MLIR says, and where MLIR gives the
operands of inline PTX in another order than their constraints.
"""


WITHOUT_ROW = (
    *("nvvm.tcgen05.shift", "nvvm.tcgen05.mma_smem_desc", "nvvm.tcgen05.mma.sp", "nvvm.tcgen05.mma.ws"),
    "nvvm.clusterlaunchcontrol",
)
"""How the names of the ops begin that are in no row."""
OPERANDS = (
    "{{ctaGroup = #nvvm.cta_group<{group}>, kind = #nvvm.tcgen05_mma_kind<{kind}>}} : (!llvm.ptr<6>, {a}, i64, i32, i1)"
)
SCALED = (
    "{ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>}"
    " : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)"
)
TENSOR_MEMORY = f"""
nvvm.tcgen05.alloc %s, %i : !llvm.ptr<3>, i32
nvvm.tcgen05.alloc %p, %i {{group = #nvvm.cta_group<cta_2>}} : !llvm.ptr, i32
nvvm.tcgen05.dealloc %t, %i : !llvm.ptr<6>, i32
nvvm.tcgen05.relinquish_alloc_permit
nvvm.tcgen05.fence <before>
nvvm.tcgen05.fence <after>
nvvm.tcgen05.wait <load>
nvvm.tcgen05.wait <store>
nvvm.tcgen05.commit %s : !llvm.ptr<3>
nvvm.tcgen05.commit %p : !llvm.ptr
nvvm.tcgen05.commit %s, multicast_mask = %h {{group = #nvvm.cta_group<cta_2>}} : !llvm.ptr<3>, i16
%0 = nvvm.tcgen05.ld %t {{shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>}} : vector<32xi32>
%0 = nvvm.tcgen05.ld %t {{shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>}} : i32
%0 = nvvm.tcgen05.ld %t pack {{shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>}} : vector<8xi32>
nvvm.tcgen05.st %t, %r unpack {{shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>}} : vector<8xi32>
nvvm.tcgen05.mma %t, %l, %l, %i, %b {OPERANDS.format(group="cta_1", kind="f16", a="i64")}
nvvm.tcgen05.mma %t, %l, %l, %i, %b {OPERANDS.format(group="cta_1", kind="i8", a="i64")}
nvvm.tcgen05.mma %t, %l, %l, %i, %b {OPERANDS.format(group="cta_2", kind="tf32", a="i64")}
nvvm.tcgen05.mma %t, %t, %l, %i, %b {OPERANDS.format(group="cta_1", kind="f8f6f4", a="!llvm.ptr<6>")}
nvvm.tcgen05.cp %t, %l {{multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}}
nvvm.tcgen05.mma.block_scale %t, %l, %l, %i, %b, %t, %t {SCALED}
"""


def lines() -> list[str]:
    found = [line for family in FAMILIES for line in getattr(samples, f"{family}_LINES").strip().splitlines()]
    extra = """
    nvvm.mbarrier.arrive %s {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>
    %0 = nvvm.mbarrier.arrive %p, %i : !llvm.ptr -> i64
    %0 = nvvm.mbarrier.try_wait %s, %i, %j {relaxed = true} : !llvm.ptr<3>, i32, i32 -> i1
    nvvm.mbarrier.init %p, %i, predicate = %b : !llvm.ptr, i32, i1
    nvvm.mbarrier.try_wait.parity %p, %i, %j : !llvm.ptr, i32, i32
    nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr
    nvvm.fence.sync_restrict {order = #nvvm.mem_order<release>}
    nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<acquire>}
    nvvm.memory.barrier <cta>
    nvvm.memory.barrier <cluster>
    nvvm.prefetch level = L1, %g : !llvm.ptr<1>
    nvvm.prefetch tensormap in_param_space, %p : !llvm.ptr
    """
    return [line.strip() for line in [*found, *extra.splitlines(), *TENSOR_MEMORY.splitlines()] if line.strip()]


def is_one_of(line: str, table: dict[str, str]) -> str | None:
    return next((answer for part, answer in table.items() if part in line), None)


COMPARED = [line for line in lines() if is_one_of(line, REFUSED) is None and is_one_of(line, DIFFERENT) is None]


def program(chosen: list[str]) -> str:
    """A function a line."""
    functions = [
        f"llvm.func @f{number}({samples.ARGUMENTS}) {{\n  {line}\n  llvm.return\n}}"
        for number, line in enumerate(chosen)
    ]
    return "\n".join(functions)


def without_spelling(body: list[str]) -> list[str]:
    """Without what differs in spelling alone: ranges, white space in PTX, and that ours clobbers memory."""
    plain = [re.sub(r"range\(.*?\) ", "", line) for line in body]
    plain = [re.sub(r",?~\{memory\}", "", line) for line in plain]
    return [re.sub(r"\\0A|\\09|\s", "", line) for line in plain]


def test_every_op_is_in_the_table_and_in_a_line() -> None:
    """Some ops of Blackwell have no row yet, and are refused; products of `wgmma` are compared below."""
    named = {op.name for op in NVVM.operations if not op.name.startswith(WITHOUT_ROW)}
    assert {op.name for op in RULES} == named | {"llvm.intr.exp2"}
    named.remove("nvvm.wgmma.mma_async")
    used = {op.name for op in parse(program(lines())).walk()}
    assert named <= used


def test_each_row_is_what_mlir_makes_of_the_op() -> None:
    ours = bodies(llvm_ir_of(run_passes(parse(program(COMPARED)), PASS)))
    theirs = bodies(translated(program(COMPARED), "--convert-nvvm-to-llvm"))
    assert len(ours) == len(COMPARED)
    for number, line in enumerate(COMPARED):
        name = f"f{number}"
        assert without_spelling(ours[name]) == without_spelling(theirs[name]), line


def test_our_text_is_what_mlir_translate_says_of_the_result() -> None:
    chosen = [line for line in lines() if is_one_of(line, REFUSED) is None]
    ours = assert_prints_as_mlir_translates(run_passes(parse(program(chosen)), PASS))
    assert "nvvm.mbarrier.try.wait.parity" in ours


@pytest.mark.parametrize("part", DIFFERENT)
def test_rows_that_differ_from_mlir(part: str) -> None:
    for line in (line for line in lines() if part in line):
        text = llvm_ir_of(run_passes(parse(program([line])), PASS))
        assert DIFFERENT[part] in text
        assert bodies(text)


@pytest.mark.parametrize("part", REFUSED)
def test_what_no_instruction_does_is_refused_before_anything_is_touched(part: str) -> None:
    (line, *_) = (line for line in lines() if part in line)
    module = parse(program(["nvvm.barrier0", line]))
    before = str(module)
    with pytest.raises(RefusedError, match=re.escape(REFUSED[part])):
        run_passes(module, PASS)
    assert str(module) == before


def test_a_value_that_is_changed_in_place_has_no_other_name() -> None:
    """MLIR lets later ops read what the text has made of it; SSA says that they read what it was."""
    changes = 'nvvm.inline_ptx "add.s32 $0, $0, 1;" rw(%i : i32)'
    before, behind = (f"%read_{name} = llvm.add %i, %j : i32" for name in ("before", "behind"))
    module = parse(program([f"{before}\n{changes}\n{behind}"]))
    text = str(module)
    with pytest.raises(RefusedError, match="changes a value in place, and other ops read it by the same name"):
        run_passes(module, PASS)
    assert str(module) == text
    assert "add.s32" in llvm_ir_of(run_passes(parse(program([f"{before}\n{changes}"])), PASS))


def test_ptx_in_a_module_keeps_its_place_among_the_accesses() -> None:
    """A load behind a wait stays behind it: the PTX of the wait clobbers memory."""
    text = """llvm.func @f(%s: !llvm.ptr<3>, %v: !llvm.ptr<3>, %i: i32) -> i32 {
      %0 = llvm.load %v : !llvm.ptr<3> -> i32
      nvvm.mbarrier.try_wait.parity %s, %i, %i : !llvm.ptr<3>, i32, i32
      %1 = llvm.load %v : !llvm.ptr<3> -> i32
      %2 = llvm.add %0, %1 : i32
      llvm.return %2 : i32
    }"""
    (body,) = bodies(llvm_ir_of(run_passes(parse(text), PASS)), "default<O2>").values()
    assert sum("load" in line for line in body) == 2
    (theirs,) = bodies(translated(text, "--convert-nvvm-to-llvm"), "default<O2>").values()
    assert sum("load" in line for line in theirs) <= 2


def test_registers_that_are_loaded_pass_through_the_wait() -> None:
    """LLVM cannot compute with them before it."""
    load = "nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xi32>"
    text = f"""llvm.func @f({samples.ARGUMENTS}) -> i32 {{
      %0 = {load}
      nvvm.tcgen05.wait <load>
      %1 = llvm.extractelement %0[%i : i32] : vector<2xi32>
      %2 = llvm.add %1, %1 : i32
      llvm.return %2 : i32
    }}"""
    before, _, behind = llvm_ir_of(run_passes(parse(text), PASS)).partition("tcgen05.wait::ld.sync.aligned")
    assert "=r,=r,0,1" in behind
    assert "add i32" in behind
    assert "add i32" not in before


# Products -------------------------------------------------------------------------------------------------------------

PRODUCTS = {
    "<m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>]": "f32",
    "<m = 64, n = 8, k = 16>, D[<f32>, <zero>], A[<bf16>, <neg>, <col>], B[<bf16>, <one>, <row>]": "f32",
    "<m = 64, n = 8, k = 8>, D[<f32>, <one>], A[<tf32>, <one>, <row>], B[<tf32>, <neg>, <col>]": "f32",
    "<m = 64, n = 8, k = 32>, D[<s32>, <one>, <satfinite>], A[<s8>, <one>, <row>], B[<u8>, <one>, <col>]": "i32",
    "<m = 64, n = 8, k = 32>, D[<f32>, <one>], A[<e4m3>, <one>, <row>], B[<e5m2>, <one>, <col>]": "f32",
}


def instruction_in(text: str) -> str:
    """The instruction of inline PTX with its constants in place, without the accumulator and white space."""
    (found,) = re.findall(r'asm sideeffect "(.*?)", "(.*?)"\((.*?)\)', text, re.S)
    body, constraints, operands = found
    outputs = constraints.count("=")
    values = [operand.split()[-1] for operand in operands.split(", ")]
    for number in sorted(range(len(values)), reverse=True):
        if re.fullmatch(r"-?\d+", values[number]):
            body = body.replace(f"${number + outputs}", values[number])
    body = re.sub(r"\\0A|\s", "", body)
    return re.sub(r"\{\$0.*?\},\$\d+,\$\d+", "", body)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_is_the_instruction_that_mlir_writes(product: str) -> None:
    accumulator = f"!llvm.struct<({', '.join([PRODUCTS[product]] * 4)})>"
    text = f"""llvm.func @f(%a: i64, %b: i64, %c: {accumulator}) -> {accumulator} {{
      %0 = nvvm.wgmma.mma_async %a, %b, %c, {product} : {accumulator} -> {accumulator}
      llvm.return %0 : {accumulator}
    }}"""
    ours = llvm_ir_of(run_passes(parse(text), PASS))
    assert bodies(ours)
    assert instruction_in(ours) == instruction_in(translated(text, "--convert-nvvm-to-llvm"))


def test_a_descriptor_behind_another_one_is_made_next_to_its_product() -> None:
    """LLVM adds no distance to the number of the slot: ptxas has the descriptors of several products at a time."""
    product, accumulator = next(iter(PRODUCTS)), "!llvm.struct<(f32, f32, f32, f32)>"
    text = f"""llvm.func @f(%a: i64, %b: i64, %c: {accumulator}) -> {accumulator} {{
      %two = llvm.mlir.constant(2 : i64) : i64
      %far = llvm.mlir.constant(128 : i64) : i64
      %a2 = llvm.add %a, %two : i64
      %b2 = llvm.add %b, %far : i64
      %d = nvvm.wgmma.mma_async %a2, %b2, %c, {product} : {accumulator} -> {accumulator}
      llvm.return %d : {accumulator}
    }}"""
    (line,) = [line for line in llvm_ir_of(run_passes(parse(text), PASS)).splitlines() if "mma_async" in line]
    assert r"add.s64 descriptor_a, $4, 2;\0A" in line
    assert r"add.s64 descriptor_b, $5, 128;\0A" in line
    assert "{$0, $1, $2, $3}, descriptor_a, descriptor_b, p" in line
    assert "i64 %a, i64 %b, " in line


AGED = """llvm.func @f(%a: i64, %b: i64, %n: i32, %p: !llvm.ptr<1>) {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2.0 : f32) : f32
  %zero = llvm.mlir.zero : ACC
  nvvm.wgmma.fence.aligned
  llvm.br ^head(%c0, %zero : i32, ACC)
^head(%i: i32, %acc: ACC):
  %more = llvm.icmp "slt" %i, %n : i32
  llvm.cond_br %more, ^body, ^end
^body:
  %d = nvvm.wgmma.mma_async %a, %b, %acc, PRODUCT : ACC -> ACC
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 1
  %next = llvm.add %i, %c1 : i32
  llvm.br ^head(%next, %d : i32, ACC)
^end:
  nvvm.wgmma.wait.group.sync.aligned 0
  %x = llvm.extractvalue %acc[1] : ACC
  %y = llvm.fmul %x, %two : f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
}""".replace("ACC", "!llvm.struct<(f32, f32, f32, f32)>").replace("PRODUCT", next(iter(PRODUCTS)))


@pytest.mark.parametrize("level", ["default<O1>", "default<O3>"])
def test_accumulators_pass_through_the_waits(level: str) -> None:
    """What uses them takes them from the wait, so that no optimisation puts it in front; in loops too."""
    module = run_passes(parse(AGED), PASS)
    verify_dominance(module)
    text = assert_prints_as_mlir_translates(module, level)
    (body,) = bodies(text, level).values()
    assert len(re.findall(r'"wgmma.wait_group.sync.aligned \d;", "=f,=f,=f,=f,0,1,2,3,~\{memory\}"', text)) == 2
    made = next(line.split(" = ")[0] for line in body if "wait_group.sync.aligned 0" in line)
    taken = next(line.split(" = ")[0] for line in body if "extractvalue" in line and f"{made}, 1" in line)
    assert any(re.search(rf"f(mul|add) float {taken}\b", line) for line in body)


def test_accumulators_begin_behind_the_fence() -> None:
    """Two sums that start at zero: LLVM has written both before the fence, and not between the two products."""
    text = """llvm.func @f(%a: i64, %b: i64, %p: !llvm.ptr<1>) {
  %zero = llvm.mlir.zero : ACC
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %a, %b, %zero, PRODUCT : ACC -> ACC
  %e = nvvm.wgmma.mma_async %a, %b, %zero, PRODUCT : ACC -> ACC
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %x = llvm.extractvalue %d[1] : ACC
  %y = llvm.extractvalue %e[1] : ACC
  %z = llvm.fadd %x, %y : f32
  llvm.store %z, %p : f32, !llvm.ptr<1>
  llvm.return
}""".replace("ACC", "!llvm.struct<(f32, f32, f32, f32)>").replace("PRODUCT", next(iter(PRODUCTS)))
    module = run_passes(parse(text), PASS)
    verify_dominance(module)
    printed = assert_prints_as_mlir_translates(module, "default<O3>")
    tied = f'"{",".join(["=f"] * 8)},{",".join(map(str, range(8)))},~{{memory}}"'
    assert f'"wgmma.fence.sync.aligned;", {tied}' in printed
    assert f'"wgmma.wait_group.sync.aligned 0;", {tied}' in printed


def test_a_wait_behind_which_nothing_is_used_names_no_registers() -> None:
    text = AGED.replace("%x = llvm.extractvalue %acc[1]", "%x = llvm.extractvalue %zero[1]")
    (body,) = bodies(llvm_ir_of(run_passes(parse(text), PASS))).values()
    assert sum("@llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)" in line for line in body) == 1


@pytest.mark.parametrize(("register", "d"), [("vector<2xf16>", "f16"), ("f16", "f16"), ("i32", "f32")])
def test_accumulators_in_other_registers(register: str, d: str) -> None:
    count = 2 if d == "f16" else 4
    struct = f"!llvm.struct<({', '.join([register] * count)})>"
    product = next(iter(PRODUCTS)).replace("D[<f32>", f"D[<{d}>")
    text = f"""llvm.func @f(%a: i64, %b: i64, %c: {struct}) {{
      %0 = nvvm.wgmma.mma_async %a, %b, %c, {product} : {struct} -> {struct}
      llvm.return
    }}"""
    module = parse(text)
    before = str(module)
    with pytest.raises(RefusedError, match=f"accumulates in registers of type '{re.escape(register)}'"):
        run_passes(module, PASS)
    assert str(module) == before


# Machine code ---------------------------------------------------------------------------------------------------------

OF_A_GEMM = (
    *("nvvm.mbarrier.", "nvvm.cp.async.bulk", "nvvm.wgmma.", "nvvm.setmaxregister", "nvvm.elect.sync"),
    *("nvvm.fence.proxy", "nvvm.fence.mbarrier", "nvvm.barrier", "nvvm.prefetch tensormap", "nvvm.stmatrix"),
)
"""What a kernel of sm_90a that multiplies matrices is made of."""
OF_LATER_CHIPS = ("<im2col_w_128>", "<tile_gather4>", "<tile_scatter4>", "cta_group<cta_2>", "byte_mask")


def test_rows_assemble_for_sm_90a() -> None:
    chosen = [line for line in COMPARED if any(word in line for word in OF_A_GEMM)]
    known = [line for line in chosen if not any(word in line for word in OF_LATER_CHIPS)]
    assert len(known) >= 80
    ptx = ptx_of(parse(program(known)), "sm_90a")
    assemble(ptx, "sm_90a", require_ptxas())


@pytest.mark.parametrize("word", OF_LATER_CHIPS)
def test_rows_of_later_chips_are_refused_by_name(word: str) -> None:
    line = next(line for line in COMPARED if word in line)
    with pytest.raises(PassFailedException, match="has no instruction on sm_90a"):
        ptx_of(parse(program([line])), "sm_90a")


@pytest.mark.parametrize(
    ("kind", "flags", "becomes"),
    [("f32", " {fastmathFlags = #llvm.fastmath<afn>}", True), ("f32", "", False), ("f64", "", False)],
)
def test_approximate_powers_of_two_are_one_instruction(kind: str, flags: str, becomes: bool) -> None:
    text = f"""llvm.func @f(%x: {kind}) -> {kind} {{
  %y = llvm.intr.exp2(%x){flags} : ({kind}) -> {kind}
  llvm.return %y : {kind}
}}"""
    found = str(run_passes(parse(text), "convert-nvvm-to-llvm"))
    assert ("llvm.nvvm.ex2.approx.ftz.f" in found) is becomes
    assert ("llvm.intr.exp2" in found) is not becomes
