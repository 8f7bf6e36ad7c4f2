"""Special registers, election, register counts, exchange within a warp, inline PTX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.nvvm import registers, thread
from tileas_xdsl.dialects.nvvm.attributes import SetMaxRegisterAction, VoteSyncKind
from tileas_xdsl.dialects.nvvm.register_products import RegisterProduct
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import REGISTERS, Emitter, refusal, rule

REGISTER_PREFIX = "nvvm.read.ptx.sreg."
REGISTER_OPS = tuple(op for op in registers.REGISTER_OPS if op.name.startswith(REGISTER_PREFIX))
WIDE_OPS = (registers.Clock64Op, registers.GlobalTimerOp)
"""Registers of 64 bits; the others have 32."""


@rule(*REGISTER_OPS)
def _special_register(op: Operation, emit: Emitter) -> SSAValue:
    """A range is a promise to the optimiser: nothing is lost with it but what it would have made of it."""
    name = op.name.removeprefix(REGISTER_PREFIX).replace(".smem.size", "_smem_size")
    return emit.call(f"read.ptx.sreg.{name}", (), op.results[0].type)


@refusal(*REGISTER_OPS)
def _register_of_other_width(op: Operation) -> tuple[str, str] | None:
    width = i64 if isinstance(op, WIDE_OPS) else i32
    found = op.results[0].type
    return None if found == width else (f"reads a register of type {width} as {found}", f"read it as {width}")


@rule(registers.SetMaxRegisterOp)
def _set_max_register(op: registers.SetMaxRegisterOp, emit: Emitter) -> None:
    word = "inc" if op.action.data is SetMaxRegisterAction.INCREASE else "dec"
    emit.call(f"setmaxnreg.{word}.sync.aligned.u32", [emit.integer(op.reg_count.value.data)])


EVERY_LANE = -1


@rule(registers.ElectSyncOp)
def _elect(op: registers.ElectSyncOp, emit: Emitter) -> SSAValue:
    mask = op.membermask if op.membermask is not None else emit.integer(EVERY_LANE)
    elected = emit.call("elect.sync", [mask], LLVMStructType.from_type_list([i32, i1]))
    return emit.part(elected, 1, i1)


@rule(thread.ShflOp)
def _shuffle(op: thread.ShflOp, emit: Emitter) -> SSAValue:
    kind = "i32" if op.val.type == i32 else "f32"
    valid = "p" if op.return_value_and_is_valid is not None else ""
    return emit.call(f"shfl.sync.{op.kind.data.value}.{kind}{valid}", list(op.operands), op.res.type)


@rule(thread.VoteSyncOp)
def _vote(op: thread.VoteSyncOp, emit: Emitter) -> SSAValue:
    result = i32 if op.kind.data is VoteSyncKind.BALLOT else i1
    return emit.call(f"vote.{op.kind.data.value}.sync", [op.mask, op.pred], result)


@rule(thread.NanosleepOp)
def _nanosleep(op: thread.NanosleepOp, emit: Emitter) -> None:
    emit.call("nanosleep", [op.duration])


@rule(thread.ExitOp)
def _exit(_op: thread.ExitOp, emit: Emitter) -> None:
    emit.call("exit")


@rule(thread.InlinePtxOp)
def _inline_ptx(op: thread.InlinePtxOp, emit: Emitter) -> list[SSAValue]:
    """
    Outputs are what is written and read, then what is only written; the inputs of the former are tied to them. A struct
    is its members. Several instructions may write an output before they have read all inputs: these share no registers.
    A product of `wgmma` is given its sums in the registers of the result.
    """
    product = RegisterProduct.of(op)
    if product is not None:
        sums, *factors = op.read_only_args
        before = _taken_apart([sums], emit)
        text, tied = product.text_in_place, range(len(before))
        return [emit.assembled(text, product.sums, [*factors, *before], tied, apart=True)]
    changed = _taken_apart(op.read_write_args, emit)
    outputs = [*(value.type for value in changed), *_members(op.write_only_args)]
    inputs = _taken_apart(op.read_only_args, emit)
    text = op.ptx_code.data
    if op.predicate is not None:
        text = f"@${len(outputs) + len(inputs)} {text}"
        inputs.append(op.predicate)
    apart = ";" in text.strip("{ ;}")
    alone = [result.type for result in op.results] if len(op.results) == 1 and not changed else []
    if alone and isinstance(alone[0], LLVMStructType) and len(outputs) > 1:
        return [emit.assembled(text, alone[0], inputs, apart=apart)]
    found = emit.assembly(text, outputs, [*inputs, *changed], range(len(changed)), apart=apart)
    return found[len(changed) :]


def _members(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of the registers that values are in."""
    types = [value.type for value in values]
    return [each for type_ in types for each in (type_.types if isinstance(type_, LLVMStructType) else [type_])]


def _taken_apart(values: Sequence[SSAValue], emit: Emitter) -> list[SSAValue]:
    """The registers that values are in."""
    found: list[SSAValue] = []
    for value in values:
        if isinstance(value.type, LLVMStructType):
            found += [emit.part(value, number, type_) for number, type_ in enumerate(value.type.types)]
        else:
            found.append(value)
    return found


@refusal(thread.InlinePtxOp)
def _no_registers(op: thread.InlinePtxOp) -> tuple[str, str] | None:
    for type_ in _members((*op.operands, *op.results)):
        if str(type_) not in ("f16", "f32", "f64") and not str(type_).startswith("!llvm.ptr"):
            if type_ not in REGISTERS:
                return f"has an operand or result of type '{type_}'", "use integers, floats and pointers"
    if any(_is_read_behind(value, op) for value in op.read_write_args):
        return "changes a value in place, and other ops read it by the same name", "let the text give it as a result"
    return None


def _is_read_behind(value: SSAValue, op: Operation) -> bool:
    """Whether a use of `value` may come behind `op`."""
    others = [use.operation for use in value.uses if use.operation is not op]
    return any(other.parent is not op.parent or not other.is_before_in_block(op) for other in others)
