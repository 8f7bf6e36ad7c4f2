"""Our text of LLVM IR against mlir-translate's, and against LLVM's own reader; what has no text is refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import llvm
from xdsl.dialects.builtin import FloatAttr, ModuleOp, bf16, f16, f32, f64
from xdsl.ir import Block, Operation, Region

from tests.support.ir import ROOT, parse, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates, bodies, normal_form, translated
from tests.support.mlir import run
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.llvm_ir.instructions import CONSTANTS, INSTRUCTIONS
from tileas_xdsl.diagnostics import RefusedError

ARGUMENTS = (
    "%i: i32, %j: i32, %l: i64, %b: i1, %h: f16, %f: f32, %d: f64, %p: !llvm.ptr, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>, "
    "%v: vector<4xf32>, %w: vector<4xi32>, %pair: !llvm.struct<(i32, f32)>, %row: !llvm.array<2 x i32>"
)
INTEGER_OPS = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr")
FLOAT_OPS = ("fadd", "fsub", "fmul", "fdiv", "frem")
COMPARISONS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_COMPARISONS = (
    *("_false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"),
    "_true",
)

LINES = [
    *(f"%0 = llvm.{op} %i, %j : i32" for op in INTEGER_OPS),
    *(f"%0 = llvm.{op} %w, %w : vector<4xi32>" for op in INTEGER_OPS),
    *(f"%0 = llvm.{op} %{x}, %{x} : {t}" for op in FLOAT_OPS for x, t in (("f", "f32"), ("v", "vector<4xf32>"))),
    "%0 = llvm.add %i, %j overflow<nsw, nuw> : i32",
    "%0 = llvm.shl %i, %j overflow<nuw> : i32",
    "%0 = llvm.udiv exact %i, %j : i32",
    "%0 = llvm.or disjoint %i, %j : i32",
    "%0 = llvm.fadd %f, %f {fastmathFlags = #llvm.fastmath<contract>} : f32",
    "%0 = llvm.fmul %f, %f {fastmathFlags = #llvm.fastmath<nnan, ninf, reassoc>} : f32",
    "%0 = llvm.fmul %f, %f {fastmathFlags = #llvm.fastmath<fast>} : f32",
    *(f'%0 = llvm.icmp "{word}" %i, %j : i32' for word in COMPARISONS),
    *(f'%0 = llvm.fcmp "{word}" %f, %f : f32' for word in FLOAT_COMPARISONS),
    "%0 = llvm.fneg %f : f32",
    "%0 = llvm.select %b, %f, %f : i1, f32",
    "%0 = llvm.trunc %l : i64 to i32",
    "%0 = llvm.zext %i : i32 to i64",
    "%0 = llvm.zext nneg %i : i32 to i64",
    "%0 = llvm.sext %i : i32 to i64",
    "%0 = llvm.ptrtoint %s : !llvm.ptr<3> to i32",
    "%0 = llvm.inttoptr %l : i64 to !llvm.ptr<1>",
    "%0 = llvm.bitcast %i : i32 to f32",
    "%0 = llvm.fpext %h : f16 to f32",
    "%0 = llvm.fptrunc %d : f64 to f16",
    "%0 = llvm.sitofp %i : i32 to f32",
    "%0 = llvm.uitofp %i : i32 to f32",
    "%0 = llvm.fptosi %f : f32 to i32",
    "%0 = llvm.fptoui %f : f32 to i32",
    "%0 = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr",
    "%0 = llvm.extractvalue %pair[1] : !llvm.struct<(i32, f32)>",
    "%0 = llvm.insertvalue %i, %pair[0] : !llvm.struct<(i32, f32)>",
    "%0 = llvm.extractvalue %row[1] : !llvm.array<2 x i32>",
    "%0 = llvm.extractelement %v[%i : i32] : vector<4xf32>",
    "%0 = llvm.insertelement %f, %v[%i : i32] : vector<4xf32>",
    "%0 = llvm.shufflevector %v, %v [0, 4, 1, 5] : vector<4xf32>",
    "%0 = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32",
    *(
        '%0 = "llvm.getelementptr"(%g, %l) <{elem_type = f32, rawConstantIndices = array<i32: -2147483648>, '
        f"noWrapFlags = {flags} : i32}}> : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>"
        for flags in (2, 3, 4, 6, 7)
    ),
    "%0 = llvm.getelementptr %p[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, f64)>",
    "%0 = llvm.load %g : !llvm.ptr<1> -> f32",
    "%0 = llvm.load %g {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>",
    "llvm.store %v, %s {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>",
    "llvm.store %f, %p : f32, !llvm.ptr",
    "%0 = llvm.alloca %i x f32 {alignment = 8 : i64} : (i32) -> !llvm.ptr",
    "%0 = llvm.load volatile %g : !llvm.ptr<1> -> i32",
    '%0 = llvm.load volatile %g atomic syncscope("agent") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32',
    "llvm.store volatile %i, %g : i32, !llvm.ptr<1>",
    "llvm.store %i, %g atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>",
    'llvm.fence syncscope("agent") acq_rel',
    "%0 = llvm.atomicrmw add %g, %i acq_rel : !llvm.ptr<1>, i32",
    '%0 = llvm.atomicrmw volatile fadd %g, %f syncscope("agent") monotonic : !llvm.ptr<1>, f32',
    '%0 = llvm.cmpxchg weak %g, %i, %j syncscope("cta") acq_rel monotonic {alignment = 8 : i64} : !llvm.ptr<1>, i32',
    *(f"%0 = llvm.intr.{name}(%f) : (f32) -> f32" for name in ("fabs", "ceil", "sqrt", "floor", "exp2", "exp", "log")),
    *(f"%0 = llvm.intr.{name}(%f) : (f32) -> f32" for name in ("log2", "sin", "cos")),
    *(f"%0 = llvm.intr.{name}(%f, %f) : (f32, f32) -> f32" for name in ("maximum", "minimum", "maxnum", "minnum")),
    *(f"%0 = llvm.intr.{name}(%f, %f) : (f32, f32) -> f32" for name in ("pow", "copysign")),
    "%0 = llvm.intr.fma(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>",
    '%0 = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32',
    'llvm.inline_asm has_side_effects "bar.arrive $0, $1;", "r,r" %i, %j : (i32, i32) -> ()',
    '%0 = llvm.inline_asm "mov.b32 $0, $1;", "=r,r" %i : (i32) -> i32',
]
"""At least one line for every op that has a text."""

CONSTANT_LINES = {
    "llvm.mlir.constant(true) : i1": "i1 true",
    "llvm.mlir.constant(-7 : i32) : i32": "i32 -7",
    "llvm.mlir.constant(1.0 : f16) : f16": "half 0xH3C00",
    "llvm.mlir.constant(1.0 : bf16) : bf16": "bfloat 0xR3F80",
    "llvm.mlir.constant(0.1 : f32) : f32": "float 0x3FB99999A0000000",
    "llvm.mlir.constant(0.1 : f64) : f64": "double 0x3FB999999999999A",
    "llvm.mlir.constant(0x7F800000 : f32) : f32": "float 0x7FF0000000000000",
    "llvm.mlir.constant(dense<2.0> : vector<2xf32>) : vector<2xf32>": "<2 x float> <float 0x40",
    "llvm.mlir.constant(dense<[1, 2]> : vector<2xi32>) : vector<2xi32>": "<2 x i32> <i32 1, i32 2>",
    "llvm.mlir.undef : f32": "float undef",
    "llvm.mlir.poison : f32": "float poison",
    "llvm.mlir.zero : !llvm.ptr": "ptr null",
    "llvm.mlir.zero : !llvm.struct<(i32, f32)>": "{ i32, float } zeroinitializer",
    "llvm.mlir.addressof @g : !llvm.ptr<3>": "ptr addrspace(3) @g",
}


def returning(lines: list[str]) -> str:
    """A function a line, which returns what the line gives."""
    functions: list[str] = []
    for number, line in enumerate(lines):
        module = parse(f"llvm.func @f({ARGUMENTS}) {{ {line} llvm.return }}")
        (op,) = (op for op in module.walk() if op.parent_op() is not None and op.name not in SCAFFOLD)
        result = f" -> {op.results[0].type}" if op.results else ""
        end = f"llvm.return %0 : {op.results[0].type}" if op.results else "llvm.return"
        functions.append(f"llvm.func @f{number}({ARGUMENTS}){result} {{\n  {line}\n  {end}\n}}")
    return "\n".join(functions)


SCAFFOLD = ("llvm.func", "llvm.return")


def test_every_op_that_has_a_text_stands_in_a_line() -> None:
    constants = "".join(f"%c{number} = {line}\n" for number, line in enumerate(CONSTANT_LINES))
    glob = "llvm.mlir.global internal @g() {addr_space = 3 : i32} : i32\n"
    text = f"{glob}llvm.func @k() {{ llvm.call @f0k() : () -> () {constants} llvm.return }} llvm.func @f0k()"
    used = {type(op) for op in parse(f"{text}\n{returning(LINES)}").walk()}
    assert {*INSTRUCTIONS, *CONSTANTS} <= used


def test_instructions_print_as_mlir_translates_them() -> None:
    module = parse(returning(LINES))
    ours, theirs = bodies(llvm_ir_of(module)), bodies(translated(module))
    assert len(ours) == len(LINES)
    for number, line in enumerate(LINES):
        assert ours[f"f{number}"] == theirs[f"f{number}"], line


@pytest.mark.parametrize("line", CONSTANT_LINES)
def test_constants_stand_where_they_are_used(line: str) -> None:
    type_ = line.split(" : ")[-1]
    module = parse(
        f"llvm.mlir.global internal @g() {{addr_space = 3 : i32}} : i32\n"
        f"llvm.func @f() -> {type_} {{ %0 = {line}\n llvm.return %0 : {type_} }}"
    )
    ours = assert_prints_as_mlir_translates(module)
    assert f"ret {CONSTANT_LINES[line]}" in ours


FLOATS = {f16: np.float16, f32: np.float32, f64: np.float64}


@settings(max_examples=200, deadline=None)
@given(st.floats(width=64), st.sampled_from([f16, f32, f64, bf16]))
def test_floats_keep_their_bits(value: float, type_: Operation) -> None:
    """The literal names the float that is next to the value in that type."""
    from tileas_xdsl.backend.llvm_ir.literals import number

    function = llvm.FuncOp("f", llvm.LLVMFunctionType([]), llvm.LinkageAttr("external"))
    text = number(value, type_, function)  # pyright: ignore
    if type_ == bf16:
        found = float(np.array([int(text.removeprefix("0xR"), 16) << 16], np.uint32).view(np.float32)[0])
        assert np.isnan(found) == np.isnan(value)
        assert np.isnan(value) or abs(value) > 3.3e38 or abs(found - value) <= max(abs(value) * 2.0**-8, 1e-40)
        return
    with np.errstate(over="ignore"):
        expected = float(FLOATS[type_](value))  # pyright: ignore
    bits, kinds = (np.uint16, np.float16) if type_ == f16 else (np.uint64, np.float64)
    found = float(np.array([int(text.removeprefix("0xH"), 16)], bits).view(kinds)[0])
    assert found == expected or (np.isnan(found) and np.isnan(expected))


# Functions and globals ------------------------------------------------------------------------------------------------


GLOBALS = """
llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.mlir.global internal @ring() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<3 x array<512 x f32>>
llvm.mlir.global internal constant @table(dense<[1, 2, 3]> : tensor<3xi32>) : !llvm.array<3 x i32>
llvm.mlir.global internal constant @word("a\\00\\22b") : !llvm.array<4 x i8>
llvm.mlir.global internal @start(5 : i32) {addr_space = 1 : i32} : i32
llvm.mlir.global internal @place() {addr_space = 1 : i32} : !llvm.ptr<1> {
  %0 = llvm.mlir.addressof @start : !llvm.ptr<1>
  llvm.return %0 : !llvm.ptr<1>
}
"""
KERNEL = """
llvm.func internal @helper(%x: i32) -> i32 attributes {always_inline} { llvm.return %x : i32 }
llvm.func @outside(i32) -> i32
llvm.func @k(%map: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant},
             %a: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64, llvm.readonly}, %n: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.maxnreg = 168 : i32,
                nvvm.minctasm = 2 : i32, nvvm.cluster_dim = array<i32: 2, 1, 1>, tileas.note = "nothing"} {
  %0 = llvm.call @helper(%n) : (i32) -> i32
  %1 = llvm.call @outside(%0) : (i32) -> i32
  llvm.store %1, %a : i32, !llvm.ptr<1>
  llvm.return
}
"""


def heads(text: str) -> list[str]:
    """Globals, and functions with their attributes in the place of the group's number."""
    groups = {
        number: " ".join(sorted(re.findall(r'"[^"]*"="[^"]*"|"[^"]*"|[\w()]+', words)))
        for number, words in re.findall(r"^attributes (#\d+) = \{ (.*) \}", text, re.M)
    }
    lines = [line for line in text.splitlines() if re.match(r"(@|define|declare)", line) and "@llvm." not in line]
    named = [re.sub(r"#\d+", lambda match: groups[match.group(0)], line) for line in lines]
    return sorted(re.sub(r"%[\w.]+", "%", line) for line in named)


def test_globals_and_functions_print_as_mlir_translates_them() -> None:
    module = parse(GLOBALS + KERNEL)
    ours = assert_prints_as_mlir_translates(module)
    assert heads(normal_form(ours)) == heads(normal_form(translated(module)))
    assert '"nvvm.reqntid"="128,1,1"' in ours
    assert 'ptr align 64 byval([16 x i64]) "nvvm.grid_constant" %map' in ours


def test_two_ways_to_one_block_with_values_of_their_own() -> None:
    """A phi node has one value a predecessor, so the second way gets a block."""
    module = parse("""llvm.func @f(%b: i1, %i: i32, %j: i32) -> i32 {
      llvm.cond_br %b, ^end(%i : i32), ^end(%j : i32)
    ^end(%r: i32):
      llvm.return %r : i32
    }""")
    ours, theirs = llvm_ir_of(module), translated(module)
    (found,) = bodies(ours, "default<O1>").values()
    assert found == next(iter(bodies(theirs, "default<O1>").values()))
    assert any("select i1" in line for line in found)


def test_blocks_may_stand_in_any_order() -> None:
    module = parse("""llvm.func @f(%n: i32) -> i32 {
      %c0 = llvm.mlir.constant(0 : i32) : i32
      llvm.br ^loop(%c0 : i32)
    ^end:
      llvm.return %next : i32
    ^loop(%i: i32):
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %next = llvm.add %i, %c1 : i32
      %more = llvm.icmp "slt" %next, %n : i32
      llvm.cond_br %more, ^loop(%next : i32), ^end
    }""")
    assert bodies(llvm_ir_of(module), "default<O2>") == bodies(translated(module), "default<O2>")


def test_names_are_kept_and_made_different() -> None:
    module = parse(
        "llvm.func @f(%x: i32) -> i32 { %y = llvm.add %x, %x : i32 %z = llvm.add %y, %x : i32 llvm.return %z : i32 }"
    )
    for op in module.walk():
        for result in op.results:
            result.name_hint = "x"
    text = llvm_ir_of(module)
    assert "%x.1 = add i32 %x, %x" in text
    assert "%x.2 = add i32 %x.1, %x" in text


SAMPLES = sorted((ROOT / "tests/backend/kernels").glob("*.mlir"))


@pytest.mark.parametrize("kernel", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("level", ["default<O1>", "default<O2>"])
def test_kernels_are_those_of_mlir_after_the_same_optimiser(kernel: Path, level: str, tmp_path: Path) -> None:
    """
    Our text and mlir-translate's of what `convert-nvvm-to-llvm` gives, by llvm-diff too. (As they come they differ:
    MLIR's translation folds constants while it builds instructions, and orders phi nodes otherwise.)
    """
    module = run_passes(parse(kernel.read_text()), "convert-nvvm-to-llvm")
    ours, theirs = llvm_ir_of(module), translated(module)
    files = [tmp_path / "ours.ll", tmp_path / "theirs.ll"]
    for file, text in zip(files, (ours, theirs), strict=True):
        file.write_text(normal_form(text, level))
    difference = run("llvm-diff", "", *map(str, files))
    assert difference.returncode == 0, difference.stderr


# Refusals -------------------------------------------------------------------------------------------------------------

REFUSED = {
    "llvm.func @f() { nvvm.barrier0 llvm.return }": "'nvvm.barrier0' op has no text in LLVM IR.*convert-nvvm-to-llvm",
    "func.func @f() { func.return }": "'func.func' op has no text in LLVM IR.*convert-to-llvm",
    "llvm.func @f(%p: !llvm.ptr) { %0 = llvm.mlir.undef : tf32 llvm.store %0, %p : tf32, !llvm.ptr llvm.return }": (
        "'llvm.store' op uses the type 'tf32', which LLVM IR does not have"
    ),
    "llvm.func @f(%p: !llvm.ptr) { %0 = llvm.load %p : !llvm.ptr -> vector<2x2xf32> llvm.return }": (
        "uses the type 'vector<2x2xf32>'"
    ),
    "llvm.func @f() attributes {nvvm.new = 1 : i32} { llvm.return }": "has the attribute 'nvvm.new = 1 : i32'",
    "llvm.func @f(%p: !llvm.ptr {llvm.new}) { llvm.return }": "has the argument attribute 'llvm.new'",
    "llvm.func @f(%p: !llvm.ptr) { %0 = llvm.load %p {nontemporal} : !llvm.ptr -> i32 llvm.return }": (
        "is non-temporal"
    ),
    "llvm.func @f(...) { llvm.return }": "takes any number of arguments",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(RefusedError, match=re.compile(REFUSED[text], re.S)):
        llvm_ir_of(parse(text))


def test_a_property_that_would_be_lost_is_refused() -> None:
    block = Block(arg_types=[llvm.LLVMPointerType()])
    load = llvm.LoadOp(block.args[0], f32)
    load.properties["invariant"] = FloatAttr(0.0, f32)
    block.add_ops([load, llvm.ReturnOp()])
    type_ = llvm.LLVMFunctionType([llvm.LLVMPointerType()])
    module = ModuleOp([llvm.FuncOp("f", type_, llvm.LinkageAttr("external"), body=Region(block))])
    with pytest.raises(RefusedError, match="has the property 'invariant'"):
        llvm_ir_of(module)
