"""
A corpus of PTX: kernels of Triton with and without mistakes, our own, and whatever lies in folders.

    python -m bench ptx_corpus                                all of it, as a table
    TILEAS_PTX=FOLDER[:FOLDER] python -m bench ptx_corpus     with the PTX in these folders, and the JSON beside it
    python -m tests.support.ptx_corpus NVCC INCLUDE OUT FILE.cu..     PTX of CUDA by nvcc, into such a folder

What Triton compiles it compiles in a process of its own folder; nothing needs a GPU.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.support.ir import ROOT
from tests.triton.pairs import BLOCKS, CLUSTERS, FOUND, SIGNATURES, TARGETS, TRITON_KERNELS, pairs

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tileas_xdsl.readers.ptx.launch import Launch

FOLDERS = "TILEAS_PTX"
OURS = "tileas compile"
OWN_TARGETS = {"sm_80": "unspecialize", "sm_90a": "warp-specialize"}
KERNELS = {file.stem: file for file in sorted((ROOT / "tests" / "kernels").rglob("*.mlir"))}
"""Kernels that `tileas compile` takes: those of the tests, and those that people wrote."""
STORED = ROOT / "tests" / "readers" / "ptx" / "kernels"
BY_NVCC = frozenset(file.name.split(".")[0] for file in (STORED.parent / "cuda").glob("*.cu"))
"""Kernels of CUDA, whose PTX is kept: nvcc is in no package that is asked for."""
ONE_TILE = {"M": 128, "N": 128}
"""Numbers of a persistent kernel, whose three arguments would make 729 cases."""


PART = re.compile(r"\d+")
ONE_OF_SEVERAL = re.compile(r"_b?f16_\d+x\d+$")
"""What names of kernels have behind that of the text which all are made from: an element and a tile."""


@dataclass(frozen=True)
class Text:
    """A kernel in PTX, and what is said of its launch."""

    kernel: str
    source: str
    """What made it: `Triton 3.9`, `tileas compile`, the name of a folder."""
    target: str
    ptx: str
    launch: Any = None
    parameters: tuple[str, ...] = ()
    args: Mapping[str, int] = field(default_factory=dict[str, int])
    expected: str | None = None
    """What a check finds in the TTGIR: a kind of mistake, `safe`; None where that is not known."""
    tensor_maps: Mapping[str, str] = field(default_factory=dict[str, str])
    """Part of a parameter -> what the tensor map there maps, as `--tensor-map` has it."""
    multiples: Mapping[str, str] = field(default_factory=dict[str, str])
    """Part of a parameter -> which multiple it is, as `--arg` has it."""

    def told(self) -> Launch:
        """What is said of the launch beside `launch`."""
        from tileas_xdsl.readers.ptx.launch import Launch, map_from_text
        from tileas_xdsl.tools.ptx import tiles_in

        places = {tuple(map(int, PART.findall(name))): text for name, text in self.tensor_maps.items()}
        return Launch(
            names=dict(enumerate(self.parameters)),
            fixed=frozenset(self.args),
            maps={(number, offset): map_from_text(text) for (number, offset), text in places.items()},
            tiles={name: tiles for name, text in self.multiples.items() if (tiles := tiles_in(text)) is not None},
        )


@dataclass(frozen=True)
class Kernel:
    """A kernel of Triton that is compiled when it is asked for."""

    name: str
    module: str
    function: str
    target: str
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    expected: str | None = None
    blocks: int = 1
    """Of a cluster."""

    def compiled(self) -> Text:
        """Its PTX. Raises `InputError` where Triton does not compile it."""
        from tileas_xdsl.triton.compiling import compiled, target_named
        from tileas_xdsl.triton.host.launching import function_of, source_of
        from tileas_xdsl.triton.kernels import CONSTANT, arguments_of
        from tileas_xdsl.triton.ptx_level import parameter_names

        function = function_of(getattr(import_module(f"tests.triton.{self.module}"), self.function))
        types, constants, attributes = arguments_of(function, self.signature, self.constants)
        source = source_of(function)(function, types, constants, attributes)
        made = compiled(function, source, target_named(self.target), self.target, {"num_ctas": self.blocks}, ptx=True)
        names = parameter_names(types, CONSTANT)
        args = {name: number for name, number in ONE_TILE.items() if "persistent" in self.name and name in names}
        assert made.ptx is not None
        found = (self.name, "Triton 3.9", self.target, made.ptx, dict(made.metadata), tuple(names))
        return Text(*found, args, self.expected)


def triton_kernels() -> list[Kernel]:
    """The kernels of the tests that are compiled for GPUs of NVIDIA, with each of their mistakes, and without."""
    found: list[Kernel] = []
    for pair in pairs():
        target = TARGETS[pair.kernel]
        for case in pair.cases if target.startswith("sm_") else ():
            constants = {**pair.constants, "MISTAKE": case.mistake}
            about = (f"{pair.name}-{case.name}", pair.module, pair.kernel, target, SIGNATURES[pair.kernel], constants)
            found.append(Kernel(*about, case.kind or "safe", BLOCKS.get(pair.kernel, 1)))
    for name, (function, target, signature, constants) in {**TRITON_KERNELS, **FOUND}.items():
        if target.startswith("sm_"):
            about = (name, "triton_kernels", function, target, signature, constants)
            found.append(Kernel(*about, blocks=CLUSTERS.get(name, 1)))
    return found


def own_kernel(name: str, target: str, strategy: str) -> Text:
    """The PTX of one kernel, with its launch contract. Raises `CalledProcessError` where it is refused."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "k.ptx"
        command = [sys.executable, "-m", "tileas_xdsl", "compile", str(KERNELS[name])]
        options = ["--target", target, "--strategy", strategy, "--no-check", "-o", str(out)]
        subprocess.run([*command, *options], check=True, capture_output=True)
        return Text(f"{name}.{target}", OURS, target, out.read_text(), json.loads(out.with_suffix(".json").read_text()))


def texts_in(folder: Path) -> Iterator[Text]:
    """The PTX in a folder; `NAME.json` says how it is launched, and has what options say: `args` and more."""
    for file in sorted(folder.glob("*.ptx")):
        beside = file.with_suffix(".json")
        launch: Any = json.loads(beside.read_text()) if beside.is_file() else None
        beside_it: dict[str, Any] = launch or {}
        said = {name: beside_it.get(name, {}) for name in ("args", "tensor_maps", "multiples")}
        target = next((word for word in file.stem.split(".") if word.startswith("sm_")), "")
        yield Text(file.stem, folder.name, target, file.read_text(), launch, **said)


@dataclass(frozen=True)
class Entry:
    """A kernel of the corpus, whose PTX is made when it is asked for."""

    kernel: str
    maker: str
    text: str
    """The text that it is made from: several kernels may be made from one."""
    made: Callable[[], Text]


def entries() -> list[Entry]:
    """All of the corpus: first one kernel of each text, then the second of each, and so on."""
    found = [Entry(kernel.name, "Triton 3.9", kernel.function, kernel.compiled) for kernel in triton_kernels()]
    for name in KERNELS:
        for target, strategy in OWN_TARGETS.items():
            found.append(Entry(f"{name}.{target}", OURS, name, partial(own_kernel, name, target, strategy)))
    folders = map(Path, filter(None, os.environ.get(FOLDERS, "").split(":")))
    lying = [text for folder in (STORED, *folders) for text in texts_in(folder)]
    for text in lying:
        stem = text.kernel.split(".")[0]
        if text.source != STORED.name or stem in BY_NVCC:
            maker = "nvcc" if text.source == STORED.name else text.source
            found.append(Entry(text.kernel, maker, ONE_OF_SEVERAL.sub("", stem), partial(replace, text)))
    met: Counter[tuple[str, str]] = Counter()
    order: list[tuple[int, Entry]] = []
    for entry in found:
        order.append((met[entry.maker, entry.text], entry))
        met[entry.maker, entry.text] += 1
    return [entry for _, entry in sorted(order, key=lambda pair: pair[0])]


@dataclass(frozen=True)
class Row:
    """What came of one text."""

    kernel: str
    source: str
    target: str
    read: str
    """`yes`, or why it is refused."""
    verdict: str
    kinds: tuple[str, ...]
    """Of the mistakes that are found."""
    seconds: float
    """Of processor time, to read and to check."""
    proved: bool = False
    """Whether it is right for every trip count, with what is fixed or only tried as `line` says."""
    loops: int = 0
    """Of those that the check keeps."""
    line: str = ""
    """The last line of the report, and then why nothing is decided, or not proved."""


def row_of(text: Text, counts: Sequence[int] | None, timeout: float) -> Row:
    """Read and check one text, for the trip counts `counts`, or for every one."""
    import time

    from tileas_xdsl.checker.verdict.checking import check
    from tileas_xdsl.machine.arguments import ArgumentError
    from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
    from tileas_xdsl.readers.ptx.launch import launch_of
    from tileas_xdsl.readers.ptx.reading import read_ptx
    from tileas_xdsl.readers.ptx.syntax import PtxError

    began = time.process_time()
    named = text.told()
    row = Row(text.kernel, text.source, text.target, "yes", "", (), 0.0)

    def finished(**found: Any) -> Row:
        return replace(row, seconds=round(time.process_time() - began, 1), **found)

    try:
        module = read_ptx(
            text.ptx,
            f"{text.kernel}.ptx",
            lambda kernel: (
                named if text.launch is None else named.over(launch_of(text.launch, kernel.name, kernel.parameters))
            ),
        ).module
        module.verify()
    except PtxError as error:
        return finished(read=str(error))
    row = replace(row, loops=loops_in(module))
    try:
        report = check(module, trip_counts=counts, args=text.args, timeout=timeout, judge_waits=False)
    except (ArgumentError, UnsupportedError, UndecidedError) as error:
        return finished(verdict=f"refused: {error}")
    kinds = tuple(sorted({str(finding.violation.kind) for finding in report.findings}))
    line = "; ".join([report.last_line, *report.undecided, *report.bounded]).replace(f"{ROOT}/", "")
    return finished(verdict=str(report.verdict), kinds=kinds, proved=report.is_proved, line=line)


def loops_in(module: ModuleOp) -> int:
    """How many loops the functions of a module have."""
    from xdsl.dialects import scf

    from tileas_xdsl.analysis.natural_loops import loops_within

    loops = sum(isinstance(op, scf.ForOp | scf.WhileOp) for op in module.walk())
    return loops + sum(len({loop.head for loop in loops_within(op).values()}) for op in module.walk() if op.regions)


@cache
def nvcc_options(include: str) -> tuple[str, ...]:
    """What nvcc is called with, with CUTLASS' headers in `include`: folders, with `:` between them."""
    folders = [f"-I{folder}" for folder in include.split(":")]
    return "-ptx", "-lineinfo", "-std=c++17", "-O3", "--expt-relaxed-constexpr", *folders


def by_nvcc(nvcc: str, include: str, out: Path, files: Sequence[str]) -> None:
    """
    Write the PTX of each CUDA file, whose name says for which target: `gemm.sm_90a.cu`. Places in it are relative to
    the checkout, and to the folder of headers.
    """
    out.mkdir(parents=True, exist_ok=True)
    for file in map(Path, files):
        target = next(word for word in file.name.split(".") if word.startswith("sm_"))
        made = out / f"{file.stem}.ptx"
        subprocess.run([nvcc, *nvcc_options(include), f"-arch={target}", "-o", str(made), str(file)], check=True)
        text = made.read_text().replace(f"{ROOT}/", "")
        made.write_text(re.sub(r'"[^"]*/(include/[^"]*)"', r'"\1"', text))


if __name__ == "__main__":
    by_nvcc(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
