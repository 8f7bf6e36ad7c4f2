"""
Instructions: one short function an op, or one row of a table where ops differ by a word.

An op that is not here, or a property that no function here writes down, is refused: LLVM IR that is almost the program
is worse than none.

Source: LLVM's language reference, "Instruction Reference".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.backend.llvm_ir.literals import constant, quoted, symbol
from tileas_xdsl.backend.llvm_ir.names import Names
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.extensions import llvm as atomics
from tileas_xdsl.dialects.extensions import llvm_accesses as accesses
from tileas_xdsl.dialects.extensions import llvm_values as values
from tileas_xdsl.dialects.upstream import address_space

OpT = TypeVar("OpT", bound=Operation)
Instruction = Callable[[Any, Names], str]
"""From an op to its line; to the literal that stands for its result where the op is a constant."""

INSTRUCTIONS: dict[type[Operation], Instruction] = {}
"""How each op is written, without the name of its result."""
CONSTANTS: dict[type[Operation], Instruction] = {}
"""Which ops stand where their results are used, and how."""
WRITTEN: dict[type[Operation], frozenset[str]] = {}
"""The properties that the function of an op writes down."""


def instruction(*ops: type[OpT], writes: Sequence[str] = ()) -> Callable[[Callable[[OpT, Names], str]], Any]:
    """Register how `ops` are written; their properties `writes` are part of that."""

    def register(write: Callable[[OpT, Names], str]) -> Callable[[OpT, Names], str]:
        for op in ops:
            INSTRUCTIONS[op] = write
            WRITTEN[op] = frozenset(writes)
        return write

    return register


def literal(*ops: type[OpT], writes: Sequence[str] = ()) -> Callable[[Callable[[OpT, Names], str]], Any]:
    """Register how the results of `ops` are written where they are used."""

    def register(write: Callable[[OpT, Names], str]) -> Callable[[OpT, Names], str]:
        for op in ops:
            CONSTANTS[op] = write
            WRITTEN[op] = frozenset(writes)
        return write

    return register


# Constants ------------------------------------------------------------------------------------------------------------


@literal(llvm.ConstantOp, writes=["value"])
def _constant(op: llvm.ConstantOp, _names: Names) -> str:
    return constant(op.value, op.result.type, op)


@literal(llvm.UndefOp)
def _undef(_op: llvm.UndefOp, _names: Names) -> str:
    return "undef"


@literal(values.PoisonOp)
def _poison(_op: values.PoisonOp, _names: Names) -> str:
    return "poison"


@literal(llvm.ZeroOp)
def _zero(op: llvm.ZeroOp, _names: Names) -> str:
    return "null" if isinstance(op.results[0].type, llvm.LLVMPointerType) else "zeroinitializer"


@literal(llvm.AddressOfOp, writes=["global_name"])
def _address(op: llvm.AddressOfOp, _names: Names) -> str:
    return symbol(op.global_name.root_reference.data)


# Numbers --------------------------------------------------------------------------------------------------------------

BINARY: tuple[type[Operation], ...] = (
    *(llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.UDivOp, llvm.SDivOp, llvm.URemOp, llvm.SRemOp),
    *(llvm.AndOp, llvm.OrOp, llvm.XOrOp, llvm.ShlOp, llvm.LShrOp, llvm.AShrOp),
    *(llvm.FAddOp, llvm.FSubOp, llvm.FMulOp, llvm.FDivOp, llvm.FRemOp),
)


@instruction(*BINARY, writes=["overflowFlags", "isExact", "isDisjoint", "fastmathFlags"])
def _binary(op: Operation, names: Names) -> str:
    flags = _overflow(op) + _fast_math(op)
    flags += "exact " if "isExact" in op.properties else ""
    flags += "disjoint " if "isDisjoint" in op.properties else ""
    return f"{_word(op)} {flags}{names.typed(op.operands[0], op)}, {names.of(op.operands[1])}"


CASTS: tuple[type[Operation], ...] = (
    *(llvm.TruncOp, llvm.ZExtOp, llvm.SExtOp, llvm.PtrToIntOp, llvm.IntToPtrOp, llvm.BitcastOp, llvm.FPExtOp),
    *(llvm.FPTruncOp, llvm.SIToFPOp, values.UIToFPOp, values.FPToSIOp, values.FPToUIOp, atomics.AddrSpaceCastOp),
)


@instruction(*CASTS, writes=["nonNeg", "overflowFlags"])
def _cast(op: Operation, names: Names) -> str:
    flags = _overflow(op) + ("nneg " if "nonNeg" in op.properties else "")
    return f"{_word(op)} {flags}{names.typed(op.operands[0], op)} to {names.type(op.results[0].type, op)}"


@instruction(llvm.FNegOp, writes=["fastmathFlags"])
def _fneg(op: llvm.FNegOp, names: Names) -> str:
    return f"fneg {_fast_math(op)}{names.typed(op.operands[0], op)}"


@instruction(llvm.ICmpOp, writes=["predicate"])
def _icmp(op: llvm.ICmpOp, names: Names) -> str:
    word = llvm.ALL_ICMP_FLAGS[op.predicate.value.data].value
    return f"icmp {word} {names.typed(op.lhs, op)}, {names.of(op.rhs)}"


FCMP_WORDS = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


@instruction(llvm.FCmpOp, writes=["predicate", "fastmathFlags"])
def _fcmp(op: llvm.FCmpOp, names: Names) -> str:
    word = FCMP_WORDS[op.predicate.value.data]
    return f"fcmp {_fast_math(op)}{word} {names.typed(op.lhs, op)}, {names.of(op.rhs)}"


@instruction(llvm.SelectOp, writes=["fastmathFlags"])
def _select(op: llvm.SelectOp, names: Names) -> str:
    return f"select {_fast_math(op)}{names.all_typed(op.operands, op)}"


# Aggregates and vectors -----------------------------------------------------------------------------------------------


@instruction(llvm.ExtractValueOp, llvm.InsertValueOp, writes=["position"])
def _aggregate(op: llvm.ExtractValueOp | llvm.InsertValueOp, names: Names) -> str:
    position = ", ".join(str(number) for number in op.position.iter_values())
    return f"{_word(op)} {names.all_typed(op.operands, op)}, {position}"


@instruction(values.ExtractElementOp, llvm.InsertElementOp)
def _element(op: Operation, names: Names) -> str:
    return f"{_word(op)} {names.all_typed(op.operands, op)}"


@instruction(llvm.ShuffleVectorOp, writes=["mask"])
def _shuffle(op: llvm.ShuffleVectorOp, names: Names) -> str:
    mask = [int(number) for number in op.mask.iter_values()]
    lanes = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
    return f"shufflevector {names.all_typed(op.operands, op)}, <{len(mask)} x i32> <{lanes}>"


# Memory ---------------------------------------------------------------------------------------------------------------


@instruction(llvm.GEPOp, writes=["elem_type", "noWrapFlags", "rawConstantIndices", "inbounds"])
def _getelementptr(op: llvm.GEPOp, names: Names) -> str:
    dynamic = iter(op.ssa_indices)
    indices = ", ".join(
        names.typed(next(dynamic), op) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    )
    flags = op.noWrapFlags.value.data
    words = "inbounds " if flags & 1 or op.inbounds is not None else "nusw " if flags & 2 else ""
    words += "nuw " if flags & 4 else ""
    return f"getelementptr {words}{names.type(op.elem_type, op)}, {names.typed(op.ptr, op)}, {indices}"


ACCESS = ("alignment", "ordering", "syncscope", "volatile_", "nontemporal")


@instruction(llvm.LoadOp, writes=ACCESS)
def _load(op: llvm.LoadOp, names: Names) -> str:
    before, behind = _access(op)
    return f"load {before}{names.type(op.results[0].type, op)}, {names.typed(op.ptr, op)}{behind}"


@instruction(llvm.StoreOp, writes=ACCESS)
def _store(op: llvm.StoreOp, names: Names) -> str:
    before, behind = _access(op)
    return f"store {before}{names.typed(op.value, op)}, {names.typed(op.ptr, op)}{behind}"


def _access(op: Operation) -> tuple[str, str]:
    """The words before and behind the operands of a load or store."""
    if "nontemporal" in op.properties:
        refuse(op, "is non-temporal, which is metadata and not written here", "leave it out")
    ordering = _number(op, "ordering", 0)
    before = "atomic " if ordering else ""
    before += "volatile " if "volatile_" in op.properties else ""
    behind = f"{_scope(op)} {atomics.NAME_OF_ORDERING[ordering]}" if ordering else ""
    return before, behind + _alignment(op)


@instruction(accesses.FenceOp, writes=["ordering", "syncscope"])
def _fence(op: accesses.FenceOp, names: Names) -> str:
    return f"fence{_scope(op)} {atomics.NAME_OF_ORDERING[_number(op, 'ordering', 0)]}"


@instruction(llvm.AllocaOp, writes=["alignment", "elem_type"])
def _alloca(op: llvm.AllocaOp, names: Names) -> str:
    space = address_space(op.results[0].type)
    behind = _alignment(op) + (f", addrspace({space})" if space else "")
    return f"alloca {names.type(op.elem_type, op)}, {names.typed(op.size, op)}{behind}"


@instruction(atomics.AtomicRMWOp, writes=["bin_op", "ordering", "syncscope", "volatile_", "alignment"])
def _atomicrmw(op: atomics.AtomicRMWOp, names: Names) -> str:
    words = ("volatile " if op.volatile_ is not None else "") + op.computes.removeprefix("_")
    ordering = atomics.NAME_OF_ORDERING[op.ordering.value.data]
    return f"atomicrmw {words} {names.all_typed(op.operands, op)}{_scope(op)} {ordering}{_alignment(op)}"


@instruction(
    atomics.CmpXchgOp,
    writes=["success_ordering", "failure_ordering", "syncscope", "volatile_", "weak", "alignment"],
)
def _cmpxchg(op: atomics.CmpXchgOp, names: Names) -> str:
    words = ("weak " if op.weak is not None else "") + ("volatile " if op.volatile_ is not None else "")
    orderings = " ".join(
        atomics.NAME_OF_ORDERING[ordering.value.data] for ordering in (op.success_ordering, op.failure_ordering)
    )
    return f"cmpxchg {words}{names.all_typed(op.operands, op)}{_scope(op)} {orderings}{_alignment(op)}"


# Calls ----------------------------------------------------------------------------------------------------------------

INTRINSICS: dict[type[Operation], str] = {
    llvm.FAbsOp: "llvm.fabs",
    llvm.FCeilOp: "llvm.ceil",
    llvm.FSqrtOp: "llvm.sqrt",
    llvm.FFloorOp: "llvm.floor",
    llvm.FExp2Op: "llvm.exp2",
    llvm.FExpOp: "llvm.exp",
    llvm.FLogOp: "llvm.log",
    llvm.FLog2Op: "llvm.log2",
    llvm.FSinOp: "llvm.sin",
    llvm.FCosOp: "llvm.cos",
    llvm.FPowOp: "llvm.pow",
    llvm.FCopySignOp: "llvm.copysign",
    llvm.FMAOp: "llvm.fma",
    llvm.VectorFMaxOp: "llvm.maxnum",
    llvm.VectorFMinOp: "llvm.minnum",
    values.MaximumOp: "llvm.maximum",
    values.MinimumOp: "llvm.minimum",
}


@instruction(*INTRINSICS, writes=["fastmathFlags"])
def _arithmetic_intrinsic(op: Operation, names: Names) -> str:
    suffix = _overload(names.type(op.results[0].type, op))
    return _call(op, names, f"@{INTRINSICS[type(op)]}.{suffix}", op.operands)


def _overload(word: str) -> str:
    """The type in the name of an overloaded intrinsic: `v4f32` for `<4 x float>`."""
    short = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
    if not word.startswith("<"):
        return short.get(word, word)
    length, element = word[1:-1].split(" x ")
    return f"v{length}{short.get(element, element)}"


@instruction(llvm.CallIntrinsicOp, writes=["intrin", "fastmathFlags"])
def _call_intrinsic(op: llvm.CallIntrinsicOp, names: Names) -> str:
    return _call(op, names, f"@{op.intrin.data}", op.args)


@instruction(llvm.CallOp, writes=["callee", "fastmathFlags"])
def _call_function(op: llvm.CallOp, names: Names) -> str:
    if op.callee is None:
        refuse(op, "calls through a pointer", "call a function by its name")
    return _call(op, names, symbol(op.callee.root_reference.data), op.args)


@instruction(llvm.InlineAsmOp, writes=["asm_string", "constraints", "has_side_effects", "asm_dialect"])
def _inline_asm(op: llvm.InlineAsmOp, names: Names) -> str:
    """Threads may meet in one that has side effects: LLVM must not make it depend on more conditions."""
    effects = "sideeffect " if op.has_side_effects is not None else ""
    text = f"asm {effects}{quoted(op.asm_string.data)}, {quoted(op.constraints.data)}"
    group = f" {names.group('convergent nounwind')}" if effects else ""
    return _call(op, names, text, op.operands_) + group


def _call(op: Operation, names: Names, callee: str, arguments: Sequence[SSAValue]) -> str:
    result = names.type(op.results[0].type, op) if op.results else "void"
    return f"call {_fast_math(op)}{result} {callee}({names.all_typed(arguments, op)})"


# Parts ----------------------------------------------------------------------------------------------------------------


def _word(op: Operation) -> str:
    return op.name.removeprefix("llvm.")


def _number(op: Operation, name: str, default: int) -> int:
    found = op.properties.get(name)
    return cast("IntegerAttr[Any]", found).value.data if isinstance(found, IntegerAttr) else default


def _alignment(op: Operation) -> str:
    alignment = _number(op, "alignment", 0)
    return f", align {alignment}" if alignment else ""


def _scope(op: Operation) -> str:
    scope = op.properties.get("syncscope")
    return f" syncscope({quoted(scope.data)})" if isinstance(scope, StringAttr) else ""


def _overflow(op: Operation) -> str:
    """`nuw ` and `nsw `; the flags are an attribute of their own, or the number that generic text has for it."""
    flags = op.properties.get("overflowFlags")
    number = flags.to_int() if isinstance(flags, llvm.OverflowAttr) else _number(op, "overflowFlags", 0)
    return "nuw " * (number >> 1 & 1) + "nsw " * (number & 1)


def _fast_math(op: Operation) -> str:
    flags = op.properties.get("fastmathFlags")
    if not isinstance(flags, llvm.FastMathAttr) or not flags.data:
        return ""
    every = tuple(type(next(iter(flags.data))))
    if len(flags.data) == len(every):
        return "fast "
    return "".join(f"{flag.value} " for flag in every if flag in flags.data)


def unwritten(op: Operation) -> str | None:
    """The name of a property of `op` that its text would lose, if there is one; attributes of other dialects may go."""
    for name, value in op.properties.items():
        if name in WRITTEN[type(op)] or name in ("operandSegmentSizes", "resultSegmentSizes"):
            continue
        definition = cast(Any, type(op)).get_irdl_definition().properties.get(name)
        if definition is None or definition.default_value != value:
            return name
    return next((name for name in op.attributes if "." not in name), None)
