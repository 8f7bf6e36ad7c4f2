"""
How fast the kernels of a folder are on the GPU of this machine, beside cuBLAS, cuDNN, Triton and torch in the same run.

    python speed.py OUT [--parts products attention streaming rows turns] [--seconds 240]

The folder, which `bench.gpu.pack` writes, holds `speed.json` (which programs there are, and what they are given), their
code in `code/`, and this package. Each part is a process of its own with a time limit. What a kernel computes is held
against torch before it is timed. Times are those of CUDA events, the median of five batches. Prints a line for each
program, and writes `speed.json` into OUT.

A turn is what one more trip of the main loop takes one block that is alone on the GPU: the times at two trip counts
are subtracted. The clock is measured by a kernel that waits for a number of cycles.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Timer
from typing import Any

HERE = Path(__file__).resolve().parent
BATCHES = 5
BUDGET = 0.12
"""Seconds of one measurement, about."""
SHAPES = ((8192, 8192, 8192), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 512))
GROUP = 8
"""Rows of tiles that the programs of a product in grouped order share."""
HEADS, QUERIES = 32, 4096
STREAMED = (16384, 8192)
TRIPS = {"in L2": (256, 768), "from memory": (1024, 3072)}

Row = dict[str, Any]


# Time -----------------------------------------------------------------------------------------------------------------


def milliseconds(call: Callable[[], Any], budget: float = BUDGET) -> float:
    """The time of one call on the GPU: the median of some batches."""
    import torch

    for _ in range(3):
        call()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()

    def batch(count: int) -> float:
        first.record()
        for _ in range(count):
            call()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / count

    count = int(min(max(budget * 1000 / BATCHES / max(batch(1), 0.002), 3), 2000))
    return sorted(batch(count) for _ in range(BATCHES))[BATCHES // 2]


# Kernels --------------------------------------------------------------------------------------------------------------


@cache
def kernel(name: str) -> Any:
    """The kernel of that name in the folder."""
    import tileas_xdsl as tileas

    ending = "ptx" if ".sm_80." in name else "cubin"  # the driver compiles PTX for later chips
    return tileas.load(HERE / "code" / f"{name}.{ending}")


@dataclass(frozen=True)
class Goal:
    """What a program has to compute: into which array, and how far from the expected numbers, relatively."""

    found: Any
    expected: Any
    most: float

    def missed(self, launch: Callable[[], Any]) -> float | None:
        """How far the numbers are from those expected, if that is too far."""
        self.found.fill_(float("nan"))
        launch()
        error = ((self.found.float() - self.expected.float()).norm() / self.expected.float().norm()).item()
        return None if error <= self.most else error


def ours(what: Row, name: str, goal: Goal, grid: Any, *arguments: Any) -> Row:
    """The row of a kernel of the folder; without a grid the launch computes it of the arrays."""

    def started() -> Callable[[], Any]:
        return partial(kernel(name) if grid is None else kernel(name)[grid], *arguments)

    return timed(what, name, started, goal)


def timed(what: Row, name: str, started: Callable[[], Callable[[], Any]], goal: Goal | None = None) -> Row:
    """The row of a program, which `started` makes ready: its time, or why there is none."""
    row: Row = {**what, "program": name}
    try:
        launch = started()
        error = goal.missed(launch) if goal is not None else None
        return {**row, "ms": milliseconds(launch)} if error is None else {**row, "wrong": error}
    except Exception as problem:
        return {**row, "problem": f"{type(problem).__name__}: {problem}"[:300]}


def library(what: Row, name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Row:
    """The row of a function of a library."""
    return timed(what, name, lambda: partial(function, *arguments, **options))


def programs(kind: str) -> Mapping[str, Any]:
    """The programs of a kind, by name."""
    return json.loads((HERE / "speed.json").read_text())[kind]


# Parts ----------------------------------------------------------------------------------------------------------------


def products() -> Iterator[Row]:
    """Products of f16 with sums of f32; TFLOP/s."""
    import torch

    for m, n, k in SHAPES:
        what: Row = {"what": "product, f16, f32 sums", "shape": [m, n, k], "unit": "TFLOP/s", "work": 2e-9 * m * n * k}
        torch.manual_seed(0)
        a, b = (torch.randn(size, device="cuda").half() for size in ((m, k), (k, n)))
        c = torch.empty(m, n, device="cuda", dtype=torch.float16)
        goal = Goal(c, a @ b, 2e-3)
        yield library(what, "cuBLAS", torch.mm, a, b, out=c)
        for tile, warps, stages in (((128, 256, 64), 8, 3), ((128, 128, 64), 4, 4)):
            name = f"Triton, {'x'.join(map(str, tile))}, {warps} warps, {stages} stages"
            yield timed(what, name, lambda args=(a, b, c, tile, warps, stages): triton("product", *args), goal)
        for name, facts in programs("products").items():
            yield product(what, name, facts, (a, b), goal)
        yield library(what, "cuBLAS", torch.mm, a, b, out=c)


def product(what: Row, name: str, facts: Mapping[str, Any], given: tuple[Any, Any], goal: Goal) -> Row:
    """The row of a product of ours."""
    (m, k), n = given[0].shape, given[1].shape[1]
    rows, columns, depth = facts["tile"]
    trips, tm, tn = -(-k // depth), -(-m // rows), -(-n // columns)
    if facts["order"] == "grouped":
        return ours(what, name, goal, (-(-tm // GROUP) * GROUP * tn,), *given, goal.found, trips, tm, tn)
    return ours(what, name, goal, (tm, tn), *given, goal.found, trips)


def attention() -> Iterator[Row]:
    """Forward attention of f16 without a mask; TFLOP/s."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as attend

    for width in (128, 64):
        work = 4e-9 * HEADS * QUERIES * QUERIES * width
        what: Row = {"what": "attention, f16", "shape": [HEADS, QUERIES, width], "unit": "TFLOP/s", "work": work}
        torch.manual_seed(0)
        q, k, v = (torch.randn(1, HEADS, QUERIES, width, device="cuda").half() for _ in range(3))
        for label, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("torch's flash", SDPBackend.FLASH_ATTENTION)):
            with sdpa_kernel(backend):
                yield library(what, label, attend, q, k, v)
        queries, values, expected = (each.reshape(HEADS * QUERIES, width) for each in (q, v, attend(q, k, v)))
        keys = k[0].transpose(1, 2).contiguous().reshape(HEADS * width, QUERIES)
        behind = queries, keys, values, expected
        beside = _beside(q), keys, _beside(v), _beside(expected.reshape(q.shape))
        for name, facts in programs("attention").items():
            rows, columns, of = facts["tile"]
            if of != width:
                continue
            *given, wanted = beside if facts.get("beside") else behind
            goal = Goal(torch.empty_like(wanted), wanted, 5e-3)
            numbers = (QUERIES // columns,) if facts.get("beside") else (QUERIES // columns, QUERIES // rows)
            grid = None if facts.get("beside") else (QUERIES // rows, HEADS)
            yield ours(what, name, goal, grid, *given, goal.found, *numbers)


def _beside(heads: Any) -> Any:
    """Rows in which the heads lie side by side."""
    return heads[0].transpose(0, 1).contiguous().reshape(heads.shape[2], -1)


def streaming() -> Iterator[Row]:
    """The sum of two arrays of f32; GB/s."""
    import torch

    rows, columns = STREAMED
    work = 3e-6 * 4 * rows * columns
    what: Row = {"what": "sum of two arrays, f32", "shape": [rows, columns], "unit": "GB/s", "work": work}
    x, y = (torch.randn(rows, columns, device="cuda") for _ in range(2))
    goal = Goal(torch.empty_like(x), x + y, 1e-6)
    yield library(what, "torch", torch.add, x, y, out=goal.found)
    for name, facts in programs("streaming").items():
        down, across = rows // facts["tile"][0], columns // facts["tile"][1]
        if name.startswith("sum_16"):
            yield ours(what, name, goal, down, x, y, goal.found, across)
        else:
            yield ours(what, name, goal, (across, down), x, y, goal.found)


def rows() -> Iterator[Row]:
    """The softmax, and the norm by the root mean square, of rows of f32; GB/s."""
    import torch

    for name, facts in programs("rows").items():
        kind, (at_once, width) = facts["what"], facts["tile"]
        count = (1 << 27) // width
        work = 8e-6 * count * width
        what: Row = {"what": f"{kind} of rows, f32", "shape": [count, width], "unit": "GB/s", "work": work}
        x = torch.randn(count, width, device="cuda")
        function, options = torch.softmax, {"dim": 1}
        if kind != "softmax":
            function, options = torch.nn.functional.rms_norm, {"normalized_shape": (width,), "eps": 1e-5}
        goal = Goal(torch.empty_like(x), function(x, **options), 1e-4)
        yield library(what, "torch", function, x, **options)
        yield timed(what, "Triton", lambda args=(kind, x, goal.found): triton("of_rows", *args), goal)
        yield ours(what, name, goal, count // at_once, x, goal.found)


def triton(name: str, *arguments: Any) -> Callable[[], Any]:
    """A function of `triton_kernels`, with its arguments."""
    import triton_kernels

    return partial(getattr(triton_kernels, name), *arguments)


def turns() -> Iterator[Row]:
    """Cycles of one more trip of one block that is alone."""
    for name, facts in programs("turns").items():
        row: Row = {"what": "turn", "program": name}
        try:
            for where, (few, many) in TRIPS.items():
                spent = [milliseconds(of_trips(name, facts, trips), 0.03) for trips in (few, many)]
                row[f"ns {where}"] = (spent[1] - spent[0]) / (many - few) * 1e6
            row["clock, MHz"] = clock()
        except Exception as problem:
            row["problem"] = f"{type(problem).__name__}: {problem}"[:300]
        yield row


def of_trips(name: str, facts: Mapping[str, Any], trips: int) -> Callable[[], Any]:
    """A launch of one block whose main loop makes that many trips."""
    import torch

    kinds = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}
    sizes: Mapping[str, tuple[str, Sequence[int]]] = facts["arrays"][str(trips)]
    arrays = {key: (torch.randn(*shape, device="cuda") * 0.1).to(kinds[kind]) for key, (kind, shape) in sizes.items()}
    return partial(kernel(name)[1], **arrays, n=trips, **facts.get("numbers", {}))


@cache
def clock() -> float:
    """The clock of the multiprocessors in MHz: what a kernel that waits for so many cycles takes."""
    import torch

    cycles = 40_000_000
    return cycles / milliseconds(lambda: torch.cuda._sleep(cycles)) / 1e3


PARTS: Mapping[str, tuple[Callable[[], Iterator[Row]], float]] = {
    "products": (products, 100),
    "attention": (attention, 40),
    "streaming": (streaming, 30),
    "rows": (rows, 40),
    "turns": (turns, 80),
}
"""The parts, with the seconds that each may take."""


# All of them ----------------------------------------------------------------------------------------------------------


def line(row: Row) -> str:
    """A row as people read it."""
    if row["what"] == "turn":
        clock = row.get("clock, MHz") or 0
        said = ", ".join(f"{row[f'ns {w}'] * clock / 1e3:,.0f} cycles {w}" for w in TRIPS if f"ns {w}" in row)
        return f"  {row['program']:44s} {row.get('problem') or said}"
    if "ms" not in row:
        return f"  {row['program']:44s} {row.get('problem') or 'WRONG: ' + format(row['wrong'], 'g')}"
    return f"  {row['program']:44s} {row['work'] / row['ms']:9,.1f} {row['unit']}"


def device() -> str:
    """What the GPU is called, and with which driver it runs."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


def run_part(name: str, seconds: float) -> Iterator[Row]:
    """The rows of a part, as a process of its own prints them within its time."""
    command = [sys.executable, str(HERE / "speed.py"), "-", "--part", name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watch = Timer(seconds, child.kill)
    watch.start()
    others: list[str] = []
    assert child.stdout is not None
    for said in child.stdout:
        if said.startswith("{"):
            yield json.loads(said)
        else:
            others.append(said)
    in_time = watch.is_alive()
    watch.cancel()
    if child.wait():
        reason = "".join(others)[-600:].strip() if in_time else f"no end in {seconds:.0f} s"
        yield {"what": name, "program": name, "problem": reason}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Time the kernels of the folder on the GPU.")
    parser.add_argument("out", help="a folder for speed.json")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--seconds", type=float, default=240, help="for all parts together (default: 240)")
    parser.add_argument("--part", choices=list(PARTS), help="what a child does")
    options = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE / "site")]
    if options.part:
        for row in PARTS[options.part][0]():
            print(json.dumps(row), flush=True)
        return 0
    begun, found = time.monotonic(), list[Row]()
    data: dict[str, Any] = {"device": device(), "rows": found}
    heading = ""
    for part in options.parts:
        left = options.seconds - (time.monotonic() - begun)
        for row in run_part(part, max(min(PARTS[part][1], left), 1)):
            shape = " x ".join(f"{size:,}" for size in row.get("shape", ()))
            if heading != (heading := f"{row['what']}{', ' * bool(shape)}{shape}"):
                print(heading)
            print(line(row), flush=True)
            found.append(row)
            Path(options.out, "speed.json").write_text(json.dumps(data, indent=1) + "\n")
    print(f"{len(found)} rows, {time.monotonic() - begun:.0f} s, {data['device']}")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
