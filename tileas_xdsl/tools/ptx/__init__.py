"""
PTX as input of a subcommand: its options here, and the kernels of a text in `kernels`, which loads the reader.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tileas_xdsl.readers.ptx.launch import Tiles
from tileas_xdsl.readers.ptx.syntax import Extents
from tileas_xdsl.readers.ptx.syntax import is_ptx as begins_as_ptx
from tileas_xdsl.tools.errors import InputError

SUFFIX = ".ptx"
EXAMPLE = "f16[128x64]:swizzle=128"
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
