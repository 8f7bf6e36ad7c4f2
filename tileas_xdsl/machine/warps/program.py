"""
PTX as a multiprocessor runs it: blocks of steps, each with what it reads and writes.

    $L__BB0_5:                     Block 3
      add.s32 %r13, %r57, 1;         Step add.s32   writes %r13, reads %r57
      @%p5 bra $L__BB0_5;            Step bra       to block 3, else block 4

A register that a step may leave as it was, since the step has a guard, is read as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tileas_xdsl.readers.ptx.operands import (
    Address,
    Group,
    Negated,
    Operand,
    Pair,
    Vector,
    operands_of,
)
from tileas_xdsl.readers.ptx.syntax import Function, Instruction, Label, Module, Register, Variable
from tileas_xdsl.targets.machine_model import Products
from tileas_xdsl.targets.warps import WARP

WARPGROUP = Products.WGMMA.value
"""The first word of what warpgroups do together."""
PRODUCT = (WARPGROUP, "mma_async")

BRANCHES = ("bra", "ret", "exit", "brx")

WITHOUT_RESULT = frozenset(
    {"st", "red", "bar", "barrier", "bra", "ret", "exit", "brx", "fence", "membar", "prefetch", "cp", WARPGROUP}
    | {"discard", "setmaxnreg", "griddepcontrol", "trap", "nanosleep", "stmatrix"}
)
"""The first words of instructions whose first operand is no result."""

MBARRIER_WITHOUT_RESULT = frozenset({"init", "inval", "expect_tx", "complete_tx"})


@dataclass(eq=False, slots=True)
class Step:
    """One instruction."""

    words: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    negated: bool
    """Whether the step is made where its guard is false."""
    writes: tuple[Register, ...]
    reads: tuple[Register, ...]
    label: Label | None = None
    """Where it jumps to."""
    target: int | None = None
    """The block of the label."""

    @property
    def name(self) -> str:
        return ".".join(self.words)


@dataclass(eq=False, slots=True)
class Block:
    """Steps that are entered at the first and left at the last."""

    number: int
    steps: list[Step] = field(default_factory=list[Step])
    after: tuple[int, ...] = ()
    """The blocks that may come next; what jumps comes first."""
    meeting: int | None = None
    """The block in which threads that part here meet again; None for the end."""


@dataclass(eq=False)
class Program:
    """A kernel."""

    function: Function
    blocks: list[Block]
    variables: tuple[Variable, ...]
    """The kernel's own and those of its module."""

    @property
    def warps(self) -> int:
        """Warps of a block of threads, as `.reqntid` says."""
        threads = 1
        for extent in self.function.block or (32,):
            threads *= extent
        return -(-threads // WARP)

    def symbols(self, first: int) -> dict[str, int]:
        """Addresses: of variables in shared memory from `first` on, and of parameters, each far from all others."""
        found: dict[str, int] = {}
        for variable in (variable for variable in self.variables if variable.space == "shared"):
            alignment = max(variable.alignment, 1)
            found[variable.name] = first = -(-first // alignment) * alignment
            first += variable.size
        found |= {parameter.name: place + 1 << 40 for place, parameter in enumerate(self.function.parameters)}
        return found


def program_of(module: Module) -> Program:
    """The first kernel of a module in blocks, with the places where threads that part meet again."""
    function = module.kernels[0]
    blocks, labels = _cut(function.body)
    for block in blocks:
        _link(block, labels, len(blocks))
    _meetings(blocks)
    return Program(function, blocks, (*module.variables, *function.variables))


def _cut(body: Sequence[Instruction | Label]) -> tuple[list[Block], dict[tuple[str, int], int]]:
    """The blocks, not linked yet, and the numbers of those that labels name; a label is known by its line."""
    blocks = [Block(0)]
    labels: dict[tuple[str, int], int] = {}
    for entry in body:
        if isinstance(entry, Label):
            if blocks[-1].steps:
                blocks.append(Block(len(blocks)))
            labels[entry.name, entry.line] = blocks[-1].number
            continue
        blocks[-1].steps.append(_step(entry))
        if entry.words[0] in BRANCHES:
            blocks.append(Block(len(blocks)))
    return blocks, labels


def _step(instruction: Instruction) -> Step:
    operands = () if instruction.words[0] in ("bra", "ret", "exit") else operands_of(instruction)
    guard = instruction.guard
    register = instruction.scope.register(guard.removeprefix("!")) if guard is not None else None
    count = _results(instruction.words, operands)
    writes = tuple(registers_of(operands[:count]))
    reads = tuple(registers_of(operands[count:]))
    if instruction.words[:2] == PRODUCT:
        writes = tuple(registers_of(operands[:1]))
    if register is not None:
        reads = (*reads, register, *writes)
    return Step(
        words=instruction.words,
        operands=operands,
        guard=register,
        negated=guard is not None and guard.startswith("!"),
        writes=writes,
        reads=reads,
        label=_label(instruction) if instruction.words[0] == "bra" else None,
    )


def _label(instruction: Instruction) -> Label:
    label = instruction.scope.label(instruction.text.strip())
    if label is None:
        raise instruction.error("jumps to a label that is not there")
    return label


def _results(words: tuple[str, ...], operands: Sequence[Operand]) -> int:
    if not operands or words[0] in WITHOUT_RESULT:
        return 0
    if words[0] == "mbarrier" and words[1] in MBARRIER_WITHOUT_RESULT:
        return 0
    return 0 if isinstance(operands[0], Address) else 1


def registers_of(operands: Sequence[Operand]) -> Iterator[Register]:
    """The registers in operands, in order."""
    for operand in operands:
        match operand:
            case Register():
                yield operand
            case Address(base=base, coordinates=coordinates):
                yield from registers_of((base, *coordinates))
            case Vector(parts=parts) | Group(parts=parts):
                yield from registers_of(parts)
            case Pair(first=first, second=second):
                yield from registers_of((first, second))
            case Negated(operand=inner):
                yield from registers_of((inner,))
            case _:
                pass


def _link(block: Block, labels: dict[tuple[str, int], int], count: int) -> None:
    last = block.steps[-1] if block.steps else None
    following = (block.number + 1,) if block.number + 1 < count else ()
    if last is None or last.words[0] not in BRANCHES:
        block.after = following
        return
    if last.words[0] != "bra":
        block.after = following if last.guard is not None else ()
        return
    assert last.label is not None
    last.target = labels[last.label.name, last.label.line]
    block.after = (last.target, *following) if last.guard is not None else (last.target,)


def _meetings(blocks: list[Block]) -> None:
    """The nearest block that every way from a block to the end goes through."""
    everything = (1 << len(blocks)) - 1
    behind = [everything] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            found = everything if block.after else 0
            for number in block.after:
                found &= behind[number]
            found |= 1 << block.number
            if found != behind[block.number]:
                behind[block.number], changed = found, True
    for block in blocks:
        strict = behind[block.number] & ~(1 << block.number)
        # The nearest one is itself behind as many blocks as are left.
        block.meeting = max(
            (n for n in range(len(blocks)) if strict >> n & 1), key=lambda n: behind[n].bit_count(), default=None
        )
