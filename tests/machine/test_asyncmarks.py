"""
LLVM's "AMDGPU Asynchronous Operations" on the machine: its four examples, and each sentence of its memory model as a
program of two to four ops.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict

POINTERS = "!llvm.ptr<1>, !llvm.ptr<3>"


def transfer(cell: int) -> str:
    """A transfer of one element to LDS cell `cell`."""
    return f"""
  %l{cell} = llvm.getelementptr %l[{cell}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  rocdl.global.load.async.lds %g, %l{cell}, 4, 0, 0 : {POINTERS}"""


def use(cell: int) -> str:
    """A read of LDS cell `cell`, which `transfer` has named."""
    return f"\n  %v{cell} = llvm.load %l{cell} : !llvm.ptr<3> -> f32"


MARK = "\n  rocdl.asyncmark"


def wait(outstanding: int) -> str:
    return f"\n  rocdl.wait.asyncmark {outstanding}"


def function(body: str, *, name: str = "foo", arguments: str = "%g: !llvm.ptr<1>, %l: !llvm.ptr<3>") -> str:
    return f"func.func @{name}({arguments}) {{{body}\n  func.return\n}}\n"


def kinds(text: str, function_name: str = "foo", **options: object) -> list[str]:
    return check(parse(text), function_name, **options).kinds  # pyright: ignore[reportArgumentType]


# Uneven blocks ------------------------------------------------------------------------------------------------------

UNEVEN = "".join("".join(transfer(cell) for cell in block) + MARK for block in ([0, 1, 2], [3, 4, 5, 6, 7], [8, 9]))


def test_wait_for_two_marks_completes_the_first_block() -> None:
    assert kinds(function(UNEVEN + wait(2) + use(0) + use(2) + wait(0))) == []


@pytest.mark.parametrize("cell", [3, 7, 8])
def test_wait_for_two_marks_completes_no_other_block(cell: int) -> None:
    assert kinds(function(UNEVEN + wait(2) + use(cell) + wait(0))) == ["race"]


# Software pipeline ---------------------------------------------------------------------------------------------------

PIPELINE = """
func.func @foo(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  scf.for %i = %c0 to %c3 step %c1 : i32 {{
    %to = llvm.getelementptr %l[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    rocdl.global.load.async.lds %g, %to, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
  }}
  scf.for %i = %c0 to %n step %c1 : i32 {{
    rocdl.wait.asyncmark {steady}
    %use = llvm.getelementptr %l[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %j = arith.addi %i, %c3 : i32
    %to = llvm.getelementptr %l[%j] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    rocdl.global.load.async.lds %g, %to, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
  }}
  {flush}
  func.return
}}
"""


def flush(*outstanding: int) -> str:
    """After each wait the next block is used."""
    lines = ["%one = arith.constant 1 : i32", "%b0 = arith.addi %n, %c0 : i32"]
    for number, count in enumerate(outstanding):
        lines += [
            f"rocdl.wait.asyncmark {count}",
            f"%a{number} = llvm.getelementptr %l[%b{number}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32",
            f"%w{number} = llvm.load %a{number} : !llvm.ptr<3> -> f32",
            f"%b{number + 1} = arith.addi %b{number}, %one : i32",
        ]
    return "\n  ".join(lines)


def test_software_pipeline_is_safe_for_every_trip_count() -> None:
    report = check(parse(PIPELINE.format(steady=2, flush=flush(2, 1, 0))))
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.verdict_line == "safe for every trip count"


@pytest.mark.parametrize(("steady", "flushes"), [(3, (2, 1, 0)), (2, (3, 1, 0)), (2, (2, 2, 0)), (2, (2, 1, 1))])
def test_one_mark_more_in_flight_is_a_race(steady: int, flushes: tuple[int, ...]) -> None:
    assert "race" in kinds(PIPELINE.format(steady=steady, flush=flush(*flushes)))


# Calls ---------------------------------------------------------------------------------------------------------------

EXTERNAL = "func.func private @bar(!llvm.ptr<3>)\n"


def external(body: str) -> str:
    return EXTERNAL + function(body)


CALLING = transfer(0) + MARK + transfer(1) + MARK + "\n  func.call @bar(%m) : (!llvm.ptr<3>) -> ()" + transfer(2) + MARK
ELSEWHERE = "%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %m: !llvm.ptr<3>"


def test_wait_after_an_external_call_covers_the_blocks_before_it() -> None:
    text = EXTERNAL + function(CALLING + wait(1) + use(1) + wait(0) + use(2), arguments=ELSEWHERE)
    assert check(parse(text), "foo").verdict is Verdict.SAFE


def test_wait_after_an_external_call_leaves_the_last_block_open() -> None:
    text = EXTERNAL + function(CALLING + wait(1) + use(2) + wait(0), arguments=ELSEWHERE)
    assert check(parse(text), "foo").kinds == ["race"]


def test_external_call_on_a_buffer_in_flight_leaves_the_verdict_open() -> None:
    text = external(transfer(0) + MARK + "\n  func.call @bar(%l) : (!llvm.ptr<3>) -> ()" + wait(0))
    report = check(parse(text), "foo")
    assert report.verdict is Verdict.UNDECIDED
    assert "func.call" in report.undecided[0]


CALLEE = "func.func private @mark_a(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {" + MARK + "\n  func.return\n}\n"
TWO_MARKS = transfer(0) + MARK + transfer(1) + MARK
CALL_A = "\n  func.call @mark_a(%g, %l) : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"


def test_marks_of_a_callee_do_not_count_in_the_caller() -> None:
    """Before inlining, the wait leaves one mark of the caller: B is complete, C is not."""
    assert kinds(CALLEE + function(TWO_MARKS + CALL_A + wait(1) + use(0) + wait(0))) == []
    assert kinds(CALLEE + function(TWO_MARKS + CALL_A + wait(1) + use(1) + wait(0))) == ["race"]


def test_inlining_only_strengthens_the_wait() -> None:
    """After inlining, the one mark left is A: both B and C are complete."""
    assert kinds(function(TWO_MARKS + MARK + wait(1) + use(0) + use(1))) == []


def test_wait_in_a_callee_sees_only_its_own_marks() -> None:
    callee = "func.func private @waits() {" + wait(0) + "\n  func.return\n}\n"
    body = transfer(0) + MARK + "\n  func.call @waits() : () -> ()"
    assert kinds(callee + function(body + use(0) + wait(0))) == ["race"]


def test_mark_in_a_callee_covers_the_transfers_of_its_caller() -> None:
    callee = "func.func private @drains() {" + MARK + wait(0) + "\n  func.return\n}\n"
    body = transfer(0) + "\n  func.call @drains() : () -> ()"
    assert kinds(callee + function(body + use(0))) == []


# The memory model, sentence by sentence ------------------------------------------------------------------------------

CELL = "\n  %zero = llvm.mlir.constant(0.0 : f32) : f32"


def test_transfer_happens_before_a_later_access_only_if_completed_before_it() -> None:
    assert kinds(function(transfer(0) + use(0) + MARK + wait(0))) == ["race"]
    assert kinds(function(transfer(0) + MARK + use(0) + wait(0))) == ["race"]
    assert kinds(function(transfer(0) + MARK + wait(0) + use(0))) == []


def test_access_before_a_transfer_happens_before_it() -> None:
    store = CELL + "\n  llvm.store %zero, %g : f32, !llvm.ptr<1>"
    assert kinds(function(store + transfer(0) + MARK + wait(0))) == []


def test_writing_a_source_early_is_a_race() -> None:
    store = CELL + "\n  llvm.store %zero, %g : f32, !llvm.ptr<1>"
    assert kinds(function(transfer(0) + MARK + store + wait(0))) == ["race"]
    assert kinds(function(transfer(0) + MARK + wait(0) + store)) == []


def test_two_transfers_to_one_destination_are_a_race_also_with_a_mark_between() -> None:
    again = f"\n  rocdl.global.load.async.lds %g, %l0, 4, 0, 0 : {POINTERS}"
    assert kinds(function(transfer(0) + MARK + again + MARK + wait(0))) == ["race"]
    assert kinds(function(transfer(0) + MARK + wait(0) + again + MARK + wait(0))) == []


def test_transfer_without_a_wait_is_undrained() -> None:
    assert kinds(function(transfer(0) + MARK)) == ["undrained"]
    assert kinds(function(transfer(0) + wait(0))) == ["undrained"]


def test_what_an_external_call_may_write_is_not_known_after_it() -> None:
    """A number in memory that control flow reads: the call may have changed it."""
    text = """
    func.func private @ext(memref<1xindex>)
    func.func @f() {
      %c0 = arith.constant 0 : index
      %state = memref.alloc() : memref<1xindex>
      memref.store %c0, %state[%c0] : memref<1xindex>
      CALL
      %now = memref.load %state[%c0] : memref<1xindex>
      %is_set = arith.cmpi ne, %now, %c0 : index
      scf.if %is_set {
      }
      func.return
    }
    """
    call = "func.call @ext(%state) : (memref<1xindex>) -> ()"
    assert check(parse(text.replace("CALL", ""))).verdict is Verdict.SAFE
    report = check(parse(text.replace("CALL", call)))
    assert report.verdict is Verdict.UNDECIDED
    assert [op.name for op in report.stopped_at] == ["scf.if"]
