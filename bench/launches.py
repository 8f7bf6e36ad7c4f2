"""
Products of matrices on a whole GPU, measured and foretold: does the model put programs in their order?

The programs were compiled by main 2b33ed8 and measured on an NVIDIA H200 by `make bench-gpu` (`bench_h200.json`).
Foretold is the code that ran (`launches_code.tar.xz`), as `tileas tune` foretells it. No constant is fitted to these
products. The foretold numbers are kept beside the measured ones: `python -m bench.launches` computes them anew and
writes them, `python -m bench.launches --summary` says how near they are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.gpu.speed import GROUP, SHAPES
from bench.turns import RESULTS, archive
from tileas_xdsl.kernels.tuning.forecast import Problem, forecast, work_in
from tileas_xdsl.kernels.tuning.result import spearman
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.scheduling.launches import Launched
from tileas_xdsl.targets.measured.h200 import H200_GPU
from tileas_xdsl.tools.inputs import full_context, parse_module

CODE = RESULTS / "launches_code.tar.xz"
FORETOLD = RESULTS / "launches_foretold.json"
TARGET = "sm_90a"
Shape = tuple[int, int, int]
"""Rows, columns and depth of a product."""


@dataclass(frozen=True)
class Product:
    """A program at a shape, and what it took."""

    program: str
    shape: Shape
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.program} at {'x'.join(map(str, self.shape))}"

    @property
    def tile(self) -> Shape:
        """Of a program: rows, columns, depth."""
        rows, columns, depth = map(int, self.program.split(".")[1].split("_"))
        return rows, columns, depth


def products() -> list[Product]:
    """Every product of ours that was measured."""
    rows = json.loads((RESULTS / "bench_h200.json").read_text())["rows"]
    return [
        Product(row["program"], tuple(row["shape"]), row["ms"] / 1e3)
        for row in rows
        if row["program"].startswith("product.") and "ms" in row
    ]


def foretold(product: Product) -> Launched:
    """What the model says of it."""
    files = archive(CODE)
    beside = json.loads(files[f"{product.program}.json"])
    module = parse_module(beside["program"]["text"], product.program, full_context())
    function, _ = find_function(module, None)
    problem = problem_of(product)
    work = work_in(function, problem, TARGET)
    return forecast(files[f"{product.program}.ptx"], beside["kernels"][0], work, problem, H200_GPU, ("n",))


def problem_of(product: Product) -> Problem:
    """With what it was launched; see `bench.gpu.speed.product`."""
    m, n, k = product.shape
    rows, columns, depth = product.tile
    down, across = -(-m // rows), -(-n // columns)
    grid = (down, across, 1) if ".plain." in product.program else (-(-down // GROUP) * GROUP * across, 1, 1)
    numbers = {"n": -(-k // depth), "tm": down, "tn": across}
    return Problem(numbers=numbers, sizes={"a": (m, k), "b": (k, n), "c": (m, n)}, grid=grid)


def measure() -> Iterator[dict[str, Any]]:
    """A row for each product."""
    for product in products():
        found = foretold(product)
        yield {
            "program": product.program,
            "shape": "x".join(map(str, product.shape)),
            "measured us": round(product.seconds * 1e6, 1),
            "foretold us": round(found.seconds * 1e6, 1),
            "error": round(found.seconds / product.seconds - 1, 3),
            "blocks a multiprocessor": found.together,
            "bound": found.bound,
        }


def kept() -> dict[str, float]:
    """Name of a product -> the seconds that were foretold when the file was written."""
    return json.loads(FORETOLD.read_text())


def summary() -> Iterator[str]:
    """How near the foretold times are at each shape, and whether their order is that of the measured ones."""
    seconds = kept()
    for shape in SHAPES:
        chosen = [one for one in products() if one.shape == shape]
        errors = [abs(seconds[one.name] / one.seconds - 1) for one in chosen]
        order = spearman([seconds[one.name] for one in chosen], [one.seconds for one in chosen])
        yield (
            f"{'x'.join(map(str, shape))}: {len(chosen)} products, rank correlation {order:.2f}, median error "
            f"{median(errors):.1%}, largest {max(errors):.1%}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Launches of products, measured and foretold.")
    parser.add_argument("--summary", action="store_true", help="say how near the kept numbers are")
    options = parser.parse_args(arguments)
    if not options.summary:
        seconds = {product.name: round(foretold(product).seconds, 9) for product in products()}
        FORETOLD.write_text(json.dumps(seconds, indent=1) + "\n")
    for sentence in summary():
        print(sentence)


if __name__ == "__main__":
    main()
