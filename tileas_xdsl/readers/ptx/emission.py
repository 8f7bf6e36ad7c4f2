"""
From the steps that matter to ops of `func`, `cf`, `arith`, `llvm` and `nvvm`.

Constants, addresses of arrays, special registers and unknown numbers stand once in the first block, since each op costs
a step whenever it is met. A phi is an argument of its block. Each op has the location of its instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.dialects import arith, cf, func, llvm, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    i8,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as IRBlock

from tileas_xdsl.analysis.dominance import immediate_dominators
from tileas_xdsl.dialects.extensions.arith import QUOTIENT_BY_ZERO_IS_OPEN
from tileas_xdsl.dialects.extensions.llvm import AddrSpaceCastOp
from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.readers.ptx.arithmetic import COMPARISONS, MEANINGS, is_number
from tileas_xdsl.readers.ptx.registers import SPECIAL
from tileas_xdsl.readers.ptx.resolving import Location, location_of
from tileas_xdsl.readers.ptx.slicing import Slice
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Result, Step, Value
from tileas_xdsl.readers.ptx.syntax import Instruction

OpT = TypeVar("OpT", bound=Operation)
SHARED, GLOBAL, TENSOR, CLUSTER = 3, 1, 6, 7
"""Numbers of address spaces (LLVM, "User Guide for NVPTX Backend")."""
READ_ONLY, UNWATCHED = "global_memory", "written_global_memory"
"""Symbols of the objects that stand for what copies read, and write, of global memory."""
AT_ENTRY = ("address", "special", "parameter", "unknown", "parameter address")
"""Kinds of steps that are made once, in the first block."""


@dataclass(frozen=True)
class Argument:
    """What a launch passes that matters: the number of `bits` bits at an offset of a parameter, or a tensor map."""

    parameter: str
    offset: int
    bits: int
    """0: a tensor map."""


@dataclass(frozen=True)
class Frame:
    """What a function has around its blocks."""

    name: str
    arguments: Sequence[Argument]
    names: Sequence[str]
    attributes: Sequence[DictionaryAttr]
    types: Sequence[Attribute]
    located: Callable[[Instruction], LocationAttr]
    blocks_of_cluster: int
    symbols: Mapping[str, str]
    """Name of an array in shared memory -> its symbol in the module."""


def arguments_of(blocks: Iterable[Block], found: Slice) -> list[Argument]:
    """What of the parameters matters, in the order of first use."""
    arguments: dict[Argument, None] = {}
    for block in blocks:
        for step in block.steps:
            if step not in found.steps:
                continue
            if step.kind == "parameter":
                name, offset = cast("tuple[str, int]", step.detail)
                arguments[Argument(name, offset, step.results[0].bits)] = None
            elif step.what in MAPS:
                place = _map_place(step)
                arguments[Argument(place.name, place.offset, 0)] = None
    return list(arguments)


MAPS: Mapping[str, int] = {"tensor load": 1, "tensor store": 0, "map fence": 0}
"""Steps that name a tensor map, and by which operand."""


def _map_place(step: Step) -> Location:
    place = location_of(step.operands[MAPS[step.what]])
    if place is None or place.kind != "parameter address":
        raise step.instruction.error(
            "takes a tensor map that is no parameter of the kernel; maps that a kernel makes are not read yet"
        )
    return place


def emit(blocks: Sequence[Block], found: Slice, frame: Frame) -> func.FuncOp:
    """The function of what matters of `blocks`, the first of which is entered. Raises `PtxError`."""
    return Emission(frame, found).function(blocks)


class Emission:
    """Makes the ops of one function."""

    def __init__(self, frame: Frame, found: Slice) -> None:
        self.frame = frame
        self.slice = found
        self.entry = IRBlock(arg_types=frame.types)
        self.block = self.entry
        self.location: LocationAttr | None = None
        self.values: dict[Operand, SSAValue] = {}
        self.at_entry: dict[object, SSAValue] = {}
        self.numbers: dict[Operand, bool] = {}
        self.end: IRBlock | None = None
        self.tensor_addresses: set[Location] = set()
        """Where `tcgen05.alloc` puts addresses of tensor memory."""
        for value, name in zip(self.entry.args, frame.names, strict=True):
            value.name_hint = name

    @property
    def blocks_of_cluster(self) -> int:
        return self.frame.blocks_of_cluster

    # Functions --------------------------------------------------------------------------------------------------------

    def function(self, blocks: Sequence[Block]) -> func.FuncOp:
        self.tensor_addresses = {
            place
            for block in blocks
            for step in block.steps
            if step.what == "tcgen05.alloc" and (place := location_of(step.operands[0])) is not None
        }
        kept = [block for block in _in_order(blocks[0], self.slice) if block in self.slice.kept]
        made = {block: self._block_of(block) for block in kept}
        for block in kept:
            self.block = made[block]
            for step in block.steps:
                if step in self.slice.steps:
                    self._step(step)
            self._branch(block, made)
        first = made[kept[0]]
        self.block = self.entry
        self.add(cf.BranchOp(first))
        region = Region([self.entry, *made.values(), *([] if self.end is None else [self.end])])
        types = [argument.type for argument in self.entry.args]
        function = func.FuncOp(self.frame.name, (types, []), region)
        function.arg_attrs = ArrayAttr(self.frame.attributes)
        _forget_unread(function)
        return function

    def _block_of(self, block: Block) -> IRBlock:
        phis = [phi for phi in block.phis if phi in self.slice.steps]
        made = IRBlock(arg_types=[_type_of(phi.results[0]) for phi in phis])
        for phi, argument in zip(phis, made.args, strict=True):
            self.values[phi.results[0]] = argument
        return made

    def _branch(self, block: Block, made: Mapping[Block, IRBlock]) -> None:
        if block.branch is not None:
            self.location = self.frame.located(block.branch)
        if not block.successors:
            self.add(func.ReturnOp())
            return
        if len(block.successors) == 2 and block in self.slice.branches:
            assert block.condition is not None
            condition = self.value(block.condition)
            (yes, to_yes), (no, to_no) = (self._edge(block, successor, made) for successor in block.successors)
            self.add(cf.ConditionalBranchOp(condition, yes, to_yes, no, to_no))
            return
        following = block.successors[0] if len(block.successors) == 1 else self.slice.after.get(block)
        if following is None:
            self.add(func.ReturnOp())
            return
        target, arguments = self._edge(block, following, made)
        self.add(cf.BranchOp(target, *arguments))

    def _edge(self, block: Block, successor: Block, made: Mapping[Block, IRBlock]) -> tuple[IRBlock, list[SSAValue]]:
        """Where an edge leads, and what it hands on."""
        target = self.slice.target(successor)
        if target not in made:  # it is in a loop that has no exit, and in which nothing matters
            return self._end(), []
        arguments: list[SSAValue] = []
        for phi in target.phis:
            if phi in self.slice.steps:
                arguments.append(self.value(phi.operands[target.predecessors.index(block)]))
        return made[target], arguments

    def _end(self) -> IRBlock:
        """A block in which the thread ends."""
        if self.end is None:
            self.end = IRBlock([func.ReturnOp()])
        return self.end

    # Steps ------------------------------------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        self.location = self.frame.located(step.instruction)
        if step.make is not None:
            step.make(self, step)
        elif step.kind == "compute":
            self.bind(step.results[0], self.add(self._computed(step)).results[0])
        elif step.kind in AT_ENTRY:
            self.bind(step.results[0], self._made_at_entry(step))

    def _computed(self, step: Step) -> Operation:
        operands = [self.value(operand) for operand in step.operands]
        kind = IntegerType(step.results[0].bits)
        match step.what:
            case "cmp":
                return arith.CmpiOp(operands[0], operands[1], COMPARISONS[cast("str", step.detail)][0])
            case "select":
                return arith.SelectOp(operands[0], operands[1], operands[2])
            case "zext":
                return arith.ExtUIOp(operands[0], kind)
            case "sext":
                return arith.ExtSIOp(operands[0], kind)
            case "trunc":
                return arith.TruncIOp(operands[0], kind)
            case name:
                made = MEANINGS[name].op(operands[0], operands[1])
                if MEANINGS[name].is_division and not isinstance(step.operands[1], Constant):
                    made.attributes[QUOTIENT_BY_ZERO_IS_OPEN] = UnitAttr()
                return made

    def _made_at_entry(self, step: Step) -> SSAValue:
        result = step.results[0]
        match step.kind:
            case "parameter":
                name, offset = cast("tuple[str, int]", step.detail)
                return self._passed(self._argument(Argument(name, offset, result.bits)), result.bits)
            case "special":
                register = SPECIAL[step.what.removeprefix("%")].op
                assert register is not None
                return self.once(("special", step.what), lambda: cast("Callable[[], Operation]", register)())
            case "address":
                name, offset = cast("tuple[str, int]", step.detail)
                place = self._place(Location("address", name, offset))
                kind = IntegerType(result.bits)
                return self.once(("number", step.detail, kind), lambda: llvm.PtrToIntOp(place, kind))
            case _:
                return self.undefined(_type_of(result))

    def _argument(self, argument: Argument) -> SSAValue:
        return self.entry.args[list(self.frame.arguments).index(argument)]

    def _passed(self, argument: SSAValue, bits: int) -> SSAValue:
        """`argument` as the number that a launch passes: of an array its address."""
        if not isinstance(argument.type, MemRefType):
            return argument
        begin = self.once(("begin", argument), lambda: memref.ExtractAlignedPointerAsIndexOp.get(argument))
        return self.once(("address", argument), lambda: arith.IndexCastOp(begin, IntegerType(bits)))

    # What rows build with ---------------------------------------------------------------------------------------------

    def add(self, op: OpT) -> OpT:
        """`op`, at the end of the current block."""
        if self.location is not None:
            op.location = self.location
        self.block.add_op(op)
        return op

    def once(self, key: object, make: Callable[[], Operation]) -> SSAValue:
        """The result of an op that stands in the first block, made at the first call."""
        if key not in self.at_entry:
            op = make()
            if self.location is not None:
                op.location = self.location
            self.entry.add_op(op)
            self.at_entry[key] = op.results[0]
        return self.at_entry[key]

    def bind(self, result: Result, value: SSAValue) -> None:
        """Say what `result` is."""
        self.values[result] = value

    def give(self, step: Step, values: Sequence[SSAValue]) -> None:
        """Say what the results of `step` are."""
        for result, value in zip(step.results, values, strict=True):
            self.bind(result, value)

    def is_live(self, result: Result) -> bool:
        """Whether a step that matters reads `result`, of a step as its row built it."""
        return result in self.slice.values

    def value(self, operand: Operand) -> SSAValue:
        """`operand` as an integer, or as a tuple of registers."""
        if isinstance(operand, Constant):
            return self.number(operand.value, operand.bits)
        if operand not in self.values:
            return self.undefined(_type_of(operand))
        return self.values[operand]

    def stored(self, step: Step, operand: Operand) -> SSAValue | None:
        """A number that `step` stores; None where nobody asks for what it is."""
        if step not in self.slice.stores or not is_number(operand, self.numbers):
            return None
        return self.value(operand)

    def number(self, value: int, bits: int) -> SSAValue:
        """A constant."""
        kind = IntegerType(bits)
        number = value - (1 << bits) if bits > 1 and value >> (bits - 1) else value
        return self.once((value, bits), lambda: arith.ConstantOp(IntegerAttr(number, kind)))

    def undefined(self, kind: Attribute) -> SSAValue:
        """A value that is not followed: a check takes it for unknown."""
        return self.once(("undefined", kind), lambda: llvm.UndefOp(kind))

    def look_at(self, operand: Operand) -> None:
        """An ordinary instruction touches a tuple of registers that asynchronous work may fill."""
        value = self.value(operand)
        if isinstance(value.type, LLVMStructType):
            first = next(iter(value.type.types))
            self.add(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [0]), value, first))
        elif isinstance(value.type, VectorType):
            self.add(ExtractElementOp(value, self.number(0, 32)))

    def take_part(self, step: Step) -> None:
        """The register of a tuple at the place that `step` says."""
        value, place = self.value(step.operands[0]), cast("int", step.detail)
        if isinstance(value.type, VectorType):
            part = self.add(ExtractElementOp(value, self.number(place, 32))).results[0]
        else:
            part = self.add(extracted(value, place)).results[0]
        self.give(step, [self.bits(part, step.results[0].bits)])

    def put_part(self, step: Step) -> None:
        """A tuple with another number at the place that `step` says."""
        whole, place = self.value(step.operands[0]), cast("int", step.detail)
        if isinstance(whole.type, VectorType):
            value = self.value(step.operands[1])
            changed = self.add(llvm.InsertElementOp(whole, value, self.number(place, 32))).results[0]
        else:
            assert isinstance(whole.type, LLVMStructType)
            value = self.read_as(step.operands[1], whole.type.types.data[place])
            at = DenseArrayBase.from_list(i64, [place])
            changed = self.add(llvm.InsertValueOp(at, whole, value)).results[0]
        self.give(step, [changed])

    def read_as(self, operand: Operand, kind: Attribute) -> SSAValue:
        """The bits of `operand` as a value of `kind`."""
        value = self.value(operand)
        if value.type == kind:
            return value
        if isinstance(value.owner, llvm.BitcastOp) and value.owner.arg.type == kind:
            return value.owner.arg
        if isinstance(operand, Constant):
            return self.once(("bits", value, kind), lambda: llvm.BitcastOp(value, kind))
        return self.add(llvm.BitcastOp(value, kind)).results[0]

    def bits(self, value: SSAValue, count: int) -> SSAValue:
        """The bits of `value` as a number."""
        kind = IntegerType(count)
        return value if value.type == kind else self.add(llvm.BitcastOp(value, kind)).results[0]

    # Addresses --------------------------------------------------------------------------------------------------------

    def shared(self, operand: Operand) -> SSAValue:
        """A pointer to shared memory of the own block."""
        place = location_of(operand)
        if place is None or place.kind != "address":
            return self._pointer(operand, SHARED)
        return self._place(place)

    def _place(self, place: Location) -> SSAValue:
        base, kind = self._array(place.name), pointer_type(SHARED)
        if place.offset == 0:
            return base
        return self.once(place, lambda: llvm.GEPOp(base, [place.offset], i8, result_type=kind))

    def further(self, pointer: SSAValue, distance: int) -> SSAValue:
        """The pointer so many bytes behind another one."""
        kind = pointer.type
        assert isinstance(kind, LLVMPointerType)
        return self.add(llvm.GEPOp(pointer, [distance], i8, result_type=kind)).results[0]

    def cluster_or_shared(self, operand: Operand) -> SSAValue:
        """The barrier of a copy between blocks, which the dialect has in space 3."""
        return self._pointer(operand, SHARED)

    def cluster(self, operand: Operand) -> SSAValue:
        """A pointer to shared memory of some block of the cluster."""
        place = location_of(operand)
        if place is None or place.kind != "address":
            return self._pointer(operand, CLUSTER)
        own = self.shared(operand)
        return self.add(AddrSpaceCastOp.create(operands=[own], result_types=[pointer_type(CLUSTER)])).results[0]

    def tensor(self, operand: Operand) -> SSAValue:
        """A pointer to tensor memory."""
        return self._pointer(operand, TENSOR)

    def _pointer(self, operand: Operand, space: int) -> SSAValue:
        return self.add(_int_to_pointer(self.value(operand), space)).results[0]

    def _array(self, name: str) -> SSAValue:
        kind = pointer_type(SHARED)
        return self.once(("array", name), lambda: llvm.AddressOfOp(self.frame.symbols[name], kind))

    def global_place(self, operand: Operand) -> SSAValue:
        """A pointer to global memory."""
        return self._pointer(operand, GLOBAL)

    def tensor_map(self, operand: Operand) -> SSAValue:
        """The argument that is a tensor map."""
        place = location_of(operand)
        assert place is not None  # else `arguments_of` has refused it
        return self._argument(Argument(place.name, place.offset, 0))

    def global_memory(self) -> SSAValue:
        """What copies read: it is not followed."""
        kind = pointer_type(GLOBAL)
        return self.once(READ_ONLY, lambda: llvm.AddressOfOp(READ_ONLY, kind))

    def unwatched_memory(self) -> SSAValue:
        """What copies write: it is not followed."""
        kind = pointer_type(GLOBAL)
        return self.once(UNWATCHED, lambda: llvm.AddressOfOp(UNWATCHED, kind))


def _int_to_pointer(number: SSAValue, space: int) -> Operation:
    return llvm.IntToPtrOp.create(operands=[number], result_types=[pointer_type(space)])


def _type_of(operand: Operand) -> Attribute:
    if isinstance(operand, Value) and operand.type is not None:
        return cast("Attribute", operand.type)
    return IntegerType(operand.bits)


def extracted(value: SSAValue, place: int) -> llvm.ExtractValueOp:
    """The op that takes a register out of a struct of them."""
    assert isinstance(value.type, LLVMStructType)
    return llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [place]), value, value.type.types.data[place])


def _forget_unread(function: func.FuncOp) -> None:
    """Drop bits of floats that only floats are computed from."""
    for op in list(function.walk(reverse=True)):
        if isinstance(op, llvm.BitcastOp) and not op.results[0].uses:
            op.detach()
            op.erase()


def argument_type(argument: Argument) -> Attribute:
    """The type of an argument of which nothing more is known."""
    return IntegerType(argument.bits) if argument.bits else LLVMPointerType()


def _in_order(first: Block, found: Slice) -> list[Block]:
    """The blocks that are reached, definitions before their uses (reverse postorder)."""

    def successors(block: Block) -> list[Block]:
        if len(block.successors) == 2 and block not in found.branches:
            after = found.after.get(block)
            return [] if after is None else [found.target(after)]
        return [found.target(successor) for successor in block.successors]

    return [first, *immediate_dominators(first, successors)]


def array_type(size: int) -> LLVMArrayType:
    """The type of an array of bytes."""
    return LLVMArrayType(IntAttr(size), i8)


__all__ = ["Argument", "Emission", "Frame", "argument_type", "arguments_of", "array_type", "emit", "extracted", "i32"]
