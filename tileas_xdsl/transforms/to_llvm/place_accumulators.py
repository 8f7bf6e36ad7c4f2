"""
Let the sums of products of `tcgen05` lie in tensor memory, and give each its columns.

    %sum = dot %a, %b, %zero : .., rmem        %begun = nv_tileas.copy %zero : rmem -> tmem
                                        ->     %sum, %done = async.dot %a, %b, %begun : .., tmem
                                               async.wait %done
    %x = arith.mulf %sum, %s : rmem            %held = nv_tileas.copy %sum : tmem -> rmem
                                               %x = arith.mulf %held, %s : rmem

A *web* is all names of sums that products and control flow connect: one after the other they lie in the same columns,
for a product adds in place. What it adds to is therefore copied where it is needed once more behind it.

(PTX ISA, "Tensor Memory", "tcgen05.alloc".)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.columns import COLUMNS_OF, MOST, SCALE_COLUMNS_OF, Columns, columns_in
from tileas_xdsl.analysis.threads.liveness import Liveness, comes_behind
from tileas_xdsl.analysis.threads.products import Product, is_in_tensor_memory
from tileas_xdsl.analysis.threads.rings import Rings
from tileas_xdsl.analysis.value_flow import Families, names_behind, values_in
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, linear_layout
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.layouts.defaults import in_tensor_memory
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.layouts.fragments import TENSOR_ROWS
from tileas_xdsl.layouts.scale_factors import scales_of
from tileas_xdsl.layouts.tensor_memory import transfers

SIGNS = ("signedness_a", "signedness_b")


@dataclass(frozen=True)
class PlaceAccumulatorsPass(ModulePass):
    """
    Give the sums of products of `tcgen05` columns of tensor memory.

    Rewrites:

    - A product whose sum has the layout of `tcgen05` (`mma<m128..>`) adds to a tile in tensor memory, and every name of
      that sum becomes one there. A product that is waited for at once becomes an asynchronous one and its wait.
    - What threads make and a product adds to is copied into tensor memory in front of it, by `tcgen05.st`; what they
      read of a sum is copied into registers, by `tcgen05.ld`.
    - Where a product would change a sum that is read again, it adds to a copy of it; where it takes the columns of one
      that is read behind it, that is copied into registers in front of it.
    - A wait in the arm of a branch for products in front of the branch stands in front of it.
    - Each product, and each copy into tensor memory, says by `nv_tileas.columns` its first column and their number.

    Requires: every tile has a layout to the bit; products and control flow are those of one block a region.
    Refuses: sums that take more than the 512 columns together; a loop or a branch that hands on several sums as one.

    Choices: each web has columns of its own. Two never share any, so no barrier is needed between them.
    """

    name = "tileas-place-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp)]
        functions = [each for each in functions if _products_in(each) and not columns_in(each)]
        placed = [_with_places(each) for each in functions]
        for function, made in zip(functions, placed, strict=True):
            Rewriter.replace_op(function, made)


def _products_in(function: func.FuncOp) -> list[Product]:
    return [op for op in function.walk() if isinstance(op, DotOp | AsyncDotOp) and is_in_tensor_memory(op)]


def _with_places(function: func.FuncOp) -> func.FuncOp:
    """The function with columns. Raises `RefusedError`; the function itself stays as it is."""
    made = function.clone()
    _place(made, _products_in(made))
    return made


def _place(function: func.FuncOp, products: Sequence[Product]) -> None:
    issued = [_issued(op) for op in products]
    for op in issued:
        _keep_what_is_needed(op)
    while any([_keep_what_is_read(web) for web in _webs(function, issued)]):
        pass
    webs = _webs(function, issued)
    names = {name: number for number, web in enumerate(webs) for name in web}
    for name in names:
        _bring(name, names)
    for name in names:
        _take(name)
    for op in issued:
        if op.c not in names:
            _put(op, 2)
    placed = [[_placed(name) for name in web] for web in webs]
    _hoist_waits(function)
    _give_columns(placed, issued)


def _placed(name: SSAValue) -> SSAValue:
    """The same name, of a tile in tensor memory."""
    return Rewriter.replace_value_with_new_type(name, _in_tensor_memory(name.type))


# Products -------------------------------------------------------------------------------------------------------------


def _issued(op: Product) -> AsyncDotOp:
    """The product as one that goes on by itself."""
    if isinstance(op, AsyncDotOp):
        return op
    scales = None if op.sfa is None or op.sfb is None else (op.sfa, op.sfb)
    made = AsyncDotOp(op.a, op.b, op.c, scales=scales)
    made.attributes |= {name: sign for name in SIGNS if (sign := op.properties.get(name)) is not None}
    wait = AsyncWaitOp(made.done)
    made.location = wait.location = op.location
    made.d.name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, [made, wait], [made.d])
    return made


def _keep_what_is_needed(op: AsyncDotOp) -> None:
    """Let a product add to a copy of a sum that is read again behind it."""
    owner = op.c.owner
    block = owner if isinstance(owner, Block) else owner.parent
    if block is None or not _is_handed_on(op.c):
        return
    if any(comes_behind(use.operation, op, block) for use in op.c.uses):
        copy = CopyOp(op.c, result_type=op.c.type)
        copy.location = op.location
        Rewriter.insert_op(copy, InsertPoint.before(op))
        op.operands[2] = copy.outputs[0]


def _keep_what_is_read(web: Sequence[SSAValue]) -> bool:
    """Let a sum be copied in front of a product that takes its columns while it is read; whether there was one."""
    liveness = Liveness(web)
    for op, number in [(name.owner, 2) for name in web if isinstance(name.owner, AsyncDotOp)]:
        before = op.operands[number]
        read = [name for name in web if name is not before and liveness.is_live_behind(name, op)]
        for name in read:
            _keep_in_front_of(op, name)
        if read:
            return True
    return False


def _keep_in_front_of(op: AsyncDotOp, name: SSAValue) -> None:
    """Let what is behind `op` read a copy of `name`, and wait in front of it for what makes that."""
    block = name.owner if isinstance(name.owner, Block) else name.owner.parent
    assert block is not None
    point = block.find_ancestor_op_in_block(op)
    assert point is not None
    for wait in [each for each in block.ops if isinstance(each, AsyncWaitOp) and point.is_before_in_block(each)]:
        if _is_token_of(wait.token, name):
            wait.detach()
            Rewriter.insert_op(wait, InsertPoint.before(point))
    copy = CopyOp(name, result_type=name.type)
    copy.location, copy.outputs[0].name_hint = op.location, name.name_hint
    Rewriter.insert_op(copy, InsertPoint.before(point))
    for use in [use for use in name.uses if use.operation is not copy and comes_behind(use.operation, op, block)]:
        use.operation.operands[use.index] = copy.outputs[0]


def _is_token_of(token: SSAValue, sum_: SSAValue) -> bool:
    """Whether a token says that a sum is complete: one product makes both, and a loop or a branch hands both on."""
    if isinstance(token, OpResult) and isinstance(sum_, OpResult):
        if token.op is not sum_.op or isinstance(token.op, AsyncDotOp):
            return token.op is sum_.op
        ends = [region.block.last_op for region in token.op.regions if region.blocks]
        return _are_handed_on(ends[0], token.index, sum_.index) if ends else False
    if isinstance(token, BlockArgument) and isinstance(sum_, BlockArgument) and token.block is sum_.block:
        loop = token.block.parent_op()
        return isinstance(loop, scf.ForOp) and _are_handed_on(token.block.last_op, token.index - 1, sum_.index - 1)
    return False


def _are_handed_on(end: Operation | None, token: int, sum_: int) -> bool:
    return isinstance(end, scf.YieldOp) and _is_token_of(end.operands[token], end.operands[sum_])


# Webs -----------------------------------------------------------------------------------------------------------------


def _webs(function: func.FuncOp, products: Sequence[AsyncDotOp]) -> list[list[SSAValue]]:
    """
    The names of the sums that lie in tensor memory: of each web those that products and control flow make. What control
    flow makes of tiles that threads hold stays with them until a product adds to it.
    """
    kinds = {op.c.type for op in products}
    names = [value for value in values_in(function) if value.type in kinds and _is_handed_on(value)]
    families = Families()
    for name in names:
        for use in name.uses:
            for behind in names_behind(use) or ():
                families.unite(name, behind)
    made = {families.of(op.d) for op in products}
    for op in products:
        if families.of(op.c) in made:
            families.unite(op.d, op.c)
    members: dict[SSAValue, list[SSAValue]] = {}
    for name in names:
        members.setdefault(families.of(name), []).append(name)
    sums = {families.of(op.d) for op in products}
    return [web for family, web in members.items() if family in sums]


def _is_handed_on(value: SSAValue) -> bool:
    """Whether a product or control flow makes a name; all others are of what threads hold."""
    owner = value.owner
    return isinstance(owner, Block | AsyncDotOp | scf.ForOp | scf.IfOp | scf.WhileOp | arith.SelectOp)


def _bring(name: SSAValue, names: dict[SSAValue, int]) -> None:
    """What threads hold and control flow hands on under the name of a sum is copied into tensor memory first."""
    for op, number in list(_sources(name)):
        source = op.operands[number]
        if source not in names and source.type == name.type:
            _put(op, number)


def _sources(name: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The operands that become `name`."""
    owner = name.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    ends = [region.block.last_op for region in op.regions] if op is not None else []
    for user in (op, *ends):
        for number, operand in enumerate(user.operands if user is not None else ()):
            uses = (use for use in operand.uses if use.operation is user and use.index == number)
            if user is not None and any(name in (names_behind(use) or ()) for use in uses):
                yield user, number


def _put(op: Operation, number: int) -> None:
    """Copy an operand into tensor memory in front of the op."""
    source = op.operands[number]
    copy = CopyOp(source, result_type=_in_tensor_memory(source.type), atom_descriptor=_atom(source.type, "st"))
    copy.location, copy.outputs[0].name_hint = op.location, source.name_hint
    Rewriter.insert_op(copy, InsertPoint.before(op))
    op.operands[number] = copy.outputs[0]


def _take(name: SSAValue) -> None:
    """Copy a sum into registers in front of each op that reads it."""
    readers = [use for use in name.uses if not _keeps_in_place(use.operation, use.index, name)]
    for op in dict.fromkeys(use.operation for use in readers):
        numbers = [use.index for use in readers if use.operation is op]
        if _is_copy(op):
            assert isinstance(op, CopyOp)
            op.atom_descriptor = _atom(name.type, "ld")
            continue
        copy = CopyOp(name, result_type=name.type, atom_descriptor=_atom(name.type, "ld"))
        copy.location, copy.outputs[0].name_hint = op.location, name.name_hint
        Rewriter.insert_op(copy, InsertPoint.before(op))
        for number in numbers:
            op.operands[number] = copy.outputs[0]


def _is_copy(op: Operation) -> bool:
    """Whether an op is the copy of a sum that a product needs once more."""
    return isinstance(op, CopyOp) and bool(op.outputs) and op.outputs[0].type == op.source.type


def _keeps_in_place(op: Operation, number: int, name: SSAValue) -> bool:
    if isinstance(op, AsyncDotOp):
        return number == 2
    return any(names_behind(use) is not None for use in name.uses if use.operation is op and use.index == number)


def _in_tensor_memory(type_: Attribute) -> TensorType[Attribute]:
    tile = cast("TensorType[Attribute]", type_)
    layout = LayoutAttr.of("tmem", form=in_tensor_memory(tile.get_shape()))
    return TensorType(tile.element_type, tile.get_shape(), layout)


def _atom(held: Attribute, verb: str) -> CuteAtomAttr:
    """The instruction that moves a tile whose registers are those of a sum."""
    memory, registers = linear_layout(_in_tensor_memory(held)), linear_layout(held)
    assert memory is not None
    assert registers is not None
    transfer = transfers(memory, 32, registers.input_size(WARP))[0]
    return CuteAtomAttr(StringAttr(transfer.instruction(verb)))


# Waits ----------------------------------------------------------------------------------------------------------------


def _hoist_waits(function: func.FuncOp) -> None:
    """
    Behind a loop that may have no turns the wait for its last product has its condition. It stands in front of the
    branch as well: where that is not taken, there is nothing to wait for. Then what follows is known to be waited for.
    """
    for branch in [op for op in function.walk() if isinstance(op, scf.IfOp) and not op.results]:
        arm = branch.true_region.block
        products = [op for op in arm.walk() if isinstance(op, AsyncDotOp)]
        for op in list(arm.ops):
            is_of_product = isinstance(op, AsyncWaitOp) and not products and not branch.is_ancestor(_maker(op.token))
            if is_of_product and not isinstance(_maker(op.operands[0]), AsyncTiledLoadOp | TiledTmaStoreOp):
                op.detach()
                Rewriter.insert_op(op, InsertPoint.before(branch))


def _maker(value: SSAValue) -> Operation:
    owner = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
    assert owner is not None
    return owner


# Columns --------------------------------------------------------------------------------------------------------------


def _give_columns(webs: list[list[SSAValue]], products: Sequence[AsyncDotOp]) -> None:
    """One web behind the other, and behind these the scale factors."""
    for web in webs:
        operands = [op.operands[number] for name in web for op, number in _sources_and_sums(name)]
        web += [operand for operand in operands if isinstance(operand.owner, CopyOp)]
    liveness = Liveness(name for web in webs for name in web)
    first = 0
    for web in webs:
        rows, width = cast("TensorType[Attribute]", web[0].type).get_shape()
        columns = Columns(first, -(-rows // TENSOR_ROWS) * width)
        for name in web:
            _refuse_others(name, web, liveness)
            if isinstance(name.owner, AsyncDotOp | CopyOp):
                numbers = [IntegerAttr(each, i32) for each in (columns.first, columns.count)]
                name.owner.attributes[COLUMNS_OF] = ArrayAttr(numbers)
        first = columns.end
    first = _give_scale_columns(products, first)
    if first > MOST:
        words = f"adds to a sum with which products take {first} columns of tensor memory, and there are {MOST}"
        refuse(_maker(webs[-1][0]), words, "use smaller tiles")


def _give_scale_columns(products: Sequence[AsyncDotOp], first: int) -> int:
    """
    Give the scale factors of products columns from `first` on. Products of different iterations share them where they
    read the slots of one ring: what says that a slot is full says that what was read of it before is over. Two products
    in one block that read one ring do not. Returns the end.
    """
    scaled = [op for op in products if op.scales]
    if not scaled:
        return first
    function = enclosing_function(scaled[0])
    assert function is not None
    rings, known, seen = Rings(function), dict[Hashable, int](), Counter[Hashable]()
    for op in scaled:
        said: list[int] = []
        for axis, tile in enumerate(op.scales):
            own = rings.of_tile(tile)
            slots = own[0] if len(own) == 1 else None
            turn = (op.parent_block(), slots, axis)
            key: Hashable = (op, axis) if slots is None else (slots, axis, seen[turn])
            seen[turn] += 1
            kind = cast("TensorType[Attribute]", tile.type)
            count = scales_of(kind.get_shape(), axis).columns * (1 if slots is None else slots.depth)
            if key not in known:
                known[key], first = first, first + count
            said += [known[key], count]
        op.attributes[SCALE_COLUMNS_OF] = ArrayAttr([IntegerAttr(each, i32) for each in said])
    return first


def _sources_and_sums(name: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The operands that become `name`, and what the product adds to that makes it."""
    if isinstance(name.owner, AsyncDotOp):
        yield name.owner, 2
    yield from _sources(name)


def _refuse_others(name: SSAValue, web: Sequence[SSAValue], liveness: Liveness) -> None:
    """What is written under one name is nothing that is read later under another one."""
    maker = name.owner
    if not isinstance(maker, AsyncDotOp | CopyOp):
        return
    before = maker.c if isinstance(maker, AsyncDotOp) else None
    if any(liveness.is_live_behind(other, maker) for other in web if other is not name and other is not before):
        words = "makes a sum where another one is still read, and loops or branches hand on both under one name"
        refuse(maker, words, "hand them on under names of their own, in one order")
