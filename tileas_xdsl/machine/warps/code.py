"""A program with its costs, in the order in which warps issue it: made once, run many times."""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.machine.warps.costs import Costs, StepCost
from tileas_xdsl.machine.warps.order import ordered
from tileas_xdsl.machine.warps.program import Program, Step, program_of
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.targets.warp_timing import WarpTiming


@dataclass(frozen=True)
class Code:
    """A kernel for a device. `blocks` are those of the program, by their numbers."""

    program: Program
    blocks: tuple[tuple[tuple[Step, StepCost], ...], ...]


def code_of(ptx: str, timing: WarpTiming, *, serialized: bool = False) -> Code:
    """
    The first kernel of a PTX text. `serialized` says that the assembler waits for each product of a warpgroup, as
    its remarks C7510 to C7518 tell. Raises `PtxError`.
    """
    program = program_of(parse(ptx))
    costs = Costs(program, timing, serialized=serialized)
    return Code(program, tuple(tuple(ordered(block, costs)) for block in program.blocks))
