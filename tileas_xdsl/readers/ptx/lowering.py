"""
From the statements of a kernel to blocks of steps.

    @%p1 mov.b32 %r1, %r2;       %r1 = select %p1, %r2, %r1
    @%p1 bar.sync 0;             a branch around the barrier; neighbours under one predicate share it
    @%p1 bra L;                  a branch to L or to what follows
    ret;  exit;  trap;           a branch to the end

Blocks begin at labels and behind branches. What is in no row of the table is refused by name, unless it only computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tileas_xdsl.readers.ptx.instructions.builder import Builder, Part
from tileas_xdsl.readers.ptx.instructions.computing import COMPUTING, ONLY_COMPUTES, unknown_results
from tileas_xdsl.readers.ptx.instructions.copies import COPIES
from tileas_xdsl.readers.ptx.instructions.floats import FLOATS
from tileas_xdsl.readers.ptx.instructions.matrices import MATRICES, tuple_type
from tileas_xdsl.readers.ptx.instructions.memory import MEMORY
from tileas_xdsl.readers.ptx.instructions.numbers import NOT_RUN, NUMBERS, WITHOUT_NUMBERS
from tileas_xdsl.readers.ptx.instructions.rows import Call, Row, Table
from tileas_xdsl.readers.ptx.instructions.synchronization import SYNCHRONIZATION
from tileas_xdsl.readers.ptx.operands import Group, Name, Vector, operands_of
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand
from tileas_xdsl.readers.ptx.syntax import Instruction, Label, PtxError, Register, Symbols

TABLE = Table((*COMPUTING, *MEMORY, *SYNCHRONIZATION, *COPIES, *MATRICES))
"""What each instruction of PTX becomes. What is in no row is refused by name."""
TABLE_OF_NUMBERS = Table((*NUMBERS, *FLOATS, *TABLE.rows))
"""What each becomes where all numbers are followed."""

BRANCHES = ("bra", "brx", "ret", "exit", "trap", "brkpt")
HARMLESS_CALLS = ("vprintf", "malloc", "free", "__assertfail")
FILLED_LATER = ("wgmma.mma_async", "tcgen05.ld")
"""Instructions that start work which fills registers."""


Guard = tuple[bool, Register]
"""Whether it is negated, and the predicate."""


@dataclass
class Lowered:
    """The blocks of a kernel, in order; the first is entered."""

    blocks: list[Block]
    ignored: Counter[str] = field(default_factory=Counter[str])
    """Names of instructions that compute what is not followed."""
    traps: bool = False
    """Whether there are traps, or assertions that stop."""
    moves_registers: bool = False
    """Whether there is `setmaxnreg`, which is left out."""
    orders_tensor_memory: bool = False
    """Whether threads that meet are taken to order tensor memory, with no fence of it."""
    reads_early: bool = False
    """Whether registers that `tcgen05.ld` fills are read before the wait for it."""
    global_accesses: bool = False
    """Whether accesses to global memory are left out."""


def lower(
    symbols: Symbols, blocks_of_cluster: int, *, strict_tcgen05: bool = False, with_numbers: bool = False
) -> Lowered:
    """
    The blocks of the kernel of `symbols`. With `strict_tcgen05` fences of tensor memory are asked for even where it has
    none at all. With `with_numbers` all numbers are followed, also floats and those in global memory. Raises
    `PtxError`.
    """
    builder = Builder(symbols, blocks_of_cluster, with_numbers=with_numbers)
    return _Lowering(symbols, builder, strict_tcgen05).all()


class _Lowering:
    def __init__(self, symbols: Symbols, builder: Builder, strict_tcgen05: bool) -> None:
        self.body = symbols.function.body
        self.targets = symbols.function.targets
        self.builder = builder
        self.table = TABLE_OF_NUMBERS if builder.with_numbers else TABLE
        self.builder.tuples = _tuples(self.body)
        self.builder.orders_tensor_memory = not strict_tcgen05 and _leaves_fences_out(self.body)
        self.blocks: list[Block] = []
        self.labelled: dict[Label, Block] = {}
        self.shared_guard: Guard | None = None
        """The predicate under which the current block stands, if the next instruction may join it."""
        self.exit = Block(-1)
        """Where all threads end."""
        self.result = Lowered(self.blocks)
        self.unknown: dict[str, list[int]] = {}
        """Instructions that are refused, with their lines."""

    def all(self) -> Lowered:
        self._begin()
        for item in self.body:
            if isinstance(item, Label):
                self._label(item)
            else:
                self._instruction(item)
        self._leave_guard()
        self._refuse_unknown()
        self._fall_into(self.exit)
        _assume_no_traps(self.blocks)
        for block in self.blocks:
            if len(block.successors) == 2 and block.successors[0] is block.successors[1]:
                del block.successors[1:]
                block.condition = None
        self.result.blocks = _reached(self.blocks)
        self.result.orders_tensor_memory = self.builder.orders_tensor_memory
        self.result.reads_early = self.builder.reads_early
        return self.result

    def _refuse_unknown(self) -> None:
        if not self.unknown:
            return
        name, lines = max(self.unknown.items(), key=lambda item: (len(item[1]), -item[1][0]))
        times = "once" if len(lines) == 1 else f"{len(lines)} times"
        others = sorted(self.unknown.keys() - {name})
        more = f"; nor are {', '.join(others[:5])}{' and others' if len(others) > 5 else ''}" if others else ""
        raise PtxError(
            lines[0], f"'{name}' is not known here, and may synchronise or touch shared memory ({times}){more}"
        )

    # Blocks -----------------------------------------------------------------------------------------------------------

    def _begin(self, block: Block | None = None) -> Block:
        """Go on in a new block (or in `block`), which nothing leads to yet."""
        block = block if block is not None else Block(0)
        block.number = len(self.blocks)
        self.blocks.append(block)
        self.builder.block = block
        self.shared_guard = None
        return block

    def _fall_into(self, block: Block | None = None) -> None:
        """Go on in a new block (or in `block`), to which the current one leads."""
        before = self.builder.block
        following = self._begin(block)
        if before.branch is None and not before.successors:
            before.successors.append(following)

    def _block_at(self, label: Label) -> Block:
        return self.labelled.setdefault(label, Block(0))

    def _label(self, label: Label) -> None:
        self._leave_guard()
        self._fall_into(self._block_at(label))

    def _target(self, instruction: Instruction, name: str) -> Block:
        label = instruction.scope.label(name)
        if label is None:
            raise instruction.error(f"goes to '{name}', which is no label here")
        return self._block_at(label)

    # Instructions -----------------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction) -> None:
        builder = self.builder
        builder.instruction = instruction
        if instruction.words[0] in BRANCHES:
            self._branch(instruction)
            return
        operands = operands_of(instruction)
        if instruction.words[0] == "call":
            self._call(instruction)
            return
        rows = self.table.of(instruction.words)
        row = next((row for row in rows if row.takes(len(operands))), None)
        if rows and row is None:
            raise instruction.error(f"has {len(operands)} operands; it takes: {rows[0].roles or 'none'}")
        opcode, modifiers = self.table.opcode(instruction.words)
        if self.builder.with_numbers and opcode.startswith(WITHOUT_NUMBERS):
            raise instruction.error(NOT_RUN)
        call = Call(instruction, modifiers, operands)
        if row is None and instruction.words[0] not in ONLY_COMPUTES:
            self.unknown.setdefault(instruction.name, []).append(instruction.line)
        elif row is not None and row.acts:
            self._acting(row, call)
        else:
            self._computing(row, call)

    def _computing(self, row: Row | None, call: Call) -> None:
        builder, guard = self.builder, self._guard_of(call.instruction)
        if guard != self.shared_guard:
            self._leave_guard()
            builder.guard = None if guard is None else self._condition(guard)
        self._note(row, call)
        self._touch(row, call)
        (row.becomes if row is not None else unknown_results)(builder, call)
        builder.guard = None
        self._end_guard_if_written(call)

    def _acting(self, row: Row, call: Call) -> None:
        guard = self._guard_of(call.instruction)
        if guard != self.shared_guard:
            self._leave_guard()
        if guard is not None and self.shared_guard is None:
            self._enter_guard(call.instruction, guard)
        self._touch(row, call)
        row.becomes(self.builder, call)
        self._end_guard_if_written(call)

    def _touch(self, row: Row | None, call: Call) -> None:
        """Note what is read, the result aside."""
        gives = row is None or row.roles[:1] in ("d", "p", "v")
        for operand in call.operands[gives:]:
            self.builder.touch(operand)

    def _note(self, row: Row | None, call: Call) -> None:
        opcode = call.instruction.words[0]
        if row is None:
            self.result.ignored[call.instruction.name] += 1
        elif opcode in ("ld", "st", "atom", "red") and call.has("global"):
            self.result.global_accesses = True
        elif opcode == "setmaxnreg":
            self.result.moves_registers = True

    # Predicates -------------------------------------------------------------------------------------------------------

    def _guard_of(self, instruction: Instruction) -> Guard | None:
        if instruction.guard is None:
            return None
        name = instruction.guard.removeprefix("!")
        register = instruction.scope.register(name)
        if register is None:
            raise instruction.error(f"stands under '{name}', which is not declared")
        return instruction.guard.startswith("!"), register

    def _condition(self, guard: Guard) -> Operand:
        negated, register = guard
        value = self.builder.read(register, 1)
        return self.builder.negated(value) if negated else value

    def _enter_guard(self, instruction: Instruction, guard: Guard) -> None:
        """Go on in a block that is entered if the predicate of `instruction` holds."""
        condition = self._condition(guard)
        before = self.builder.block
        inside, after = Block(0), Block(0)
        before.successors = [inside, after]
        before.condition, before.branch = condition, instruction
        self._begin(inside)
        inside.successors.append(after)
        self.shared_guard = guard

    def _leave_guard(self) -> None:
        if self.shared_guard is not None:
            self._begin(self.builder.block.successors[0])

    def _end_guard_if_written(self, call: Call) -> None:
        """An instruction that writes the predicate under which it stands ends the block."""
        if self.shared_guard is None or not call.operands:
            return
        if any(self.shared_guard[1] in step.results for step in self.builder.block.steps):
            self._leave_guard()

    # Control ----------------------------------------------------------------------------------------------------------

    def _branch(self, instruction: Instruction) -> None:
        self._leave_guard()
        match instruction.words[0]:
            case "bra":
                self._bra(instruction)
            case "brx":
                self._brx(instruction)
            case word:
                self._end(instruction, is_trap=word in ("trap", "brkpt"))

    def _bra(self, instruction: Instruction) -> None:
        self._jump(instruction, self._target(instruction, instruction.text.strip()))

    def _jump(self, instruction: Instruction, target: Block) -> None:
        """Go to `target`, if the predicate holds; else to a new block that follows."""
        before = self.builder.block
        before.branch = instruction
        guard = self._guard_of(instruction)
        if guard is None:
            before.successors = [target]
            self._begin()
            return
        before.condition = self._condition(guard)
        following = Block(0)
        before.successors = [target, following]
        self._begin(following)

    def _end(self, instruction: Instruction, *, is_trap: bool) -> None:
        if not is_trap:
            self._jump(instruction, self.exit)
            return
        self.result.traps = True
        self._jump(instruction, Block(-1, is_trap=True))

    def _brx(self, instruction: Instruction) -> None:
        """A branch by number: one comparison for each target, the last of which takes the rest."""
        operands = operands_of(instruction)
        if len(operands) != 2 or not isinstance(operands[1], Name) or instruction.guard is not None:
            raise instruction.error("expects a number and the name of a list of targets")
        targets = self.targets.get(operands[1].name)
        if targets is None:
            raise instruction.error(f"goes by '{operands[1].name}', which is no list of targets")
        blocks = [self._target(instruction, name) for name in targets.labels]
        number = self.builder.read(operands[0], 32)
        for place, block in enumerate(blocks[:-1]):
            before = self.builder.block
            before.condition = self.builder.compare("eq", number, Constant(place, 32))
            following = Block(0)
            before.successors, before.branch = [block, following], instruction
            self._begin(following)
        self.builder.block.successors, self.builder.block.branch = [blocks[-1]], instruction
        self._begin()

    def _call(self, instruction: Instruction) -> None:
        operands = operands_of(instruction)
        targets = [operand for operand in operands if not isinstance(operand, Group)]
        called = targets[0].name if targets and isinstance(targets[0], Name) else None
        if called is None:
            raise instruction.error("calls what only the launch knows; calls through registers are not read")
        if called not in HARMLESS_CALLS:
            raise instruction.error(
                f"calls '{called}', which has no body here; link it, or ask the compiler to inline it"
            )
        if called == "__assertfail":
            self._end(instruction, is_trap=True)
            return
        self._leave_guard()
        if isinstance(operands[0], Group):
            for part in operands[0].parts:
                if isinstance(part, Register):
                    self.builder.write_unknown(part)


def _assume_no_traps(blocks: list[Block]) -> None:
    """Take branches that lead to a trap, whatever follows, not to be taken; but not the first block itself."""
    doomed = {successor for block in blocks for successor in block.successors if successor.is_trap}
    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            if block not in doomed and block.successors and doomed.issuperset(block.successors):
                doomed.add(block)
                changed = True
    for block in blocks:
        kept = [successor for successor in block.successors if successor not in doomed]
        if kept and len(kept) < len(block.successors):
            block.successors, block.condition = kept, None


def _reached(blocks: list[Block]) -> list[Block]:
    """Those that are reached from the first, in order, each with its predecessors."""
    seen = {blocks[0]: None}
    worklist = [blocks[0]]
    while worklist:
        for successor in worklist.pop().successors:
            if successor not in seen:
                seen[successor] = None
                worklist.append(successor)
    kept = [block for block in blocks if block in seen]
    for block in kept:
        for successor in block.successors:
            successor.predecessors.append(block)
    return kept


def _leaves_fences_out(body: list[Instruction | Label]) -> bool:
    """Whether the kernel uses tensor memory, and has no fence of it anywhere."""
    found = {item.words[1] for item in body if isinstance(item, Instruction) and item.words[0] == "tcgen05"}
    return bool(found) and not any(word.startswith("fence") for word in found)


def _tuples(body: list[Instruction | Label]) -> Mapping[Register, Part]:
    """Register -> its place in those that asynchronous work fills together, where no two such tuples overlap."""
    found: dict[tuple[Register, ...], Register] = {}
    owners: dict[Register, set[Part]] = {}
    for item in body:
        if isinstance(item, Label) or ".".join(item.words[:2]) not in FILLED_LATER:
            continue
        target = operands_of(item)[0]
        parts = target.parts if isinstance(target, Vector) else (target,)
        registers = tuple(part for part in parts if isinstance(part, Register))
        if registers not in found:
            found[registers] = Register("tuple", 0, _type_of(item, len(registers)))
        for place, register in enumerate(registers):
            owners.setdefault(register, set()).add(Part(found[registers], place))
    return {register: next(iter(those)) for register, those in owners.items() if len(those) == 1}


def _type_of(item: Instruction, count: int) -> object:
    if item.words[0] == "tcgen05":
        return tuple_type("tcgen05", count)
    return tuple_type(f"wgmma.{next(word for word in item.words[5:] if word in ('f32', 'f16', 's32'))}", count)
