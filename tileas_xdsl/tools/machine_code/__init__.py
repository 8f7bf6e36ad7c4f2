"""
`tileas compile FILE -o OUT.{ll,ptx,cubin}`: machine code, what ptxas says of it, and how it is launched.

Beside OUT stands the launch contract, `OUT` with the suffix `.json`: for each kernel the threads of a block, shared
memory, registers, and what the host passes. Either both files are written or none.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.memory.program_axes import TileAxis, program_axes
from tileas_xdsl.analysis.memory.written import written_arguments
from tileas_xdsl.backend.contract import ProgramAxis
from tileas_xdsl.backend.launch import contracts_of
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.nvptx import CodeTarget
from tileas_xdsl.backend.ptx_target import ptx_of_module
from tileas_xdsl.backend.ptxas import Assembled, AssemblerError, KernelReport, assemble, find_ptxas
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.pipelines import TileIRPass, steps_to_llvm
from tileas_xdsl.tools.errors import InputError, UnsafeCodeError
from tileas_xdsl.tools.time_limit import seconds

if TYPE_CHECKING:
    from tileas_xdsl.tools.compile import LoopDecision
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
    parser.add_argument("--no-lines", action="store_true", help="write PTX without .loc, the lines of the program")
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
    refuse_what_no_chip_has(arguments.target, arguments.threads)
    if kind == CUBIN:
        ptxas_at(arguments.ptxas)


def refuse_what_no_chip_has(target: str, threads: int) -> None:
    """Raises `InputError` for a target that no PTX is written for, and for a block that there is on none."""
    problem = CodeTarget(target).problem
    if problem is not None:
        raise InputError([f"error: {problem}"])
    if not 1 <= threads <= 1024:
        raise InputError([f"error: --threads {threads}: a block has 1 to 1024 threads"])


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


@dataclass(frozen=True, kw_only=True)
class Code:
    """Machine code of a module in the kinds that were asked for, and what is known of its kernels."""

    llvm_ir: str | None = None
    ptx: str | None = None
    cubin: bytes | None = None
    kernels: list[dict[str, Any]]
    """Of each kernel what stands in the file of the launch contract."""
    lines: list[str]
    """A line for each kernel."""


def code_of(module: ModuleOp, kinds: Collection[str], how: HowCoded, judge: Judge | None) -> Code:
    """
    The machine code of a module of `llvm`. Raises `UnsafeCodeError` where `judge` (None: nobody looks) says that there
    may be none, and `InputError` where LLVM or ptxas refuse it.
    """
    try:
        contracts = [
            replace(each, programs=how.programs.get(each.name), written=how.written.get(each.name))
            for each in contracts_of(module)
        ]
    except PassFailedException as error:
        raise InputError([str(error)]) from None
    if not contracts:
        raise InputError([f"{how.source}: error: there is no kernel: no function with a body, or all are called"])
    llvm_ir, ptx, assembled = _generated(module, kinds, how)
    reports = {report.name: report for report in assembled.kernels} if assembled is not None else {}
    worths: Mapping[str, Worth] = _judged(judge, how.source) if judge is not None else {}
    kernels: list[dict[str, Any]] = []
    for contract in contracts:
        worth = worths.get(contract.name)
        judged = {"check": worth.as_data() if worth is not None else None}
        loops = [
            {"stages": loop.stages, "cycles": loop.cycles, "bound": loop.bound, "place": loop.place.rstrip(": ")}
            for loop in how.loops
            if loop.function == contract.name
        ]
        reported = _reported(reports.get(contract.name))
        kernels.append({**contract.as_data(), **reported, "loops": loops, **judged})
    cubin = assembled.cubin if assembled is not None else None
    return Code(llvm_ir=llvm_ir, ptx=ptx, cubin=cubin, kernels=kernels, lines=list(_lines(kernels, worths)))


def files(out: str, kind: str, code: Code, target: str, program: Mapping[str, Any]) -> dict[str | None, bytes]:
    """What goes into which file: the code, and the launch contract with the program that the code was made of."""
    content = {LLVM_IR: code.llvm_ir, PTX: code.ptx}.get(kind)
    data = {"target": target, "code": Path(out).name, "kernels": code.kernels, "program": program}
    contract = f"{json.dumps(data, indent=2)}\n"
    written = content.encode() if content is not None else code.cubin
    assert written is not None
    return {out: written, str(Path(out).with_suffix(".json")): contract.encode()}


@dataclass(frozen=True, kw_only=True)
class HowCoded:
    """What machine code is made for, and by what."""

    source: str
    """The file that messages name."""
    target: str
    ptxas: str | None = None
    programs: Mapping[str, tuple[ProgramAxis | None, ...] | None] = field(
        default_factory=dict[str, "tuple[ProgramAxis | None, ...] | None"]
    )
    """By kernel, what the number of programs follows from."""
    written: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict[str, "tuple[str, ...] | None"])
    """By kernel, the arrays that it may write."""
    loops: Sequence[LoopDecision] = ()
    """What the scheduler has decided."""
    with_lines: bool = True
    """Whether PTX says by `.loc` where instructions come from."""


def programs_of(module: ModuleOp) -> dict[str, tuple[ProgramAxis | None, ...] | None]:
    """By kernel, which array says how many programs there are along each axis; None where the caller has to."""
    found: dict[str, tuple[ProgramAxis | None, ...] | None] = {}
    for function, name, names in _with_bodies(module):
        axes = program_axes(function)
        found[name] = None if axes is None else tuple(_named(axis, names) for axis in axes)
    return found


def written_of(module: ModuleOp) -> dict[str, tuple[str, ...] | None]:
    """By kernel, the arrays that it may write; None where that cannot be told."""
    found: dict[str, tuple[str, ...] | None] = {}
    for function, name, names in _with_bodies(module):
        places = written_arguments(function)
        found[name] = None if places is None else tuple(names[place] for place in sorted(places))
    return found


def _with_bodies(module: ModuleOp) -> Iterator[tuple[Operation, str, list[str]]]:
    """The functions that have a body, with their names and those of their arguments."""
    for function in functions_in(module):
        view = FunctionOpInterface.of(function)
        body = view.function_body.first_block if view is not None else None
        if view is not None and body is not None:
            names = [argument.name_hint or f"argument {argument.index}" for argument in body.args]
            yield function, view.function_name, names


def _named(axis: TileAxis | None, names: Sequence[str]) -> ProgramAxis | None:
    if axis is None:
        return None
    return ProgramAxis(array=names[axis.argument], dimension=axis.dimension, extent=axis.extent)


def _judged(judge: Judge, source: str) -> Mapping[str, Worth]:
    worths = judge()
    problems = [worth.problem for worth in worths.values() if worth.problem]
    if problems:
        raise UnsafeCodeError([f"{source}: error: {problem}" for problem in problems])
    return worths


def _generated(
    module: ModuleOp, kinds: Collection[str], how: HowCoded
) -> tuple[str | None, str | None, Assembled | None]:
    """LLVM IR, PTX and a cubin, as far as one of `kinds` needs them."""
    try:
        llvm_ir = llvm_ir_of(module) if LLVM_IR in kinds else None
        with_lines = how.with_lines and PTX in kinds  # a cubin has none
        ptx = ptx_of_module(module, how.target, with_lines=with_lines) if {PTX, CUBIN} & set(kinds) else None
    except PassFailedException as error:
        raise InputError([str(error)]) from None
    if ptx is None or CUBIN not in kinds:
        return llvm_ir, ptx, None
    try:
        return llvm_ir, ptx, assemble(ptx, how.target, ptxas_at(how.ptxas))
    except AssemblerError as error:
        raise InputError([f"{how.source}: error: {error}"]) from None


def ptxas_at(explicit: str | None) -> str:
    """The path of ptxas. Raises `InputError` where there is none."""
    try:
        return find_ptxas(explicit)
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
