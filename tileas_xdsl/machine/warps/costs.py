"""
What one instruction costs a warp: instructions that the assembler makes of it, its port, and when its result is there.

The assembler makes one instruction of several where it can, and knows that addresses of shared memory have 32 bits:

    shl.b32 %r2, %r1, 11;  cvt.s64.s32 %rd1, %r2;  add.s64 %rd2, %rd0, %rd1;      one multiplication and addition

A function with a scaling (`ex2.approx.f32` without `.ftz`) holds a predicate from its test to its end. A thread has
seven predicates, and what a loop keeps in them is missing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from tileas_xdsl.machine.warps.program import Program, Step
from tileas_xdsl.readers.ptx.operands import Address, Vector
from tileas_xdsl.readers.ptx.syntax import Register
from tileas_xdsl.targets.warp_timing import INSTRUCTION_CLASSES, InstructionTiming, Port, WarpTiming


class Order(Enum):
    """What a step may not be moved across."""

    FREE = auto()
    LOAD = auto()
    STORE = auto()
    FIXED = auto()
    """It stays where it is among accesses, and among others of its kind."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """The cost of one step, without what depends on addresses and on what else is under way."""

    slots: int = 0
    latency: float = 0.0
    port: Port = Port.NONE
    interval: float = 0.0
    order: Order = Order.FREE
    blocks: bool = False
    """Whether the warp goes on only when the result is there."""


NOTHING = StepCost()
FIXED = StepCost(1, order=Order.FIXED)

FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})
SPECIALS = frozenset({"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"})
DIVISIONS = frozenset({"div", "sqrt", "rcp"})
LOGIC = frozenset({"and", "or", "xor", "not", "lop3", "bfe", "bfi", "prmt", "shl", "shr", "neg", "abs", "elect"})
MOVES = frozenset({"mov", "cvta"})
ACCESSES = {"ld": Order.LOAD, "ldmatrix": Order.LOAD} | dict.fromkeys(("st", "stmatrix", "atom", "red"), Order.STORE)
NARROW = frozenset({"u8", "s8", "u16", "s16"})

FOLDED = {"shl": frozenset({"add", "or"}), "add": frozenset({"ld", "st", "mbarrier", "ldmatrix"})}
"""First word -> the instructions of which it becomes a part, if its other operand is a constant."""

PREDICATES = 6
"""Of a thread, without the one that carries of 64 bits take."""
LEAST_PREDICATES = 2
HELD = 42.0
"""Cycles for which a scaled function holds its predicate: a test, a guard, the function, a guard."""


class Costs:
    """The cost of every step of a program on a device."""

    def __init__(self, program: Program, timing: WarpTiming, *, serialized: bool) -> None:
        self.serialized = serialized
        """Whether the assembler waits for each product of a warpgroup."""
        self.timing = timing
        self._wide = _wide_registers(program)
        self._folded = set(_folded(program))
        self._predicates = _live_predicates(program)

    def of(self, step: Step) -> StepCost:
        """The cost of `step`."""
        first = step.words[0]
        if step in self._folded or _is_free(step):
            return NOTHING
        if first in ACCESSES:
            return NOTHING if "param" in step.words else StepCost(1, order=ACCESSES[first])
        name = self._class_of(step)
        if name is None:
            return FIXED
        timing = self.timing.instructions[name]
        if name == "division":
            return _cost(timing, order=Order.FIXED, blocks=True)
        if name == "scaled_special":
            left = max(PREDICATES - self._predicates[step], LEAST_PREDICATES)
            return _cost(timing, interval=max(timing.interval, HELD / left))
        return _cost(timing)

    def _class_of(self, step: Step) -> str | None:
        """The name of the class of `step` in the timing of its device; None for what acts on more than registers."""
        first, last = step.words[0], step.words[-1]
        wide = last.endswith("64") and any(register in self._wide for register in (*step.writes, *step.reads))
        if first in SPECIALS:
            scaled = last == "f32" and "ftz" not in step.words and first != "tanh"
            return "scaled_special" if scaled else "special"
        if first in DIVISIONS:
            if not last.startswith("f"):
                return "integer_division"
            return "division" if "rn" in step.words else "scaled_special_division"
        if last in FLOATS and first in ("add", "sub", "mul", "neg", "abs"):
            return "float"
        if first in ("mul", "mad") and ("hi" in step.words or wide):
            return "wide_multiply"
        if wide and first in ("add", "sub", "setp", *LOGIC):
            return "wide"
        if first in ("add", "sub"):
            return "add"
        if first == "mov" or first in LOGIC:
            return "logic"
        return "integer_division" if first == "rem" else INSTRUCTION_CLASSES.get(first)


def _cost(
    timing: InstructionTiming, interval: float | None = None, order: Order = Order.FREE, *, blocks: bool = False
) -> StepCost:
    return StepCost(
        slots=timing.slots,
        latency=timing.latency,
        port=timing.port,
        interval=timing.interval if interval is None else interval,
        order=order,
        blocks=blocks,
    )


# What the assembler makes of several ----------------------------------------------------------------------------------


def _is_free(step: Step) -> bool:
    """Whether nothing is left of `step`: it gives a register another name or width."""
    if step.words[0] in MOVES:
        return not any(isinstance(operand, Vector) for operand in step.operands)
    return step.words[0] == "cvt" and _only_renames(step)


def _only_renames(step: Step) -> bool:
    source, target = step.words[-1], step.words[-2]
    return source[0] in "bus" and target[0] in "bus" and not {source, target} & NARROW


def _steps(program: Program) -> Iterator[Step]:
    for block in program.blocks:
        yield from block.steps


def _wide_registers(program: Program) -> set[Register]:
    """
    Registers of 64 bits of which the upper half is needed: addresses of global memory, what they are computed from,
    and what is compared.
    """
    makers: dict[Register, list[Step]] = {}
    work: list[Register] = []
    for step in _steps(program):
        for register in step.writes:
            makers.setdefault(register, []).append(step)
        work.extend(_needed_wide(step))
    found: set[Register] = set()
    while work:
        register = work.pop()
        if register in found or register.bits != 64:
            continue
        found.add(register)
        for step in makers.get(register, ()):
            if step.words[0] not in ("ld", "cvta"):
                work.extend(step.reads)
    return found


def _needed_wide(step: Step) -> list[Register]:
    if step.words[0] == "setp" and step.words[-1].endswith("64"):
        return list(step.reads)
    copies = step.words[:2] == ("cp", "async") and step.words[2] in ("ca", "cg")
    if copies or (step.words[0] in ("ld", "st", "atom", "red") and "global" in step.words):
        places = step.operands[1:2] if copies else step.operands
        return [one.base for one in places if isinstance(one, Address) and isinstance(one.base, Register)]
    return []


def _folded(program: Program) -> Iterator[Step]:
    """
    Steps that become a part of the instruction that uses their result: a shift that is added, a constant that is added
    to an address, the opposite of a predicate.
    """
    uses: dict[Register, list[Step]] = {}
    makers: dict[Register, int] = {}
    for step in _steps(program):
        for register in step.reads:
            uses.setdefault(register, []).append(step)
        for register in step.writes:
            makers[register] = makers.get(register, 0) + 1
    for step in _steps(program):
        if len(step.writes) != 1 or makers[step.writes[0]] != 1:
            continue
        users = [user.words[0] for user in _users(step.writes[0], uses)]
        opposite = step.words[0] == "not" and step.words[-1] == "pred"
        becomes = FOLDED.get(step.words[0], frozenset[str]()) if len(step.reads) == 1 and users else frozenset[str]()
        if opposite or (users and set(users) <= becomes):
            yield step


def _users(register: Register, uses: dict[Register, list[Step]]) -> Iterator[Step]:
    """The steps that use a register, through those of which nothing is left."""
    for user in uses.get(register, ()):
        if user.words[0] == "cvta" or (user.words[0] == "cvt" and _only_renames(user)):
            yield from _users(user.writes[0], uses)
        else:
            yield user


def _live_predicates(program: Program) -> dict[Step, int]:
    """Each special function -> the predicates that are needed behind it."""
    live: list[set[Register]] = [set() for _ in program.blocks]
    found: dict[Step, int] = {}
    changed = True
    while changed:
        changed = False
        for block in reversed(program.blocks):
            current = set[Register]().union(*(live[number] for number in block.after))
            for step in reversed(block.steps):
                if step.guard is None:
                    current -= {register for register in step.writes if register.bits == 1}
                current |= {register for register in step.reads if register.bits == 1}
                if step.words[0] in SPECIALS:
                    found[step] = len(current)
            if current != live[block.number]:
                live[block.number], changed = current, True
    return found
