"""
Random loops over tiles as a kernel has them: one to three load chains, one to three products, element-wise work,
stores, guards, carried values, and bounds that are known at run time only.

A program is a function `@f(%n: index, ...)` of arrays of small integers; no op leaves them, so all orders of addition
give the same numbers. Its loop runs over tiles of `%a` (64 by 16), `%b` (16 by 64) and `%d` (64 by 64).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, print_custom
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

MOST_TRIPS = 9

PATIENCE = 300.0
"""Seconds of processor time for a check: far more than any takes, so that no machine is too slow for a verdict."""

PRELUDE = """
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!d = tensor<64x64xf32, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf32>, %c: memref<?x?xf32>, %o: memref<?x?xf32>,
             %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !c
  %one = arith.constant dense<1.0> : !c
"""

LOADS = {
    "a": "%{name} = nv_tileaa.tiled_load %a[%c0, {at}] : (memref<?x?xf16>, index, index) -> !a",
    "b": "%{name} = nv_tileaa.tiled_load %b[{at}, %c0] : (memref<?x?xf16>, index, index) -> !b",
    "d": "%{name} = nv_tileaa.tiled_load %d[{at}, %c0] : (memref<?x?xf32>, index, index) -> !d",
}


def random_kernel(seed: int) -> str:
    """The program of this seed."""
    return _Kernel(random.Random(seed)).text()


def kernel_arguments(trips: int) -> dict[str, Any]:
    """Arguments for `trips` iterations of step 1 from 0; the same each time."""
    draw = np.random.default_rng(5)
    extent = 2 * MOST_TRIPS + 4

    def integers(*shape: int) -> Any:
        return draw.integers(-2, 3, shape)

    return {
        "a": integers(64, 16 * extent).astype(np.float16),
        "b": integers(16 * extent, 64).astype(np.float16),
        "d": integers(64 * extent, 64).astype(np.float32),
        "c": np.zeros((64 * 3, 64), np.float32),
        "o": np.zeros((64 * extent, 64), np.float32),
        "n": trips,
    }


class _Kernel:
    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.count = 0
        self.tiles = {"a": ["%a_first"], "b": ["%b_first"], "d": list[str]()}
        self.values = ["%one"]

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def text(self) -> str:
        carried = self.choices.randint(1, 3)
        accumulators = [f"%acc{k}" for k in range(carried)]
        self.values += accumulators
        steps = [self.product] * self.choices.randint(1, 3) + [self.elementwise] * self.choices.randint(0, 3)
        steps += [self.store] * (self.choices.random() < 0.3) + [self.guard] * (self.choices.random() < 0.4)
        steps += [self.late_load] * (self.choices.random() < 0.3)
        for kind in self.choices.sample(["a", "b", "d"], self.choices.randint(1, 3)):
            self.load(kind)
        self.choices.shuffle(steps)
        for step in steps:
            step(accumulators)
        self.use_all_loads(accumulators)
        yielded = [self.values[-1], *(self.recent() for _ in accumulators[1:])]
        inits = ", ".join(f"{acc} = %zero" for acc in accumulators)
        types = ", ".join(["!c"] * carried)
        lower, step = self.choices.choice(["%c0", "%c0", "%c1"]), self.choices.choice(["%c1", "%c1", "%c2"])
        results = ", ".join(f"%r{k}" for k in range(carried))
        head = f"  {results} = scf.for %k = {lower} to %n step {step} iter_args({inits}) -> ({types}) {{"
        tail = f"    scf.yield {', '.join(yielded)} : {types}\n  }}"
        return "\n".join([*PRELUDE.splitlines(), *self.before(), head, *self.lines, tail, *self.behind(carried), "}"])

    def before(self) -> list[str]:
        """Factors that stay the same in all iterations."""
        made = [LOADS[kind].format(name=f"{kind}_first", at="%c0") for kind in ("a", "b")]
        return [f"  {line}" for line in made if any(line.split()[0] in other for other in self.lines)]

    def behind(self, carried: int) -> list[str]:
        lines: list[str] = []
        for k in range(carried):
            at = f"%c{k}"
            lines.append(f"  nv_tileaa.tiled_store %c[{at}, %c0], %r{k} : (memref<?x?xf32>, !c, index, index) -> ()")
        return [*lines, "  func.return"]

    # Steps ------------------------------------------------------------------------------------------------------------

    def load(self, kind: str) -> None:
        at = "%k"
        if self.choices.random() < 0.2:
            at = f"%{self.name()}"
            self.lines.append(f"    {at} = arith.addi %k, %c1 : index")
        name = self.name()
        self.lines.append("    " + LOADS[kind].format(name=name, at=at))
        self.tiles[kind].append(f"%{name}")

    def use_all_loads(self, accumulators: list[str]) -> None:
        """A loop that loads what nobody uses has no load chain."""
        for kind, tiles in self.tiles.items():
            for tile in [t for t in tiles if not any(f"{t}," in line or f"{t} :" in line for line in self.lines)]:
                if kind == "d":
                    self.make(f"nv_tileas.convert_layout {tile} : (!d) -> !c")
                    self.make(f"arith.addf {self.values[-1]}, {self.choices.choice(accumulators)} : !c")
                elif not tile.endswith("_first"):
                    left, right = (tile, "%b_first") if kind == "a" else ("%a_first", tile)
                    self.make(f"nv_tileaa.dot {left}, {right}, {self.recent()} : (!a, !b, !c) -> !c")

    def late_load(self, _: list[str]) -> None:
        self.load(self.choices.choice(["a", "b"]))

    def product(self, accumulators: list[str]) -> None:
        left, right = self.tiles["a"][-1], self.choices.choice(self.tiles["b"][-2:])
        target = self.choices.choice([*accumulators, "%zero"])
        self.make(f"nv_tileaa.dot {left}, {right}, {target} : (!a, !b, !c) -> !c")

    def elementwise(self, _: list[str]) -> None:
        if self.tiles["d"] and self.choices.random() < 0.5:
            self.make(f"nv_tileas.convert_layout {self.choices.choice(self.tiles['d'])} : (!d) -> !c")
        op = self.choices.choice(["addf", "subf", "maximumf", "minimumf"])
        self.make(f"arith.{op} {self.recent()}, {self.recent()} : !c")

    def store(self, _: list[str]) -> None:
        value = self.recent()
        self.lines.append(f"    nv_tileaa.tiled_store %o[%k, %c0], {value} : (memref<?x?xf32>, !c, index, index) -> ()")

    def guard(self, _: list[str]) -> None:
        """A value, or a store, in some of the iterations only."""
        condition, value, other = f"%{self.name()}", self.recent(), self.recent()
        self.lines.append(f"    {condition} = arith.cmpi slt, %k, %c2 : index")
        if self.choices.random() < 0.3:
            store = f"nv_tileaa.tiled_store %o[%k, %c0], {value} : (memref<?x?xf32>, !c, index, index) -> ()"
            self.lines.append(f"    scf.if {condition} {{\n      {store}\n    }}")
            return
        inner = f"%{self.name()}"
        self.make(
            f"scf.if {condition} -> (!c) {{\n      {inner} = arith.addf {value}, %one : !c\n"
            f"      scf.yield {inner} : !c\n    }} else {{\n      scf.yield {other} : !c\n    }}"
        )

    def make(self, right: str) -> None:
        name = f"%{self.name()}"
        self.lines.append(f"    {name} = {right}")
        self.values.append(name)

    def recent(self) -> str:
        """Recent values more often than old ones."""
        return self.values[-1 - min(int(self.choices.expovariate(0.7)), len(self.values) - 1)]


def assert_right_and_safe(module: ModuleOp, source: str, trip_counts: Sequence[int], seed: int) -> None:
    """`module` computes what the kernel `source` does, in two orders, and is safe."""
    before = parse(source)
    for trips in trip_counts:
        first = run(before, "f", kernel_arguments(trips))
        for order in ("lazy", "random"):
            found = run(module, "f", kernel_arguments(trips), order=order, seed=seed)
            assert found.violations == (), print_custom(module)
            for name, array in first.arrays.items():
                assert array.tobytes() == found.arrays[name].tobytes(), f"{name}, {trips} trips\n{print_custom(module)}"
    report = check(module, "f", timeout=PATIENCE)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
