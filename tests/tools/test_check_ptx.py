"""`tileas check kernel.ptx`: what a launch says, and what is said of a text that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import pytest

import tileas_xdsl as tileas
from tests.readers.ptx.programs import KERNELS, text_of
from tests.support.ir import ROOT
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.main import main

ARRIVES = "bar.sync 0; bar.sync 1, 64;"
MAP = ".param .align 64 .b8 map[128]"
STORE = "mov.b64 %d1, map; mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 " + (
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {0, 0}], [s]; cp.async.bulk.commit_group;"
    "cp.async.bulk.wait_group 0;"
)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of `tileas check`."""
    status = main(["check", "--trip-counts", "0..3", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def written(folder: Path, body: str, **of: str) -> str:
    file = folder / "k.ptx"
    file.write_text(text_of(body, **of))
    return str(file)


def test_a_kernel_is_checked_with_the_launch_beside_it(capsys: pytest.CaptureFixture[str]):
    status, out, _ = said(capsys, str(KERNELS / "wgmma_ring.sm_90a.ptx"))
    assert status == 0
    assert out.startswith("safe for trip counts 0..3; assumed: ")
    assert "accesses to global memory do not race: they are not followed" in out


def test_the_block_is_asked_for_and_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, ARRIVES, block="")
    status, _, errors = said(capsys, file)
    assert (status, errors.count("\n")) == (2, 1)
    assert errors.startswith(f"{file}:4: error: ")
    assert "--block 128" in errors
    assert said(capsys, file, "--block", "64")[0] == 0
    assert said(capsys, file, "--threads", "64")[0] == 0
    assert said(capsys, file, "--block", "32,2")[0] == 0
    assert said(capsys, file, "--block", "128")[0] != 0


def test_a_block_that_the_kernel_is_not_compiled_for_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, ARRIVES, block=".reqntid 64")
    assert said(capsys, file, "--block", "64,1")[0] == 0
    status, _, errors = said(capsys, file, "--block", "128")
    assert status == 2
    assert "compiled for blocks of 64 threads (.reqntid)" in errors


def test_the_most_threads_are_taken_for_the_block_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    _, out, _ = said(capsys, written(tmp_path, ARRIVES, block=".maxntid 64"))
    assert "a block has 64 threads, the most that .maxntid allows" in out


def test_the_boxes_of_tensor_maps_are_asked_for_and_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, STORE, parameters=MAP)
    status, _, errors = said(capsys, file)
    assert status == 2
    assert "--tensor-map p0=f16[128x64]:swizzle=128" in errors
    for name in ("p0", "#0", "map"):
        assert said(capsys, file, "--tensor-map", f"{name}=f16[16x64]:swizzle=128")[0] == 0


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (["--tensor-map", "p0"], "write --tensor-map P="),
        (["--tensor-map", "p0=f16"], "'f16' is no tensor map"),
        (["--tensor-map", "p0=q7[16x64]"], "'q7' is no type of elements"),
        (["--tensor-map", "p0=f16[16x64]:swizzle=7"], "swizzle of 7 bytes"),
        (["--tensor-map", "other=f16[16x64]"], "there is no parameter 'other'; those of 128 bytes and more are p0"),
        (["--launch", "nowhere.json"], "nowhere.json: No such file"),
        (["--function", "other"], "'other' is no kernel here; there are: k"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    option: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    status, _, errors = said(capsys, written(tmp_path, STORE, parameters=MAP), *option)
    assert status == 2
    assert complaint in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("launch", ["[]", "{}", "{", '{"num_warps": "x"}', '{"kernels": [{"parameters": [1]}]}'])
def test_a_launch_that_is_none_is_refused(launch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, ARRIVES)
    (tmp_path / "k.json").write_text(launch)
    status, _, errors = said(capsys, file)
    assert (status, errors.count("\n")) == (2, 1)


def test_metadata_of_triton_say_the_block_and_the_boxes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, STORE, parameters=MAP, block="")
    meta = {"block_size": [16, 64], "elem_size": 2, "swizzle": 3}
    (tmp_path / "k.json").write_text(json.dumps({"num_warps": 2, "shared": 0, "tensordesc_meta": [meta]}))
    assert said(capsys, file)[0] == 0


def test_a_part_of_a_name_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "two.ptx"
    kernel = ".entry _Z3{0}v() .reqntid 32 {{ bar.sync 0; ret; }}\n"
    file.write_text(".version 8.0\n.target sm_80\n.address_size 64\n" + kernel.format("one") + kernel.format("two"))
    assert said(capsys, str(file))[0] == 0
    assert said(capsys, str(file), "--function", "one")[0] == 0
    assert "is part of the names of several kernels" in said(capsys, str(file), "--function", "_Z3")[2]


def test_remarks_list_what_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = written(tmp_path, "fma.rn.f32 %f1, %f2, %f3, %f1; bar.sync 0;")
    assert "remark: 'fma.rn.f32' computes what is not followed" in said(capsys, file, "--remarks")[2]
    assert said(capsys, file)[2] == ""


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(60), "this is machine code"),
        (b"\x50\xed\x55\xba" + bytes(60), "this is machine code"),
        (b"module {}", "expected a directive"),
        (b"", "no statement"),
        (b".version 8.0\n.target sm_80\n.entry k() {\n add.s32 %r1", "ends within the body"),
    ],
)
def test_what_is_no_ptx_is_refused_in_one_line(
    content: bytes, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "k.ptx"
    file.write_bytes(content)
    status, _, errors = said(capsys, str(file))
    assert (status, errors.count("\n")) == (2, 1)
    assert complaint in errors


def test_a_text_without_the_suffix_is_known_by_its_beginning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "kernel.txt"
    file.write_text(text_of("bar.sync 0;"))
    assert said(capsys, str(file))[0] == 0


def test_the_front_door_reads_ptx(tmp_path: Path):
    module = tileas.parse(written(tmp_path, ARRIVES, block=".reqntid 64"))
    assert str(tileas.check(module).verdict) == "safe"
    asked = tileas.parse_ptx(text_of(STORE, parameters=MAP), tensor_maps={"p0": "f16[16x64]:swizzle=128"})
    assert str(tileas.check(asked, trip_counts=[0]).verdict) == "safe"
    with pytest.raises(InputError, match="ends within the body"):
        tileas.parse_ptx(text_of("bar.sync 0;")[:150])


def test_a_cache_of_triton_is_checked_at_both_levels_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "k.ptx").write_text(text_of("bar.sync 0;"))
    (tmp_path / "k.json").write_text(json.dumps({"num_warps": 4, "shared": 0, "tensordesc_meta": []}))
    (tmp_path / "k.ttgir").write_text("func.func @k() {\n  func.return\n}\n")
    assert said(capsys, str(tmp_path))[1].splitlines() == ["safe"]
    lines = said(capsys, str(tmp_path), "--level", "ptx")[1].splitlines()
    assert [line.partition(";")[0] for line in lines if line] == ["@k:", "safe", "@k in PTX:", "safe"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1, %r2}];", "'tex.2d.v4.f32.s32' is not known"),
        ("suld.b.2d.b32.trap {%r1}, [%d1, {%r2, %r3}];", "'suld.b.2d.b32.trap' is not known"),
        ("call %d1, ();", "calls"),
        ("call k, ();", "calls 'k'"),
        ("tcgen05.mma.cta_group::2.kind::f16 [%r1], %d1, %d2, %r2, %p1;", "cta_group::2"),
    ],
)
def test_what_is_left_out_is_refused_by_name_in_one_line(
    body: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    status, _, errors = said(capsys, written(tmp_path, body))
    assert (status, errors.count("\n")) == (2, 1)
    assert complaint in errors
    assert "k.ptx:5: error" in errors


@pytest.mark.parametrize(
    "head", [".version x.y\n.target sm_80\n", ".target sm_80\n", ".version 8.0\n.target sm_80\n.samplerref s;\n"]
)
def test_a_head_that_is_wrong_is_refused_in_one_line(head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "k.ptx"
    file.write_text(head + ".address_size 64\n.entry k() { ret; }\n")
    status, _, errors = said(capsys, str(file))
    assert (status, errors.count("\n")) == (2, 1)


def test_a_file_of_ptx_is_checked_from_python_at_once(tmp_path: Path):
    file = written(tmp_path, ARRIVES, block=".reqntid 64")
    assert str(tileas.check(file).verdict) == str(tileas.check(Path(file), function="k").verdict) == "safe"
    assert str(tileas.check(KERNELS / "store_ring.sm_90a.ptx", trip_counts=[0, 1]).verdict) == "safe"
    with pytest.raises(InputError, match="is no kernel here"):
        tileas.check(file, function="other")


def test_a_number_that_is_given_is_one_of_elements(tmp_path: Path):
    loop = (
        "ld.param.u32 %r1, [n]; add.s32 %r2, %r1, 63; shr.s32 %r3, %r2, 31; shr.u32 %r4, %r3, 26; "
        "add.s32 %r5, %r2, %r4; shr.s32 %r6, %r5, 6; mov.b32 %r7, 0; bra T; L: bar.sync 1; add.s32 %r7, %r7, 1;"
        "T: setp.lt.s32 %p1, %r7, %r6; @%p1 bra L;"
    )
    file = written(tmp_path, loop)
    assert "p0 is 64 times p0_tiles" in str(tileas.check(file, trip_counts=[2]))
    assert "p0_tiles" not in str(tileas.check(file, {"p0": 100}))


def test_a_timeline_is_drawn_of_ptx(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "ring.svg"
    status = main(["timeline", str(KERNELS / "store_ring.sm_90a.ptx"), "--trip-count", "3", "-o", str(out)])
    assert status == 0
    assert out.read_text().startswith("<svg")
    assert "cycles" in capsys.readouterr().out


def test_a_command_that_does_not_read_ptx_says_which_do(capsys: pytest.CaptureFixture[str]):
    assert main(["waits", str(KERNELS / "store_ring.sm_90a.ptx")]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "this command does not read PTX; use tileas check, run or timeline" in errors


def test_a_number_may_be_said_to_be_a_multiple(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """With no turn at all the last barrier, which only half of the block meets, is met by nobody else."""
    loop = (
        "ld.param.u32 %r1, [n]; mov.b32 %r7, 0; mov.u32 %r8, %tid.x; setp.eq.s32 %p3, %r1, 0; @%p3 bra T;"
        "L: bar.sync 1; add.s32 %r7, %r7, 16; T: setp.lt.s32 %p1, %r7, %r1; @%p1 bra L;"
        "setp.eq.s32 %p4, %r7, 0; setp.lt.and.u32 %p2, %r8, 32, %p4; @%p2 bar.sync 2, 64;"
    )
    file = written(tmp_path, loop, block=".reqntid 64")
    status, out, _ = said(capsys, file, "--arg", "p0=64*n")
    assert (status, "p0_tiles = 0" in out) == (1, True)
    status, out, _ = said(capsys, file, "--arg", "p0=64*n+64")
    assert (status, "p0 is 64 times p0_tiles and 64" in out) == (0, True)
    assert "'q' is no number that is passed; there are p0" in said(capsys, file, "--arg", "q=64*n")[2]
    assert "only of PTX" in said(capsys, str(ROOT / "tests" / "kernels" / "reduction.mlir"), "--arg", "n=4*k")[2]


def test_numbers_that_are_not_read_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for body, complaint in (
        ("atom.shared.add.u32 %r1, [s], 1;", "'atom.shared.add.u32' moves or computes numbers that are not read"),
        ("mov.u32 %r1, %clock; st.shared.b32 [s], %r1;", "'mov.u32' moves or computes numbers that are not read"),
    ):
        assert main(["run", written(tmp_path, body)]) == 2
        errors = capsys.readouterr().err
        assert errors.count("\n") == 1
        assert complaint in errors


@pytest.mark.parametrize("block", [".reqntid 2048", ".reqntid 64, 32"])
def test_a_block_that_no_chip_has_is_refused(block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status, _, errors = said(capsys, written(tmp_path, ARRIVES, block=block))
    assert (status, errors.count("\n")) == (2, 1)
    assert "a block has at most 1,024 threads, not 2,048" in errors


def test_of_many_kernels_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "k.ptx"
    head, _, kernel = text_of("bar.sync 0;").partition(".visible")
    file.write_text(head + "".join(f".visible{kernel.replace('entry k', f'entry k{number}')}" for number in range(65)))
    status, _, errors = said(capsys, str(file))
    assert (status, errors.count("\n")) == (2, 1)
    assert "there are 65 kernels, and at most 64 are read at once; name one by --function: k0, k1" in errors
    assert said(capsys, str(file), "--function", "k64")[0] == 0


@pytest.mark.parametrize("line", ["x y z;\n", "x", " add.s32 %r1, %r1, 1;\n"])
def test_twenty_megabytes_have_an_answer(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Of a text that never ends, or that is none."""
    file = tmp_path / "k.ptx"
    file.write_text(text_of("bar.sync 0;")[:-30] + line * (20_000_000 // len(line)))
    began = process_time()
    status, _, errors = said(capsys, str(file))
    assert (status, errors.count("\n")) == (2, 1)
    assert process_time() - began < 60
