"""
Kernels of Tile IR become functions of tiles: views of arrays that TMA can take become the loads that pipelining wants.

    entry @copy(%x: tile<ptr<f32>>, %m: tile<i32>) {                func.func @copy(%x: memref<?xf32>) {
      %t = make_token : token                                         %i = nv_tileaa.get_program_id {axis = 0}
      %a = make_tensor_view %x, shape = [%m], strides = [1]           %v = nv_tileaa.tiled_load %x[%i]
      %p = make_partition_view %a : partition_view<tile=(64)>   ->    ...
      %i:3 = get_tile_block_id : tile<i32>
      %v, %u = load_view_tko weak %p[%i#0] token = %t
      ...

The modules: `arrays.py` finds the arrays of a kernel, `state.py` keeps what has become of each value, and the others
have a function for each op: `elementwise.py`, `products.py`, `shapes.py` (reductions, too), `raw_bytes.py`,
`memory.py`, `pointers.py`, `control.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.transforms.dead_code_elimination import region_dce

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.cuda_tile import HINTS
from tileas_xdsl.dialects.cuda_tile.attributes import HintsAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.structure import ModuleOp as TileIRModuleOp
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa import (
    elementwise,
    memory,
    pointers,
    products,
    raw_bytes,
    shapes,
)
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.arrays import ArrayArgument
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.control import convert_from
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.coordinates import share_coordinates
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.lanes import arrays_of, users_of
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import Conversion

CONVERTING = (elementwise, products, shapes, raw_bytes, memory, pointers)
"""What has registered its functions; `control` is used directly."""
COMPUTING = (arith.Arith.name, math.Math.name)
"""Dialects whose ops only compute."""


@dataclass(frozen=True)
class ConvertCudaTileToNvTileAAPass(ModulePass):
    """
    Make functions of tiles of the entries of Tile IR.

    Rewrites
        Each `entry` of a `cuda_tile.module` into a `func.func` of `nv_tileaa`, `arith`, `math` and `scf`. A pointer
        whose every use is a `make_tensor_view` of the same extents and strides becomes a `memref` argument; its extents
        and strides are no arguments of their own any more. The number of tiles along an axis becomes an argument of
        type index, which the launch computes of the array (`tileas.number = "tiles 1 by 64"`). Tiles of rank 0 become
        numbers; other tiles lose extents of 1 in front of two others, and behind one. Products find tiles that were
        loaded for them in shared memory. What a view pads with something else than zeros is chosen behind the load.

    Requires
        Verified IR. The accesses of a block that may meet are ordered by tokens as they are in the text: `check` says
        so of Tile IR itself.

    Refuses
        Loads and stores that are not weak; constants of numbers that differ, and memory of the module; a `return` from
        inside a loop. The module stays as it is.

    Choices
        The number of tiles is an argument, not a quotient in the kernel, so that a check proves a loop for every trip
        count. Weak accesses are ordered by the program below: one of the orders that tokens allow. An integer that
        counts tiles or programs stays an index where it becomes a coordinate. `approx` and `full` are said on. A
        product of f32 is the sum of three of tf32, within some 2^-20 of it; where a factor is infinite it may be NaN.
    """

    name = "convert-cuda-tile-to-nv-tileaa"

    DESCRIPTION: ClassVar[str] = "Make functions of tiles of the entries of Tile IR"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        modules = [each for each in op.walk() if isinstance(each, TileIRModuleOp)]
        made = [(module, [converted(each) for each in _entries(module)]) for module in modules]
        for module, functions in made:
            Rewriter.insert_op(functions, InsertPoint.before(module))
            Rewriter.erase_op(module)


def _entries(module: TileIRModuleOp) -> list[EntryOp]:
    for op in module.body.block.ops:
        if not isinstance(op, EntryOp):
            refuse(op, "is memory of the module, which is not converted", "hand it over as an array")
    return [op for op in module.body.block.ops if isinstance(op, EntryOp)]


def converted(entry: EntryOp) -> FuncOp:
    """The function that an entry becomes. Raises `RefusedError`; the entry stays as it is."""
    function = FuncOp(entry.sym_name.data, FunctionType.from_lists([], []))
    to = Conversion(arrays_of(entry), function)
    _give_arguments(to, entry)
    with to.at(function.body.block):
        convert_from(to, entry.body.block.first_op, _leave_nothing)
        function.body.block.add_op(ReturnOp())
    share_coordinates(function)
    _drop_unused(function)
    _drop_numbers(to)
    _share_constants(function)
    arguments = function.body.block.args
    function.function_type = FunctionType.from_lists([argument.type for argument in arguments], [])
    said = [to.attributes_of(argument) for argument in arguments]
    if any(said):
        function.arg_attrs = ArrayAttr([DictionaryAttr(each) for each in said])
    function.attributes[HINTS] = entry.optimization_hints or HintsAttr(DictionaryAttr({}))
    function.location = entry.location
    return function


def _drop_unused(function: FuncOp) -> None:
    """Drop what nobody uses: checks of bounds that accesses make, too."""
    region_dce(function.body)
    for op in list(function.walk(reverse=True, region_first=True)):
        computes = op.dialect_name() in COMPUTING or is_side_effect_free(op)
        if computes and op.results and not op.regions and all(result.first_use is None for result in op.results):
            Rewriter.erase_op(op)


def _share_constants(function: FuncOp) -> None:
    """Have each number once, in front of all loops, which count what they compute."""
    entry, known = function.body.block, dict[Attribute, SSAValue]()
    for op in list(function.walk()):
        if not isinstance(op, arith.ConstantOp) or isinstance(op.result.type, TensorType):
            continue
        if op.value in known:
            Rewriter.replace_op(op, [], [known[op.value]])
            continue
        known[op.value] = op.result
        if op.parent is not entry:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(entry))


def _drop_numbers(to: Conversion) -> None:
    """Drop arguments that are numbers of arrays and that nothing uses any more: accesses know bounds of their own."""
    for key, argument in list(to.numbers.items()):
        if argument.first_use is None:
            assert isinstance(argument, BlockArgument)
            argument.block.erase_arg(argument)
            del to.numbers[key]


def _leave_nothing(_last: TileIROp, _values: list[SSAValue]) -> list[SSAValue]:
    return []


def _give_arguments(to: Conversion, entry: EntryOp) -> None:
    """The arguments that stay: arrays, and numbers that are used but for the extents and strides of arrays."""
    for array in to.arrays.values():
        to.derived |= _numbers_of(array)
    block = to.function.body.block
    for argument in entry.body.block.args:
        array = to.arrays.get(argument)
        if array is None and (argument in to.derived or not _is_used(argument)):
            continue
        to.current = entry
        kind = array.memref if array is not None else to.type(argument.type)
        made = block.insert_arg(kind, len(block.args))
        made.name_hint = argument.name_hint or f"arg{argument.index}"
        to.values[argument] = made


def _is_used(argument: BlockArgument) -> bool:
    return next(users_of(argument), None) is not None


def _numbers_of(array: ArrayArgument) -> dict[SSAValue, tuple[SSAValue, str]]:
    """The arguments that are extents and strides of an array, and which."""
    named = (("size", array.extents), ("stride", array.strides))
    return {
        value: (array.pointer, f"{word} {axis}")
        for word, values in named
        for axis, value in enumerate(values)
        if isinstance(value, SSAValue)
    }
