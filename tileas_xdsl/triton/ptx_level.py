"""
The PTX of a kernel beside its TTGIR: what Triton's compiler has put in is checked, too.

    TTGIR: safe for every trip count; ..
    PTX: safe for every trip count; ..
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.checker.verdict.checking import CheckOptions, check
from tileas_xdsl.machine.arguments import argument_names
from tileas_xdsl.readers.ptx.launch import Launch, launch_of
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.readers.ptx.syntax import PtxError
from tileas_xdsl.tools.check.edited_ptx import edit_of_ptx
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.machine_input import machine_errors
from tileas_xdsl.tools.rendering import Source
from tileas_xdsl.triton.compiling import Compiled
from tileas_xdsl.triton.kernel_report import KernelReport, name_of_text

NAME = re.compile(r"[A-Za-z_]\w*")


def with_ptx(
    report: KernelReport, made: Compiled, asked: CheckOptions, parameters: Sequence[str], *, edit: bool = True
) -> KernelReport:
    """
    `report`, with that on the PTX that was `made` of the kernel, whose parameters are called `parameters`. Options
    `asked` that speak of arguments hold for those that are left in the PTX. With `edit` the edit of the PTX is looked
    for that repairs its mistake.

    Raises `InputError` for what is refused.
    """
    assert made.ptx is not None
    name = name_of_text(report.kernel, report.target)
    args, conditions = asked.get("args") or {}, asked.get("assume", ())
    spoken_of = frozenset([*args, *(each for condition in conditions for each in NAME.findall(condition))])
    module = _module_of(made, name, parameters, spoken_of)
    known = {
        each for function in module.walk() if isinstance(function, FuncOp) for each in argument_names(function.body)
    }
    own: CheckOptions = {
        **asked,
        "args": {argument: number for argument, number in args.items() if argument in known},
        "assume": [condition for condition in conditions if known.issuperset(NAME.findall(condition))],
    }
    source = Source(name, made.ptx)
    with machine_errors(source):
        below = check(module, **own)
        if edit and below.findings:
            below.edit = edit_of_ptx(
                source,
                below,
                lambda text: _module_of(replace(made, ptx=text), name, parameters, spoken_of),
                lambda module, **other: check(module, **cast("CheckOptions", {**own, **other})),
                own.get("args") or {},
            )
        return replace(report, ptx=made.ptx, below=below)


def _module_of(made: Compiled, name: str, parameters: Sequence[str], fixed: frozenset[str]) -> ModuleOp:
    names = Launch(names=dict(enumerate(parameters)), fixed=fixed)
    try:
        module = read_ptx(
            made.ptx or "", name, lambda kernel: names.over(launch_of(made.metadata, kernel.name, kernel.parameters))
        ).module
        module.verify()
    except PtxError as error:
        raise InputError([f"{name}:{error.line or 1}: error: the PTX: {error}"]) from None
    except VerifyException as error:
        raise InputError([f"{name}: error: the PTX: {error}"]) from None
    return module


def parameter_names(types: Mapping[str, str], constant: str) -> list[str]:
    """
    The names of the parameters of the PTX, in order, by the types of arguments, but for those of the type `constant`: a
    descriptor of rank r is a map, r sizes and r strides.
    """
    names: list[str] = []
    for name, kind in types.items():
        if kind == constant:
            continue
        names.append(name)
        if kind.startswith("tensordesc"):
            rank = kind[kind.index("[") : kind.index("]")].count(",") + 1
            names += [f"{name}_{part}{axis}" for part in ("size", "stride") for axis in range(rank)]
    return names
