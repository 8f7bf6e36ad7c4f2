"""LLVM IR as text: from our IR, from MLIR's translation, and bodies of functions in a form that can be compared."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.ir import print_generic
from tests.support.mlir import run
from tileas_xdsl.backend.llvm_ir import llvm_ir_of


def translated(module: Operation | str, *passes: str) -> str:
    """What mlir-translate says of a module, after `passes` of mlir-opt; fails the test where a tool refuses."""
    text = module if isinstance(module, str) else print_generic(module)
    lowered = run("mlir-opt", text, *passes)
    assert lowered.returncode == 0, f"{lowered.stderr}\n--- input ---\n{text}"
    found = run("mlir-translate", lowered.stdout, "--mlir-to-llvmir")
    assert found.returncode == 0, f"{found.stderr}\n--- input ---\n{lowered.stdout}"
    return found.stdout


def normal_form(llvm_ir: str, *passes: str) -> str:
    """What opt makes of the text; LLVM's verifier runs before."""
    result = run("opt", llvm_ir, "-S", f"-passes={','.join(['verify', *passes])}")
    assert result.returncode == 0, f"{result.stderr}\n--- input ---\n{llvm_ir}"
    return result.stdout


def bodies(llvm_ir: str, *passes: str) -> dict[str, list[str]]:
    """The lines of each function, values and blocks named by the order in which they occur; opt reads the text."""
    found: dict[str, list[str]] = {}
    for match in re.finditer(
        r"^define .*?@([\w.]+)\((.*?)\) .*?\{\n(.*?)^\}", normal_form(llvm_ir, *passes), re.M | re.S
    ):
        name, arguments, body = match.groups()
        found[name] = _renamed(arguments, body)
    return found


def _renamed(arguments: str, body: str) -> list[str]:
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        return names.setdefault(match.group(0), f"%{len(names)}")

    re.sub(r"%[\w.]+", rename, arguments)
    lines = [re.sub(r";.*| #\d+$", "", line).strip() for line in body.splitlines()]
    lines = lines[1:] if lines[0].endswith(":") else lines
    labels = [re.sub(r"^([\w.]+):$", r"%\1:", line) for line in lines]
    return [re.sub(r"%[\w.]+", rename, line) for line in labels if line]


def assert_prints_as_mlir_translates(module: ModuleOp, *passes: str) -> str:
    """Our text of a module of `llvm` is that of mlir-translate, up to names, after `passes`. Returns our text."""
    ours = llvm_ir_of(module)
    found, expected = bodies(ours, *passes), bodies(translated(module), *passes)
    assert found == expected, f"{found}\n--- and not ---\n{expected}"
    return ours
