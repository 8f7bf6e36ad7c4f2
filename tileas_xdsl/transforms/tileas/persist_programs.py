"""
A kernel with as many blocks as there is room for, each of which computes one program after the other.

    func @f(%c, ..) {                         func @f(%c, .., %c_tiles0 {tiles 0 by 128}, %c_tiles1 {..}) {
      %row = get_program_id {axis = 0}          %first = get_program_id {axis = 0}
      %col = get_program_id {axis = 1}   ->     %blocks = get_num_programs {axis = 0}
      scf.for %k { ... }                        scf.for %program = %first to %c_tiles0 * %c_tiles1 step %blocks {
      tiled_store %c[%row, %col], %t              %row, %col = from %program
    }                                             scf.for %k { ... }
                                                  tiled_store %c[%row, %col], %t
                                                }
                                              }

What the launch computes of the array that the programs write are the extents of the grid as it was. The rings of the
inner loops go on over the programs: agents that load are at the next program while those that compute store this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.memory.program_axes import TileAxis, program_axes
from tileas_xdsl.backend.launch import PERSISTENT
from tileas_xdsl.dialects.array_numbers import NAME, NUMBER
from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, end_of
from tileas_xdsl.transforms.rewriting.grid_order import Coordinates, in_groups, in_order
from tileas_xdsl.transforms.rewriting.structure import loop_over

INDEX = IndexType()


@dataclass(frozen=True)
class PersistProgramsPass(ModulePass):
    """
    Let each block compute every n-th program, where n blocks are launched.

    Rewrites
        Functions whose programs write the tiles of an array, one each (`analysis/memory/program_axes.py`): the body but
        for constants becomes that of an `scf.for` over the numbers of the programs. The extents of the grid become
        arguments of type index, which the launch computes of that array (`tileas.number = "tiles 0 by 128"`), and
        `tileas.persistent` says how many blocks a multiprocessor holds. With `rows` programs of two axes come in groups
        of so many rows, as by `tileas-group-programs`.

    Requires
        No program waits for another one.

    Refuses
        Fewer rows than 0, fewer blocks than 1. A function with agents, with branches between blocks, with loops over
        programs, or of which it is not known how many programs there are, stays as it is; so does one without loops.

    Choices
        Numbers of programs are divided as i32: a grid has fewer than 2^31 blocks, and threads divide those sooner.
    """

    name = "tileas-persist-programs"

    DESCRIPTION: ClassVar[str] = "Launch as many blocks as there is room for, and let each compute many programs"

    rows: int = field(default=0, metadata={"help": "rows of programs in a group; 0: in the order of the grid"})
    blocks: int = field(default=1, metadata={"help": "blocks that a multiprocessor holds; 1 or more"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.rows < 0:
            raise PassFailedException(f"{self.name}: rows={self.rows}: a group has one row or more; 0 makes none")
        if self.blocks < 1:
            raise PassFailedException(f"{self.name}: blocks={self.blocks}; a multiprocessor holds at least 1 block")
        for function in [each for each in op.ops if isinstance(each, func.FuncOp)]:
            axes = _axes_of(function)
            if axes:
                _persist(function, axes, self.rows)
                function.attributes[PERSISTENT] = IntegerAttr(self.blocks, i32)


def _axes_of(function: func.FuncOp) -> Sequence[TileAxis | None]:
    """The axes of the grid of a function up to the last that it asks for; none where the function stays as it is."""
    if len(function.body.blocks) != 1 or function.function_type.outputs.data or PERSISTENT in function.attributes:
        return ()
    ops = list(function.body.walk())
    loops = any(isinstance(op, scf.ForOp | scf.WhileOp) for op in ops)
    if not loops or any(AgentLikeOpInterface.of(op) is not None for op in ops):
        return ()
    asked = {op.axis.value.data for op in ops if isinstance(op, GetProgramIdOp)}
    axes = program_axes(function) if asked else None
    return axes[: max(asked) + 1] if axes is not None else ()


def _persist(function: func.FuncOp, axes: Sequence[TileAxis | None], rows: int) -> None:
    block = function.body.block
    ending = end_of(block)
    inside = [op for op in block.ops if op is not ending and not isinstance(op, arith.ConstantOp)]
    one = arith.ConstantOp(IntegerAttr(1, INDEX))
    first, step = GetProgramIdOp(0, INDEX), GetNumProgramsOp(0, INDEX)
    front: list[Operation] = [one, first, step] if None in axes else [first, step]
    extents = [_extent(function, axis) if axis is not None else one.result for axis in axes]
    total: SSAValue = extents[0]
    for extent in extents[1:]:
        product = arith.MuliOp(total, extent)
        front.append(product)
        total = product.result
    place = inside[0].location
    loop = loop_over(first.result, total, step.result, inside)
    for value, name in ((first.result, "first"), (step.result, "blocks"), (total, "programs")):
        value.name_hint = value.name_hint or name
    loop.body.block.args[0].name_hint = "program"
    for op in (*front, loop):
        op.location = place
    Rewriter.insert_op([*front, loop], InsertPoint.before(ending))
    _number(loop.body.block, extents, rows)


def _extent(function: func.FuncOp, axis: TileAxis) -> BlockArgument:
    """A new argument of a function: how many programs there are along an axis."""
    block = function.body.block
    array = block.args[axis.argument].name_hint or f"argument {axis.argument}"
    argument = block.insert_arg(INDEX, len(block.args))
    argument.name_hint = f"{array}_tiles{axis.dimension}"
    given = function.arg_attrs.data if function.arg_attrs is not None else (DictionaryAttr({}),) * argument.index
    said = {NAME: StringAttr(array), NUMBER: StringAttr(f"tiles {axis.dimension} by {axis.extent}")}
    function.arg_attrs = ArrayAttr([*given, DictionaryAttr(said)])
    inputs = [*function.function_type.inputs.data, INDEX]
    function.function_type = FunctionType.from_lists(inputs, list(function.function_type.outputs.data))
    return argument


def _number(body: Block, extents: Sequence[SSAValue], rows: int) -> None:
    """Compute at the head of the loop what its ops ask for: the number of the program along each axis."""
    queries = [op for op in body.walk() if isinstance(op, GetProgramIdOp)]
    head = body.first_op
    assert head is not None
    anchor = arith.ConstantOp(IntegerAttr(0, INDEX))
    anchor.location = head.location
    Rewriter.insert_op(anchor, InsertPoint.before(head))
    build = _Words(anchor)
    number, sizes = build.word(body.args[0]), [build.word(extent) for extent in extents]
    grouped = rows > 0 and len(extents) == 2
    found: Coordinates = in_groups(number, sizes, rows, build) if grouped else in_order(number, sizes, build)
    for query in queries:
        value = build.cast(found[query.axis.value.data], query.result.type)
        value.name_hint = value.name_hint or query.result.name_hint
        Rewriter.replace_op(query, [], [value])
    Rewriter.erase_op(anchor)


class _Words:
    """Builds numbers of 32 bits in front of an op."""

    def __init__(self, point: Operation) -> None:
        self._point = point
        self._casts: dict[tuple[SSAValue, Attribute], SSAValue] = {}

    def __call__(self, kind: type[arith.SignlessIntegerBinaryOperation], left: SSAValue, right: SSAValue) -> SSAValue:
        return self._insert(kind(left, right))

    def constant(self, number: int) -> SSAValue:
        return self._insert(arith.ConstantOp(IntegerAttr(number, i32)))

    def word(self, value: SSAValue) -> SSAValue:
        return self.cast(value, i32)

    def cast(self, value: SSAValue, kind: Attribute) -> SSAValue:
        if value.type == kind:
            return value
        key = value, kind
        if key not in self._casts:
            self._casts[key] = self._insert(arith.IndexCastOp(value, kind))
        return self._casts[key]

    def _insert(self, op: Operation) -> OpResult:
        op.location = self._point.location
        Rewriter.insert_op(op, InsertPoint.before(self._point))
        return op.results[0]
