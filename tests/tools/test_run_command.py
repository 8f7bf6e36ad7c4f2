"""`tileas run`: results and arrays, orders, files written or expected, and a clear message for each mistake."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import BlockArgument

from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.support.ir import ROOT, parse
from tests.tools import programs
from tests.tools.conftest import Run
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.tools.argument_values import parse_value, value_for
from tileas_xdsl.tools.array_files import write_arrays

RAN, FAILED, INPUT = 0, 1, 2
EXAMPLE = ROOT / "examples" / "double_buffer.mlir"
RACE = ROOT / "examples" / "double_buffer_race.mlir"
ORDERS = [
    *(["--order", order] for order in ("eager", "lazy", "timed")),
    *(["--order", "random", "--seed", str(s)] for s in range(5)),
]


@pytest.fixture
def run(tileas: Run) -> Run:
    """`run(text or path, *options)`: status, standard output, standard error; a text is called `p.mlir`."""
    return partial(tileas, "run")


DOUBLE = ["--arg", "n=8", "--arg", "src=8x4:iota", "--arg", "dst=8x4:zeros"]
IOTA = np.arange(32, dtype=np.float32).reshape(8, 4)


# What a run shows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_a_synchronised_program_gives_the_same_in_every_order(order: list[str], run: Run) -> None:
    status, out, err = run(EXAMPLE, *DOUBLE, *order, "--out", "dst=d.npy", "--format", "json")
    assert (status, err) == (RAN, "")
    assert np.array_equal(np.load("d.npy"), 2 * IOTA)
    assert np.load("d.npy").dtype == np.float32
    assert np.array_equal(json.loads(out)["arrays"]["dst"]["data"], 2 * IOTA)


OF_THE_GRID = """
func.func @place(%out: memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %id = nvvm.read.ptx.sreg.ctaid.x : i32
  %extent = nvvm.read.ptx.sreg.nctaid.x : i32
  memref.store %id, %out[%c0] : memref<2xi32>
  memref.store %extent, %out[%c1] : memref<2xi32>
  func.return
}
"""


@pytest.mark.parametrize(
    ("given", "seen"), [([], [0, 1]), (["ctaid.x=3"], [3, 1]), (["ctaid.x=3", "nctaid.x=0x8"], [3, 8])]
)
def test_a_block_of_the_grid_can_be_chosen(given: list[str], seen: list[int], run: Run) -> None:
    options = [text for name in given for text in ("--arg", name)]
    status, out, err = run(OF_THE_GRID, *options, "--format", "json")
    assert (status, err) == (RAN, "")
    assert json.loads(out)["arrays"]["out"]["data"] == seen


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["ctaid.x=-1"], "'ctaid.x' is a number of the grid, from 0 up, not '-1'"),
        (["ctaid.x=iota"], "'ctaid.x' is a number of the grid, from 0 up, not 'iota'"),
        (["ctaid.x=1", "ctaid.x=2"], "'ctaid.x' is given twice"),
        (["ctaid.y=1"], "there is no argument 'ctaid.y'"),
    ],
)
def test_wrong_numbers_of_the_grid(given: list[str], message: str, run: Run) -> None:
    status, _, err = run(OF_THE_GRID, *[text for name in given for text in ("--arg", name)])
    assert status == INPUT
    assert message in err


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_a_race_is_reported_in_every_order(order: list[str], run: Run) -> None:
    status, out, _ = run(RACE, *DOUBLE, *order)
    assert (status, out.splitlines()[-1]) == (FAILED, "failed: race")
    assert "witness, in @double_buffer(n = 8):" in out
    assert "dst :" not in out


MODELS = {
    "queue": (programs.queue(0), ["--arg", "n=8"]),
    "tasks": (programs.tasks(awaited=True), []),
    "marks": (programs.marks(0), []),
    "mbarrier": (programs.barrier(), []),
    "pipeline": (handshake(2, f"{READ}\n{RELEASE}"), ["--arg", "n=5"]),
}


@pytest.mark.parametrize("model", MODELS)
def test_programs_of_every_model_run(model: str, run: Run) -> None:
    text, options = MODELS[model]
    status, out, err = run(text, *options)
    assert (status, out.splitlines()[-1], err) == (RAN, "ran", "")


def test_results_and_arrays_are_printed_under_their_names(run: Run) -> None:
    assert run(programs.tasks(awaited=True), "--arg", "a=5", "--arg", "b=zeros") == (
        RAN,
        "result0 = 1\na : 1xint32 =\n[1]\nb : 1xint32 =\n[1]\nran\n",
        "",
    )


def test_long_arrays_are_shortened_as_numpy_does(run: Run) -> None:
    text = "func.func @f(%a: memref<2000xf32>) {\n  func.return\n}\n"
    assert run(text, "--arg", "a=iota")[1].splitlines()[1] == (
        "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]"
    )


def test_a_deadlock_is_a_failure_with_a_report(run: Run) -> None:
    text = """
func.func @f(%tile: memref<1xf32, 3>) {
  %size = arith.constant 1 : index
  %group = async.create_group %size : !async.group
  async.await_all %group
  func.return
}
"""
    status, out, _ = run(text)
    assert (status, out.splitlines()[-1]) == (FAILED, "failed: deadlock")
    assert "a group of 1 to which only 0 were added" in out


def test_json_holds_everything(run: Run) -> None:
    _, out, _ = run(EXAMPLE, *DOUBLE, "--order", "random", "--seed", "7", "--format", "json")
    data: dict[str, Any] = json.loads(out)
    assert {key: value for key, value in data.items() if key != "arrays"} == {
        "file": str(EXAMPLE),
        "function": "double_buffer",
        "order": "random",
        "seed": 7,
        "capture": "completion",
        "verdict": "ran",
        "findings": [],
        "differences": {},
        "open": [],
        "warnings": [],
    }
    assert data["arrays"]["src"] == {"type": "float32", "shape": [8, 4], "data": IOTA.tolist()}


@pytest.mark.parametrize(("turns", "misses"), [(2, False), (3, True)])
def test_a_tile_outside_of_its_array_is_warned_of(turns: int, misses: bool, run: Run) -> None:
    """A tile that sticks out is padded, as at the edge of a matrix; one that lies outside is seldom meant."""
    arrays = ("--arg", "a=128x100:iota", "--arg", "b=192x128:iota", "--arg", "c=128x128:zeros")
    status, out, _ = run(ROOT / "examples" / "gemm_loop.mlir", "--arg", f"n={turns}", *arrays)
    assert status == RAN
    said = "'nv_tileaa.tiled_load' takes a tile that lies outside of a (128x100) (main, iteration 2)"
    assert (said in out) == misses


def test_json_of_a_race_has_the_findings(run: Run) -> None:
    status, out, _ = run(RACE, *DOUBLE, "--format", "json")
    data = json.loads(out)
    assert (status, data["verdict"], data["findings"][0]["kind"]) == (FAILED, "failed: race", "race")


def test_json_has_no_infinities(run: Run) -> None:
    np.save("x.npy", np.array([np.inf, np.nan, 1.0], np.float32))
    text = "func.func @f(%a: memref<3xf32>) {\n  func.return\n}\n"
    data = json.loads(run(text, "--arg", "a=x.npy", "--format", "json")[1], parse_constant=pytest.fail)
    assert data["arrays"]["a"]["data"] == ["inf", "nan", 1.0]


def test_the_function_may_be_left_out_only_where_there_is_one(run: Run) -> None:
    text = programs.queue(0) + programs.queue(0).replace("@queue", "@other")
    message = "p.mlir: error: say which function with --function; there are: @queue, @other\n"
    assert run(text, "--arg", "n=0") == (INPUT, "", message)
    assert run(text, "--function", "@other", "--arg", "n=0")[0] == RAN


def test_of_many_functions_a_few_are_named_those_with_similar_names_first(run: Run) -> None:
    text = "".join(f"func.func @f{number}() {{\n  func.return\n}}\n" for number in range(300))
    first = ", ".join(f"@f{number}" for number in range(8))
    assert run(text) == (
        INPUT,
        "",
        f"p.mlir: error: say which function with --function; there are: {first} and 292 more\n",
    )
    status, _, err = run(text, "--function", "g217")
    assert status == INPUT
    assert err.startswith("p.mlir: error: there is no function @g217 with a body; there are: @f217, ")
    assert err.endswith(" and 292 more\n")


def test_capture_says_when_sources_are_read(run: Run) -> None:
    text = """
func.func @early(%src: memref<1xi32>, %dst: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %nine = arith.constant 9 : i32
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<1xi32>
      memref.store %x, %dst[%c0] : memref<1xi32>
    }
  }
  memref.store %nine, %src[%c0] : memref<1xi32>
  async_queue.wait 0, 0
  func.return
}
"""
    options = ["--arg", "src=4", "--arg", "dst=0"]
    assert run(text, *options)[0] == FAILED
    status, out, _ = run(text, *options, "--capture", "issue")
    assert (status, out) == (RAN, "src : 1xint32 =\n[9]\ndst : 1xint32 =\n[4]\nran\n")


def test_from_another_process_and_standard_input() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tileas_xdsl.tools.main", "run", "-", *DOUBLE],
        input=EXAMPLE.read_text(),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (result.returncode, result.stdout.splitlines()[-1], result.stderr) == (RAN, "ran", "")


def test_more_memory_than_there_is(run: Run) -> None:
    for size in (10**15, 2**62):
        array = f"memref<{size}xf32>"
        for text in (
            f"func.func @f(%a: {array}) {{\n  func.return\n}}\n",
            f"func.func @f() {{\n  %a = memref.alloc() : {array}\n  func.return\n}}\n",
        ):
            status, out, err = run(text)
            assert (status, out) == (INPUT, "")
            assert err.startswith("error: the program needs more memory than there is: ")
            assert err.count("\n") == 1


def test_tiles_of_two_sizes_in_one_ring(run: Run) -> None:
    token, produce = "!nv_tileas.producer_token", "nv_tileas.async.pipeline.produce_one"
    text = "func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32>) {\n"
    text += "%p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, "
    text += "producerGroupId = 0 : i8, consumerGroupId = 0 : i8} "
    text += f": () -> ({token}, !nv_tileas.consumer_token)\n"
    for value, size in (("%x", 4), ("%y", 8)):
        kind = f"tensor<{size}xf32>"
        text += f"{produce} %p attributes {{producer_types = [{kind}]}} {{\n^bb0(%slot: {kind}):\n"
        text += f"nv_tileas.async.pipeline.yield {value} : ({kind}) -> ()\n}} : ({token}) -> ()\n"
    status, _, err = run(text + "func.return\n}\n")
    assert status == INPUT
    assert f"error: '{produce}' op fills a slot of pipeline 'p' for 4 elements with 8" in err


def test_an_integer_without_bits_is_zero(run: Run) -> None:
    text = "func.func @f(%a: i0) {\n  func.return\n}\n"
    assert run(text, "--arg", "a=0")[0] == RAN
    assert run(text, "--arg", "a=1") == (INPUT, "", "p.mlir: error: argument 'a' has type i0, which cannot hold 1\n")


def test_a_function_that_calls_itself_for_ever(run: Run) -> None:
    status, out, err = run("func.func @f() {\n  func.call @f() : () -> ()\n  func.return\n}\n")
    message = "'func.call' op calls @f, and calls nest too deeply; a function may not call itself for ever\n"
    assert (status, out, err) == (INPUT, "", f"p.mlir:2:3: error: {message}")


# Files ----------------------------------------------------------------------------------------------------------------

IDENTITY = "func.func @f(%a: memref<2x2xTYPE>) {\n  func.return\n}\n"
RESULT = (
    "func.func @f(%a: tensor<2xf32>, %n: i32) -> (tensor<2xf32>, i32) {\n  func.return %a, %n : tensor<2xf32>, i32\n}\n"
)


@pytest.mark.parametrize(
    "name", ["f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "i1", "i4", "i8", "i32", "i64", "index"]
)
def test_what_is_written_can_be_read_and_expected(name: str, run: Run) -> None:
    text = IDENTITY.replace("TYPE", name)
    assert run(text, "--out", "a=a.npy")[0] == RAN
    assert run(text, "--arg", "a=a.npy", "--expect", "a=a.npy")[1].splitlines()[-1] == "ran, and is as expected"
    assert run(text, "--arg", "a=0", "--expect", "a=a.npy")[0] == FAILED


def test_results_have_names_too(run: Run) -> None:
    status, _, _ = run(RESULT, "--arg", "a=iota", "--arg", "n=7", "--out", "result0=r.npy", "--out", "result1=n.npy")
    assert status == RAN
    assert np.load("r.npy").tolist() == [0.0, 1.0]
    assert np.load("n.npy") == 7
    status, _, err = run(RESULT, "--arg", "n=7", "--out", "result2=r.npy")
    assert (status, err) == (INPUT, "p.mlir: error: 'result2' is no array here; there are: result0, result1\n")


def test_an_argument_that_is_called_like_a_result_is_the_argument(run: Run) -> None:
    text = """
func.func @f(%result0: memref<1xi32>) -> index {
  %c = arith.constant 5 : index
  func.return %c : index
}
"""
    run(text, "--arg", "result0=3", "--out", "result0=r.npy")
    assert np.load("r.npy").tolist() == [3]


ALIKE = """
func.func @f(%x_0: memref<2xi32>, %x_1: memref<2xi32>, %n_7: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n_7 step %c1 {
    %x = memref.load %x_0[%c0] : memref<2xi32>
    memref.store %x, %x_1[%c0] : memref<2xi32>
  }
  func.return
}
"""


def test_arguments_whose_names_differ_only_in_a_number(run: Run) -> None:
    """xDSL reads `%x_0` and `%x_1` as `x`; neither array may get lost, and `x_1` may not mean the other one."""
    options = ["--arg", "x#0=5", "--arg", "x#1=6", "--arg", "n_7=1"]
    shown = "x#0 : 2xint32 =\n[5 5]\nx#1 : 2xint32 =\n[5 6]\nran\n"
    assert run(ALIKE, *options, "--out", "x#1=x.npy") == (RAN, shown, "")
    assert np.load("x.npy").tolist() == [5, 6]
    assert run(ALIKE, "--arg", "0=5", "--arg", "1=6", "--arg", "n=1") == (RAN, shown, "")
    message = "p.mlir: error: there is no argument 'x_1'; there are: x#0, x#1, n\n"
    assert run(ALIKE, "--arg", "x_1=6") == (INPUT, "", message)


def test_the_bytes_behind_pointers_look_like_the_array_given(run: Run) -> None:
    text = """
llvm.func @copy(%src: !llvm.ptr<1>, %dst: !llvm.ptr<1>) {
  %x = llvm.load %src : !llvm.ptr<1> -> f32
  llvm.store %x, %dst : f32, !llvm.ptr<1>
  llvm.return
}
"""
    np.save("src.npy", np.array([[1.5, 2.5]], np.float32))
    np.save("dst.npy", np.zeros(3, np.float32))
    options = ["--arg", "src=src.npy", "--arg", "dst=dst.npy", "--out", "dst=out.npy"]
    assert run(text, *options)[0] == RAN
    assert np.load("out.npy").tolist() == [1.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], FAILED),
        (["--atol", "0.1"], RAN),
        (["--atol", "0.001"], FAILED),
        (["--rtol", "0.001"], RAN),
        (["--rtol", "0.00001"], FAILED),
    ],
)
def test_tolerances(options: list[str], status: int, run: Run) -> None:
    np.save("a.npy", np.full((2, 2), 100.0, np.float32))
    np.save("b.npy", np.full((2, 2), 100.01, np.float32))
    text = IDENTITY.replace("TYPE", "f32")
    assert run(text, "--arg", "a=a.npy", "--expect", "a=b.npy", *options)[0] == status


@pytest.mark.parametrize("option", ["--rtol", "--atol"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "x"])
def test_a_tolerance_is_a_number_from_0_up(
    option: str, value: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(EXAMPLE, *DOUBLE, f"{option}={value}")
    assert ended.value.code == INPUT
    assert f"argument {option}: '{value}' is no number from 0 up\n" in capsys.readouterr().err


def test_two_arrays_cannot_go_to_one_file(run: Run) -> None:
    message = "error: --out src=./a.npy: another array goes to that file\n"
    assert run(EXAMPLE, *DOUBLE, "--out", "dst=a.npy", "--out", "src=./a.npy") == (INPUT, "", message)
    assert list(Path().iterdir()) == []


def test_a_difference_says_where_how_often_and_how_much(run: Run) -> None:
    np.save("e.npy", np.array([[0, 1], [5, 9]], np.float32))
    status, out, _ = run(IDENTITY.replace("TYPE", "f32"), "--arg", "a=iota", "--expect", "a=e.npy")
    assert status == FAILED
    assert out.splitlines()[-2:] == [
        "a: 2 of 4 elements differ from e.npy; the first, at [1, 0], is 2.0 and should be 5.0; the greatest difference "
        "is 6",
        "differs: a",
    ]
    np.save("e.npy", np.zeros(3, np.float32))
    out = run(IDENTITY.replace("TYPE", "f32"), "--expect", "a=e.npy")[1]
    assert out.splitlines()[-2] == "a: it has shape (2, 2), and e.npy has (3,)"


def test_large_integers_are_compared_exactly(run: Run) -> None:
    text = IDENTITY.replace("TYPE", "i64")
    np.save("a.npy", np.full((2, 2), 2**62, np.int64))
    np.save("b.npy", np.full((2, 2), 2**62 + 1, np.int64))
    assert run(text, "--arg", "a=a.npy", "--expect", "a=a.npy")[0] == RAN
    assert run(text, "--arg", "a=a.npy", "--expect", "a=b.npy")[0] == FAILED


@pytest.mark.parametrize("failure", ["race", "differs", "input"])
def test_nothing_is_written_on_failure(failure: str, run: Run) -> None:
    Path("old.npy").write_text("old")
    np.save("e.npy", np.ones((8, 4), np.float32))
    program = RACE if failure == "race" else EXAMPLE
    extra = {"race": [], "differs": ["--expect", "dst=e.npy"], "input": ["--out", "nobody=y.npy"]}[failure]
    status, _, _ = run(program, *DOUBLE, "--out", "dst=old.npy", "--out", "src=new.npy", *extra)
    assert status == (INPUT if failure == "input" else FAILED)
    assert Path("old.npy").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["e.npy", "old.npy"]


def test_either_all_files_are_written_or_none(run: Run) -> None:
    status, _, err = run(EXAMPLE, *DOUBLE, "--out", "dst=d.npy", "--out", "src=no/such/s.npy")
    assert (status, err) == (INPUT, "no/such/s.npy: error: there is no folder 'no/such'; mkdir -p makes it\n")
    assert list(Path().iterdir()) == []


def test_writing_replaces_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.npy"
    target.write_text("old")
    write_arrays({str(target): np.arange(3)})
    assert np.load(target).tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [target]


# Values ---------------------------------------------------------------------------------------------------------------


def argument(type_text: str) -> BlockArgument:
    """An argument called `a` of that type."""
    module = parse(f"func.func @f(%a: {type_text}) {{\n  func.return\n}}\n")
    function = next(op for op in module.walk() if op.name == "func.func")
    assert isinstance(function.properties["function_type"], FunctionType)
    return function.regions[0].block.args[0]


def made(text: str, type_text: str) -> Any:
    return value_for(parse_value(text), argument(type_text))


@pytest.mark.parametrize(
    ("text", "type_text", "value"),
    [
        ("7", "index", 7),
        ("-7", "i32", -7),
        ("0x10", "i32", 16),
        ("255", "i8", 255),
        ("-128", "i8", -128),
        ("true", "i1", 1),
        ("3", "f32", 3.0),
        ("1e-3", "f32", 1e-3),
        ("-inf", "f32", -np.inf),
    ],
)
def test_numbers(text: str, type_text: str, value: float) -> None:
    found = made(text, type_text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "type_text", "expected"),
    [
        ("zeros", "memref<2x2xf32>", [[0, 0], [0, 0]]),
        ("iota", "memref<2x2xf32>", [[0, 1], [2, 3]]),
        ("iota", "tensor<3xi64>", [0, 1, 2]),
        ("2.5", "memref<2xf16>", [2.5, 2.5]),
        ("-1", "memref<2xi8>", [-1, -1]),
        ("255", "memref<1xi8>", [-1]),
        ("15", "memref<1xi4>", [-1]),
        ("4", "memref<f32>", 4),
        ("2x3:iota", "memref<?x?xf32>", [[0, 1, 2], [3, 4, 5]]),
        ("2:iota", "memref<?x3xf32>", [[0, 1, 2], [3, 4, 5]]),
        ("2x3:iota", "memref<2x?xf32>", [[0, 1, 2], [3, 4, 5]]),
        ("2x3:iota", "memref<2x3xf32>", [[0, 1, 2], [3, 4, 5]]),
        ("0x3:zeros", "memref<?x3xf32>", np.zeros((0, 3)).tolist()),
        ("2x2:iota", "!nv_tileaa.tiled_view<1x1xf32, gmem>", [[0, 1], [2, 3]]),
        ("4:iota", "!nv_tileaa.ptr<i32, 1>", [0, 1, 2, 3]),
    ],
)
def test_arrays(text: str, type_text: str, expected: list[Any]) -> None:
    assert np.asarray(made(text, type_text)).tolist() == expected


def test_random_arrays_are_small_integers_and_follow_from_the_seed() -> None:
    first, again, other = (made(f"random:{seed}", "memref<64x64xbf16>") for seed in (1, 1, 2))
    assert first.dtype == ml_dtypes.bfloat16
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(np.unique(first.astype(np.float32))) == set(range(-4, 5))


BAD_VALUES = {
    "no value": (
        "banana",
        "memref<2xf32>",
        "'banana' is no value: give a number, zeros, iota, random:SEED or FILE.npy",
    ),
    "empty shape": ("8x8:", "memref<8x8xf32>", "'8x8:' says how large and not what: add a number, zeros, iota"),
    "bad shape": ("8xN:zeros", "memref<8x8xf32>", "'8xN:zeros' is no value"),
    "no seed": ("random", "memref<2xf32>", "'random' has no seed, a number from 0 up: write random:0"),
    "bad seed": ("random:-1", "memref<2xf32>", "'random:-1' has no seed"),
    "array for a number": ("zeros", "index", "argument 'a' is a number of type index, and 'zeros' is an array"),
    "shape for a number": ("2:3", "index", "argument 'a' is a number of type index, and '2:3' is an array"),
    "fraction for an integer": ("1.5", "i32", "argument 'a' has the integer type i32, and '1.5' is no integer"),
    "too large": ("256", "i8", "argument 'a' has type i8, which cannot hold 256"),
    "dynamic without sizes": (
        "zeros",
        "memref<?x4xf32>",
        "argument 'a' : memref<?x4xf32> has dynamic sizes: write --arg a=8x4:zeros",
    ),
    "wrong sizes": ("4x5:zeros", "memref<4x4xf32>", "argument 'a' : memref<4x4xf32> cannot have the shape 4x5"),
    "wrong rank": ("4x4x4:zeros", "memref<?x4xf32>", "cannot have the shape 4x4x4"),
    "a view without a size": (
        "zeros",
        "!nv_tileaa.tiled_view<8x8xf32, gmem>",
        "argument 'a' : !nv_tileaa.tiled_view<8x8xf32, gmem> says no size: write --arg a=8x8:zeros",
    ),
    "a pointer to anything": (
        "zeros",
        "!llvm.ptr",
        "argument 'a' : !llvm.ptr takes the contents of a file: --arg a=F.npy",
    ),
    "counts too far": ("iota", "memref<300xi8>", "argument 'a' has elements of type i8, which cannot hold 256"),
    "counts too far for fp8": ("iota", "memref<600xf8E4M3FN>", "elements of type f8E4M3FN, which cannot hold 465"),
    "fraction in integers": ("0.5", "memref<2xi8>", "argument 'a' has elements of type i8, which cannot hold 0.5"),
    "two in a bit": ("2", "memref<2xi1>", "argument 'a' has elements of type i1, which cannot hold 2"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_each_wrong_value_gets_a_message_that_helps(case: str) -> None:
    text, type_text, message = BAD_VALUES[case]
    with pytest.raises(ArgumentError) as raised:
        made(text, type_text)
    assert message in str(raised.value)


@pytest.mark.parametrize("type_text", ["memref<?x4xf32>", "tensor<2x?xf32>", "!nv_tileaa.memref<4x?xf32, 1>"])
@pytest.mark.parametrize("given", [[], ["--arg", "a=zeros"]], ids=["not named", "named"])
def test_the_sizes_that_a_message_proposes_are_taken(type_text: str, given: list[str], run: Run) -> None:
    text = f"func.func @f(%a: {type_text}) {{\n  func.return\n}}\n"
    status, _, err = run(text, *given)
    assert (status, "dynamic sizes" in err) == (INPUT, True)
    proposed = re.search(r"--arg (a=\S+)$", err)
    assert proposed is not None, err
    status, _, err = run(text, "--arg", proposed[1])
    assert (status, err) == (RAN, "")


BAD_FILES: dict[str, tuple[Any, str, str]] = {
    "shape": (np.zeros((3, 2)), "memref<2x2xf32>", "argument 'a' has type memref<2x2xf32>, and x.npy has shape (3, 2)"),
    "text": (np.array(["a", "b"]), "memref<2xf32>", "x.npy holds elements of type <U1, which are no numbers here"),
    "records": (np.zeros(2, [("x", "i4")]), "memref<2xf32>", "which are no numbers here"),
    "fractions": (np.array([0.5, 1]), "memref<2xi32>", "has elements of type i32, which cannot hold 0.5"),
    "too large": (np.array([70000.0, 1]), "memref<2xf16>", "has elements of type f16, which cannot hold 70000.0"),
    "bytes of another size": (np.zeros(2, ml_dtypes.bfloat16), "memref<2xf8E5M2>", "which are no numbers here"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_each_array_that_does_not_fit_gets_a_message(case: str, run: Run) -> None:
    array, type_text, message = BAD_FILES[case]
    np.save("x.npy", array)
    text = f"func.func @f(%a: {type_text}) {{\n  func.return\n}}\n"
    status, out, err = run(text, "--arg", "a=x.npy")
    assert (status, out) == (INPUT, "")
    assert message in err


def test_files_that_are_no_arrays(run: Run) -> None:
    text = IDENTITY.replace("TYPE", "f32")
    Path("x.npy").write_text("nothing")
    assert "x.npy is no array of numbers in numpy's .npy format" in run(text, "--arg", "a=x.npy")[2]
    assert "x.npy is no array of numbers in numpy's .npy format" in run(text, "--expect", "a=x.npy")[2]
    Path("x.npy").write_bytes(b"")
    assert "x.npy is no array of numbers" in run(text, "--arg", "a=x.npy")[2]
    assert run(text, "--arg", "a=y.npy") == (INPUT, "", "y.npy: error: no such file or directory\n")
    np.save("x.npy", np.array([{}]), allow_pickle=True)
    assert "x.npy is no array of numbers" in run(text, "--arg", "a=x.npy")[2]


BAD_OPTIONS = {
    "scalar without value": ([], "p.mlir: error: argument 'n' : index has no value; give one with --arg n=VALUE"),
    "no equals sign": (["--arg", "n"], "error: --arg n: write --arg NAME=VALUE"),
    "unknown argument": (["--arg", "m=1"], "p.mlir: error: there is no argument 'm'; there are: n, src, dst"),
    "twice": (["--arg", "n=1", "--arg", "0=2"], "p.mlir: error: argument '0' is given twice"),
    "out, unknown": (
        ["--arg", "n=1", "--out", "m=x.npy"],
        "p.mlir: error: there is no argument 'm'; there are: n, src, dst",
    ),
    "out of a number": (
        ["--arg", "n=1", "--out", "n=x.npy"],
        "p.mlir: error: 'n' is no array here; there are: src, dst",
    ),
    "out twice": (["--out", "dst=x.npy", "--out", "2=y.npy"], "error: --out 2 is given twice"),
    "out elsewhere": (["--out", "dst=x.txt"], "error: --out dst=x.txt: the file must be called something.npy"),
    "expect elsewhere": (["--expect", "dst=x"], "error: --expect dst=x: the file must be called something.npy"),
    "expect without file": (["--expect", "dst"], "error: --expect dst: write --expect NAME=VALUE"),
    "unknown function": (["--function", "g"], "p.mlir: error: there is no function @g with a body; there are: @queue"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_each_wrong_option_gets_one_message_and_status_2(case: str, run: Run) -> None:
    options, message = BAD_OPTIONS[case]
    assert run(programs.queue(0), *options) == (INPUT, "", f"{message}\n")


def test_ops_that_cannot_be_run_are_named_with_their_place(run: Run) -> None:
    text = 'func.func @f() {\n  "test.op"() : () -> ()\n  func.return\n}\n'
    status, _, err = run(text)
    assert status == INPUT
    assert err.startswith("p.mlir:2:3: error: 'test.op' op has no meaning here")
    status, _, err = run(programs.CALL, "--function", "caller")
    assert status == INPUT
    assert err.startswith("p.mlir:11:3: error: 'func.call' op calls @elsewhere, which has no body")


# Time -----------------------------------------------------------------------------------------------------------------


def test_timed_run_prints_loops_engines_agents_and_stalls(run: Run) -> None:
    status, out, err = run(EXAMPLE, *DOUBLE, "--order", "timed", "--target", "sm_90")
    assert (status, err) == (RAN, "")
    assert re.search(r"^[\d,]+ cycles on sm_90$", out, re.MULTILINE)
    for heading in ("loop ", "engine ", "agent ", "stalls at "):
        assert re.search(rf"^{heading}", out, re.MULTILINE), heading
    assert re.search(r"^main +\d+ \(\d+%\) +[\d,]+ \(\d+%\) +\d+ \(\d+%\)$", out, re.MULTILINE)
    assert "queue 0" in out
    assert out.rstrip().endswith("ran")


def test_times_as_json_add_up(run: Run) -> None:
    status, out, _ = run(EXAMPLE, *DOUBLE, "--order", "timed", "--format", "json")
    assert status == RAN
    data = json.loads(out)
    time = data["time"]
    assert time["target"] == "generic"
    (agent,) = time["agents"]
    assert agent["working"] + agent["served"] + agent["stalled"] == time["cycles"]
    assert agent["stalled"] == sum(stall["cycles"] for stall in time["stalls"])
    assert time["most_in_flight"] == 2, "this row and the next"
    assert all(0 < engine["utilisation"] <= 1 for engine in time["engines"])
    assert "time" not in json.loads(run(EXAMPLE, *DOUBLE, "--format", "json")[1])


def test_target_comes_from_the_ir_or_the_command_line(run: Run) -> None:
    text = EXAMPLE.read_text().replace(
        "func.func @double_buffer(",
        "module attributes {nv_tileaa.compute_capability = 90 : i32} {\nfunc.func @double_buffer(",
    )

    def target(*options: str) -> str:
        status, out, err = run(text + "\n}", *DOUBLE, "--order", "timed", "--format", "json", *options)
        assert (status, err) == (RAN, "")
        return json.loads(out)["time"]["target"]

    assert target() == "sm_90"
    assert target("--target", "sm_80") == "sm_80"


def test_unknown_target_is_an_error_that_names_the_known_ones(run: Run) -> None:
    status, out, err = run(EXAMPLE, *DOUBLE, "--order", "timed", "--target", "sm_70")
    assert (status, out) == (INPUT, "")
    assert (
        err
        == "error: --target: no cycles are known of the target 'sm_70': choose one of generic, sm_80, sm_90, sm_100\n"
    )
