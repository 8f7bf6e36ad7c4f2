"""
How many registers of each thread the tiles take that it cannot put down: the least that it needs.

    scf.for iter_args(%acc = %zero) {               %acc: 128x64xf32 in one warp, 256 registers of each thread
      %s = dot %a, %b, %nothing                     besides it the sum of a product that begins anew
    }

What a loop hands on is in registers at each end of a turn, and a sum while its product adds to it. So are the factors
of `mma.sync`, some at a time; other products read them from shared memory. All else can be computed later, or a part at
a time, so it is not counted. Sums in tensor memory take none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.threads.products import Product, reads_shared_memory
from tileas_xdsl.analysis.threads.tiles import REGISTER_BITS, tile_of
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.targets.warps import FRAGMENT_REGISTERS


@dataclass(frozen=True)
class Held:
    """What the threads that run an op hold there."""

    op: Operation
    """A loop, or a product."""
    registers: int
    """Of each thread."""


def held_in(function: Operation) -> Iterator[Held]:
    """What threads hold at the loops and the products of a function, as far as it is tiles."""
    for op in function.walk():
        if isinstance(op, scf.ForOp | scf.WhileOp):
            yield Held(op, _handed_on(op))
        elif isinstance(op, Product):
            yield Held(op, _of_product(op) + _handed_on(_loop_around(op)))


def registers_of(type_: Attribute) -> int:
    """The registers of each thread that a tile takes; 0 of all that does not lie in registers."""
    tile, form = tile_of(type_), form_of(type_)
    if tile is None or not tile.in_registers or (isinstance(form, Mma) and form.shape.is_tcgen05):
        return 0
    return -(-tile.count * tile.bits // REGISTER_BITS)


def _handed_on(loop: Operation | None) -> int:
    """The registers of all that a loop hands from iteration to iteration."""
    values: tuple[SSAValue, ...] = ()
    if isinstance(loop, scf.ForOp):
        values = tuple(loop.iter_args)
    elif isinstance(loop, scf.WhileOp):
        values = tuple(loop.arguments)
    return sum(registers_of(value.type) for value in values)


def _of_product(op: Product) -> int:
    """The registers of a sum that begins anew: another one takes those of what it adds to. And those of factors."""
    factors = 0 if reads_shared_memory(op) else FRAGMENT_REGISTERS
    return factors + (registers_of(op.c.type) if isinstance(op.c.owner, arith.ConstantOp) else 0)


def _loop_around(op: Operation) -> Operation | None:
    around = op.parent_op()
    while around is not None and not isinstance(around, scf.ForOp | scf.WhileOp):
        around = around.parent_op()
    return around
