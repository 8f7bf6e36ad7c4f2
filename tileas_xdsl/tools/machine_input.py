"""
Shared by the subcommands that use the machine: a file with its text at hand, `NAME=VALUE` options, errors of the
machine with a place in front, and JSON on standard output.

Kernels in what `MLIR_ENABLE_DUMP=1` makes Triton write on standard error: the module before every pass.

    // -----// IR Dump Before TritonGPUPipeline: tritongpu-pipeline{...} ('builtin.module' operation) //----- //
    #blocked = ...
    module attributes {...} {

Of each kernel it is the last module in TTGIR that is of interest: what comes behind it has room for warps and for
memory laid out, and is on its way to LLVM. Another is picked by the name of the pass that it stands before.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.checker.verdict.preconditions import stated_in
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.arguments import ArgumentError, public_functions
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.parts.programs import AXES
from tileas_xdsl.tools.errors import InputError, OutOfTimeError, place_of
from tileas_xdsl.tools.inputs import STDIN, full_context, is_kernel, parse_module, read_program, read_text
from tileas_xdsl.tools.ptx import LaunchOptions, is_ptx, options_of
from tileas_xdsl.tools.python import PythonFile, PythonKernel, asks_for_launches, kernels_of_python
from tileas_xdsl.tools.rendering import Source

HEADER = re.compile(r"^// -----// .*?IR Dump (?:Before|After:?) (\w+)(?:: ([\w-]+))?.*$", re.MULTILINE)
"""Matches the line in front of a module; gives the class and the name of the pass."""
KERNEL = re.compile(r"^ *(?:tt|llvm)\.func (?:public )?@(\w+)\(", re.MULTILINE)
BEGINNING = re.compile(r"^(?:#\w+ = |module\b)", re.MULTILINE)
END = re.compile(r"^\}.*\n(?:#\w+ = .*\n)*", re.MULTILINE)
"""Matches the end of a module, and the aliases behind it."""
LAID_OUT = ('"ttg.total-num-warps"', "llvm.func")
"""One of these stands in every module behind TTGIR."""


@dataclass(frozen=True)
class DumpedModule:
    """One module of a dump."""

    kernel: str
    passes: tuple[str, str]
    """The class and the name of the pass that it stands before."""
    text: str
    """With as many empty lines in front as there are in the dump, so that its places are those of the dump."""

    @property
    def is_behind_ttgir(self) -> bool:
        return any(mark in self.text for mark in LAID_OUT)


def is_dump(text: str) -> bool:
    """Whether `text` is a dump of modules, and no module."""
    return HEADER.search(text) is not None


def kernels_in(text: str, stage: str | None = None) -> list[DumpedModule]:
    """
    One module of each kernel in a dump: the last one in TTGIR, or the last one before the pass called `stage`, by the
    name that it has in a pipeline or by that of its class.

    Raises `InputError` where there is none.
    """
    kernels = list(_one_kernel_after_the_other(modules_in(text)))
    if not kernels:
        raise InputError(["error: this dump of Triton has no module with a kernel in it"])
    if stage is not None:
        found = [[module for module in modules if stage in module.passes] for modules in kernels]
        if not any(found):
            known = dict.fromkeys(module.passes[1] for modules in kernels for module in modules if module.passes[1])
            raise InputError(
                [f"error: --dump-stage {stage}: no module stands before that pass; there are: {', '.join(known)}"]
            )
        return [modules[-1] for modules in found if modules]
    found = [[module for module in modules if not module.is_behind_ttgir] for modules in kernels]
    return [modules[-1] for modules in found if modules]


def modules_in(text: str) -> Iterator[DumpedModule]:
    """All modules of a dump, in order."""
    headers = list(HEADER.finditer(text))
    for header, after in pairwise([*headers, None]):
        assert header is not None
        body = text[header.end() : after.start() if after is not None else len(text)]
        beginning, end = BEGINNING.search(body), END.search(body)
        kernel = KERNEL.search(body)
        if beginning is None or kernel is None:
            continue
        lines_before = text.count("\n", 0, header.end() + beginning.start())
        module = body[beginning.start() : end.end() if end is not None else len(body)]
        yield DumpedModule(kernel[1], (header[1], header[2] or ""), "\n" * lines_before + module)


def _one_kernel_after_the_other(modules: Iterator[DumpedModule]) -> Iterator[list[DumpedModule]]:
    """The modules of each kernel: another begins with another name, and where TTGIR comes behind what it becomes."""
    current: list[DumpedModule] = []
    for module in modules:
        is_next = current and (
            current[-1].kernel != module.kernel or (current[-1].is_behind_ttgir and not module.is_behind_ttgir)
        )
        if is_next:
            yield current
            current = []
        current.append(module)
    if current:
        yield current


@dataclass(frozen=True)
class Input:
    """A verified module and the text that it was read from."""

    module: ModuleOp
    source: Source
    function: str | None = None
    """The only function that was read, where a part of its name was asked for."""
    title: str | None = None
    """What it is called where there are several: `matmul for sm_90`."""
    complaint: InputError | None = None
    """Why there is nothing to be checked."""
    preconditions: Sequence[str] = ()
    """What its source states of its arguments."""
    tile_ir: ModuleOp | None = None
    """The Tile IR that it was made of, where it is a kernel in cuTile Python."""
    origin: PythonFile | None = None
    """The Python file that it was compiled from."""
    read_again: Callable[[str], ModuleOp] | None = None
    """What another text of PTX is with the same launch. Raises `InputError`."""


def read_input(
    path: str,
    *,
    allow_unregistered: bool = False,
    arguments: argparse.Namespace | None = None,
    with_numbers: bool = False,
) -> Input:
    """
    The module in the file `path`. For PTX the `arguments` say what a launch has to say; without them it is refused. All
    its numbers are read only `with_numbers`.
    Raises `InputError`, and `OSError` where the file cannot be read.
    """
    name, text = read_program(path, getattr(arguments, "target", None))
    if is_ptx(path, text):
        if arguments is None:
            raise InputError([f"{name}: error: this command does not read PTX; use tileas check, run or timeline"])
        options = replace(options_of(arguments), with_numbers=with_numbers)
        module = _kernels_in_ptx(text, path, options, arguments)
        return Input(module, Source(name, text), public_functions(module)[0] if arguments.function else None)
    module = parse_module(text, name, full_context(allow_unregistered=allow_unregistered))
    return Input(module, Source(name, text))


def _kernels_in_ptx(text: str, path: str, options: LaunchOptions, arguments: argparse.Namespace) -> ModuleOp:
    from tileas_xdsl.tools.ptx.kernels import module_of_ptx

    return module_of_ptx(text, path, options, asked_function(arguments))


def read_kernels(
    path: str, stage: str | None, *, allow_unregistered: bool = False, arguments: argparse.Namespace | None = None
) -> list[Input]:
    """
    The module in the file `path`, or one of each kernel where it is a dump of Triton (see above, also for
    `stage`). For PTX the `arguments` say what a launch has to say. Raises `InputError`, and `OSError` where the file
    cannot be read.
    """
    if arguments is not None and asks_for_launches(path, arguments):
        return [of_python(each) for each in kernels_of_python(path, arguments.target, arguments.call)]
    if is_kernel(path):
        return [_of_kernel(path)]
    name = "<stdin>" if path == STDIN else path
    text = read_text(path)
    if arguments is not None and is_ptx(path, text):
        options = options_of(arguments)
        module = _kernels_in_ptx(text, path, options, arguments)
        function = public_functions(module)[0] if arguments.function else None
        title = f"@{', @'.join(public_functions(module))} in PTX" if arguments.level == "ptx" else None
        quiet = replace(options, remarks=False)

        def read_again(text: str) -> ModuleOp:
            return _kernels_in_ptx(text, path, quiet, arguments)

        source = Source(name, text)
        return [Input(module, source, function, title, preconditions=stated_in(text), read_again=read_again)]
    if arguments is not None and (multiples := options_of(arguments).tiles):
        raise InputError([f"{name}: error: --arg {next(iter(multiples))}: only of PTX multiples are read"])
    if is_dump(text):
        texts = [dumped.text for dumped in kernels_in(text, stage)]
    elif stage is not None:
        raise InputError([f"{name}: error: --dump-stage picks a module of a dump of Triton, and this is no dump"])
    else:
        texts = [text]
    inputs: list[Input] = []
    for each in texts:
        module = parse_module(each, name, full_context(allow_unregistered=allow_unregistered))
        inputs.append(Input(module, Source(name, each), preconditions=stated_in(each)))
    return inputs


def of_python(kernel: PythonKernel) -> Input:
    """The text of a kernel as a module, which is empty if it does not compile."""
    text, name = kernel.ttgir or "", f"<{kernel.title}>"
    module = parse_module(text, name, full_context()) if text else ModuleOp([])
    return Input(
        module,
        Source(name, text),
        title=kernel.title,
        complaint=kernel.complaint,
        preconditions=kernel.preconditions,
        tile_ir=kernel.tile_ir,
        origin=kernel.origin,
    )


def _of_kernel(path: str) -> Input:
    """A kernel in cuTile Python with its words."""
    from tileas_xdsl.tools.python.cutile import exported_kernel

    exported = exported_kernel(path)
    return Input(
        parse_module(exported.text, path, full_context()), Source(path, exported.text), tile_ir=exported.tile_ir
    )


@contextmanager
def machine_errors(source: Source) -> Generator[None]:
    """What the machine says about arguments and ops becomes an `InputError` with a place in front."""
    try:
        yield
    except ArgumentError as error:
        raise InputError([f"{source.name}: error: {error}"]) from None
    except (UnsupportedError, UndecidedError) as error:
        place = place_of(error.op) or source.name
        kind = OutOfTimeError if isinstance(error, TimeUpError) else InputError
        raise kind([f"{place}: error: '{op_name(error.op)}' op {error.reason}"]) from None


def asked_function(arguments: argparse.Namespace) -> str | None:
    """The name behind `--function`, with or without its `@`; None where there is none."""
    return arguments.function.removeprefix("@") if arguments.function is not None else None


def add_capture(parser: argparse.ArgumentParser) -> None:
    """The option `--capture`."""
    parser.add_argument(
        "--capture",
        choices=["completion", "issue"],
        default="completion",
        help="when asynchronous work reads its sources: any time until it completes (the default), or when issued",
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the option that says how many threads run a function."""
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="number of threads of a function that does not state it, as nvvm.reqntid does (default: one)",
    )


def add_programs(parser: argparse.ArgumentParser, of_what: str) -> None:
    """Add the option that says how many programs there are; `of_what` says what becomes of them."""
    parser.add_argument(
        "--programs", type=programs_given, metavar="N[xM[xK]]", help=f"number of programs in a grid: {of_what}"
    )


def programs_given(text: str) -> tuple[int, ...]:
    """The extents `4x2` of a grid. Raises `ArgumentTypeError`."""
    parts = text.split("x")
    if not all(part.isdecimal() for part in parts) or len(parts) > AXES:
        raise argparse.ArgumentTypeError(f"'{text}' is no grid of programs: write 8, or 4x2 for two axes")
    return tuple(map(int, parts))


def named_values(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """(NAME, VALUE) of each `NAME=VALUE` behind `option`. Raises `InputError` for one that is not of that form."""
    pairs: list[tuple[str, str]] = []
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().removeprefix("%")
        if not (name and equals and value):
            raise InputError([f"error: {option} {text}: write {option} NAME=VALUE"])
        pairs.append((name, value))
    return pairs


def print_json(data: Any) -> None:
    """Standard JSON, which has no infinities and no nan: those become strings."""
    print(json.dumps(_standard(data), indent=2, allow_nan=False))


def _standard(data: Any) -> Any:
    match data:
        case dict():
            return {str(key): _standard(value) for key, value in cast("dict[Any, Any]", data).items()}
        case list() | tuple():
            return [_standard(value) for value in cast("Sequence[Any]", data)]
        case float() if not math.isfinite(data):
            return str(data)
        case _:
            return data
