"""
A compiled kernel as an object: its texts, its code, its launch contract, and what is known of it.

    kernel = kernel_of("gemm.mlir", target="sm_90a")
    kernel.contract.block, kernel.report.registers, str(kernel.verdict), kernel.stages

The program stays with it, so what the commands do with the program (`check`, `timeline`, `explain`) is asked of the
kernel. A kernel that is read from files is made of the program that the launch contract holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tileas_xdsl.backend.contract import ContractError, KernelContract
from tileas_xdsl.backend.ptxas import AssemblerError, assemble, find_ptxas
from tileas_xdsl.kernels.cache import Cache
from tileas_xdsl.kernels.compiling import Compiled, Program, Request, compiled, program_in, stages_of
from tileas_xdsl.kernels.records import CodeReport, ThreadsVerdict
from tileas_xdsl.tools.compile import Options
from tileas_xdsl.tools.errors import InputError, MissingFileError
from tileas_xdsl.tools.inputs import full_context, parse_module, read_text

TEXT, MODULE = "<text>", "<module>"
"""The names of programs that are no files."""


class Kernel:
    """One kernel of a compiled program."""

    def __init__(self, made: Compiled, function: str | None) -> None:
        data = _chosen(made.kernels, function)
        self._made = made
        self.contract = KernelContract.from_data(data)
        """What the host passes, and what the launch gives."""
        self.report = CodeReport.from_data(data)
        """Registers, spills, shared memory; stages and period of each loop."""
        self.verdict = ThreadsVerdict.from_data(data.get("check"))
        """What the check of the threads said; None where nothing was checked."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.contract.name

    @property
    def target(self) -> str:
        """The chip that the code is for."""
        return self._made.options.target

    @property
    def options(self) -> Options:
        """What it was compiled with."""
        return self._made.options

    @property
    def decisions(self) -> tuple[str, ...]:
        """The lines that `tileas compile` prints."""
        return self._made.decisions

    @cached_property
    def llvm_ir(self) -> str:
        """LLVM IR of all kernels of the program."""
        return _there(self._made.llvm_ir or self._again.llvm_ir)

    @cached_property
    def ptx(self) -> str:
        """PTX of all kernels of the program."""
        return _there(self._made.ptx or self._again.ptx)

    @cached_property
    def cubin(self) -> bytes:
        """Machine code of all kernels. Raises `InputError` where there is no ptxas."""
        if self._made.cubin is not None:
            return self._made.cubin
        try:
            return assemble(self.ptx, self.target, find_ptxas()).cubin
        except AssemblerError as error:
            raise InputError([f"error: {error}"]) from None

    @cached_property
    def stages(self) -> Mapping[str, str]:
        """The IR behind each pass, by the number and name of the pass; the passes run when this is first asked for."""
        return stages_of(self._made.program, self.options)

    @cached_property
    def module(self) -> ModuleOp:
        """The program, as it was before it was compiled."""
        return parse_module(self._made.program.text, self._made.program.name, full_context())

    @cached_property
    def _again(self) -> Compiled:
        """The code of a kernel that was read from a file with other code only."""
        request = Request(target=self.target, options=self.options, is_checked=False)
        return compiled(self._made.program, request, None)

    def to_dict(self) -> dict[str, Any]:
        """What is known of the kernel as plain data, without its code."""
        verdict = self.verdict.to_dict() if self.verdict is not None else None
        contract = self.contract.as_data()
        return {"target": self.target, "contract": contract, "report": self.report.to_dict(), "verdict": verdict}

    def __repr__(self) -> str:
        said = f"{self.verdict}".partition(";")[0] if self.verdict is not None else "threads: not checked"
        return f"Kernel(@{self.name} on {self.target}: {', '.join(_facts(self))}; {said})"

    def _repr_html_(self) -> str:
        parameters = "".join(
            f"<tr><td>{escape(each.name)}</td><td>{escape(_described(each.as_data()))}</td></tr>"
            for each in self.contract.parameters
        )
        verdict = str(self.verdict) if self.verdict is not None else "threads: not checked"
        lines = [*_facts(self), *_loops(self), verdict]
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        head = f"<b>@{escape(self.name)}</b> on {escape(self.target)}"
        return f"<div>{head}<ul>{items}</ul><table><tr><th>parameter</th><th></th></tr>{parameters}</table></div>"


def kernel_of(
    source: str | Path | ModuleOp, request: Request, *, function: str | None = None, is_cached: bool = True
) -> Kernel:
    """
    The kernel `function` (None: the only one) of a program: a file, a text, or a module.

    Raises what `compiled` raises, and `InputError` where it has to be said which kernel.
    """
    return Kernel(compiled(program_of(source), request, Cache.default() if is_cached else None), function)


def program_of(source: str | Path | ModuleOp) -> Program:
    """
    The text of a program. A `str` is a file if it ends in `.mlir` and has one line. Raises `MissingFileError`, and
    `InputError` for what is not UTF-8.
    """
    if isinstance(source, ModuleOp):
        text = StringIO()
        Printer(stream=text).print_op(source)
        return Program(MODULE, f"{text.getvalue()}\n")
    if isinstance(source, Path) or (source.endswith(".mlir") and "\n" not in source):
        return Program(str(source), _read(str(source)))
    return Program(TEXT, source)


def loaded(file: str | Path, *, function: str | None = None) -> Kernel:
    """
    The kernel of a file that `tileas compile` wrote (`.ll`, `.ptx` or `.cubin`), with its contract beside it.

    What the file does not hold is made of the program in the contract, when it is asked for. Raises `MissingFileError`,
    and `InputError` for files that are no code with a contract.
    """
    path = Path(file)
    if path.suffix not in HOLDS:
        raise InputError([f"{path}: error: this is no machine code: its name ends with one of {', '.join(HOLDS)}"])
    code, beside = _bytes(path), path.with_suffix(".json")
    try:
        contract: Any = json.loads(_bytes(beside))
        found = program_in(contract)
        if found is None:
            raise ContractError("it holds no program: `tileas compile` of this version writes one")
        kernels = cast("Sequence[Mapping[str, Any]]", contract["kernels"])
    except (ValueError, KeyError, TypeError, AttributeError, ContractError) as error:
        raise InputError([f"{beside}: error: this is no launch contract: {error}"]) from None
    program, options = found
    held = HOLDS[path.suffix]
    made: dict[str, Any] = {"llvm_ir": None, "ptx": None, "cubin": None}
    made[held] = code if held == "cubin" else code.decode()
    return Kernel(Compiled(program=program, options=options, kernels=kernels, decisions=(), **made), function)


HOLDS = {".ll": "llvm_ir", ".ptx": "ptx", ".cubin": "cubin"}
"""Which code stands in which file."""


def _read(file: str) -> str:
    try:
        return read_text(file)
    except FileNotFoundError:
        raise MissingFileError([f"{file}: error: no such file or directory"]) from None


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise MissingFileError([f"{file}: error: no such file or directory"]) from None
    except OSError as error:
        raise InputError([f"{file}: error: {error.strerror or error}"]) from None


def _chosen(kernels: Sequence[Mapping[str, Any]], function: str | None) -> Mapping[str, Any]:
    names = [str(kernel["name"]) for kernel in kernels]
    if function is None and len(kernels) != 1:
        raise InputError([f"error: say by function= which kernel: {', '.join(names)}"])
    found = next((kernel for kernel in kernels if function in (None, kernel["name"])), None)
    if found is None:
        raise InputError([f"error: there is no kernel '{function}'; there are: {', '.join(names)}"])
    return found


def _there(code: str | None) -> str:
    assert code is not None, "whoever compiles for a cubin writes LLVM IR and PTX"
    return code


def _facts(kernel: Kernel) -> list[str]:
    """Threads, registers, spills and shared memory, as far as they are known."""
    block, report = kernel.contract.block, kernel.report
    facts = [f"{block[0] * block[1] * block[2]:,} threads a block" if block is not None else "any number of threads"]
    if report.registers is not None:
        facts += [f"{report.registers} registers a thread", f"{report.spill_bytes:,} bytes spilled"]
    if report.shared_bytes is not None:
        facts.append(f"{report.shared_bytes:,} bytes of shared memory")
    if report.serialized_products:
        facts.append(f"products one by one ({report.serialized_products})")
    return facts


def _loops(kernel: Kernel) -> list[str]:
    return [
        f"{loop.place}: {loop.stages} stages, a turn every {loop.cycles:,} cycles ({loop.bound})"
        for loop in kernel.report.loops
    ]


def _described(parameter: Mapping[str, Any]) -> str:
    words = [str(parameter["kind"])]
    for what, value in parameter.items():
        if what not in ("name", "kind") and value is not None:
            words.append(f"{what} {value}")
    return ", ".join(words)
