"""The statements of a text, and why one cannot be read: one sentence with its line."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import text_of
from tileas_xdsl.readers.ptx.operands import (
    Address,
    Dropped,
    Name,
    Negated,
    Number,
    Pair,
    Vector,
    number_of,
    operands_of,
)
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.readers.ptx.syntax import Function, Instruction, Label, Place, PtxError, Register, is_ptx

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel_of(body: str, **of: str) -> Function:
    return parse(text_of(body, **of)).kernels[0]


def instructions_of(body: str) -> list[Instruction]:
    return [
        item
        for item in kernel_of(f"  .reg .b32 %r<9>;\n  .reg .pred %p<9>;\n{body}").body
        if isinstance(item, Instruction)
    ]


# Texts that are read --------------------------------------------------------------------------------------------------


def test_a_module_has_its_version_target_files_and_variables():
    module = parse(
        HEAD
        + '.file 1 "/a//b.py"\n.extern .shared .align 16 .b8 all[];\n'
        + ".global .align 1 .b8 text[3] = {1, 2, 3};\n.const .f32 one = 0f3F800000;\n"
    )
    assert (module.version, module.target, module.files) == ("8.0", "sm_80", {1: "/a//b.py"})
    assert [(v.name, v.space, v.size, v.alignment) for v in module.variables] == [
        ("all", "shared", 0, 16),
        ("text", "global", 3, 1),
        ("one", "const", 4, 4),
    ]


def test_a_kernel_says_its_block_and_cluster():
    kernel = kernel_of("", block=".reqntid 64, 2, 1\n.maxntid 128\n.reqnctapercluster 2\n.minnctapersm 1\n.maxnreg 64")
    assert (kernel.block, kernel.most_threads, kernel.cluster) == ((64, 2, 1), (128,), (2,))


def test_parameters_have_sizes():
    of = ".param .align 64 .b8 map[128],\n .param .u64 .ptr .global .align 1 p, .param .f32 x"
    found = [(p.name, p.size, p.is_array) for p in kernel_of("", parameters=of).parameters]
    assert found == [("map", 128, True), ("p", 8, False), ("x", 4, False)]


def test_entries_without_linkage_and_functions_without_a_body_are_read():
    module = parse(HEAD + ".func (.param .b32 r) f (.param .b64 a);\n.entry k () .reqntid 1 { ret; }\n")
    assert [kernel.name for kernel in module.kernels] == ["k"]


def test_names_of_an_inner_scope_are_its_own():
    body = "{ .reg .pred P1; setp.eq.s32 P1, 1, 1; DONE: @P1 bra DONE; }\n"
    first, second = (item for item in instructions_of(body + body) if item.words[0] == "setp")
    assert first.scope.register("P1") is not second.scope.register("P1")
    assert first.scope.label("DONE") is not second.scope.label("DONE")
    assert first.scope.register("%r3") is second.scope.register("%r3")
    assert first.scope.register("%r99") is None


def test_locations_are_those_of_the_source_with_their_callers():
    body = (
        ".loc 1 12 3 // a.py:12:3\n  mov.b32 %r1, 1;\n.loc 2 4 5, function_name $L, inlined_at 1 12 3\n mov.b32 %r2, 2;"
    )
    assert [item.place for item in instructions_of(body)] == [Place(1, 12, 3), Place(2, 4, 5, Place(1, 12, 3))]


def test_comments_and_debug_sections_are_skipped_and_lines_stay():
    text = text_of("/* one\ntwo; */ mov.b32 %r1, /* x */ 1; // ret;\n") + ".section .debug_str { .b8 1 }\n"
    body = parse(text).kernels[0].body
    assert [(item.name, item.line) for item in body if isinstance(item, Instruction)] == [("mov.b32", 6)]


def test_labels_and_targets_are_read():
    kernel = kernel_of("$L1: ret;\nT: .branchtargets $L1, $L2;\nP: .callprototype _ (.param .b32 _);\n$L2: ret;")
    assert [item.name for item in kernel.body if isinstance(item, Label)] == ["$L1", "$L2"]
    assert kernel.targets["T"].labels == ("$L1", "$L2")


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("0x1F", 31), ("017", 15), ("0b11", 3), ("7U", 7), ("0xFFU", 255), ("0f3F800000", 0x3F800000),
     ("0d3FF0000000000000", 0x3FF0000000000000), ("1.0", 0x3FF0000000000000), ("0", 0), ("9x", None)],
)  # fmt: skip
def test_numbers_are_read_as_their_bits(text: str, number: int | None):
    assert number_of(text) == number


def test_each_kind_of_operand_is_read():
    (one,) = instructions_of("x %r1|%p1, !%p2, {%r1, _, -3}, [%r2 + -8], [name+8], [m, {%r3, 0}], %tid.x, _;")
    pair, negated, vector, address, named, box, special, dropped = operands_of(one)
    assert isinstance(pair, Pair)
    assert isinstance(pair.first, Register)
    assert pair.second is one.scope.register("%p1")
    assert isinstance(negated, Negated)
    assert isinstance(vector, Vector)
    assert vector.parts[1:] == (Dropped(), Number(-3))
    assert isinstance(address, Address)
    assert address.offset == -8
    assert named == Address(Name("name"), 8)
    assert isinstance(box, Address)
    assert box.coordinates[1] == Number(0)
    assert (special, dropped) == (Name("%tid.x"), Dropped())


# Texts that are not ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "no statement"),
        ("module {}", 1, "expected a directive, got 'module {}'"),
        ("\n.target sm_80", 2, "begins with '.version'"),
        (".version nine", 1, "'.version nine' is no version"),
        (".version 8.0\n.target gfx950", 2, "names no chip"),
        (".version 8.0\n.address_size 32", 2, "32 bits are not read"),
        (HEAD + ".blob x;", 4, "'.blob' is no directive"),
        (HEAD + ".shared .b8 s[4]", 4, "a variable has no end"),
        (HEAD + ".shared nonsense;", 4, "declares no variable"),
        (HEAD + "\n.entry k()", 5, "ends before the body"),
        (HEAD + ".entry k() {\n ret;\n", 4, "ends within the body of 'k'"),
        (HEAD + ".entry k() {\n add.s32", 4, "ends within the body of 'k'"),
        (HEAD + ".entry k() .reqntid 0 {", 4, "numbers from 1 on"),
        (HEAD + ".entry k() .odd 1 {", 4, "'.odd' is no directive"),
        (HEAD + ".entry k(.param .v9 x) {", 4, "is no parameter"),
        (HEAD + ".entry k() {\n .reg .b7 %r<2>; }", 5, "declares no registers"),
        (HEAD + ".entry k() {\n .reg .b32 9; }", 5, "is no name of registers"),
        (HEAD + ".entry k() {\n .what; }", 5, "'.what' is no directive"),
        (HEAD + ".entry k() {\n .loc 1;\n}", 5, "is no location"),
        (HEAD + ".entry k() {\n L: ret;\nL: ret; }", 6, "the label 'L' is there twice, at line 5 first"),
        (HEAD + ".entry k() {\n ?; }", 5, "'?' is no instruction"),
        (HEAD + "/* a\n b", 4, "a comment has no end"),
        (HEAD + ".section .debug_x {\n", 4, "cut off"),
        (HEAD, None, "there is no kernel"),
    ],
)  # fmt: skip
def test_what_is_no_ptx_is_refused_with_its_line(text: str, line: int | None, said: str):
    with pytest.raises(PtxError) as caught:
        read_ptx(text, "k.ptx")
    assert said in str(caught.value)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("frob %r1;\n frob %r1;", "'frob' is not known here, and may synchronise or touch shared memory (2 times)"),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1, %r2}];", "'tex.2d.v4.f32.s32' is not known here"),
        ("barrier.red.popc.u32 %r1, 0, %p1;", "'barrier.red.popc.u32' is not known"),
        ("add.s32 %r1, %r2;", "has 2 operands; it takes: d a b"),
        ("add.s32 %r1 %r2, 1;", "expected ',' and got '%r2'"),
        ("add.s32 %r1, , 1;", "',' is in the way"),
        ("add.s32 %r1, %q2, 1;", "reads '%q2'"),
        ("add.s32 %r99, %r2, 1;", "is no register"),
        ("st.shared.b32 [nowhere], %r1;", "names 'nowhere', which is declared nowhere"),
        ("ld.shared.b32 %r1, %r2;", "expects an address in brackets"),
        ("ld.shared.b64 %d1, [s]; ld.b32 %r1, [%d1];", "was loaded from shared memory"),
        ("bra $L9;", "goes to '$L9', which is no label"),
        ("@%q bra $L9;", "goes to '$L9'"),
        ("@%q bar.sync 0;", "stands under '%q', which is not declared"),
        ("brx.idx %r1, T;", "is no list of targets"),
        ("call.uni f, ();", "calls 'f'"),
        ("call %d1, (), P;", "only the launch knows"),
        ("cp.async.wait_group %r1;", "a number of groups that is no constant"),
        ("elect.sync %r1|%p1, 15; @%p1 bar.warp.sync -1;", "elects among some lanes"),
        ("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%r1}], [s];", "is no parameter"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused_by_name_and_line(body: str, said: str):
    with pytest.raises(PtxError) as caught:
        read_ptx(text_of(body), "k.ptx")
    assert said in str(caught.value)
    assert caught.value.line == 5


def test_the_threads_of_a_block_are_asked_for():
    with pytest.raises(PtxError, match="--block 128"):
        read_ptx(text_of("ret;", block=""), "k.ptx")


@pytest.mark.parametrize(
    ("text", "answer"),
    [(HEAD, True), ("// x\n/* y */ .version 8.0", True), ("module {}", False), ("", False), ("// .version 8.0", False)],
)
def test_ptx_is_known_by_its_first_statement(text: str, answer: bool):
    assert is_ptx(text) is answer
