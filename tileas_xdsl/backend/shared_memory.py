"""
How much shared memory a kernel has whose size is known, and whether that is too much.

Such memory is at most 48 KiB on every chip; more has to be dynamic, and the host asks for it.
Source: CUDA C++ Programming Guide, "Compute Capabilities".
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.backend.llvm_ir.attributes import is_kernel
from tileas_xdsl.diagnostics import refuse
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
