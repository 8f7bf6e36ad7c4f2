"""
A folder with which a machine that has a GPU, numpy, ml_dtypes and cuda-bindings runs the kernels of the tests:

    python -m bench.gpu.pack FOLDER [PROGRAM]...

    code/       each variant of each program: a cubin, or PTX where it is no code of Hopper, and its launch contract
    expected/   what the tiles of each program leave in the arrays at each trip count, on the machine
    run_all.py, arrays.py
    site/       this package, xDSL and what they need, for the launches

`python FOLDER/run_all.py` runs them. What cannot be packed is named, with its reason. Code that is there stays.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import distribution
from io import StringIO
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from bench.gpu import arrays
from tests.support.ir import ROOT, parse
from tests.support.thread_kernels import BY_NAME
from tests.threads.test_synchronisation import TABLE
from tileas_xdsl.machine.arguments import argument_names, find_function
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.running import run
from tileas_xdsl.tools.main import main as tileas

HERE = Path(__file__).parent
STAND_ALONE = ("run_all.py", "arrays.py")
KERNELS = ROOT / "tests" / "kernels"
VARIANTS = ("sm_90a warp-specialize", "sm_90a unspecialize", "sm_80 unspecialize")
NEEDED = ("xdsl", "immutabledict", "ordered-set", "typing-extensions")
"""What the launches need beside this package, in Python alone; `ml_dtypes`, which has machine code, comes with jax."""
LEFT_OUT = ("tests", "interactive", "__pycache__")
COUNTS = (0, 1, 2, 3, 4, 5, 7, 16)
"""Trips: each integer argument."""


def programs() -> dict[str, tuple[Path, list[str]]]:
    """Program -> its file, and its variants: those of the tests' own kernels, and of those that people write."""
    found = {path.stem: (path, list(VARIANTS)) for path in sorted((KERNELS / "people").glob("*.mlir"))}
    for case in json.loads(TABLE.read_text()):
        name, variant = case.split(maxsplit=1)
        path = next(path for path in KERNELS.rglob(f"{name}.mlir") if path.read_text() == BY_NAME[name].text)
        found.setdefault(name, (path, []))[1].append(variant)
    return found


# Code -----------------------------------------------------------------------------------------------------------------


def packed_code(path: Path, variant: str, folder: Path) -> str:
    """Write the code and contract of a variant; why it cannot be, or nothing."""
    target, strategy = variant.split()
    suffix = "cubin" if target == "sm_90a" else "ptx"
    out = folder / f"{path.stem}.{target}.{strategy}.{suffix}"
    if out.with_suffix(".json").exists():
        return ""
    options = ["--target", target, "--strategy", strategy, "--no-check", "-o", str(out)]
    said, wrong = StringIO(), StringIO()
    with redirect_stdout(said), redirect_stderr(wrong):
        status = tileas(["compile", str(path), *options])
    return wrong.getvalue().strip() if status else ""


# Numbers --------------------------------------------------------------------------------------------------------------


def packed_numbers(path: Path, folder: Path) -> str:
    """Write what the tiles of a program leave at each trip count; at which they make mistakes, or nothing."""
    module = parse(path.read_text())
    _, body = find_function(module, "f")
    assert body.first_block is not None
    kinds = {name: argument.type for name, argument in zip(argument_names(body), body.first_block.args, strict=True)}
    shapes = {name: _shape(kind) for name, kind in kinds.items() if isinstance(kind, MemRefType)}
    made = arrays.made(shapes)
    changed: dict[str, Any] = {}
    wrong: list[str] = []
    counts: list[int] = []
    for trips in COUNTS:
        given = {name: made[name].copy().view(_numpy_type(kinds[name])) if name in made else trips for name in kinds}
        outcome = run(module, "f", given)
        if outcome.violations or not outcome.finished:
            wrong.append(f"{trips} trips: {next(map(str, outcome.violations), 'comes to no end')}")
            continue
        counts.append(trips)
        for name, array in made.items():
            found = outcome.arrays[name].view(array.dtype)
            box = _box(found, array)
            if box is not None:
                changed[f"{trips}/{name}/from"] = np.array([part.start for part in box])
                changed[f"{trips}/{name}"] = found[box]
    np.savez_compressed(folder / f"{path.stem}.npz", **changed)
    facts = {"arrays": shapes, "counts": counts, "checksum": arrays.checksum(made)}
    (folder / f"{path.stem}.json").write_text(json.dumps(facts) + "\n")
    return "; ".join(wrong)


def _shape(kind: MemRefType[Attribute]) -> tuple[str, list[int | None]]:
    return str(kind.element_type), [size if size >= 0 else None for size in kind.get_shape()]


def _numpy_type(kind: Attribute) -> Any:
    """That of the elements on the machine, which has types for bf16 and f8."""
    assert isinstance(kind, MemRefType)
    element = element_type(cast("MemRefType[Attribute]", kind).element_type)
    assert element is not None
    return element.dtype


def _box(found: arrays.Array, before: arrays.Array) -> tuple[slice, ...] | None:
    """The least box that has all that differs."""
    places = np.nonzero(found.view(f"u{found.itemsize}") != before.view(f"u{before.itemsize}"))
    return tuple(slice(int(axis.min()), int(axis.max()) + 1) for axis in places) if len(places[0]) else None


# The folder -----------------------------------------------------------------------------------------------------------


def pack(folder: Path, chosen: Sequence[str]) -> Iterator[str]:
    """Write the folder, of the chosen programs or all; a line for what cannot be packed."""
    code, expected = folder / "code", folder / "expected"
    for each in (code, expected):
        each.mkdir(parents=True, exist_ok=True)
    for name in STAND_ALONE:
        shutil.copy(HERE / name, folder)
    for name, (path, variants) in programs().items():
        if chosen and name not in chosen:
            continue
        reason = packed_numbers(path, expected)
        if reason:
            yield f"{name}: {reason}"
        for variant in variants:
            reason = packed_code(path, variant, code)
            if reason:
                yield f"{name} {variant}: {reason}"


def copy_packages(site: Path) -> None:
    """Put this package and what it needs into a folder from which Python imports."""
    shutil.rmtree(site, ignore_errors=True)
    package = HERE.parent.parent / "tileas_xdsl"
    shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns(*LEFT_OUT, "course"))
    ours = distribution("tileas-xdsl")
    described = site / f"tileas_xdsl-{ours.version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(ours.read_text("METADATA") or ours.read_text("PKG-INFO") or "")
    for name in NEEDED:
        for file in distribution(name).files or ():
            top = file.parts[0]
            is_wanted = top.endswith(".dist-info") or top.removesuffix(".py") == name.replace("-", "_")
            if is_wanted and not set(file.parts) & {*LEFT_OUT}:
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="default: all")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    copy_packages(options.folder / "site")
    for line in pack(options.folder, options.names):
        print(line, flush=True)


if __name__ == "__main__":
    main()
