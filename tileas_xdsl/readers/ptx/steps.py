"""
What a kernel does, in steps: the form between PTX and the ops of MLIR.

    mad.lo.s32 %r3, %r1, %r2, 8;         t = mul %r1, %r2;  %r3 = add t, 8
    @%p1 mbarrier.arrive.shared.b64 ..   a branch around the step that arrives

An instruction that computes becomes steps that compute one function each (`arithmetic`). Any other becomes a step that
knows how to make its op. Steps read and write registers; behind `ssa` each register is a value with one step that
gives it. Numbers have no sign; floats are their bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tileas_xdsl.readers.ptx.syntax import Instruction, Register

__all__ = ["Block", "Constant", "Make", "Operand", "Register", "Result", "Step", "Value"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of `bits` bits, unsigned."""

    value: int
    bits: int


@dataclass(eq=False, slots=True)
class Value:
    """A number that one step gives; None: that nobody has written."""

    bits: int
    step: Step | None
    type: object = None
    """As that of a register."""


Operand = Register | Value | Constant
Result = Register | Value
Make = Callable[[Any, "Step"], None]
"""Adds the ops of a step to an `emission.Emission`, and says what its results are."""


@dataclass(eq=False, slots=True)
class Step:
    """
    A step.

    `kind`: `compute` (a function of integers, named `what`), `phi`, `address` (of a variable), `parameter` (a number
    that a launch passes), `unknown` (a number that is not followed), `ask` (an op that is kept where its result
    matters), `act` (an op that is always kept).
    """

    kind: str
    what: str
    operands: list[Operand]
    results: list[Result]
    instruction: Instruction
    detail: Any = None
    """Of a comparison its name, of an address the name of the variable, of a parameter `(name, offset)`."""
    stored: list[Operand] = field(default_factory=list[Operand])
    """Numbers that go to memory: they matter where somebody asks what was loaded."""
    make: Make | None = None


@dataclass(eq=False)
class Block:
    """Steps that are taken in order, and where control goes on."""

    number: int
    steps: list[Step] = field(default_factory=list[Step])
    successors: list[Block] = field(default_factory=list["Block"])
    """None: the thread ends. Two: the first one if the condition holds."""
    condition: Operand | None = None
    branch: Instruction | None = None
    """What ends the block."""
    is_trap: bool = False
    """Whether the thread ends here because something is wrong."""
    phis: list[Step] = field(default_factory=list[Step])
    predecessors: list[Block] = field(default_factory=list["Block"])
    """In the order of the operands of its phis; one entry for each edge."""

    def __repr__(self) -> str:
        return f"block {self.number}"
