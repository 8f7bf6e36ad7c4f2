"""
Random programs of tiles, as people write them: what stands between tiles and threads has to get all of them right.

A program is a function `@f` of arrays of small integers and of bounds of loops. It has, in any mixture: loads into
registers and shared memory, conversions between the two, element-wise work, sums of rows, products, updates in place,
chains through memory that another layout reads, branches with and without results, loops and nests of loops that carry
tiles of every kind, queues between agents, and code in front of and behind all of these. No op leaves the small
integers, so every order of addition gives the same numbers.

`STATEMENTS` lists what a program may say: a new op is one function, and one row there. `WIDER` has more: masks,
coordinates, permutations, batches, gathers, coordinates from memory, atomic updates, scans, functions of numbers, small
floats, rows that are stored, and loops that count by themselves. Wider programs also multiply bytes, small floats and
f32.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

SMALL = 64
"""What is stored, or handed on by a loop, is at most so large."""
FACTOR = 2
"""The same of a factor of a product."""
DEEPEST = 2
"""Loops around a statement."""
SHAPES = ((8, 32), (16, 32), (32, 16), (16, 16), (4, 32), (1, 32), (64, 16), (32, 64))
PRODUCT = (64, 16)
"""M and N: the smallest that wgmma has for a warpgroup."""
TENSOR_PRODUCT = (128, 32)
"""The same of what adds to tensor memory."""
SMALL_FLOAT = "f8E4M3FN"
DEPTHS = {"f16": 16, "f32": 16, "i8": 32, SMALL_FLOAT: 32}
"""Element of factors -> K."""
WARPS = (4, 4, 4, 8, 2, 1)
INPUTS, UPDATED, OUTPUTS = ("%x", "%w"), ("%z", "%t"), ("%y", "%o")
HALVES = ("%a", "%b")
ROWS = ("%r", "%q")
"""Arrays of one axis: one that is read, one that is written."""
PLACES, SUMMED = "%ids", "%sums"
"""An array of coordinates, and one that atomic updates add to."""
BYTES, FLOATS = ("%bytes",), ("%f8",)
NARROW = {"f16": HALVES, "i8": BYTES, SMALL_FLOAT: FLOATS}
"""Element -> the arrays of such numbers, none of which is larger than a factor."""
MATRIX = 2
"""Axes of a matrix."""
BATCHES, BATCHED, BATCH = "%many", "%every", 4
"""An array of batches that is read, one that is written, and how many these are."""
FIRST = "%first"
"""Coordinates of rows of tiles."""


@dataclass(frozen=True)
class Kind:
    """The type of a tile."""

    shape: tuple[int, ...]
    element: str = "f32"
    shared: bool = False

    def __str__(self) -> str:
        extents = "x".join(map(str, self.shape))
        return f"tensor<{extents}x{self.element}{', #smem' if self.shared else ''}>"

    @property
    def array(self) -> str:
        batches = f"{BATCH}x" if len(self.shape) > MATRIX else ""
        return f"memref<{batches}{'?x' * min(len(self.shape), MATRIX)}{self.element}>"

    def of(self, element: str) -> Kind:
        return replace(self, element=element)

    def full_of(self, number: int) -> str:
        """The constant in which each element is that number."""
        return f"dense<{number}{'' if self.element.startswith('i') else '.0'}> : {self}"

    @property
    def held(self) -> Kind:
        return replace(self, shared=False)

    @property
    def lies(self) -> Kind:
        return replace(self, shared=True)


@dataclass(frozen=True)
class Value:
    """A tile by its name, and how large its numbers may be."""

    name: str
    kind: Kind
    bound: int = SMALL


@dataclass
class Scope:
    """What may be used in a block."""

    values: list[Value] = field(default_factory=list[Value])
    indices: list[str] = field(default_factory=list[str])
    """Those of the loops around, the innermost last."""
    depth: int = 0
    reads_only: bool = False
    """Whether no array may be written or read that others write: of an agent that fills a queue."""


class Program:
    """One program under way."""

    def __init__(self, seed: int, *, is_wide: bool = False, product: tuple[int, int] = PRODUCT) -> None:
        self.choices = random.Random(seed)
        self.product = product
        self.statements = STATEMENTS | WIDER if is_wide else STATEMENTS
        self.lines: list[str] = []
        self.count = 0
        self.scope = Scope()
        self.left = self.choices.randint(6, 14)
        """How many statements are left to say."""
        self.shape = self.choices.choice(SHAPES)
        self.has_products = self.choices.random() < (0.6 if is_wide else 0.15)
        self.factors = self.choices.choice(list(DEPTHS)) if is_wide else "f16"
        """What products multiply."""
        if self.has_products:
            self.shape = product
        self.warps = 4 if self.has_products else self.choices.choice(WARPS)
        self.has_queue = self.choices.random() < 0.15
        self.warps = 4 if self.has_queue else self.warps
        self._write()

    @property
    def text(self) -> str:
        """The program in MLIR."""
        arrays = [f"{name}: memref<?x?xf32>" for name in (*INPUTS, *UPDATED, *OUTPUTS)]
        arrays += [f"{name}: memref<?x?xf16>" for name in HALVES] + [f"{name}: memref<?xf32>" for name in ROWS]
        arrays += [f"{PLACES}: memref<?x?xi32>", f"{SUMMED}: memref<?x?xf32>", f"{FIRST}: memref<?xi32>"]
        arrays += [f"{name}: memref<?x?xi8>" for name in BYTES] + [f"{n}: memref<?x?x{SMALL_FLOAT}>" for n in FLOATS]
        arrays += [f"{name}: memref<{BATCH}x?x?xf32>" for name in (BATCHES, BATCHED)]
        used = [each for each in arrays if any(_names(line, each.split(":")[0]) for line in self.lines)]
        head = ["#smem = #nv_tileas.layout<smem>", f"func.func @f({', '.join([*used, '%n: index', '%m: index'])}) {{"]
        constants = [f"  %c{number} = arith.constant {number} : index" for number in range(4)]
        return "\n".join([*head, *constants, *self.lines, "  func.return", "}", ""])

    # Writing ----------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        self.some(1, 3)
        if self.has_queue:
            queue(self)
        else:
            loop(self)
            if self.chance(0.3):
                self.some(0, 2)
                loop(self)
        self.some(0, 2)
        store(self)

    def some(self, least: int, most: int) -> None:
        """So many statements in this block."""
        for _ in range(self.choices.randint(least, most)):
            if self.left <= 0:
                return
            self.left -= 1
            rows = [
                (row, weight)
                for row, weight in self.statements.items()
                if self.scope.depth < DEEPEST or row not in NESTS
            ]
            self.choices.choices([row for row, _ in rows], [weight for _, weight in rows])[0](self)

    def chance(self, probability: float) -> bool:
        return self.choices.random() < probability

    def name(self, hint: str = "v") -> str:
        self.count += 1
        return f"%{hint}{self.count}"

    def say(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def made(self, text: str, kind: Kind, bound: int = SMALL, hint: str = "v") -> Value:
        """A new value, which an op makes."""
        value = Value(self.name(hint), kind, bound)
        self.say(f"{value.name} = {text}")
        self.scope.values.append(value)
        return value

    @contextmanager
    def block(self, index: str | None = None, *, reads_only: bool = False) -> Generator[None]:
        """A block inside this one: what it makes is not known behind it."""
        outside = self.scope
        loops = int(index is not None)
        self.scope = Scope(
            list(outside.values),
            [*outside.indices, *([index] if index else [])],
            outside.depth + loops,
            outside.reads_only or reads_only,
        )
        yield
        self.scope = outside

    # Choosing ---------------------------------------------------------------------------------------------------------

    def any_of(self, kind: Kind) -> Value:
        """A value of a kind, the last ones first; a new one where there is none."""
        known = [value for value in self.scope.values if value.kind == kind]
        if known and self.chance(0.85):
            return self.choices.choice(known[-4:])
        return fresh(self, kind)

    def index(self) -> str:
        """A coordinate: k, k + 1, 2k, or a constant."""
        if not self.scope.indices or self.chance(0.15):
            return self.choices.choice(("%c0", "%c0", "%c1"))
        index = self.scope.indices[-1] if self.chance(0.8) else self.choices.choice(self.scope.indices)
        match self.choices.choices(("same", "next", "twice"), (7, 2, 1))[0]:
            case "next":
                return self.number(f"arith.addi {index}, %c1 : index")
            case "twice":
                return self.number(f"arith.muli {index}, %c2 : index")
            case _:
                return index

    def number(self, text: str) -> str:
        name = self.name("i")
        self.say(f"{name} = {text}")
        return name

    def place(self, kind: Kind) -> str:
        """Coordinates of a tile: most go down the first axis."""
        at = self.index()
        if len(kind.shape) == 1:
            return at
        return f"{at}, %c0" if self.chance(0.8) else f"%c0, {at}"

    def choice_of_target(self) -> str:
        """An array to store to."""
        return self.choices.choice((*OUTPUTS, *OUTPUTS, *UPDATED))

    def bounded_any(self, kind: Kind) -> Value:
        """A small value of a kind."""
        value = self.any_of(kind)
        if value.bound <= SMALL:
            return value
        return value if kind.shared else self.bounded(value)

    def bounded(self, value: Value, bound: int = SMALL) -> Value:
        """The value, cut to numbers that are small."""
        if value.bound <= bound:
            return value
        kind = value.kind
        least, greatest = ("minsi", "maxsi") if kind.element == "i32" else ("minimumf", "maximumf")
        top, low = (self.made(f"arith.constant {kind.full_of(sign * bound)}", kind, bound) for sign in (1, -1))
        cut = self.made(f"arith.{least} {value.name}, {top.name} : {kind}", kind, value.bound)
        return self.made(f"arith.{greatest} {cut.name}, {low.name} : {kind}", kind, bound)


def _names(line: str, array: str) -> bool:
    """Whether a line accesses an array, or makes a view of it."""
    return f"{array}[" in line or f"block_tile {array} " in line


Statement = Callable[[Program], None]


# Memory ---------------------------------------------------------------------------------------------------------------


def loaded(program: Program, kind: Kind, at: str | None = None) -> Value:
    """A tile of an array, in registers or shared memory."""
    others = NARROW | {"i32": (PLACES,)}
    arrays = others.get(kind.element, ROWS[:1] if len(kind.shape) == 1 else INPUTS)
    if len(kind.shape) == 2 and kind.element == "f32" and not program.scope.reads_only and program.chance(0.25):
        arrays = UPDATED
    array = program.choices.choice(arrays)
    at = at or program.place(kind)
    types = ", ".join([kind.array, *["index"] * len(kind.shape)])
    bound = FACTOR if array not in UPDATED else SMALL
    return program.made(f"nv_tileaa.tiled_load {array}[{at}] : ({types}) -> {kind}", kind, bound, "l")


def load(program: Program) -> None:
    loaded(program, Kind(program.shape, shared=program.chance(0.6)))


def stored(program: Program, value: Value, array: str, at: str) -> None:
    kind = value.kind
    types = ", ".join([kind.array, str(kind), *["index"] * len(kind.shape)])
    program.say(f"nv_tileaa.tiled_store {array}[{at}], {value.name} : ({types}) -> ()")


def store(program: Program) -> None:
    if program.scope.reads_only:
        return
    value = program.bounded(program.any_of(Kind(program.shape)))
    array = program.choice_of_target()
    stored(program, value, array, program.place(value.kind))


def update(program: Program) -> None:
    """An array in place: the same tile is loaded and stored."""
    if program.scope.reads_only:
        return
    kind = Kind(program.shape)
    array, at = program.choices.choice(UPDATED), program.place(kind)
    types = f"{kind.array}, index, index"
    old = program.made(f"nv_tileaa.tiled_load {array}[{at}] : ({types}) -> {kind}", kind)
    other = program.any_of(kind)
    new = program.made(f"arith.addf {old.name}, {other.name} : {kind}", kind, old.bound + other.bound)
    stored(program, program.bounded(new), array, at)


def chain(program: Program) -> None:
    """A tile goes through an array, and comes back with another shape."""
    if program.scope.reads_only:
        return
    kind = Kind(program.shape)
    stored(program, program.bounded(program.any_of(kind)), UPDATED[1], "%c0, %c0")
    turned = Kind((kind.shape[1], kind.shape[0])) if min(kind.shape) > 1 and program.chance(0.7) else kind
    if program.chance(0.3):
        turned = turned.lies
    value = loaded_from(program, UPDATED[1], turned, "%c0, %c0")
    if turned.shared:
        value = program.made(f"nv_tileas.convert_layout {value.name} : ({turned}) -> {turned.held}", turned.held)
    stored(program, value, OUTPUTS[1], "%c0, %c0")


def loaded_from(program: Program, array: str, kind: Kind, at: str) -> Value:
    types = ", ".join([kind.array, *["index"] * len(kind.shape)])
    return program.made(f"nv_tileaa.tiled_load {array}[{at}] : ({types}) -> {kind}", kind, SMALL, "l")


# Tiles ----------------------------------------------------------------------------------------------------------------


def fresh(program: Program, kind: Kind) -> Value:
    """A value of a kind that was none before."""
    if kind.element in NARROW and not kind.shared:
        return loaded(program, kind)
    if kind.shared and program.chance(0.4):
        return converted(program, program.any_of(kind.held))
    if kind.shared or program.chance(0.6):
        return loaded(program, kind)
    return program.made(f"arith.constant {kind.full_of(program.choices.choice((0, 1, 2)))}", kind, 2)


def converted(program: Program, value: Value) -> Value:
    """The same tile on the other side: in registers or in shared memory."""
    kind = replace(value.kind, shared=not value.kind.shared)
    return program.made(f"nv_tileas.convert_layout {value.name} : ({value.kind}) -> {kind}", kind, value.bound)


def convert(program: Program) -> None:
    converted(program, program.any_of(Kind(program.shape, shared=program.chance(0.7))))


def compute(program: Program) -> None:
    kind = Kind(program.shape)
    one, other = program.any_of(kind), program.any_of(kind)
    op = program.choices.choice(("addf", "addf", "subf", "maximumf"))
    bound = max(one.bound, other.bound) if op == "maximumf" else one.bound + other.bound
    program.made(f"arith.{op} {one.name}, {other.name} : {kind}", kind, bound)


def row(program: Program) -> None:
    """A row value: a sum along an axis, one more element-wise op, and back to two axes."""
    kind = Kind(program.shape)
    if min(program.shape) < 16:
        return compute(program)
    value = program.bounded(program.any_of(kind))
    op = program.choices.choice(("addf", "maximumf"))
    small = Kind(kind.shape[:1])
    bound = value.bound * kind.shape[1] if op == "addf" else value.bound
    total = Value(program.name("s"), small, bound)
    program.say(f"{total.name} = nv_tileaa.reduce {value.name} attributes {{axis = 1 : i32}} {{")
    program.say("^bb0(%one: f32, %other: f32):")
    program.say(f"  %both = arith.{op} %one, %other : f32")
    program.say("  nv_tileaa.yield %both : (f32) -> ()")
    program.say(f"}} : ({kind}) -> {small}")
    program.scope.values.append(total)
    total = program.bounded(total)
    if program.chance(0.5):
        other = program.any_of(small)
        total = program.made(f"arith.addf {total.name}, {other.name} : {small}", small, total.bound + other.bound)
    if program.chance(0.3) and not program.scope.reads_only:
        stored(program, program.bounded(total), ROWS[1], program.index())
    column = Kind((kind.shape[0], 1))
    if program.chance(0.6):
        deep = program.made(f"nv_tileaa.expand_dims {total.name} : ({small}) -> {column}", column, total.bound)
        program.made(f"nv_tileaa.broadcast {deep.name} : ({column}) -> {kind}", kind, total.bound)
    return None


def product(program: Program) -> None:
    """A product, whose factors are loaded, carried, or computed; sums of bytes are whole numbers."""
    if not program.has_products:
        return compute(program)
    (m, n), element = program.product, program.factors
    k = DEPTHS[element]
    left = factor(program, Kind((m, k), element, shared=True))
    right = factor(program, Kind((k, n), element, shared=True))
    kind = Kind(program.product, "i32" if element == "i8" else "f32")
    total = program.bounded(program.any_of(kind))
    signs = ", ".join(f"signedness_{each} = #nv_tileaa<signedness signed>" for each in "ab")
    words = f" attributes {{{signs}}}" if element == "i8" else ""
    types = f"({left.kind}, {right.kind}, {kind}) -> {kind}"
    bound = total.bound + k * _largest_factor(element) ** 2
    sums = program.made(f"nv_tileaa.dot {left.name}, {right.name}, {total.name}{words} : {types}", kind, bound, "p")
    if element == "i8":
        program.made(f"arith.sitofp {sums.name} : {kind} to {kind.of('f32')}", kind.of("f32"), bound)
    return None


def _largest_factor(element: str) -> int:
    """How large factors are: those of narrow elements come from arrays."""
    return FACTOR if element in NARROW else SMALL


def factor(program: Program, kind: Kind) -> Value:
    """An operand of a product in shared memory: loaded, or computed and converted."""
    if program.chance(0.75):
        value = program.any_of(kind)
        return value if value.bound <= SMALL else loaded(program, kind)
    held = kind.held
    value = program.bounded_any(held)
    if kind.element == SMALL_FLOAT:
        return converted(program, value)
    text = f"arith.maxsi {value.name}, {value.name}" if kind.element == "i8" else f"arith.negf {value.name}"
    return converted(program, program.made(f"{text} : {held}", held, value.bound))


# More of tiles --------------------------------------------------------------------------------------------------------


def mask(program: Program) -> None:
    """Elements are chosen by their coordinates, or by their numbers, and perhaps loaded or stored where they are."""
    kind = Kind(program.shape)
    bits = Kind(program.shape, "i1")
    one, other = program.any_of(kind), program.any_of(kind)
    if program.chance(0.6):
        chosen = Value(program.name("m"), bits)
        limit = program.choices.choice((1, 5, 16))
        program.say(f"{chosen.name} = nv_tileaa.generate {{")
        program.say("^bb0(%row: i32, %column: i32):")
        program.say(f"  %limit = arith.constant {limit} : i32")
        program.say("  %far = arith.addi %row, %column : i32")
        program.say(f"  %is = arith.cmpi {program.choices.choice(('slt', 'sge'))}, %far, %limit : i32")
        program.say("  nv_tileaa.yield %is : (i1) -> ()")
        program.say(f"}} : () -> {bits}")
    else:
        chosen = program.made(f"arith.cmpf olt, {one.name}, {other.name} : {kind}", bits, hint="m")
    bound = max(one.bound, other.bound)
    value = program.made(f"arith.select {chosen.name}, {one.name}, {other.name} : {bits}, {kind}", kind, bound)
    if program.chance(0.4) and not program.scope.reads_only:
        types = f"({kind.array}, {kind}, index, index, {bits}) -> ()"
        small = program.bounded(value)
        target, place = program.choice_of_target(), program.place(kind)
        program.say(f"nv_tileaa.tiled_store {target}[{place}], {small.name} mask({chosen.name}) : {types}")
    if program.chance(0.4):
        array, place = program.choices.choice(INPUTS), program.place(kind)
        types = f"({kind.array}, index, index, {bits}, {kind}) -> {kind}"
        words = f"mask({chosen.name}) other({other.name})"
        program.made(f"nv_tileaa.tiled_load {array}[{place}] {words} : {types}", kind, max(FACTOR, other.bound), "l")


def turned(program: Program) -> None:
    """A tile with its axes exchanged, stored so."""
    if program.scope.reads_only:
        return
    kind = Kind(program.shape, shared=program.chance(0.4))
    value = program.bounded_any(kind)
    if value.bound > SMALL:
        return
    other = Kind(kind.shape[::-1])
    words = "attributes {permutation = array<i64: 1, 0>}"
    made = program.made(f"nv_tileaa.permute {value.name} {words} : ({kind}) -> {other}", other, value.bound)
    stored(program, made, OUTPUTS[1], "%c0, %c0")


def gather(program: Program) -> None:
    """Elements of an array at coordinates that are in memory."""
    kind, numbers, places = (Kind(program.shape, element) for element in ("f32", "i32", "index"))
    found = loaded_from(program, PLACES, numbers, program.place(kind))
    at = program.made(f"arith.index_cast {found.name} : {numbers} to {places}", places)
    types = f"({Kind((1,)).array}, {places}) -> {kind}"
    program.made(f"nv_tileaa.gather_load {ROWS[0]}[{at.name}] : {types}", kind, FACTOR)


def batch(program: Program) -> None:
    """A tile of a batch: loaded with three axes, used with two, and perhaps another one is stored."""
    kind = Kind(program.shape, shared=program.chance(0.5))
    deep = replace(kind, shape=(1, *kind.shape))
    number = program.choices.randrange(BATCH)
    found = loaded_from(program, BATCHES, deep, f"%c{number}, {program.place(kind)}")
    program.made(f"nv_tileaa.view {found.name} : ({deep}) -> {kind}", kind, FACTOR)
    if program.chance(0.6) and not program.scope.reads_only:
        value = program.bounded(program.any_of(kind.held))
        made = program.made(f"nv_tileaa.view {value.name} : ({value.kind}) -> {deep.held}", deep.held, value.bound)
        stored(program, made, BATCHED, f"%c{number}, {program.place(kind)}")


def found_in_memory(program: Program) -> None:
    """A row of tiles, the number of which is in memory."""
    at = program.index()
    number = program.number(f"nv_tileaa.load {FIRST}[{at}] : (memref<?xi32>, index) -> i32")
    place = program.number(f"arith.index_cast {number} : i32 to index")
    loaded_from(program, program.choices.choice(INPUTS), Kind(program.shape), f"{place}, %c0")


def small_floats(program: Program) -> None:
    """Numbers of one byte, computed with as f32."""
    kind = Kind(program.shape)
    value = loaded(program, kind.of(SMALL_FLOAT))
    program.made(f"arith.extf {value.name} : {value.kind} to {kind}", kind, value.bound)


def store_row(program: Program) -> None:
    """A tile of one axis, loaded or computed, and stored."""
    if program.scope.reads_only:
        return
    kind = Kind((max(program.shape),))
    one, other = program.any_of(kind), program.any_of(kind)
    total = program.made(f"arith.addf {one.name}, {other.name} : {kind}", kind, one.bound + other.bound)
    stored(program, program.bounded(total), ROWS[1], program.index())


def add_atomically(program: Program) -> None:
    """A tile is added to an array, element by element."""
    if program.scope.reads_only:
        return
    kind = Kind(program.shape)
    value = program.bounded(program.any_of(kind))
    view = f"!nv_tileaa.tiled_view<{'x'.join(map(str, kind.shape))}xf32>"
    sizes = f"tileSizes = array<i64: {', '.join(map(str, kind.shape))}>"
    groups = "dimGroups = [array<i32: 0>, array<i32: 1>]"
    name = program.name("w")
    program.say(f"{name} = nv_tileaa.block_tile {SUMMED} attributes {{{sizes}, {groups}}} : ({kind.array}) -> {view}")
    words = "attributes {rmw_mode = #nv_tileaa<rmw_mode add>}"
    types = f"({view}, {kind}, index, index) -> {kind}"
    place = program.place(kind)
    program.say(f"{program.name('old')} = nv_tileaa.tiled_atomic_rmw {name}[{place}], {value.name} {words} : {types}")


def scan(program: Program) -> None:
    """Sums of what stands in front, along one of the axes."""
    kind = Kind(program.shape)
    axis = program.choices.randrange(2)
    value = program.bounded(program.any_of(kind), SMALL)
    made = Value(program.name("s"), kind, value.bound * kind.shape[axis])
    program.say(f"{made.name} = nv_tileaa.scan {value.name} attributes {{axis = {axis} : i32}} {{")
    program.say("^bb0(%one: f32, %other: f32):")
    program.say("  %both = arith.addf %one, %other : f32")
    program.say("  nv_tileaa.yield %both : (f32) -> ()")
    program.say(f"}} : ({kind}) -> {kind}")
    program.scope.values.append(made)
    program.bounded(made)


def function(program: Program) -> None:
    """A magnitude, also as the root of a square."""
    kind = Kind(program.shape)
    value = program.bounded(program.any_of(kind))
    if program.chance(0.5):
        program.made(f"math.absf {value.name} : {kind}", kind, value.bound)
        return
    square = program.made(f"arith.mulf {value.name}, {value.name} : {kind}", kind, value.bound**2)
    program.made(f"nv_tileaa.sqrt {square.name} : ({kind}) -> {kind}", kind, value.bound)


# Control --------------------------------------------------------------------------------------------------------------


def loop(program: Program) -> None:
    """A loop that carries tiles of any kind."""
    carried = [program.bounded_any(kind) for kind in kinds_carried(program)]
    lower = program.choices.choice(("%c0", "%c0", "%c0", "%c1"))
    uppers = ["%n"] * 4 + ["%m", "%c2"] + [f"{index}" for index in program.scope.indices[-1:]]
    upper = program.choices.choice(uppers if program.scope.depth == 0 else [*uppers[3:], "%c2"])
    step = program.choices.choice(("%c1",) * 5 + ("%c2", "%c3"))
    index = program.name("k")
    arguments = [Value(program.name("g"), value.kind) for value in carried]
    results = [Value(program.name("e"), value.kind) for value in carried]
    program.say(f"{opened(results)}scf.for {index} = {lower} to {upper} step {step}{given(arguments, carried)} {{")
    with program.block(index):
        program.scope.values += arguments
        program.some(2, 4 if program.scope.depth == 1 else 3)
        if program.chance(0.7):
            store(program)
        yielded = [next_of(program, argument, arguments) for argument in arguments]
        if yielded:
            program.say(f"scf.yield {listed(yielded)}")
    program.say("}")
    program.scope.values += results


def loop_until(program: Program) -> None:
    """A loop that counts by itself, and carries a tile."""
    kind = Kind(program.shape)
    first = program.bounded_any(kind)
    index, argument = program.name("k"), Value(program.name("g"), kind)
    last, result = program.name("e"), Value(program.name("e"), kind)
    types = f"(index, {kind}) -> (index, {kind})"
    program.say(f"{last}, {result.name} = scf.while ({index} = %c0, {argument.name} = {first.name}) : {types} {{")
    program.say(f"  %more = arith.cmpi slt, {index}, {program.choices.choice(('%n', '%m', '%c2'))} : index")
    program.say(f"  scf.condition(%more) {index}, {argument.name} : index, {kind}")
    program.say("} do {")
    program.say(f"^bb0({index}: index, {argument.name}: {kind}):")
    with program.block(index):
        program.scope.values.append(argument)
        program.some(1, 3)
        given_on = program.bounded_any(kind)
        next_index = program.number(f"arith.addi {index}, %c1 : index")
        program.say(f"scf.yield {next_index}, {given_on.name} : index, {kind}")
    program.say("}")
    program.scope.values.append(result)


def kinds_carried(program: Program) -> list[Kind]:
    tile = Kind(program.shape)
    kinds = [tile] * program.chance(0.4) + [tile.lies] * program.choices.choice((0, 0, 1, 1, 2))
    if min(program.shape) >= 16 and program.chance(0.15):
        kinds.append(Kind(tile.shape[:1]))
    if program.has_products and program.chance(0.4):
        kinds.append(Kind((program.product[0], DEPTHS[program.factors]), program.factors, shared=True))
    return kinds


def next_of(program: Program, argument: Value, arguments: Sequence[Value]) -> Value:
    """What a loop hands on: something new, another argument (so that tiles rotate), or the same."""
    alike = [each for each in arguments if each.kind == argument.kind]
    if len(alike) > 1 and argument is not alike[-1] and program.chance(0.6):
        return alike[-1]
    kind = argument.kind
    if kind.shared and program.chance(0.6):
        return loaded(program, kind) if program.chance(0.6) else fresh(program, kind)
    return program.bounded_any(kind)


def opened(results: Sequence[Value]) -> str:
    return f"{', '.join(value.name for value in results)} = " if results else ""


def given(arguments: Sequence[Value], inits: Sequence[Value]) -> str:
    if not arguments:
        return ""
    pairs = ", ".join(f"{to.name} = {source.name}" for to, source in zip(arguments, inits, strict=True))
    return f" iter_args({pairs}) -> ({', '.join(str(to.kind) for to in arguments)})"


def listed(values: Sequence[Value]) -> str:
    names = ", ".join(value.name for value in values)
    return f"{names} : {', '.join(str(value.kind) for value in values)}"


def condition(program: Program) -> str:
    """A condition of scalars: of each other iteration, of the first, of the bound."""
    index = program.scope.indices[-1] if program.scope.indices else "%n"
    if program.chance(0.5):
        rest = program.number(f"arith.remui {index}, %c2 : index")
        return program.number(f"arith.cmpi eq, {rest}, %c0 : index")
    return program.number(f"arith.cmpi {program.choices.choice(('sgt', 'ult', 'eq'))}, {index}, %c1 : index")


def branch(program: Program) -> None:
    """A branch, with a result or without."""
    kinds = [Kind(program.shape, shared=program.chance(0.4))] if program.chance(0.6) else []
    results = [Value(program.name("e"), kind) for kind in kinds]
    holds = condition(program)
    said = f" -> ({', '.join(map(str, kinds))})" if kinds else ""
    program.say(f"{opened(results)}scf.if {holds}{said} {{")
    for arm in range(2 if kinds else 1):
        if arm:
            program.say("} else {")
        with program.block():
            program.some(arm == 0, 2)
            yielded = [program.bounded_any(kind) for kind in kinds]
            if yielded:
                program.say(f"scf.yield {listed(yielded)}")
    program.say("}")
    program.scope.values += results


def queue(program: Program) -> None:
    """Two agents that the user wrote, and a queue of tiles between them."""
    kind = Kind(program.shape, shared=True)
    depth, queue_name = program.choices.choice((1, 2, 2, 3)), program.name("q")
    type_ = f"!nv_tileaa.queue<[{kind}], depth = {depth}>"
    upper = program.choices.choice(("%n", "%n", "%m"))
    program.say(f"{queue_name} = nv_tileaa.create_queue : () -> {type_}")
    program.say("nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {")
    with agent(program, upper, reads_only=True) as index:
        value = loaded(program, kind) if program.chance(0.6) else converted(program, program.any_of(kind.held))
        program.say(f"nv_tileaa.queue.put {queue_name}[{index}], {value.name} : ({type_}, index, {kind}) -> ()")
    program.say("}, {")
    with agent(program, upper) as index:
        got = f"nv_tileaa.queue.get {queue_name}[{index}] : ({type_}, index) -> {kind}"
        taken = converted(program, program.made(got, kind, SMALL, "u"))
        program.some(0, 2)
        stored(program, taken, OUTPUTS[0], program.place(taken.kind))
    program.say("} : () -> ()")


@contextmanager
def agent(program: Program, upper: str, *, reads_only: bool = False) -> Generator[str]:
    """An agent: perhaps something in front, one loop, perhaps something behind."""
    with program.block(reads_only=reads_only):
        if program.chance(0.3):
            program.some(1, 1)
        index = program.name("k")
        program.say(f"scf.for {index} = %c0 to {upper} step %c1 {{")
        with program.block(index, reads_only=reads_only):
            program.scope.depth = DEEPEST
            yield index
        program.say("}")
        if program.chance(0.3):
            program.some(1, 1)


STATEMENTS: dict[Statement, int] = {
    load: 3,
    convert: 3,
    compute: 4,
    store: 3,
    update: 2,
    chain: 1,
    row: 1,
    product: 2,
    branch: 2,
    loop: 2,
}
"""What a program may say, and how often it does."""
WIDER: dict[Statement, int] = {
    mask: 3,
    turned: 2,
    gather: 2,
    product: 6,
    batch: 2,
    found_in_memory: 2,
    small_floats: 1,
    store_row: 1,
    add_atomically: 2,
    scan: 2,
    function: 3,
    loop_until: 2,
}
"""What wider programs say besides, or more often."""
NESTS = frozenset({loop, loop_until})
"""Those that go one deeper."""
