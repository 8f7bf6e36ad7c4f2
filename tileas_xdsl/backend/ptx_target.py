"""
`xdsl-opt -t 'ptx{arch=sm_90a}'`: a module of the `llvm` dialect as PTX.

Where LLVM has no instruction for an op, it names a node of its own graph, or an intrinsic, or nothing, and its process
is over. So each kind of op is put into a function of its own, and translated alone: the first that ends LLVM again is
the one.

Shared memory of a kernel whose size is known is at most 48 KiB on every chip; more has to be dynamic, and the host asks
for it. Source: CUDA C++ Programming Guide, "Compute Capabilities".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from tileas_xdsl.backend.code_generation import CodeGenerationError, MissingLLVMError, generate, ptx_of
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.llvm_ir.attributes import is_kernel
from tileas_xdsl.backend.llvm_ir.instructions import CONSTANTS
from tileas_xdsl.backend.llvm_ir.lines import tidied
from tileas_xdsl.backend.nvptx import CodeTarget
from tileas_xdsl.diagnostics import Error, refuse
from tileas_xdsl.dialects.llvm_sizes import OpaqueTypeError, size_and_alignment

MOST_BYTES = 48 * 1024
SHARED_SPACE = 3


def refuse_too_much(module: ModuleOp) -> None:
    """Refuse a kernel with more shared memory of known size than there may be, and say which buffers have it."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    sizes = {name: size for name, size in _shared_globals(module) if size}
    for kernel in functions.values():
        if not is_kernel(kernel):
            continue
        addressed = set(_addressed(kernel, functions))
        used = [name for name in sizes if name in addressed]
        total = sum(sizes[name] for name in used)
        if total > MOST_BYTES:
            each = ", ".join(f"@{name} {sizes[name]:,}" for name in used)
            refuse(
                kernel,
                f"has {total:,} bytes of shared memory of known size ({each}), and {MOST_BYTES:,} is the most",
                "make the buffers smaller, or use fewer stages",
            )


def _shared_globals(module: ModuleOp) -> Iterator[tuple[str, int]]:
    for op in module.ops:
        if isinstance(op, llvm.GlobalOp) and op.addr_space.value.data == SHARED_SPACE:
            yield op.sym_name.data, _size(op)


def _size(buffer: llvm.GlobalOp) -> int:
    try:
        return size_and_alignment(buffer.global_type)[0]
    except OpaqueTypeError as error:
        refuse(buffer, str(error), "give it a type of known size")


def _addressed(kernel: llvm.FuncOp, functions: dict[str, llvm.FuncOp]) -> Iterator[str]:
    """The globals that a kernel and what it calls take the addresses of."""
    seen = {kernel.sym_name.data}
    waiting = [kernel]
    while waiting:
        for op in waiting.pop().walk():
            if isinstance(op, llvm.AddressOfOp):
                yield op.global_name.root_reference.data
            if isinstance(op, llvm.CallOp) and op.callee is not None:
                name = op.callee.root_reference.data
                if name in functions and name not in seen:
                    seen.add(name)
                    waiting.append(functions[name])


NO_CANDIDATES = (ModuleOp, llvm.FuncOp, llvm.GlobalOp, llvm.CallOp, llvm.AllocaOp)
"""Ops that name others, or that always have code."""


def culprit(module: ModuleOp, chip: CodeTarget) -> tuple[Operation, str] | None:
    """The first op in the program that has no code on `chip` even alone, and LLVM's reason; None if there is none."""
    candidates = list(_one_of_each_kind(module))
    if not candidates:
        return None
    generated = generate([llvm_ir_of(_alone(op)) for op in candidates], chip)
    if generated.reason is None:
        return None
    return candidates[len(generated.outputs)], generated.reason


def has_code(op: Operation, chip: CodeTarget) -> bool:
    """Whether `op` alone has code on `chip`."""
    return generate([llvm_ir_of(_alone(op))], chip).reason is None


def _one_of_each_kind(module: ModuleOp) -> Iterator[Operation]:
    seen: set[tuple[object, ...]] = set()
    for op in module.walk():
        if isinstance(op, NO_CANDIDATES) or type(op) in CONSTANTS or op.has_trait(IsTerminator):
            continue
        kind = (op.name, tuple(_described(value) for value in op.operands), tuple(op.properties.items()))
        if kind not in seen:
            seen.add(kind)
            yield op


def _described(value: SSAValue) -> tuple[Attribute, object]:
    """What of an operand decides about the instruction: its type, and its number where that is constant."""
    owner = value.owner
    is_number = isinstance(owner, llvm.ConstantOp)
    return value.type, owner.value if is_number else None


def _alone(op: Operation) -> ModuleOp:
    """A module with one function that takes the operands of `op`, does it, and returns its result."""
    free = [value for value in dict.fromkeys(op.operands) if not isinstance(value.owner, llvm.ConstantOp)]
    block = Block(arg_types=[value.type for value in free])
    mapped: dict[SSAValue, SSAValue] = dict(zip(free, block.args, strict=True))
    for value in op.operands:
        if isinstance(value.owner, llvm.ConstantOp):
            constant = value.owner.clone()
            block.add_op(constant)
            mapped[value] = constant.result
    copy = op.clone(mapped)
    block.add_op(copy)
    block.add_op(llvm.ReturnOp(*copy.results))
    result = copy.results[0].type if copy.results else llvm.LLVMVoidType()
    type_ = llvm.LLVMFunctionType([value.type for value in free], result)
    return ModuleOp([llvm.FuncOp("alone", type_, llvm.LinkageAttr("external"), body=Region(block))])


class NoPTXError(PassFailedException, Error):
    """There is no PTX of the module, and no op alone is to blame."""


@dataclass(frozen=True)
class PTXTarget(Target):
    """
    Write PTX for `arch`, with the lines of the program (`.loc`) if there are `lines`.

    Requires: only ops of `llvm`; llvmlite (`pip install 'tileas-xdsl[ptx]'`).
    Refuses: what `llvm-ir` refuses; kernels with more than 48 KiB of shared memory whose size is known; ops that the
    chip has no instruction for, by name; chips that are not known.
    """

    name = "ptx"

    arch: str = field(default="sm_90a", metadata={"help": "the chip"})
    lines: bool = field(default=True, metadata={"help": "say by .loc where instructions come from"})

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(ptx_of_module(module, self.arch, with_lines=self.lines))


def ptx_of_module(module: ModuleOp, arch: str, *, with_lines: bool = True) -> str:
    """
    The PTX of a module of `llvm` for the chip `arch`, `with_lines` with `.loc` for each place in the program; an op
    without an instruction there is refused by name.
    """
    chip = CodeTarget(arch)
    if chip.problem is not None:
        raise NoPTXError(f"error: {chip.problem}")
    text = llvm_ir_of(module, names_structs=True, with_lines=with_lines)
    refuse_too_much(module)
    try:
        return tidied(ptx_of(text, chip))
    except MissingLLVMError as error:
        raise NoPTXError(f"error: {error}") from None
    except CodeGenerationError as error:
        found = culprit(module, chip)
        if found is None:
            raise NoPTXError(f"error: LLVM writes no PTX for {arch}: {error}") from None
        op, reason = found
        refuse(op, f"has no instruction on {arch}: {reason}", _way_out(op, chip))


def _way_out(op: Operation, chip: CodeTarget) -> str:
    """What to do about an op without an instruction: some are of one chip alone, and of no later one."""
    own = chip.with_own_instructions
    if own is not None and has_code(op, own):
        return f"use {own.name}: it has the instructions of that chip alone"
    return "lower it to ops that have, or take another target"
