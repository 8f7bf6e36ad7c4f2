"""Transfers of LDS by resources, and stores from it, as a check follows them and the machine makes them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

PROGRAM = """
func.func @f(%v: vector<4xi32>, %r: !llvm.ptr<8>, %g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  {body}
  func.return
}}
"""
CALL = 'llvm.call_intrinsic "llvm.amdgcn.'
RAW = CALL + 'raw.ptr.buffer.load.async.lds"(%r, %l, %c4, {0}, {1}, {2}, %c0) : (!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, '
RAW += "i32, i32, i32) -> ()"
STRUCT = (
    CALL + 'struct.ptr.buffer.load.async.lds"(%r, %l, %c4, {0}, %c0, %c0, %c0, %c0) : (!llvm.ptr<8>, !llvm.ptr<3>, '
)
STRUCT += "i32, i32, i32, i32, i32, i32) -> ()"
VECTOR = CALL + 'raw.buffer.load.async.lds"(%v, %l, %c4, %c0, %c0, %c0, %c0) : (vector<4xi32>, !llvm.ptr<3>, i32, i32, '
VECTOR += "i32, i32, i32) -> ()"
STORE = "rocdl.global.store.async.from.lds.b32 %g, %l, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>"
STORE_CALL = CALL + 'global.store.async.from.lds.b32"(%g, %l, %c4, %c0) : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i32) -> ()'
WAIT = "rocdl.asyncmark\nrocdl.wait.asyncmark 0"
LOAD = "%x = llvm.load %l : !llvm.ptr<3> -> i32"
WRITE = "llvm.store %c1, %r : i32, !llvm.ptr<8>"
OVERWRITE = "%p = llvm.getelementptr %l[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\nllvm.store %c1, %p : i32, !llvm.ptr<3>"


def judged(*lines: str) -> Report:
    return check(parse(PROGRAM.format(body="\n".join(lines))), prove=False)


@pytest.mark.parametrize(
    "transfer", [RAW.format("%c4", "%c0", "%c0"), STRUCT.format("%c0"), STRUCT.format("%c1"), VECTOR]
)
def test_loads_are_waited_for(transfer: str) -> None:
    assert judged(transfer, WAIT, LOAD).verdict is Verdict.SAFE
    assert "race" in judged(transfer, LOAD, WAIT).kinds


@pytest.mark.parametrize("store", [STORE, STORE_CALL])
@pytest.mark.parametrize("wait", [WAIT, "rocdl.s.wait.asynccnt 0"])
def test_lds_is_overwritten_behind_its_stores(store: str, wait: str) -> None:
    assert judged(store, wait, OVERWRITE).verdict is Verdict.SAFE
    assert judged(store, OVERWRITE, wait).kinds == ["race"]
    assert judged(store, wait.replace("0", "1"), OVERWRITE, wait).kinds == ["race"]


def test_offsets_of_a_raw_buffer_say_where_it_is_read() -> None:
    """The first word is written meanwhile, and only a load of that races with it."""
    assert "race" in judged(RAW.format("%c0", "%c0", "%c0"), WRITE, WAIT).kinds
    assert judged(RAW.format("%c4", "%c0", "%c0"), WRITE, WAIT).verdict is Verdict.SAFE
    assert judged(RAW.format("%c0", "%c8", "%c0"), WRITE, WAIT).verdict is Verdict.SAFE


def test_a_record_that_is_not_the_first_may_lie_anywhere() -> None:
    assert "race" in judged(STRUCT.format("%c1"), WRITE, WAIT).kinds
    assert "race" in judged(STRUCT.format("%c0"), WRITE, WAIT).kinds


def test_a_vector_names_no_object_and_the_verdict_says_so() -> None:
    assert "only read" in "; ".join(map(str, judged(VECTOR, WAIT, LOAD).assumed))
    assert "only read" not in "; ".join(map(str, judged(RAW.format("%c0", "%c0", "%c0"), WAIT).assumed))


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_numbers_arrive(order: str) -> None:
    body = "\n".join([RAW.format("%c4", "%c4", "%c0"), WAIT, STORE.replace(", 4, 0", ", 0, 0"), WAIT])
    numbers = np.arange(10, 18, dtype=np.int32)
    given = {"v": np.zeros(4, np.int32), "r": numbers, "g": np.zeros(8, np.int32), "l": np.zeros(8, np.int32)}
    outcome = run(parse(PROGRAM.format(body=body)), "f", given, order=order)
    assert not outcome.violations
    assert outcome.arrays["g"].tolist() == [12, *[0] * 7]


@pytest.mark.parametrize("transfer", [STRUCT.format("%c1"), VECTOR])
def test_bytes_that_are_not_known_are_not_moved(transfer: str) -> None:
    program = parse(PROGRAM.format(body=f"{transfer}\n{WAIT}"))
    with pytest.raises(UnsupportedError, match="place or number is not known"):
        run(program, "f", {"v": np.zeros(4, np.int32)})
