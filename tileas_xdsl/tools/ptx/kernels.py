"""
The kernels of a PTX text as a module, with what a launch says of them in options or in the JSON beside it; errors with
a place in front.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tensor_maps import TensorMap
from tileas_xdsl.readers.ptx.launch import MAP_BYTES, Launch, launch_of, map_from_text
from tileas_xdsl.readers.ptx.reading import Reading, read_ptx
from tileas_xdsl.readers.ptx.syntax import Function, PtxError
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.ptx import SUFFIX, LaunchOptions

OFFSET_IN = re.compile(r"(?:#|p)?(\d+)(?:[+_.](\d+))?")
"""A parameter by its number, and an offset in it: `#0+128`, `p3`."""


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
