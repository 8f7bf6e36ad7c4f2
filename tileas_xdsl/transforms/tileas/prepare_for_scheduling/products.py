"""
Products that are issued and waited for, on targets that have such products.

    %s = dot %a, %b, %acc          ->       %s, %t = async.dot %a, %b, %acc
    %r = f(%s)                              async.wait %t
                                            %r = f(%s)

The wait stands before the first op of the block that reads the accumulator (a product that adds to it again is none),
before the release of a slot that the product reads, and at the latest at the end of the iteration. An issued product
adds in place, so one whose accumulator is used again otherwise stays as it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.memory.objects import storage_spaces
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.nv_tileaa import compute as nv_tileaa
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp, DotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, ConsumerReleaseOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.scalars import packed_bits
from tileas_xdsl.dialects.tiles.traits import names_bytes_of_operand
from tileas_xdsl.dialects.tiles.types import element_type_of, extents
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.targets.machine_model import MachineModel, Products
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in

ROWS, COLUMNS = 64, 8
"""The rows of a product are a multiple of 64, its columns one of 8 (PTX ISA, "wgmma.mma_async", "tcgen05.mma")."""

WIDEST = 32
"""Bits of an element of a factor: f16, bf16, tf32, 8 bits and less."""


def issue_products(loop: scf.ForOp, model: MachineModel) -> None:
    """Make the products in the body of `loop` asynchronous, where the target can."""
    if model.products is Products.NONE:
        return
    products = [op for op in loop.body.block.ops if isinstance(op, nv_tileaa.DotOp | DotOp)]
    issued = {op: None for op in products if can_be_issued(op, model) and adds_in_place(op, loop)}
    for op in issued:
        _issue(op, loop, issued)


def can_be_issued(op: nv_tileaa.DotOp | DotOp, model: MachineModel) -> bool:
    """
    Whether the instructions of the tensor core take this product: shapes, elements, and where factors lie. Those with
    sums in tensor memory take scale factors.
    """
    scales = scales_of_product(op)
    shape = extents(op.c.type)
    if scales and model.products is not Products.TCGEN05:
        return False
    if any(storage_spaces(scale.type) != frozenset(["shared"]) for scale in scales):
        return False
    if len(shape) != 2 or shape[0] % ROWS or shape[1] % COLUMNS:
        return False
    if storage_spaces(op.b.type) != frozenset(["shared"]) or storage_spaces(op.c.type) != frozenset(["register"]):
        return False
    if storage_spaces(op.a.type) not in (frozenset(["shared"]), frozenset(["register"])):
        return False
    is_of_one_kind = bool(scales) or element_type_of(op.a.type) == element_type_of(op.b.type)
    return is_of_one_kind and packed_bits(op.a.type) <= WIDEST


def scales_of_product(op: nv_tileaa.DotOp | DotOp) -> tuple[SSAValue, ...]:
    """The scale factors of A and B; none of a product without."""
    if isinstance(op, DotOp):
        return op.scales
    return () if op.sfa is None or op.sfb is None else (op.sfa, op.sfb)


def adds_in_place(op: nv_tileaa.DotOp | DotOp, loop: scf.ForOp) -> bool:
    """
    Whether nothing else sees the accumulator from `op` on: an issued product adds to it where it is, so what it was
    before is gone. Uses in front of `op` are early enough. What the loop carries must be handed on under one name.
    """
    accumulator = op.c
    owner = accumulator.owner
    if isinstance(owner, Operation) and owner.parent_block() is not loop.body.block:
        return isinstance(owner, arith.ConstantOp)
    if isinstance(owner, scf.IfOp | scf.ForOp) or not _is_last_use(accumulator, op):
        return False
    if isinstance(owner, Operation):
        return True
    if not isinstance(accumulator, BlockArgument) or owner is not loop.body.block:
        return False
    last = end_of(loop.body.block)
    init, next_one = loop.iter_args[accumulator.index - 1], last.operands[accumulator.index - 1]
    is_new = isinstance(init.owner, arith.ConstantOp) or len(list(init.uses)) == 1
    handed_on = [use for use in next_one.uses if hands_on(use.operation)]
    return is_new and len(handed_on) == 1 and not isinstance(next_one.owner, scf.IfOp | scf.ForOp)


def _is_last_use(value: SSAValue, op: Operation) -> bool:
    """Whether all other uses of `value` are by ops in front of `op` in its block, which do not hand it on."""
    others = [use.operation for use in value.uses if use.operation is not op]
    uses = len(list(value.uses)) - len(others)
    return uses == 1 and all(
        other.parent_block() is op.parent_block()
        and not (hands_on(other) or isinstance(other, scf.ForOp | scf.IfOp))
        and other.is_before_in_block(op)
        for other in others
    )


def _issue(op: nv_tileaa.DotOp | DotOp, loop: scf.ForOp, issued: Container[Operation]) -> None:
    block = loop.body.block
    scales = scales_of_product(op)
    product = AsyncDotOp(op.a, op.b, op.c, scales=(scales[0], scales[1]) if scales else None)
    product.location = op.location
    for name in ("signedness_a", "signedness_b"):
        given = op.properties.get(name) or op.attributes.get(name)
        if given is not None:
            product.attributes[name] = given
    Rewriter.insert_op(product, InsertPoint.before(op))
    old = op.results[0]
    product.d.name_hint = old.name_hint
    product.done.name_hint = f"{old.name_hint}_done" if old.name_hint else None
    old.replace_all_uses_with(product.d)
    Rewriter.erase_op(op)
    position = {inner: number for number, inner in enumerate(block.ops)}
    readers = [inner for inner in uses_in(block, [product.d]) or [] if not _only_adds(inner, product.d, issued)]
    factors = (product.a, product.b, *product.scales)
    releases = [release for value in factors for release in _releases_behind(value, product, position)]
    last = end_of(block)
    before = min([*readers, *releases, last], key=lambda inner: position[inner])
    wait = AsyncWaitOp(product.done)
    wait.location = product.location
    Rewriter.insert_op(wait, InsertPoint.before(before))


def _only_adds(op: Operation, tile: SSAValue, issued: Container[Operation]) -> bool:
    """Whether `op` uses `tile` only to add to it, or hands it to the next iteration."""
    if isinstance(op, AsyncDotOp):
        return all(operand is not tile for operand in (op.a, op.b, *op.extras))
    if isinstance(op, nv_tileaa.DotOp | DotOp):
        return op in issued and op.a is not tile and op.b is not tile
    return hands_on(op)


def _releases_behind(value: SSAValue, op: Operation, position: dict[Operation, int]) -> list[Operation]:
    """The releases of the slots that `value`, or what it is a part of, may lie in, behind `op` in its block."""
    reads = list(_reads_of(value, set()))
    tokens = [result for read in reads for result in read.results if result not in read.value_results]
    tokens += [token for read in reads for token in read.tokens]
    users = [use.operation for token in tokens for use in token.uses]
    return [user for user in users if isinstance(user, ConsumerReleaseOp) and position.get(user, -1) > position[op]]


def _reads_of(value: SSAValue, seen: set[SSAValue]) -> Iterator[ConsumerReadOp]:
    """The ops that read the slots in which a tile may lie, through views, branches and loops."""
    if value in seen:
        return
    seen.add(value)
    if isinstance(value.owner, ConsumerReadOp):
        yield value.owner
    for source in _sources(value):
        yield from _reads_of(source, seen)


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """The values that a value is another name of, or a part of."""
    match value.owner:
        case scf.IfOp() as branch:
            ends = [region.block.last_op for region in branch.regions if region.blocks]
            return [end.operands[branch.results.index(value)] for end in ends if end is not None]
        case scf.ForOp() as loop:
            return _carried(loop, loop.results.index(value))
        case arith.SelectOp() as choice:
            return (choice.lhs, choice.rhs)
        case Block() as block if isinstance(loop := block.parent_op(), scf.ForOp):
            return _carried(loop, value.index - 1) if isinstance(value, BlockArgument) and value.index else ()
        case Operation() as op if names_bytes_of_operand(op):
            return (op.operands[0],)
        case _:
            return ()


def _carried(loop: scf.ForOp, index: int) -> Sequence[SSAValue]:
    """What a loop begins with under a name, and what it hands on."""
    last = loop.body.block.last_op
    return (loop.iter_args[index], *(() if last is None else (last.operands[index],)))
