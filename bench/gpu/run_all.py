"""
Run every variant of a folder that `bench.gpu.pack` wrote on the GPU of this machine. It needs Python, numpy, ml_dtypes
and cuda-bindings; this package and xDSL are in the folder (`site/`).

    python run_all.py [--out FILE] [--workers 12] [--seconds 10] [NAME]...

Each variant has a process of its own, which ends with its time: a kernel that waits for ever costs no other. At each
trip count it is launched 20 times on fresh arrays; every launch has to leave what the tiles of its program leave, and
the same bytes as the first. Prints a line for each variant and writes JSON. Status 0: all are right.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(site) for site in (HERE / "site", HERE.parent / "site") if site.exists())]

import ml_dtypes  # noqa: E402
from arrays import Array, checksum, made, resolution, wide  # noqa: E402

from tileas_xdsl.backend.contract import KernelContract  # noqa: E402
from tileas_xdsl.diagnostics import Error  # noqa: E402
from tileas_xdsl.kernels.binding import bound, names_of  # noqa: E402
from tileas_xdsl.kernels.gpu import Launchable, described_device  # noqa: E402

LAUNCHES = 20
SMALL_FLOATS = {
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}
"""What a launch wants of elements that lie in integers here."""

Row = dict[str, Any]


class Problem(Exception):
    """Why the kernel cannot be run."""


# One variant ----------------------------------------------------------------------------------------------------------


class Variant:
    """The code of a variant, its contract, and what its program leaves in the arrays."""

    def __init__(self, code: Path) -> None:
        data = json.loads(code.with_suffix(".json").read_text())
        (kernel,) = data["kernels"]
        self.contract = KernelContract.from_data(kernel)
        text = code.read_bytes() + b"\0" * (code.suffix == ".ptx")
        static = kernel.get("static_shared_bytes") or 0
        self._launchable = Launchable(self.contract, data["target"], lambda: text, static, lambda: text)
        program = HERE / "expected" / code.name.split(".")[0]
        facts = json.loads(program.with_suffix(".json").read_text())
        self.kinds = {name: kind for name, (kind, _) in facts["arrays"].items()}
        self.given = made(facts["arrays"])
        self.counts: Sequence[int] = facts["counts"]
        if checksum(self.given) != facts["checksum"]:
            raise Problem("numpy makes other arrays here than where the folder was packed")
        self._changed = np.load(program.with_suffix(".npz"))

    def expected(self, trips: int) -> dict[str, Array]:
        """What the arrays hold behind a run."""
        found = {name: array.copy() for name, array in self.given.items()}
        for name, array in found.items():
            if f"{trips}/{name}" in self._changed:
                part = self._changed[f"{trips}/{name}"]
                begin = self._changed[f"{trips}/{name}/from"]
                array[tuple(slice(b, b + size) for b, size in zip(begin, part.shape, strict=True))] = part
        return found

    def launched(self, trips: int) -> dict[str, Array]:
        """What the arrays hold behind a launch on fresh ones, whose numbers are `trips`."""
        found = {name: array.copy() for name, array in self.given.items()}
        passed = {name: array.view(SMALL_FLOATS.get(self.kinds[name], array.dtype)) for name, array in found.items()}
        values = [passed.get(name, trips) for name in names_of(self.contract)]
        self._launchable.run(bound(self.contract, values, {}), (1, 1, 1))
        return found


def rows(variant: Variant) -> Iterator[Row]:
    """What each trip count gives: nothing where all launches are right."""
    for trips in variant.counts:
        expected = variant.expected(trips)
        first: dict[str, Array] = {}
        wrong: list[str] = []
        for launch in range(LAUNCHES):
            found = variant.launched(trips)
            if not launch:
                first = found
                wrong = [line for name in found for line in differs(found[name], expected[name], variant, name)]
            wrong += [
                f"{name}: launch {launch} differs from the first"
                for name, array in found.items()
                if not is_same(array, first[name])
            ]
        yield {"trips": trips, "wrong": wrong[:3]}


def is_same(one: Array, other: Array) -> bool:
    """Whether two arrays have the same bytes."""
    return np.array_equal(one.view(np.uint8), other.view(np.uint8))


def differs(found: Array, expected: Array, variant: Variant, name: str) -> Iterator[str]:
    """What is wrong with the numbers of an array: where they are furthest apart."""
    if is_same(found, expected):
        return
    kind = variant.kinds[name]
    ours, theirs = wide(found, kind), wide(expected, kind)
    within = resolution(kind)
    with np.errstate(invalid="ignore"):
        fine = np.isclose(ours, theirs, rtol=within, atol=within, equal_nan=True)
        apart = np.where(fine, 0.0, np.nan_to_num(np.abs(ours - theirs), nan=np.inf))
    if not fine.all():
        place = tuple(map(int, np.unravel_index(np.argmax(apart), apart.shape)))
        numbers = f"{ours[place]:g} for {theirs[place]:g}"
        yield f"{name}{list(place)}: {numbers}; {int((~fine).sum())} of {fine.size} are wrong"


def work(code: str) -> None:
    """What a child does: a line for each trip count."""
    try:
        for row in rows(Variant(HERE / "code" / code)):
            print(json.dumps(row), flush=True)
    except (Error, Problem) as problem:
        print(json.dumps({"problem": str(problem)[:500]}), flush=True)


# All of them ----------------------------------------------------------------------------------------------------------


def outcome(code: Path, seconds: float) -> Row:
    """What the child of a variant said within its time."""
    start = time.monotonic()
    command = [sys.executable, str(HERE / "run_all.py"), "--work", code.name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        said, error, status = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        kept = late.stdout or b""
        said = kept.decode() if isinstance(kept, bytes) else kept
        error, status = f"no end within {seconds:g} s", 1
    found = [json.loads(line) for line in said.splitlines() if line.endswith("}")]
    problems = [row["problem"] for row in found if "problem" in row] + [error.strip()[-300:]] * (status != 0)
    wrong = {str(row["trips"]): row["wrong"] for row in found if row.get("wrong")}
    right = [row["trips"] for row in found if "trips" in row and not row["wrong"]]
    name, target, strategy = code.name.split(".")[:3]
    return {
        "program": name,
        "target": target,
        "strategy": strategy,
        "right": right,
        "wrong": wrong,
        "problem": "; ".join(problems),
        "seconds": round(time.monotonic() - start, 1),
    }


def line(row: Row) -> str:
    """A row as people read it."""
    what = "right" if is_right(row) else row["problem"] or f"WRONG {next(iter(row['wrong'].items()))}"
    return f"{row['program']:26s} {row['target']:8s} {row['strategy']:16s} {row['seconds']:5.1f} s  {what}"


def is_right(row: Row) -> bool:
    """Whether all trip counts of a variant are."""
    return bool(row["right"]) and not row["wrong"] and not row["problem"]


def device() -> str:
    """What the device is called; in a process of its own, since its context takes memory."""
    command = [sys.executable, str(HERE / "run_all.py"), "--device"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no GPU"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Run every variant of the folder on the GPU.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    parser.add_argument("--out", type=Path, help="the JSON (default: people.json in $OUT, or here)")
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each variant")
    parser.add_argument("--work", metavar="CODE", help="what a child does")
    parser.add_argument("--device", action="store_true", help="say what the device is called")
    options = parser.parse_args()
    if options.device:
        print(described_device(0))
        return 0
    if options.work:
        work(options.work)
        return 0
    codes = [path for path in sorted((HERE / "code").iterdir()) if path.suffix in (".cubin", ".ptx")]
    codes = [path for path in codes if not options.names or path.name.split(".")[0] in options.names]
    start = time.monotonic()
    found: list[Row] = []
    with ThreadPoolExecutor(options.workers) as pool:
        for row in pool.map(lambda code: outcome(code, options.seconds), codes):
            found.append(row)
            print(line(row), flush=True)
    right = sum(map(is_right, found))
    data = {"device": device(), "launches": LAUNCHES, "variants": len(found), "right": right, "rows": found}
    out = options.out or Path(os.environ.get("OUT", HERE)) / "people.json"
    out.write_text(json.dumps(data, indent=1) + "\n")
    print(f"{right} of {len(found)} variants are right, {time.monotonic() - start:.0f} s; {out}")
    return 0 if right == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
