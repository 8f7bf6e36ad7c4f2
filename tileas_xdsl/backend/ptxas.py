"""
From PTX to a cubin, by NVIDIA's assembler, and what it says of each kernel: registers, spills, shared memory.

`ptxas` is looked for where the caller says, in the environment (`TILEAS_PTXAS`), on the path, and in the wheels that
bring it: CUDA 13's, `nvidia-cuda-nvcc-cu12` and Triton's.

Source: NVIDIA, "CUDA Compiler Driver NVCC", "ptxas Options".
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tileas_xdsl.backend.llvm_ir.lines import without_lines
from tileas_xdsl.diagnostics import Error

VARIABLE = "TILEAS_PTXAS"
WHEELS = ("nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "triton/backends/nvidia/bin")
"""Where wheels put it, below a folder from which Python imports."""
PIP_COMMAND = "pip install nvidia-cuda-nvcc-cu12"


class AssemblerError(Error):
    """There is no cubin; the message says why."""


@dataclass(frozen=True)
class KernelReport:
    """What ptxas says of one kernel; sizes are bytes."""

    name: str
    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    barriers: int
    serialized: str = ""
    """Why it lets products of `wgmma` go on one by one, in its words; empty where they overlap as they are written."""

    @property
    def spills(self) -> int:
        """The bytes that it moves to memory and back because registers do not suffice."""
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True)
class Assembled:
    """A cubin, and what ptxas says of its kernels."""

    cubin: bytes
    kernels: tuple[KernelReport, ...]

    @property
    def spills(self) -> int:
        """The bytes that its kernels spill."""
        return sum(kernel.spills for kernel in self.kernels)


def find_ptxas(explicit: str | None = None) -> str:
    """The path of ptxas; raises `AssemblerError` where there is none."""
    for place in (explicit, os.environ.get(VARIABLE)):
        if place is not None:
            return _usable(place)
    found = next((place for place in _candidates() if os.access(place, os.X_OK)), None)
    if found is None:
        raise AssemblerError(
            f"ptxas is needed to write a cubin, and was not found on the path or in a wheel: {PIP_COMMAND}, "
            f"or say where it is by {VARIABLE}"
        )
    return found


def _usable(place: str) -> str:
    if os.access(place, os.X_OK) and not os.path.isdir(place):
        return place
    raise AssemblerError(f"'{place}' is not a program that could be ptxas")


def _candidates() -> Iterator[str]:
    on_path = shutil.which("ptxas")
    if on_path is not None:
        yield on_path
    for site in dict.fromkeys((sysconfig.get_paths()["platlib"], *sys.path)):
        yield from (str(Path(site) / wheel / "ptxas") for wheel in WHEELS)


ONE_BLOCK = ("--minnctapersm", "1")
"""One block a multiprocessor is enough. Without this ptxas may spill a few bytes to make room for one more."""


def assemble(ptx: str, arch: str, ptxas: str) -> Assembled:
    """
    The cubin of a PTX text for the chip `arch`; raises `AssemblerError` with what ptxas says. Where kernels spill, and
    do so less when one block a multiprocessor is enough, that is said. Lines of the program are left out: ptxas makes
    tables of them as large as the code.
    """
    ptx = without_lines(ptx)
    found = _assembled(ptx, arch, ptxas)
    if not found.spills:
        return found
    with suppress(AssemblerError):
        return min(found, _assembled(ptx, arch, ptxas, ONE_BLOCK), key=lambda each: each.spills)
    return found


def _assembled(ptx: str, arch: str, ptxas: str, options: Sequence[str] = ()) -> Assembled:
    with TemporaryDirectory(prefix="tileas-") as directory:
        source, target = Path(directory) / "kernel.ptx", Path(directory) / "kernel.cubin"
        source.write_text(ptx)
        command = [ptxas, "--verbose", f"--gpu-name={arch}", *options, str(source), "--output-file", str(target)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise AssemblerError(f"'{ptxas}' cannot be run: {error.strerror}") from None
        if result.returncode != 0 or not target.exists():
            raise AssemblerError(_complaint(result.stderr, ptx) or f"ptxas ended with status {result.returncode}")
        return Assembled(target.read_bytes(), tuple(reports_in(result.stderr)))


def _complaint(said: str, ptx: str) -> str:
    """The first error of ptxas, with the line of PTX that it is about."""
    lines = said.splitlines()
    first = next((line for line in lines if "error" in line or "fatal" in line), lines[0] if lines else "")
    place = re.search(r"line (\d+); (.*)", first)
    if place is None:
        return f"ptxas: {first.removeprefix('ptxas ').strip()}" if first else ""
    text = ptx.splitlines()[int(place.group(1)) - 1].strip()
    return f"ptxas: {place.group(2).strip()}, in '{text}'"


def reports_in(said: str) -> Iterator[KernelReport]:
    """What `--verbose` says of each kernel."""
    losses = re.findall(r"wgmma\S* instructions are serialized due to (.*?) in (?:the )?function '(.*?)'", said)
    serialized = {name: " ".join(reason.split()) for reason, name in losses}
    for part in re.split(r"Compiling entry function", said)[1:]:
        found = re.search(r"'(.*?)'", part)
        name = found.group(1) if found is not None else "?"
        yield KernelReport(
            name=name,
            registers=_number(r"Used (\d+) registers", part),
            spill_stores=_number(r"(\d+) bytes spill stores", part),
            spill_loads=_number(r"(\d+) bytes spill loads", part),
            stack=_number(r"(\d+) bytes stack frame", part),
            shared=_number(r"(\d+) bytes smem", part),
            barriers=_number(r"used (\d+) barriers", part),
            serialized=serialized.get(name, ""),
        )


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found.group(1)) if found is not None else 0
