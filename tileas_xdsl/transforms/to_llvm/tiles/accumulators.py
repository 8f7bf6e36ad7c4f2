"""
Accumulators of wgmma: registers that the tensor core may still be writing.

    tensor<128x128xf32, mma<m64n128k16, operand = acc, warps = 4>>      two structs of 64 f32, one for each instruction

Until its group has been waited for nobody may touch a register of it. So such a tile is kept as the structs that the
instructions take and give, and is carried through loops as these; only what reads its elements takes them apart.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.llvm import UndefOp
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile
from tileas_xdsl.dialects.extensions.llvm_values import member_of, with_member
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.layouts.distributed import REGISTER
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.layouts.fragments import atom
from tileas_xdsl.transforms.to_llvm.tiles.values import Accumulators, Lowered, Registers, accumulator_types

Built = Callable[[Operation], SSAValue]
"""Builds an op and gives its result."""


def members(tile: Tile) -> list[list[int]]:
    """For each instruction, row by row: the registers of the tile that are the members of its struct, in order."""
    form = form_of(tile.type)
    assert isinstance(form, Mma)
    layout, one = tile.layout, atom(form.shape, "acc", tile.bits)
    registers = {layout.at(register=number): number for number in range(tile.count)}
    inside = [one.at(register=number) for number in range(one.input_size(REGISTER))]
    found: list[list[int]] = []
    for down in range(0, layout.shape[0], rows_of_all(form)):
        for across in range(0, layout.shape[1], columns_of_all(form)):
            found.append([registers[down + row, across + column] for row, column in inside])
    return found


def rows_of_all(form: Mma) -> int:
    """How many rows the warpgroups compute together by an instruction each: 16 a warp."""
    return 16 * form.warps[0]


def columns_of_all(form: Mma) -> int:
    """How many columns they compute so."""
    return form.shape.n * form.warps[1]


def taken_apart(built: Built, held: Accumulators) -> Registers:
    """The members as registers: every group that writes them has been waited for."""
    found: dict[int, SSAValue] = {}
    for struct, numbers in zip(held.structs, members(held.tile), strict=True):
        for position, number in enumerate(numbers):
            found[number] = built(member_of(struct, position, held.tile.element))
    return Registers(held.tile, tuple(found[number] for number in range(held.tile.count)))


def unwritten(built: Built, tile: Tile) -> Accumulators:
    """What an instruction gives that does not add to what it takes."""
    return Accumulators(tile, tuple(built(UndefOp(type_)) for type_ in accumulator_types(tile)))


def put_together(built: Built, held: Lowered) -> Accumulators:
    """What instructions take and give, of registers."""
    if isinstance(held, Accumulators):
        return held
    assert isinstance(held, Registers)
    structs: list[SSAValue] = []
    for numbers, type_ in zip(members(held.tile), accumulator_types(held.tile), strict=True):
        struct: SSAValue = built(UndefOp(type_))
        for position, number in enumerate(numbers):
            struct = built(with_member(struct, position, held.values[number]))
        structs.append(struct)
    return Accumulators(held.tile, tuple(structs))
