"""
What one program of a grid reads and multiplies, and how much of it neighbours in time read, too.

    scf.for %k = 0 to %n {                                n = 128: 128 turns
      %at = tiled_load %a[%row, %k]                       16 KiB a turn; one tile for all programs of a row
      %bt = tiled_load %b[%k, %col]                       16 KiB a turn; one tile for all programs of a column
      %sum = dot %at, %bt, %acc                           512 cycles of the tensor cores a turn
    }

Input: a function at tile level, in which the passes have done no more than to put programs in order; the numbers and
the sizes of its arrays. Trip counts and places of tiles follow from them (`analysis/value_range.py`); a loop whose trip
count does not is counted once, and a tile whose place does not is one that no other program reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType, ShapedType
from xdsl.ir import Operation, OpResult, SSAValue

from tileas_xdsl.analysis.costs.op_costs import typed_product_cost
from tileas_xdsl.analysis.induction import constant_integer, trip_count_of
from tileas_xdsl.analysis.value_range import Range, ValueRanges
from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp as UnassignedLoadOp
from tileas_xdsl.dialects.nv_tileas.memory import TiledLoadOp
from tileas_xdsl.dialects.scalars import packed_bits
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.scheduling.launches import Traffic
from tileas_xdsl.scheduling.op_times import tile_bytes
from tileas_xdsl.targets.cycles import TimingTable

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class TileRead:
    """A load of a tile: of which array, how many bytes, at which place, how often."""

    array: SSAValue
    size: int
    row_bytes: float
    """Of a row of the tile."""
    place: tuple[SSAValue, ...]
    turns: int


@dataclass(frozen=True)
class ProgramWork:
    """What one program does. Cycles are those of the tensor cores, bytes those of global memory."""

    reads: tuple[TileRead, ...]
    product: float
    """Cycles of all products."""
    turns: int
    """Of the loop in which most is read, or multiplied."""
    grid: Grid
    assumed: Mapping[SSAValue, Range]
    """What is known of arguments, sizes and the first turns of loops."""
    ids: Mapping[SSAValue, int]
    """The numbers of the program, and along which axis each is."""

    @property
    def bytes_read(self) -> int:
        """By one program, in all."""
        return sum(read.size * read.turns for read in self.reads)

    @property
    def turn_bytes(self) -> float:
        """By one program, in a turn."""
        return self.bytes_read / max(self.turns, 1)

    def array_bytes(self, sizes: Mapping[str, Sequence[int]]) -> int:
        """The bytes of all arrays that are read."""
        return sum(_array_bytes(array, sizes) for array in {read.array for read in self.reads})

    def traffic(self, programs: int, sizes: Mapping[str, Sequence[int]]) -> Traffic:
        """What a launch reads of which so many programs run at a time."""
        distinct = self.distinct(programs)
        return Traffic(array_bytes=self.array_bytes(sizes), distinct=distinct, turn_bytes=self.turn_bytes)

    def distinct(self, programs: int) -> float:
        """
        Bytes of different tiles that the first so many programs read in their first turn, by all that they read in it.
        """
        numbers = range(min(programs, prod(self.grid)))
        inner = [read for read in self.reads if read.turns == self.turns]
        seen = {
            (read.array, place if place is not None else ("program", number)): read.size
            for number in numbers
            for read, place in self._places(number, inner)
        }
        everything = len(numbers) * sum(read.size for read in inner)
        return sum(seen.values()) / everything if everything else 1.0

    def _places(
        self, number: int, reads: Sequence[TileRead]
    ) -> Iterator[tuple[TileRead, tuple[int | None, ...] | None]]:
        """Where the program with that number reads; None for a place that is not known."""
        across, down, _ = self.grid
        numbers = (number % across, number // across % down, number // across // down)
        own = {value: Range(numbers[axis], numbers[axis]) for value, axis in self.ids.items()}
        ranges = ValueRanges({**self.assumed, **own})
        for read in reads:
            place = tuple(ranges.of(value).as_constant for value in read.place)
            yield read, None if None in place else place


def work_of(
    function: Operation,
    numbers: Mapping[str, int],
    sizes: Mapping[str, Sequence[int]],
    grid: Grid,
    table: TimingTable,
) -> ProgramWork:
    """What a program of `function` does in a grid, where arguments have these numbers and arrays these sizes."""
    assumed = dict(_assumed(function, numbers, sizes, grid))
    ranges = ValueRanges(assumed)
    reads: list[TileRead] = []
    products: list[tuple[float, int]] = []
    for op in function.walk():
        if isinstance(op, UnassignedLoadOp | TiledLoadOp):
            source, *others = op.operands
            place = tuple(value for value in others if isinstance(value.type, IndexType))
            tile = op.results[0].type
            size, rows = tile_bytes(tile), prod(tile.get_shape()[:-1]) if isinstance(tile, ShapedType) else 1
            reads.append(TileRead(_root(source), size, size / max(rows, 1), place, _turns(op, ranges)))
        elif (cost := typed_product_cost(op, table)) is not None:
            products.append((cost.occupancy, _turns(op, ranges)))
    turns = max([1, *(read.turns for read in reads), *(count for _, count in products)])
    starts = {
        loop.body.block.args[0]: Range(low, low)
        for loop in function.walk()
        if isinstance(loop, scf.ForOp) and (low := ranges.of(loop.lb).as_constant) is not None
    }
    queries = [op for op in function.walk() if isinstance(op, GetProgramIdOp)]
    ids: dict[SSAValue, int] = {query.result: query.axis.value.data for query in queries}
    product = sum(cycles * count for cycles, count in products)
    return ProgramWork(tuple(reads), product, turns, grid, {**assumed, **starts}, ids)


def _assumed(
    function: Operation, numbers: Mapping[str, int], sizes: Mapping[str, Sequence[int]], grid: Grid
) -> Iterator[tuple[SSAValue, Range]]:
    """The numbers of arguments, of extents of arrays, and of programs."""
    view = FunctionOpInterface.of(function)
    block = view.function_body.first_block if view is not None else None
    for argument in block.args if block is not None else ():
        number = numbers.get(argument.name_hint or "")
        if number is not None:
            yield argument, Range(number, number)
    for op in function.walk():
        if isinstance(op, GetNumProgramsOp):
            yield op.result, Range(grid[op.axis.value.data], grid[op.axis.value.data])
        elif isinstance(op, memref.DimOp):
            shape, axis = sizes.get(_root(op.source).name_hint or ""), constant_integer(op.index)
            if shape is not None and axis is not None:
                yield op.result, Range(shape[axis], shape[axis])


def _root(array: SSAValue) -> SSAValue:
    """The argument, or else the op, that an array or a view of it comes from."""
    while isinstance(array, OpResult) and array.op.operands:
        array = array.op.operands[0]
    return array


def _array_bytes(array: SSAValue, sizes: Mapping[str, Sequence[int]]) -> int:
    if not isinstance(array.type, ShapedType):
        return 0
    shape = sizes.get(array.name_hint or "", array.type.get_shape())
    return prod(max(extent, 1) for extent in shape) * packed_bits(array.type) // 8


def _turns(op: Operation, ranges: ValueRanges) -> int:
    """How often `op` runs."""
    turns, around = 1, op.parent_op()
    while around is not None:
        if isinstance(around, scf.ForOp):
            low, high, step = (ranges.of(bound).as_constant for bound in (around.lb, around.ub, around.step))
            if low is not None and high is not None and step is not None and step > 0:
                turns *= trip_count_of(low, high, step)
        around = around.parent_op()
    return turns
