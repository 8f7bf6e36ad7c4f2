"""
From operands of PTX to steps: what the rows of the table build with.

An instruction under a predicate that computes gives the new number or the old one: a select. Any other stands in a
branch by then, so that its row sees no predicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.dialects.llvm import LLVMStructType

from tileas_xdsl.readers.ptx.arithmetic import evaluated
from tileas_xdsl.readers.ptx.operands import Address, Dropped, Group, Name, Negated, Number, Pair, Vector
from tileas_xdsl.readers.ptx.operands import Operand as Written
from tileas_xdsl.readers.ptx.registers import IN_CLUSTER, SPECIAL
from tileas_xdsl.readers.ptx.steps import Block, Constant, Make, Operand, Register, Step
from tileas_xdsl.readers.ptx.syntax import Instruction

if TYPE_CHECKING:
    from tileas_xdsl.readers.ptx.emission import Emission
    from tileas_xdsl.readers.ptx.syntax import Symbols

ADDRESS_BITS = 64


class Part(NamedTuple):
    """The register `place` of a tuple."""

    owner: Register
    place: int


class Builder:
    """Appends the steps of one instruction after the other to a block."""

    def __init__(self, symbols: Symbols, blocks_of_cluster: int, *, with_numbers: bool = False) -> None:
        self.symbols = symbols
        self.blocks_of_cluster = blocks_of_cluster
        self.with_numbers = with_numbers
        """Whether all numbers are followed; then a register of a tuple is a part of the tuple's value."""
        self.block = Block(0)
        self.guard: Operand | None = None
        self.instruction: Instruction | None = None
        self.tuples: Mapping[Register, Part] = {}
        """Register -> its place in the tuple of accumulators that it belongs to, which asynchronous products fill."""
        self.fresh: dict[Register, Block] = {}
        """Tuple -> the block in which an ordinary instruction has renamed it since the last product."""
        self.orders_tensor_memory = False
        """Whether threads that meet order tensor memory, with no fence of it (`instructions.matrices`)."""
        self.loads_tensors = False
        """Whether a load of tensor memory stands before, with no wait for it between."""
        self.reads_early = False
        """Whether registers that such a load fills are read before the wait."""
        self.touched: dict[Register, Block] = {}
        """Tuple -> the block in which an ordinary instruction has read it since the last product."""

    @property
    def here(self) -> Instruction:
        assert self.instruction is not None
        return self.instruction

    # Reading ----------------------------------------------------------------------------------------------------------

    def read(self, operand: Written, bits: int, *, signed: bool = False) -> Operand:
        """The number that `operand` is, as one of `bits` bits. Raises `PtxError`."""
        match operand:
            case Register():
                return self.resized(self._held(operand), bits, signed=signed)
            case Number(value):
                return Constant(value & ((1 << bits) - 1), bits)
            case Negated(inner):
                return self.compute("xor", 1, self.read(inner, 1), Constant(1, 1))
            case Name(name):
                return self.resized(self._named(name), bits)
            case Vector(parts) if len(parts) == 1:
                return self.read(parts[0], bits, signed=signed)
            case _:
                raise self.here.error("has an operand that is no number")

    def _held(self, register: Register) -> Register:
        """What `register` holds."""
        part = self.tuples.get(register)
        if not self.with_numbers or part is None:
            self._touch(register)
            return register
        result = Register("", register.bits)
        self.act("part", _take_part, [part.owner], results=[result], kind="ask", detail=part.place)
        return result

    def _named(self, name: str) -> Operand:
        if name.startswith("%") or name == "WARP_SZ":
            return self._special(name)
        if (parameter := self.symbols.parameter(name)) is not None:
            return self.give("parameter address", ADDRESS_BITS, detail=(parameter.name, 0))
        variable = self.symbols.variable(name, self.here)
        if variable.space == "shared":
            return self.give("address", ADDRESS_BITS, detail=(variable.name, 0))
        return self.give("unknown", ADDRESS_BITS, name)

    def _special(self, name: str) -> Operand:
        register = SPECIAL.get(name.removeprefix("%"))
        if register is None:
            raise self.here.error(f"reads '{name}', which is no register that is known here")
        if register.value is not None:
            return Constant(register.value, register.bits)
        if self.blocks_of_cluster == 1 and name.removeprefix("%") in IN_CLUSTER:
            return Constant(IN_CLUSTER[name.removeprefix("%")], register.bits)
        if register.op is None:
            return self.give("unknown", register.bits, name)
        return self.give("special", register.bits, name)

    def address(self, operand: Written) -> Operand:
        """The address that `[base + offset]` is. Raises `PtxError`."""
        if not isinstance(operand, Address):
            raise self.here.error("expects an address in brackets")
        base = operand.base
        bits = base.bits if isinstance(base, Register) else ADDRESS_BITS
        found = self.read(base, bits)
        if operand.offset == 0:
            return found
        return self.compute("add", bits, found, Constant(operand.offset & ((1 << bits) - 1), bits))

    def touch(self, operand: Written) -> None:
        """An instruction reads `operand`, whatever becomes of it."""
        match operand:
            case Register():
                self._touch(operand)
            case Vector(parts) | Group(parts):
                for part in parts:
                    self.touch(part)
            case _:
                return

    def _touch(self, register: Register) -> None:
        """An ordinary instruction reads `register`: products that may fill it have to be complete."""
        owner = self._owner(register)
        if owner is None or self.with_numbers or self.touched.get(owner) is self.block:
            return
        if self.orders_tensor_memory and self.loads_tensors and not isinstance(owner.type, LLVMStructType):
            self.reads_early = True
            return
        self.touched[owner] = self.block
        self._append(Step("act", "touch", [owner], [], self.here, make=_look_at))

    # Computing --------------------------------------------------------------------------------------------------------

    def resized(self, value: Operand, bits: int, *, signed: bool = False) -> Operand:
        """`value` with `bits` bits: its low ones, or more of them."""
        if value.bits == bits:
            return value
        if value.bits > bits:
            return self.compute("trunc", bits, value)
        return self.compute("sext" if signed else "zext", bits, value)

    def compute(self, what: str, bits: int, *operands: Operand, detail: str | None = None) -> Operand:
        """The result of a function of integers; a constant where its operands are."""
        result = Register("", bits)
        step = Step("compute", what, list(operands), [result], self.here, detail)
        if all(isinstance(operand, Constant) for operand in operands):
            value = evaluated(step, [operand.value for operand in operands if isinstance(operand, Constant)])
            if value is not None:
                return Constant(value, bits)
        self._append(step)
        return result

    def compare(self, how: str, a: Operand, b: Operand) -> Operand:
        """Whether `a` and `b` compare so, as `arithmetic.COMPARISONS` says it."""
        return self.compute("cmp", 1, a, b, detail=how)

    def select(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        """`yes` where `condition` holds, else `no`."""
        if isinstance(condition, Constant):
            return yes if condition.value else no
        return yes if yes == no else self.compute("select", yes.bits, condition, yes, no)

    def negated(self, condition: Operand) -> Operand:
        """Whether `condition` does not hold."""
        return self.compute("xor", 1, condition, Constant(1, 1))

    def give(self, kind: str, bits: int, what: str = "", detail: Any = None) -> Register:
        """The result of a step without operands."""
        result = Register("", bits)
        self._append(Step(kind, what, [], [result], self.here, detail))
        return result

    def unknown(self, bits: int) -> Register:
        """A number that is not followed."""
        return self.give("unknown", bits, self.here.name)

    # Writing ----------------------------------------------------------------------------------------------------------

    def write(self, target: Written, value: Operand, *, signed: bool = False) -> None:
        """Put `value` into a register, under the predicate of the instruction. Raises `PtxError`."""
        match target:
            case Dropped():
                return
            case Register():
                value = self.resized(value, target.bits, signed=signed)
                self._put(target, value)
            case Vector(parts) if len(parts) == 1:
                self.write(parts[0], value, signed=signed)
            case _:
                raise self.here.error("has a result that is no register")

    def _put(self, target: Register, value: Operand) -> None:
        part = self.tuples.get(target) if self.with_numbers else None
        self._rename(target)
        if self.guard is not None:
            value = self.select(self.guard, value, target if part is None else self._held(target))
        if part is None:
            self._append(Step("compute", "copy", [value], [target], self.here))
        else:
            operands = [part.owner, value]
            self.act("part", _put_part, operands, results=[part.owner], kind="ask", detail=part.place)

    def write_unknown(self, target: Written) -> None:
        """The registers of `target` get numbers that are not followed."""
        match target:
            case Register():
                self.write(target, self.unknown(target.bits))
            case Vector(parts) | Group(parts):
                for part in parts:
                    self.write_unknown(part)
            case Pair(first, second):
                self.write_unknown(first)
                self.write_unknown(second)
            case Name(name):
                raise self.here.error(f"writes '{name}', which is no register that is declared")
            case _:
                return

    def tuple_of(self, registers: Sequence[Written]) -> Register | None:
        """The tuple that `registers` are; None where they share registers with another one."""
        owners = {self._owner(register) for register in registers if isinstance(register, Register)}
        return owners.pop() if len(owners) == 1 else None

    def _owner(self, register: Register) -> Register | None:
        part = self.tuples.get(register)
        return None if part is None else part.owner

    def forget(self, owner: Register) -> None:
        """Asynchronous work fills `owner`: what ordinary instructions did to it is past."""
        self.fresh.pop(owner, None)
        self.touched.pop(owner, None)

    def _rename(self, register: Register) -> None:
        """An ordinary instruction writes `register`: its tuple is no longer what a product has made of it."""
        owner = self._owner(register)
        if owner is None or self.with_numbers or self.fresh.get(owner) is self.block:
            return
        self.fresh[owner] = self.block
        self._append(Step("unknown", "written", [], [owner], self.here))

    # Ops --------------------------------------------------------------------------------------------------------------

    def act(
        self,
        what: str,
        make: Make | None,
        operands: Sequence[Operand] = (),
        *,
        results: Sequence[Register] = (),
        stored: Sequence[Operand] = (),
        kind: str = "act",
        detail: Any = None,
    ) -> None:
        """A step that `make` makes the ops of."""
        self._append(Step(kind, what, list(operands), list(results), self.here, detail, stored=list(stored), make=make))

    def _append(self, step: Step) -> None:
        self.block.steps.append(step)


def _look_at(emission: Emission, step: Step) -> None:
    emission.look_at(step.operands[0])


def _take_part(emission: Emission, step: Step) -> None:
    emission.take_part(step)


def _put_part(emission: Emission, step: Step) -> None:
    emission.put_part(step)
