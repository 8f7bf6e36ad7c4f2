"""
Random loops over tiles, as IR text: loads, arithmetic, views, stores, branches and nested loops around them.

A program is a function `@f(%n: index, ...)` of three arrays of 8 by 8 tiles. Two are only read, `%out` is read and
written, so loads from it must stay in order with the stores. Values flow at random: what is loaded may be used at
once, late, as a view, in a branch, or never.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

TILE, SHARED = "tensor<2x2xf32>", "tensor<2x2xf32, #smem>"
ARRAYS = {"a": "memref<16x16xf32>", "b": "memref<16x16xf32>", "out": "memref<16x16xf32>"}
TRIPS = (0, 1, 2, 3, 5)


def tile_loop_program(seed: int) -> str:
    """The program of this seed; every subscript lies within the arrays for `%n` up to 5."""
    return _Generator(random.Random(seed)).generate()


@dataclass
class _Scope:
    """The values that may be used here."""

    indices: list[str]
    tiles: list[str]
    shared: list[str] = field(default_factory=list[str])

    def inner(self) -> _Scope:
        return _Scope([*self.indices], [*self.tiles], [*self.shared])


class _Generator:
    """Writes one program, line by line."""

    def __init__(self, choices: random.Random) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def generate(self) -> str:
        arguments = ", ".join(f"%{name}: {type_}" for name, type_ in ARRAYS.items())
        scope = _Scope(["%c0", "%c1", "%c2"], ["%zero", "%ones"])
        self.lines = [
            "#smem = #nv_tileas.layout<smem>",
            f"func.func @f(%n: index, {arguments}) {{",
            *(f"  %c{k} = arith.constant {k} : index" for k in range(4)),
            f"  %zero = arith.constant dense<0.0> : {TILE}",
            f"  %ones = arith.constant dense<0.5> : {TILE}",
        ]
        for _ in range(self.choices.randint(1, 2)):
            self.loop(scope, depth=0)
        return "\n".join([*self.lines, "  func.return", "}"])

    # Statements -------------------------------------------------------------------------------------------------------

    def loop(self, scope: _Scope, depth: int) -> None:
        """A loop that carries a tile, and sometimes the tile of the iteration before."""
        result, counter, carried = self.name(), self.name(), self.name()
        bound = "%n" if depth == 0 else "%c2"
        step = self.choices.choice(["%c1", "%c1", "%c2"])
        initial = self.choice(scope.tiles)
        self.lines.append(
            f"{result} = scf.for {counter} = %c0 to {bound} step {step} iter_args({carried} = {initial}) -> ({TILE}) {{"
        )
        inner = scope.inner()
        inner.indices.append(counter)
        inner.tiles.append(carried)
        self.body(inner, depth, self.choices.randint(2, 7))
        self.lines += [f"scf.yield {self.choice(inner.tiles)} : {TILE}", "}"]
        scope.tiles.append(result)

    def body(self, scope: _Scope, depth: int, length: int) -> None:
        statements = [self.load] * 4 + [self.compute] * 3 + [self.view, self.index, self.store]
        for _ in range(length):
            if depth < 2 and self.choices.random() < 0.1:
                self.loop(scope, depth + 1)
            elif self.choices.random() < 0.1:
                self.branch(scope, depth)
            else:
                self.choices.choice(statements)(scope)
        self.compute(scope)

    def branch(self, scope: _Scope, depth: int) -> None:
        """Both arms yield a tile that lies in shared memory, or one in registers."""
        condition, result = self.name(), self.name()
        type_ = SHARED if scope.shared and self.choices.random() < 0.6 else TILE
        self.lines += [
            f"{condition} = arith.cmpi eq, {self.choice(scope.indices)}, {self.choice(scope.indices)} : index",
            f"{result} = scf.if {condition} -> ({type_}) {{",
        ]
        for arm in range(2):
            inner = scope.inner()
            if depth < 2:
                self.body(inner, 2, self.choices.randint(0, 2))
            values = inner.shared if type_ == SHARED else inner.tiles
            self.lines += [f"scf.yield {self.choice(values)} : {type_}", "} else {" if arm == 0 else "}"]
        (scope.shared if type_ == SHARED else scope.tiles).append(result)

    def load(self, scope: _Scope) -> None:
        array = self.choices.choice(["a", "b", "a", "b", "out"])
        result = self.name()
        shared = self.choices.random() < 0.6
        type_ = SHARED if shared else TILE
        mnemonic = self.choices.choice(["tiled_load", "tiled_load", "load"])
        subscripts = f"{self.choice(scope.indices)}, {self.choice(scope.indices)}"
        self.lines.append(
            f"{result} = nv_tileaa.{mnemonic} %{array}[{subscripts}] : ({ARRAYS[array]}, index, index) -> {type_}"
        )
        (scope.shared if shared else scope.tiles).append(result)

    def compute(self, scope: _Scope) -> None:
        result = self.name()
        if scope.shared and self.choices.random() < 0.7:
            first, second = self.choice(scope.shared), self.choice(scope.shared)
            accumulator = self.choice(scope.tiles)
            self.lines.append(
                f"{result} = nv_tileaa.dot {first}, {second}, {accumulator} : ({SHARED}, {SHARED}, {TILE}) -> {TILE}"
            )
        else:
            op = self.choices.choice(["addf", "subf", "minimumf"])
            self.lines.append(f"{result} = arith.{op} {self.choice(scope.tiles)}, {self.choice(scope.tiles)} : {TILE}")
        scope.tiles.append(result)

    def view(self, scope: _Scope) -> None:
        """Emits two names of one tile's bytes, or a tile in shared memory and a copy of it in registers."""
        if not scope.shared:
            return
        source = self.choice(scope.shared)
        flat, result = self.name(), self.name()
        if self.choices.random() < 0.5:
            self.lines.append(f"{result} = nv_tileas.convert_layout {source} : ({SHARED}) -> {TILE}")
            scope.tiles.append(result)
            return
        self.lines += [
            f"{flat} = nv_tileaa.view {source} : ({SHARED}) -> tensor<4xf32, #smem>",
            f"{result} = nv_tileaa.view {flat} : (tensor<4xf32, #smem>) -> {SHARED}",
        ]
        scope.shared.append(result)

    def index(self, scope: _Scope) -> None:
        """Half of another index, rounded up: no index grows."""
        twice, result = self.name(), self.name()
        self.lines += [
            f"{twice} = arith.addi {self.choice(scope.indices)}, %c1 : index",
            f"{result} = arith.divui {twice}, %c2 : index",
        ]
        scope.indices.append(result)

    def store(self, scope: _Scope) -> None:
        """Rarely, so that most loads from the array written can be staged."""
        if self.choices.random() < 0.6:
            return
        subscripts = f"{self.choice(scope.indices)}, {self.choice(scope.indices)}"
        self.lines.append(
            f"nv_tileaa.tiled_store %out[{subscripts}], {self.choice(scope.tiles)} "
            f": ({ARRAYS['out']}, {TILE}, index, index) -> ()"
        )

    def choice(self, values: list[str]) -> str:
        """Recent values more often than old ones."""
        return values[-1 - min(int(self.choices.expovariate(0.6)), len(values) - 1)]
