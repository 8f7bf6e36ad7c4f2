"""
The edit that repairs a kernel which a Python program hands to `check`, or launches inside of `checking`.

Only the kernels of the edited file are executed, with the names that the first kernel sees; the program itself runs on.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.checker.verdict.checking import CheckOptions, check
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.tools.check.edited_python import KernelSource, edit_of_kernel
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.python.executing import saying
from tileas_xdsl.triton.compiling import file_of_kernel, path_from_here, text_of_stages
from tileas_xdsl.triton.host.launching import function_of
from tileas_xdsl.triton.python_edits import Python


@dataclass(frozen=True)
class Form:
    """A kernel with all that it is compiled with."""

    function: Any
    """Triton's function, without tuners."""
    source: Any
    """Triton's description of it: types, constants and attributes of its arguments."""
    device: Any
    """Triton's target, whose name is `target`."""
    target: str
    options: Mapping[str, Any]
    """Triton's: `num_warps`, `num_stages`."""

    @property
    def ttgir(self) -> str:
        """Its text. Raises `InputError` where it does not compile."""
        return text_of_stages(self.function, self.source, self.device, self.target, self.options)

    def with_text(self, text: str) -> Form:
        """The kernel if `text` stood in its file. Raises `InputError` where it is not there."""
        function = _function_with(self.function, text)
        old = self.source
        source = type(old)(function, old.signature, old.constants, old.attrs)
        return Form(function, source, self.device, self.target, self.options)


def edit_of_form(form: Form, report: Report, asked: CheckOptions) -> SourceEdit | None:
    """
    What repairs the only mistake that `report` shows of a kernel that was checked with the options `asked`; None if no
    edit was found, or if the text of the file is not known.
    """
    file = file_of_kernel(form.function)
    text = "".join(linecache.getlines(file))
    if not text or not report.findings:
        return None

    def compiled(text: str) -> ModuleOp:
        with saying(file, text):
            return parse_module(form.with_text(text).ttgir, file, full_context())

    def checked(module: ModuleOp, **other: Any) -> Report:
        settings: dict[str, Any] = {**asked, **other}
        return check(module, **settings)

    source = KernelSource(path_from_here(file), text, compiled)
    return edit_of_kernel(source, report, checked, asked.get("args") or {})


def _function_with(function: Any, text: str) -> Any:
    """What `function` is if `text` stands in its file, and the kernels that it may call. Raises `InputError`."""
    name, file = function.__name__, file_of_kernel(function)
    code = Python(text)
    own = [each for each in code.functions if each.name == name]
    beside = {id(each) for kernel in own for each in code.block_of(kernel)} | {id(each) for each in code.tree.body}
    kernels: list[ast.stmt] = [each for each in code.functions if id(each) in beside]
    names = {**function.fn.__globals__, **inspect.getclosurevars(function.fn).nonlocals}
    try:
        exec(compile(ast.Module(kernels, []), file, "exec", dont_inherit=True), names)
    except Exception as error:
        raise InputError([f"{file}: error: its kernels cannot be defined again: {error}"]) from None
    return function_of(names[name])
