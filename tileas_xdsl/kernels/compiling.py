"""
A program becomes machine code, or is found in the cache.

The key of the cache is a hash of the program's text, its name (which messages have), the options, and the versions of
all that takes part: this package (its files, so that a checkout that is edited counts as another version), xDSL, LLVM
and ptxas.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from tileas_xdsl.backend.present_gpu import present_chip
from tileas_xdsl.backend.ptxas import AssemblerError, find_ptxas
from tileas_xdsl.kernels.cache import Cache
from tileas_xdsl.tools.compile import Options, keeping, lowered
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_code import (
    CUBIN,
    LLVM_IR,
    PTX,
    HowCoded,
    code_of,
    programs_of,
    refuse_what_no_chip_has,
    written_of,
)
from tileas_xdsl.tools.machine_code.default_target import chosen_target

PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Program:
    """The text of a program, and the name that messages give it."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a caller asks for; a `target` of None leaves it to the program and the machine."""

    target: str | None = None
    options: Options
    ptxas: str | None = None
    is_checked: bool = True
    seconds: float | None = None
    """Of processor time for the check of each kernel; None for no limit."""


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """The code of all kernels of a program."""

    program: Program
    options: Options
    llvm_ir: str | None
    ptx: str | None
    cubin: bytes | None
    """None where there is no ptxas."""
    kernels: Sequence[Mapping[str, Any]]
    """Of each kernel what stands in the file of a launch contract."""
    decisions: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """The same as data for JSON."""
        cubin = b64encode(self.cubin).decode() if self.cubin is not None else None
        return {**vars(self), "program": asdict(self.program), "options": asdict(self.options), "cubin": cubin}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Compiled:
        """What `as_data` gave."""
        cubin = b64decode(data["cubin"]) if data["cubin"] is not None else None
        return cls(
            program=Program(**data["program"]),
            options=Options(**data["options"]),
            llvm_ir=data["llvm_ir"],
            ptx=data["ptx"],
            cubin=cubin,
            kernels=data["kernels"],
            decisions=tuple(data["decisions"]),
        )


def compiled(program: Program, request: Request, kept: Cache | None) -> Compiled:
    """
    The code of `program`, from the cache `kept` where it is there (None: there is no cache).

    Raises `InputError` for a program that is wrong or that a pass refuses, `UnsafeCodeError` for wrong threads.
    """
    if kept is None:
        return _compiled(program, request)
    key = key_of(program, request)
    found = kept.get(key)
    if found is not None:
        return Compiled.from_data(json.loads(found))
    made = _compiled(program, request)
    kept.put(key, json.dumps(made.as_data()).encode())
    return made


def key_of(program: Program, request: Request) -> str:
    """The hash of all that decides what comes out."""
    asked = {**vars(request), "options": asdict(request.options)}
    present = present_chip() if request.target is None else None
    words = [asdict(program), asked, present, _ptxas_identity(request.ptxas), _versions()]
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


def stages_of(program: Program, options: Options) -> dict[str, str]:
    """The IR behind each pass, by the pass's number and name: the passes run again."""
    texts: dict[str, str] = {}
    module = parse_module(program.text, program.name, full_context())
    lowered(module, options, PTX, keep=keeping(texts))
    return {name.removesuffix(".mlir"): text for name, text in texts.items()}


def _compiled(program: Program, request: Request) -> Compiled:
    module = parse_module(program.text, program.name, full_context())
    chosen = chosen_target(request.target, module, is_machine_code=True)
    refuse_what_no_chip_has(chosen.name, request.options.threads)
    options, choices = replace(request.options, target=chosen.name).for_module(module)
    programs, written = programs_of(module), written_of(module)
    done = lowered(module, options, CUBIN, is_judged=request.is_checked)
    ptxas = _ptxas(request.ptxas)
    how = HowCoded(
        source=program.name, target=chosen.name, ptxas=ptxas, programs=programs, written=written, loops=done.loops
    )
    kinds = (LLVM_IR, PTX) if ptxas is None else (LLVM_IR, PTX, CUBIN)
    code = code_of(module, kinds, how, done.judge(request.seconds))
    return Compiled(
        program=program,
        options=options,
        llvm_ir=code.llvm_ir,
        ptx=code.ptx,
        cubin=code.cubin,
        kernels=code.kernels,
        decisions=(*filter(None, [chosen.line]), *choices, *done.decisions, *code.lines),
    )


def _ptxas(explicit: str | None) -> str | None:
    """Where ptxas is; None where none is. Raises `InputError` for an explicit one that is no program."""
    try:
        return find_ptxas(explicit)
    except AssemblerError as error:
        if explicit is not None:
            raise InputError([f"error: {error}"]) from None
        return None


def _ptxas_identity(explicit: str | None) -> Sequence[Any]:
    """Which ptxas it is: path, size and time, which are read sooner than its version."""
    path = _ptxas(explicit)
    return () if path is None else (path, *_state(Path(path)))


@cache
def _versions() -> Sequence[Any]:
    """The versions of xDSL and of LLVM's package, and what identifies the files of this package."""
    files = sorted(PACKAGE.rglob("*.py"))
    states = [(str(file.relative_to(PACKAGE)), *_state(file)) for file in files]
    return (_version("tileas-xdsl"), _version("xdsl"), _version("llvmlite"), states)


def _state(file: Path) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_size, status.st_mtime_ns


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def program_in(contract: Mapping[str, Any]) -> tuple[Program, Options] | None:
    """The program and the options in the file of a launch contract; None in one that has none."""
    data = contract.get("program")
    if not isinstance(data, Mapping):
        return None
    fields = cast("Mapping[str, Any]", data)
    return Program(fields["name"], fields["text"]), Options(**fields["options"])
