"""
`tileas compile FILE -o OUT.{ll,ptx,cubin}`: machine code, what ptxas says of it, and how it is launched.

Beside OUT stands the launch contract, `OUT` with the suffix `.json`: for each kernel the threads of a block, shared
memory, registers, and what the host passes. Either both files are written or none.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.backend.launch import contracts_of
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.nvptx import Chip
from tileas_xdsl.backend.ptx_target import ptx_of_module
from tileas_xdsl.backend.ptxas import AssemblerError, KernelReport, assemble, find_ptxas
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.pipelines import TileIRPass, steps_to_llvm
from tileas_xdsl.tools.errors import InputError, UnsafeCodeError
from tileas_xdsl.tools.seconds import seconds

if TYPE_CHECKING:
    from tileas_xdsl.tools.machine_code.validation import Worth

LLVM_IR, PTX, CUBIN = ".ll", ".ptx", ".cubin"
KINDS = (LLVM_IR, PTX, CUBIN)
OF_PROGRAMS = ("", ".mlir", ".ttgir")
"""Endings of what is written as a program: devices and pipes have none."""
TO_KERNELS = "convert-nv-tile-func-to-llvm"
"""The first of the passes that lower what agents are."""
TO_PLACES = ("tileas-place-tiles", "tileas-order-accesses")
"""Those that say where tiles lie, and what waits for what."""
TO_THREADS = (TO_KERNELS, *TO_PLACES, "convert-pipeline-to-nvvm", "convert-nv-tileas-to-llvm")
TO_LLVM = "convert-to-llvm"
"""The first pass behind threads of nvvm and llvm: what it is given is checked."""
READ_BY_LLVM = "convert-nvvm-to-llvm"
"""The last of them: where LLVM goes on from its text, LLVM verifies it (and dominance, too)."""
HANDED_ON = (*TO_THREADS, "inject-software-pipeline", "convert-queue-to-nvvm", TO_LLVM)
"""Passes whose thousands of ops the last one behind them takes on at once: only what that makes is verified."""
CHECK_SECONDS = 20.0
"""Of processor time for the check of each kernel, unless the caller gives a number."""
Judge = Callable[[], Mapping[str, "Worth"]]
"""Says what the threads of each kernel are worth, by name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that machine code has beside those of a program."""
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads a block of kernels (default: 1)")
    parser.add_argument("--ptxas", metavar="PATH", help="the assembler (default: as in TILEAS_PTXAS, the path, wheels)")
    parser.add_argument(
        "--check-timeout",
        type=seconds,
        default=CHECK_SECONDS,
        metavar="SECONDS",
        help="processor time after which the check of a kernel's threads ends with what is known; none for no limit "
        f"(default: {CHECK_SECONDS:g})",
    )
    parser.add_argument("--no-check", action="store_true", help="write machine code without a check of its threads")


def wanted(arguments: argparse.Namespace) -> str | None:
    """
    The kind of machine code that is asked for; None for a program. Raises `InputError` for a name with an ending that
    says neither.
    """
    suffix = Path(arguments.out).suffix if arguments.out is not None else ""
    if suffix in KINDS:
        return suffix
    if suffix not in OF_PROGRAMS:
        endings = ", ".join((*filter(None, OF_PROGRAMS), *KINDS))
        raise InputError([f"error: -o {arguments.out}: no file is written with the ending {suffix}; use {endings}"])
    return None


def refuse_what_cannot_be_had(arguments: argparse.Namespace, kind: str | None) -> None:
    """Raises `InputError` for a target without machine code, a block that is none, and a cubin without ptxas."""
    if kind is None:
        return
    problem = Chip(arguments.target).problem
    if problem is not None:
        raise InputError([f"error: {problem}"])
    if not 1 <= arguments.threads <= 1024:
        raise InputError([f"error: --threads {arguments.threads}: a block has 1 to 1024 threads"])
    if kind == CUBIN:
        _ptxas(arguments)


def steps(driver: TileIRPass, module: ModuleOp, threads: int) -> Iterator[ModulePass]:
    """The passes down to `llvm`; those of the family only where there are tiles."""
    if has_tiles(module):
        yield from driver.steps()
    yield from steps_to_llvm(module, threads)


def has_tiles(module: ModuleOp) -> bool:
    """Whether the passes of the family have something to do."""
    return any(op_name(op).startswith("nv_tile") for op in module.walk())


def is_verified_by_next(name: str, kind: str | None) -> bool:
    """Whether what the pass `name` makes need not be verified where `kind` is wanted: who reads it next does that."""
    return name in HANDED_ON or (name == READ_BY_LLVM and kind in (PTX, CUBIN))


def files(
    kind: str, module: ModuleOp, arguments: argparse.Namespace, judge: Judge | None
) -> tuple[Mapping[str | None, bytes], list[str]]:
    """
    What goes into which file, and a line for each kernel. Raises `UnsafeCodeError` where `judge` (None: nobody looks)
    says that there may be no file.
    """
    try:
        contracts = list(contracts_of(module))
    except PassFailedException as error:
        raise InputError([str(error)]) from None
    if not contracts:
        raise InputError([f"{arguments.file}: error: there is no kernel: no function with a body, or all are called"])
    content, reports = _generated(kind, module, arguments)
    worths: Mapping[str, Worth] = _judged(judge, arguments) if judge is not None else {}
    for contract in contracts:
        contract |= _reported(reports.get(contract["name"]))
        worth = worths.get(contract["name"])
        contract["check"] = worth.as_data() if worth is not None else None
    text = json.dumps({"target": arguments.target, "code": Path(arguments.out).name, "kernels": contracts}, indent=2)
    contract_file = str(Path(arguments.out).with_suffix(".json"))
    return {arguments.out: content, contract_file: f"{text}\n".encode()}, list(_lines(contracts, worths))


def _judged(judge: Judge, arguments: argparse.Namespace) -> Mapping[str, Worth]:
    worths = judge()
    problems = [worth.problem for worth in worths.values() if worth.problem]
    if problems:
        raise UnsafeCodeError([f"{arguments.file}: error: {problem}" for problem in problems])
    return worths


def _generated(kind: str, module: ModuleOp, arguments: argparse.Namespace) -> tuple[bytes, Mapping[str, KernelReport]]:
    try:
        if kind == LLVM_IR:
            return llvm_ir_of(module).encode(), {}
        ptx = ptx_of_module(module, arguments.target)
    except PassFailedException as error:
        raise InputError([str(error)]) from None
    if kind == PTX:
        return ptx.encode(), {}
    try:
        assembled = assemble(ptx, arguments.target, _ptxas(arguments))
    except AssemblerError as error:
        raise InputError([f"{arguments.file}: error: {error}"]) from None
    return assembled.cubin, {report.name: report for report in assembled.kernels}


def _ptxas(arguments: argparse.Namespace) -> str:
    try:
        return find_ptxas(arguments.ptxas)
    except AssemblerError as error:
        raise InputError([f"error: {error}"]) from None


def _reported(report: KernelReport | None) -> dict[str, Any]:
    """What ptxas says; nothing where it has not been asked."""
    if report is None:
        return {}
    return {
        "registers": report.registers,
        "spill_bytes": report.spills,
        "stack_bytes": report.stack,
        "static_shared_bytes": report.shared,
        "barriers": report.barriers,
        "serialized_products": report.serialized,
    }


def _lines(contracts: Sequence[Mapping[str, Any]], worths: Mapping[str, Worth]) -> Iterator[str]:
    for contract in contracts:
        words = [_threads(contract["block"])]
        if "registers" in contract:
            words += [
                f"{contract['registers']} registers a thread",
                f"{contract['spill_bytes']:,} bytes spilled",
                _shared_memory(contract["static_shared_bytes"], contract["dynamic_shared_bytes"]),
            ]
            if contract["serialized_products"]:
                words.append(f"products one by one ({contract['serialized_products']})")
        worth = worths.get(contract["name"])
        yield f"@{contract['name']}: {', '.join(words)}; {worth.line if worth is not None else 'threads: not checked'}"


def _shared_memory(static: int, dynamic: int | str) -> str:
    """What the kernel has itself, and what the launch gives it."""
    if not isinstance(dynamic, int):
        return f"{static:,} bytes of shared memory, and more by {dynamic}"
    return f"{static + dynamic:,} bytes of shared memory"


def _threads(block: Sequence[int] | None) -> str:
    if block is None:
        return "any number of threads"
    count = prod(block)
    return f"{count} thread{'s' * (count != 1)} a block"
