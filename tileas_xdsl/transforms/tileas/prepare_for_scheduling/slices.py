"""
A product and what hangs on it, split into two sub-tiles along the rows, the axis of a product that is not reduced.

    %s = dot %q, %k, %zero                %s0 = dot %q0, %k, %zero0          rows 0 to 63
    %e = exp2 %s                   ->     %s1 = dot %q1, %k, %zero1          rows 64 to 127
                                          %e0 = exp2 %s0
                                          %e1 = exp2 %s1

Then one sub-tile can be multiplied while the agent works on the other. What belongs to a product is found from its
accumulator, in both directions: element-wise ops, reductions along other axes, expansions, broadcasts and products that
carry rows on, and the values that the loop carries. Factors B serve both halves. Tiles from elsewhere are sliced: those
in memory by name, those in registers in front of the loop. Behind the loop the halves stay apart up to their stores,
or are put together again (`halves_behind.py`).

Where an op in between needs all rows at once, the product stays whole, with a remark that names the op.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import BytesAttr, DenseArrayBase, IntegerAttr, TensorType, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.memory.objects import storage_spaces
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.diagnostics import op_name, remark
from tileas_xdsl.dialects.nv_tileaa import compute as nv_tileaa
from tileas_xdsl.dialects.nv_tileaa import structure as nv_tileaa_structure
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas import compute as nv_tileas
from tileas_xdsl.dialects.nv_tileas import structure as nv_tileas_structure
from tileas_xdsl.dialects.nv_tileas.slices import ExtractSliceOp, InsertSliceOp
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.targets.machine_model import MachineModel, Products
from tileas_xdsl.transforms.rewriting.structure import carry_through
from tileas_xdsl.transforms.tileas.layout_rules import EXPANSIONS, REDUCTIONS, is_elementwise, new_axis, splat
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.halves_behind import plan_behind, store_halves

SUB_TILES = 2

LEAST_ROWS, LEAST_ROWS_TCGEN05 = 64, 128
"""Rows of a sub-tile: of one `wgmma.mma_async`, and of one `tcgen05.mma` of one CTA (PTX ISA)."""

HINT = "tileas.max_num_slices_for_non_reduce_axis"
"""On a product: 1 keeps it whole, 2 and more allow two sub-tiles, whatever the option says; 0 says nothing."""

BROADCASTS = (nv_tileaa_structure.BroadcastOp,)
PRODUCTS = (nv_tileaa.DotOp, nv_tileas.DotOp)

LOOP_BOUNDS = 3
"""Operands of an `scf.for` in front of the values that it carries: lower bound, upper bound, step."""


class _WholeError(Exception):
    """Some op needs all rows at once."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


@dataclass
class SlicePlan:
    """What hangs on one product: ops to double, in program order, and values to slice where they are made."""

    loop: scf.ForOp
    rows: int
    ops: dict[Operation, Sequence[int]] = field(default_factory=dict[Operation, Sequence[int]])
    """Each with its operands of which a half needs half."""
    carried: list[int] = field(default_factory=list[int])
    """Which values that the loop carries."""
    leaves: list[SSAValue] = field(default_factory=list[SSAValue])
    """Values from outside of the loop, and views."""
    behind: dict[Operation, Sequence[int]] | None = None
    """What hangs on the results of the loop, if all of it has a form for half of the rows."""


def slice_products(loop: scf.ForOp, model: MachineModel, count: int) -> scf.ForOp:
    """
    Split the products in the body of `loop` that may be split into `count` sub-tiles, 1 or 2; a hint on a product goes
    before `count`. Returns the loop, which is another one where values that it carries were split.
    """
    done: set[Operation] = set()
    for product in [op for op in loop.body.block.ops if isinstance(op, PRODUCTS)]:
        if product in done or wanted_sub_tiles(product, count) < SUB_TILES:
            continue
        try:
            plan = plan_slices(loop, product, model)
        except _WholeError as why:
            way_out = f"let '{op_name(why.op)}' work row by row, or leave the product whole"
            remark(product, f"stays one tile: '{op_name(why.op)}' op {why.reason}", way_out)
            continue
        done.update(plan.ops)
        loop = carry_out(plan)
    return loop


def wanted_sub_tiles(product: Operation, count: int) -> int:
    """Into how many sub-tiles `product` is to be split: as its hint says, else `count`."""
    hint = product.attributes.get(HINT)
    return hint.value.data if isinstance(hint, IntegerAttr) and hint.value.data > 0 else count


# Planning -------------------------------------------------------------------------------------------------------------


def plan_slices(loop: scf.ForOp, product: Operation, model: MachineModel) -> SlicePlan:
    """All that is split with `product`. Raises `_WholeError` with the op that needs all rows; changes nothing."""
    rows = _rows_to_split(product, model)
    plan = _Search(loop, rows).from_product(product)
    plan.ops = {op: plan.ops[op] for op in loop.body.block.ops if op in plan.ops}
    plan.carried.sort()
    plan.behind = plan_behind(loop, plan.carried, rows, row_operands)
    return plan


def _rows_to_split(product: Operation, model: MachineModel) -> int:
    least = LEAST_ROWS_TCGEN05 if model.products is Products.TCGEN05 else LEAST_ROWS
    shape = extents(product.results[0].type)
    if len(shape) != 2 or shape[0] % (SUB_TILES * least):
        raise _WholeError(product, f"has rows that are no {SUB_TILES} times {least}")
    if storage_spaces(product.results[0].type) != frozenset(["register"]):
        raise _WholeError(product, "adds to a tile that is not in registers")
    return shape[0]


class _Search:
    """Follows rows from a product to all that shares them."""

    def __init__(self, loop: scf.ForOp, rows: int) -> None:
        self.loop = loop
        self.body: Block = loop.body.block
        self.plan = SlicePlan(loop, rows)
        self.values: dict[SSAValue, None] = {}

    def from_product(self, product: Operation) -> SlicePlan:
        self._take_op(product)
        waiting = list(self.values)
        while waiting:
            value = waiting.pop()
            before = len(self.values)
            self._follow(value)
            waiting += list(self.values)[before:]
        return self.plan

    def _follow(self, value: SSAValue) -> None:
        """What makes `value` in the body, and what uses it there, shares its rows."""
        if self._is_leaf(value):
            if isinstance(value, BlockArgument) and value.block is self.body:
                raise _WholeError(self.loop, "carries a tile that is not in registers")
            self.plan.leaves.append(value)
            return
        if isinstance(value, BlockArgument):
            self._take_carried(value.index - 1)
        else:
            self._take_op(cast(OpResult, value).op)
        for use in value.uses:
            if hands_on(use.operation) and use.operation.parent_block() is self.body:
                self._take_carried(use.index)
            elif use.index in row_operands(use.operation, self.plan.rows) and self._is_here(use.operation):
                self._take_op(use.operation)
            else:
                raise _WholeError(use.operation, "needs all rows at once")

    def _is_leaf(self, value: SSAValue) -> bool:
        """Whether `value` is sliced where it is made: from outside of the body, or named bytes."""
        owner = value.owner
        is_here = owner is self.body or (isinstance(owner, Operation) and self._is_here(owner))
        return not is_here or is_view(value)

    def _is_here(self, op: Operation) -> bool:
        return op.parent_block() is self.body

    def _take_op(self, op: Operation) -> None:
        if op in self.plan.ops:
            return
        if not carries_rows(op, self.plan.rows):
            raise _WholeError(op, "has no form for some of its rows")
        self.plan.ops[op] = split = row_operands(op, self.plan.rows)
        self._take_values([*op.results, *(op.operands[index] for index in split)])

    def _take_carried(self, index: int) -> None:
        if index in self.plan.carried:
            return
        if index < 0:
            raise _WholeError(self.loop, "has no form for some of its rows")
        self.plan.carried.append(index)
        last = end_of(self.body)
        self._take_values([self.body.args[index + 1], last.operands[index]])

    def _take_values(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if extents(value.type)[:1] != (self.plan.rows,):
                raise _WholeError(self.loop, f"carries a tile without {self.plan.rows} rows")
            self.values[value] = None


def carries_rows(op: Operation, rows: int) -> bool:
    """Whether `op` computes some rows of its result from the same rows of its operands."""
    if len(op.results) != 1 or extents(op.results[0].type)[:1] != (rows,) or is_view(op.results[0]):
        return False
    if isinstance(op, PRODUCTS):
        scaled = op.sfa is not None if isinstance(op, nv_tileaa.DotOp) else bool(op.extras)
        return not scaled and len(extents(op.results[0].type)) == 2
    if isinstance(op, REDUCTIONS):
        return op.axis.value.data != 0
    if isinstance(op, EXPANSIONS):
        return new_axis(op) not in (None, 0)
    if isinstance(op, BROADCASTS):
        return True
    if isinstance(op, arith.ConstantOp):
        return splat(op.result) is not None
    return is_elementwise(op) or isinstance(op, nv_tileas_structure.ConvertLayoutOp)


def row_operands(op: Operation, rows: int) -> Sequence[int]:
    """The operands of `op` of which a half needs half: all tiles with these rows, but for the factor B of a product."""
    if not carries_rows(op, rows):
        return ()
    if isinstance(op, PRODUCTS):
        return (0, 2)
    return [index for index, value in enumerate(op.operands) if extents(value.type)[:1] == (rows,)]


# Rewriting ------------------------------------------------------------------------------------------------------------

Halves = dict[SSAValue, tuple[SSAValue, SSAValue]]
"""Value -> its first and its second half of rows."""


def carry_out(plan: SlicePlan) -> scf.ForOp:
    """Split what `plan` lists. Returns the loop that stands for the one of the plan."""
    body = plan.loop.body.block
    halves: Halves = {leaf: _sliced(leaf, plan) for leaf in plan.leaves}
    plain = len(plan.loop.iter_args)
    if plan.carried:
        _split_carried(plan, halves)
    for op, split in plan.ops.items():
        first, second = (_half_of(op, split, number, halves) for number in range(SUB_TILES))
        Rewriter.insert_op((first, second), InsertPoint.before(op))
        halves[op.results[0]] = (first.results[0], second.results[0])
    last = end_of(body)
    for number, index in enumerate(plan.carried):
        last.operands[index], last.operands[plain + number] = halves[last.operands[index]]
    for op in reversed(list(plan.ops)):
        Rewriter.erase_op(op)
    loop = body.parent_op()
    assert isinstance(loop, scf.ForOp)
    return loop


def _split_carried(plan: SlicePlan, halves: Halves) -> None:
    """
    Let the loop carry first halves instead of tiles, and the second halves behind all else. What uses the results
    gets the whole tiles, put together behind the loop. The yields are left to `carry_out`.
    """
    loop, body = plan.loop, plan.loop.body.block
    inits = [loop.iter_args[index] for index in plan.carried]
    results: list[SSAValue] = []
    for index, init in zip(plan.carried, inits, strict=True):
        if init not in halves:
            halves[init] = _sliced(init, plan)
        loop.operands[LOOP_BOUNDS + index] = halves[init][0]
        Rewriter.replace_value_with_new_type(body.args[index + 1], half_type(init.type))
        results.append(Rewriter.replace_value_with_new_type(loop.results[index], half_type(init.type)))

    def carry(block: Block, arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        for index, second in zip(plan.carried, arguments, strict=True):
            halves[block.args[index + 1]] = (block.args[index + 1], second)
        return arguments

    names = [value.name_hint for value in results]
    seconds = carry_through(loop, [halves[init][1] for init in inits], carry, names)
    rebuilt = body.parent_op()
    assert rebuilt is not None
    firsts = [rebuilt.results[index] for index in plan.carried]
    if plan.behind is not None:
        halves.update(zip(firsts, zip(firsts, seconds, strict=True), strict=True))
        _split_behind(plan.behind, halves)
        return
    for first, second, init in zip(firsts, seconds, inits, strict=True):
        _put_together(first, second, init, rebuilt)


def _split_behind(behind: Mapping[Operation, Sequence[int]], halves: Halves) -> None:
    """Double the ops behind the loop; `halves` knows its results."""
    for op, split in behind.items():
        for operand in (op.operands[index] for index in split):
            if operand not in halves:
                halves[operand] = _slices_at(operand, InsertPoint.before(op))
        if isinstance(op, TiledStoreOp):
            store_halves(op, halves[op.value])
            continue
        first, second = (_half_of(op, split, number, halves) for number in range(SUB_TILES))
        Rewriter.insert_op((first, second), InsertPoint.before(op))
        halves[op.results[0]] = (first.results[0], second.results[0])
    for op in reversed(list(behind)):
        Rewriter.erase_op(op)


def _put_together(first: SSAValue, second: SSAValue, whole: SSAValue, loop: Operation) -> None:
    """Behind `loop`, let all uses of `first` see both halves, written over a tile like `whole`."""
    if first.first_use is None and second.first_use is None:
        return
    rows = extents(whole.type)[0] // SUB_TILES
    rank = len(extents(whole.type))
    upper = InsertSliceOp(first, whole, (), properties=_offsets(0, rank))
    both = InsertSliceOp(second, upper.result, (), properties=_offsets(rows, rank))
    both.result.name_hint = first.name_hint
    first.replace_uses_with_if(both.result, lambda use: use.operation is not upper)
    Rewriter.insert_op((upper, both), InsertPoint.after(loop))


def _half_of(op: Operation, split: Sequence[int], number: int, halves: Halves) -> Operation:
    """`op` for half of its rows. It is marked, so that no later run splits it again."""
    if isinstance(op, arith.ConstantOp):
        made: Operation = _small_constant(op)
    else:
        operands = [halves[v][number] if index in split else v for index, v in enumerate(op.operands)]
        made = type(op).create(
            operands=operands,
            result_types=[half_type(op.results[0].type)],
            properties=op.properties,
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )
    if isinstance(op, PRODUCTS):
        made.attributes[HINT] = IntegerAttr(1, i32)
    made.location = op.location
    _name(made, op.results[0], number)
    return made


def _sliced(value: SSAValue, plan: SlicePlan) -> tuple[SSAValue, SSAValue]:
    """Both halves of `value`: behind its definition in the body, else in front of the loop."""
    owner = value.owner
    point = InsertPoint.before(plan.loop)
    if isinstance(owner, Operation) and owner.parent_block() is plan.loop.body.block:
        point = InsertPoint.after(owner)
    return _slices_at(value, point)


def _slices_at(value: SSAValue, point: InsertPoint) -> tuple[SSAValue, SSAValue]:
    first, second = (_slice(value, number) for number in range(SUB_TILES))
    Rewriter.insert_op((first, second), point)
    return first.results[0], second.results[0]


def _slice(value: SSAValue, number: int) -> Operation:
    """Half `number` of `value`; of a constant that is one number everywhere, a smaller constant."""
    if splat(value) is not None and isinstance(value.owner, arith.ConstantOp):
        made: Operation = _small_constant(value.owner)
    else:
        type_ = half_type(value.type)
        made = ExtractSliceOp(value, (), type_, properties=_offsets(number * extents(type_)[0], len(extents(type_))))
    _name(made, value, number)
    return made


def _offsets(row: int, rank: int) -> dict[str, Attribute]:
    return {"static_offsets": DenseArrayBase.from_list(i64, [row, *[0] * (rank - 1)])}


def _small_constant(op: arith.ConstantOp) -> arith.ConstantOp:
    """The constant for half of the rows, which is one number everywhere, too."""
    constant = splat(op.result)
    assert constant is not None
    numbers = constant.data.data
    half = BytesAttr(numbers[: len(numbers) // SUB_TILES])
    return arith.ConstantOp(constant.new([half_type(op.result.type), half]))


def _name(made: Operation, value: SSAValue, number: int) -> None:
    made.results[0].name_hint = f"{value.name_hint}_{number}" if value.name_hint else None


def half_type(type_: Attribute) -> Attribute:
    """The type of half the rows."""
    assert isinstance(type_, TensorType)
    rows, *others = type_.get_shape()
    element = cast(Attribute, type_.element_type)
    return TensorType(element, [rows // SUB_TILES, *others], type_.encoding)
