"""
Kernels in what `MLIR_ENABLE_DUMP=1` makes Triton write on standard error: the module before every pass.

    // -----// IR Dump Before TritonGPUPipeline: tritongpu-pipeline{...} ('builtin.module' operation) //----- //
    #blocked = ...
    module attributes {...} {

Of each kernel it is the last module in TTGIR that is of interest: what comes behind it has room for warps and for
memory laid out, and is on its way to LLVM. Another is picked by the name of the pass that it stands before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tileas_xdsl.tools.errors import InputError

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
