"""
Loops written as `scf.while`, or as blocks that branch (`cf`), are judged like their twins of `scf.for`: what is right
is proved for every trip count, and what is wrong is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import ModuleOp

from tests.checker.looping_programs import RIGHT_CONSUMER, RIGHT_PARITY, barriers, tokens, window
from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.checker.test_tensor_core_kernels import text_of
from tests.support.ir import parse
from tests.support.other_loops import as_blocks, as_while
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict


class Kernel(NamedTuple):
    """A kernel, and one with a mistake in it."""

    right: str
    wrong: str


NONE_LEFT = "%allowed = arith.addi %c0, %c0 : index"
KEPT = "%allowed = arith.addi %keep, %c0 : index"
WRONG_PARITY = "%asked = arith.xori %bit, %c0 : i32"


def _handshake(depth: int) -> Kernel:
    return Kernel(handshake(depth, f"{READ}\n{RELEASE}"), handshake(depth, f"{RELEASE}\n{READ}"))


def _barriers(stages: int) -> Kernel:
    right, wrong = (barriers(stages, 1, parity, RIGHT_CONSUMER) for parity in (RIGHT_PARITY, WRONG_PARITY))
    return Kernel(right, wrong)


KERNELS = {
    "a task a turn": Kernel(tokens(1), tokens(1, wait=False)),
    "tasks carried for two turns": Kernel(tokens(2), tokens(2, wait=False)),
    "tasks carried for three turns": Kernel(tokens(3), tokens(3, wait=False)),
    "one slot": Kernel(window(1, 0, NONE_LEFT), window(1, 1, KEPT)),
    "two slots, one turn ahead": Kernel(window(2, 1, KEPT), window(2, 2, KEPT)),
    "four slots, two turns ahead": Kernel(window(4, 2, KEPT), window(4, 4, KEPT)),
    "five slots, three turns ahead": Kernel(window(5, 3, KEPT), window(5, 5, KEPT)),
    "a ring of two barriers": _barriers(2),
    "a ring of three barriers": _barriers(3),
    "a pipeline of one slot": _handshake(1),
    "a pipeline of three slots": _handshake(3),
}
FORMS = {"while": as_while, "blocks": as_blocks}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_right_is_proved_like_for(name: str, form: str) -> None:
    module = parse(KERNELS[name].right)
    twin = in_form(form, module)
    assert check(twin).verdict_line == check(module).verdict_line == "safe for every trip count"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_wrong_is_found_like_for(name: str, form: str) -> None:
    module = parse(KERNELS[name].wrong)
    expected = check(module)
    assert expected.verdict is Verdict.VIOLATION
    found = check(in_form(form, module))
    assert (found.verdict_line, found.kinds) == (expected.verdict_line, expected.kinds)


def in_form(form: str, module: ModuleOp) -> ModuleOp:
    make: Callable[[ModuleOp], ModuleOp] = FORMS[form]
    twin = make(module)
    kinds = {type(op) for op in twin.walk()}
    assert scf.ForOp not in kinds
    assert (scf.WhileOp if form == "while" else cf.ConditionalBranchOp) in kinds
    return twin


# Loops of blocks as people write them ---------------------------------------------------------------------------------


def test_a_kernel_for_mlir_opt_is_proved() -> None:
    """Its loop stands in an `llvm.func`, and its parity is carried with the number of the stage."""
    assert check(parse(text_of("cp_async"))).verdict_line == "safe for every trip count"


NESTED = """
func.func @f(%src: memref<?xi32>, %out: memref<?xi32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %ring = memref.alloc() : memref<1xi32, 3>
  cf.br ^tiles(%c0 : index)
^tiles(%t: index):
  %more = arith.cmpi slt, %t, %n : index
  cf.cond_br %more, ^steps(%c0 : index), ^end
^steps(%k: index):
  async_queue.commit 0 {{
    async_queue.scope {{
      %x = memref.load %src[%t] : memref<?xi32>
      memref.store %x, %ring[%c0] : memref<1xi32, 3>
    }}
  }}
  async_queue.wait 0, {left} {{
    %y = memref.load %ring[%c0] : memref<1xi32, 3>
    memref.store %y, %out[%t] : memref<?xi32>
  }}
  %next = arith.addi %k, %c1 : index
  %again = arith.cmpi slt, %next, %c3 : index
  cf.cond_br %again, ^steps(%next : index), ^tile
^tile:
  %following = arith.addi %t, %c1 : index
  cf.br ^tiles(%following : index)
^end:
  memref.dealloc %ring : memref<1xi32, 3>
  func.return
}}
"""


def test_loops_within_loops() -> None:
    """The inner one tests behind its turn, and its head is no other block than its last one."""
    assert check(parse(NESTED.format(left=0))).verdict_line == "safe for every trip count"
    assert check(parse(NESTED.format(left=1))).verdict is Verdict.VIOLATION


TWO_WAYS_IN = """
func.func @f(%x: memref<?xi32>, %n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i32
  cf.cond_br %p, ^one(%c0 : index), ^other(%c0 : index)
^one(%i: index):
  memref.store %c7, %x[%i] : memref<?xi32>
  cf.br ^other(%i : index)
^other(%j: index):
  %next = arith.addi %j, %c1 : index
  %more = arith.cmpi slt, %next, %n : index
  cf.cond_br %more, ^one(%next : index), ^end
^end:
  func.return
}
"""


def test_a_circle_with_two_ways_in_is_executed_and_not_proved() -> None:
    report = check(parse(TWO_WAYS_IN))
    assert report.verdict_line.startswith("safe for trip counts 0..8"), report
