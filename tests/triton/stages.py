"""
Every stage of Triton's compiler for a kernel: `python -W ignore -m tests.triton.stages NAME` leaves on standard error
what `MLIR_ENABLE_DUMP=1` makes Triton write, the module before each pass.

NAME is one of `KERNELS`: those of this folder, in Triton and Gluon, and the example of a product in Gluon. Most are
written as Triton's tutorials write them. In a process of its own: Triton reads the switch when its library is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.triton.pairs import (
    CLUSTERS,
    EXAMPLE_SIGNATURE,
    EXAMPLES,
    FOUND,
    SIGNATURES,
    TARGETS,
    TRITON_KERNELS,
    pairs,
)
from tileas_xdsl.tools.machine_input import DumpedModule, modules_in


@dataclass(frozen=True)
class Kernel:
    """A kernel with what it is compiled with."""

    module: str
    function: str
    target: str
    signature: dict[str, str]
    constants: dict[str, Any]
    blocks: int = 1


def kernels() -> Iterator[tuple[str, Kernel]]:
    """(name, kernel) of all whose stages are looked at; those in Gluon without their mistakes, one size of each."""
    for name, (function, target, signature, constants) in {**TRITON_KERNELS, **FOUND}.items():
        yield (
            name,
            Kernel("tests.triton.triton_kernels", function, target, signature, constants, blocks=CLUSTERS.get(name, 1)),
        )
    for pair in {pair.kernel: pair for pair in pairs()}.values():
        constants = {**pair.constants, "MISTAKE": 0}
        yield (
            pair.name,
            Kernel(
                f"tests.triton.{pair.module}", pair.kernel, TARGETS[pair.kernel], SIGNATURES[pair.kernel], constants
            ),
        )
    yield "matmul.good", Kernel("examples.gluon.matmul", "matmul", "sm_90", EXAMPLE_SIGNATURE, EXAMPLES["matmul.good"])


KERNELS: dict[str, Kernel] = dict(kernels())


def stages_of(name: str) -> list[DumpedModule]:
    """The modules before the passes for the kernel called `name`, those left out that a pass did not change."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.triton.stages", name]
    environment = {**os.environ, "MLIR_ENABLE_DUMP": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    modules = list(modules_in(done.stderr))
    changed = [two for one, two in pairwise(modules) if one.text.strip() != two.text.strip()]
    return [*modules[:1], *changed]


def main() -> None:
    """Compile the kernel that the command line names, down to LLVM's dialect where Triton goes on after TTGIR."""
    from importlib import import_module

    from tests.triton.emit import stages_to_ttgir

    kernel = KERNELS[sys.argv[1]]
    function = getattr(import_module(kernel.module), kernel.function)
    signature = {name: kind for name, kind in kernel.signature.items() if name in function.arg_names}
    stages_to_ttgir(function, signature, kernel.constants, kernel.target, kernel.blocks)


if __name__ == "__main__":
    main()
