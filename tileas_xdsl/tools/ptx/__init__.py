"""
PTX as input of a subcommand: its options, the JSON beside it, and its errors with a place in front.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tensor_maps import TensorMap
from tileas_xdsl.readers.ptx.launch import MAP_BYTES, Launch, Tiles, launch_of, map_from_text
from tileas_xdsl.readers.ptx.parser import is_ptx as begins_as_ptx
from tileas_xdsl.readers.ptx.reading import Reading, read_ptx
from tileas_xdsl.readers.ptx.syntax import Extents, Function, PtxError
from tileas_xdsl.tools.errors import InputError

SUFFIX = ".ptx"
EXAMPLE = "f16[128x64]:swizzle=128"
OFFSET_IN = re.compile(r"(?:#|p)?(\d+)(?:[+_](\d+))?")
"""A parameter by its number, and an offset in it: `#0+128`, `p3`."""

MULTIPLES = re.compile(r"(\d+)\*[A-Za-z_]\w*(?:\+(\d+))?")


@dataclass(frozen=True)
class LaunchOptions:
    """What options say of a launch."""

    file: str | None = None
    """The JSON; None: the one beside the text, if there is one."""
    block: Extents | None = None
    cluster: Extents | None = None
    shared: int | None = None
    tensor_maps: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameter -> what the tensor map there maps, as `f16[128x64]:swizzle=128`."""
    remarks: bool = False
    strict_tcgen05: bool = False
    """Whether fences of tensor memory are asked for where a kernel has none at all."""
    with_numbers: bool = False
    """Whether all numbers are read, to run the kernel."""
    fixed: frozenset[str] = frozenset()
    """Names of parameters that have a number, which is one of elements, not of tiles."""
    tiles: Mapping[str, Tiles] = field(default_factory=dict[str, Tiles])
    """Names of parameters that are multiples."""


def add_launch(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what a launch says of PTX."""
    group = parser.add_argument_group("options of PTX")
    group.add_argument("--launch", metavar="JSON", help="how the kernel is launched (default: the .json beside FILE)")
    group.add_argument("--block", type=extents_given, metavar="N[,M[,K]]", help="the threads of a block")
    group.add_argument("--cluster", type=extents_given, metavar="N[,M[,K]]", help="the blocks of a cluster")
    group.add_argument("--shared", type=int, metavar="BYTES", help="dynamic shared memory")
    group.add_argument(
        "--tensor-map",
        metavar="P=BOX",
        action="append",
        default=[],
        help=f"type, box and swizzle of the tensor map in parameter P, such as P={EXAMPLE}",
    )
    group.add_argument(
        "--strict-tcgen05",
        action="store_true",
        help="require tensor-memory fences even if a kernel has none, and a wait before registers are read",
    )
    group.add_argument(
        "--level",
        choices=["ttgir", "ptx"],
        default="ttgir",
        help="ptx: in folders such as Triton's cache, check the PTX beside TTGIR, too",
    )
    group.add_argument("--remarks", action="store_true", help="list instructions whose results are not followed")


def extents_given(text: str) -> Extents:
    """The extents `128,2`. Raises `ArgumentTypeError`."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' does not have one to three numbers from 1 on, as 128 or 16,16")
    return tuple(map(int, parts))


def options_of(arguments: argparse.Namespace) -> LaunchOptions:
    """The options as given. Raises `InputError`."""
    maps: dict[str, str] = {}
    for text in arguments.tensor_map:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InputError([f"error: --tensor-map {text}: write --tensor-map P={EXAMPLE}"])
        maps[name.strip()] = value.strip()
    given = [(name.strip().removeprefix("%"), value) for name, _, value in (a.partition("=") for a in arguments.arg)]
    block = arguments.block or (None if arguments.threads is None else (arguments.threads,))
    return LaunchOptions(
        arguments.launch,
        block,
        arguments.cluster,
        arguments.shared,
        maps,
        arguments.remarks,
        arguments.strict_tcgen05,
        fixed=frozenset(name for name, value in given if tiles_in(value) is None),
        tiles={name: tiles for name, value in given if (tiles := tiles_in(value)) is not None},
    )


def tiles_in(text: str) -> Tiles | None:
    """The multiples that `64*n` or `64*n+64` stands for; None where `text` is no such form."""
    match = MULTIPLES.fullmatch(text.replace(" ", ""))
    return None if match is None or not int(match[1]) else Tiles(int(match[1]), int(match[2] or 0))


def is_ptx(path: str, text: str) -> bool:
    """Whether the file `path` is PTX, or to be taken for it."""
    return path.endswith(SUFFIX) or begins_as_ptx(text)


def module_of_ptx(text: str, path: str, options: LaunchOptions, function: str | None) -> ModuleOp:
    """The kernels of `text`, in the file `path`, as a module. Raises `InputError`."""
    try:
        contract, reading = _contract(path, options), None
        reading = read_ptx(
            text,
            path,
            lambda kernel: _launch(kernel, contract, options),
            function=function,
            strict_tcgen05=options.strict_tcgen05,
            with_numbers=options.with_numbers,
        )
        reading.module.verify()
    except PtxError as error:
        place = path if error.line is None else f"{path}:{error.line}"
        raise InputError([f"{place}: error: {error}"]) from None
    except VerifyException as error:
        raise InputError([f"{path}: error: an instruction has operands that its op does not take: {error}"]) from None
    if options.remarks:
        _remark(path, reading)
    return reading.module


def _remark(path: str, reading: Reading) -> None:
    import sys

    for name, times in sorted(reading.ignored.items()):
        print(f"{path}: remark: '{name}' computes what is not followed, and does not matter ({times})", file=sys.stderr)


# Launches -------------------------------------------------------------------------------------------------------------


def _contract(path: str, options: LaunchOptions) -> Any:
    """The JSON that says how kernels are launched; None where there is none."""
    beside = Path(path).with_suffix(".json") if path.endswith(SUFFIX) else None
    file = Path(options.file) if options.file is not None else beside
    if file is None or (options.file is None and not file.is_file()):
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError([f"error: --launch {file}: {error.strerror or error}"]) from None
    except ValueError as error:
        raise InputError([f"{file}: error: this is no JSON: {error}"]) from None


def _launch(kernel: Function, contract: Any, options: LaunchOptions) -> Launch:
    given = Launch() if contract is None else launch_of(contract, kernel.name, kernel.parameters)
    maps: dict[tuple[int, int], TensorMap] = {}
    for name, text in options.tensor_maps.items():
        try:
            maps[_place(kernel, given, name)] = map_from_text(text)
        except ValueError as error:
            raise InputError([f"error: --tensor-map {name}={text}: {error}"]) from None
    return Launch(options.block, options.cluster, options.shared, {}, maps, options.fixed, options.tiles).over(given)


def _place(kernel: Function, launch: Launch, name: str) -> tuple[int, int]:
    """The number of a parameter and the offset in it, by the name that the contract gives or by its number."""
    named = {known: number for number, known in launch.names.items()}
    named |= {parameter.name: parameter.number for parameter in kernel.parameters}
    if name in named:
        return named[name], 0
    match = OFFSET_IN.fullmatch(name)
    if match is not None and int(match[1]) < len(kernel.parameters):
        return int(match[1]), int(match[2] or 0)
    large = [f"p{each.number}" for each in kernel.parameters if each.is_array and each.size >= MAP_BYTES]
    raise ValueError(f"there is no parameter '{name}'; those of 128 bytes and more are {', '.join(large) or 'none'}")
