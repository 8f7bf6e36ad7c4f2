"""
The canonicalization patterns of `nv_tileaa`: those that TileAS has.

Each pattern matches one op, checks everything, and only then rewrites. `PATTERNS` says which patterns an op has. One
pattern of TileAS is left out, since too little of it is described: folding a `dot` of constants into a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyTensorTypeConstr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tileas_xdsl.dialects.nv_tileaa.atomics import AtomicCasOp, AtomicRmwOp
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.control import AssumeOp, PragmaOp
from tileas_xdsl.dialects.nv_tileaa.elementwise import ElementwiseOp
from tileas_xdsl.dialects.nv_tileaa.memory import (
    AccessOp,
    AddPtrOp,
    JoinMemTokenOp,
    LoadOp,
    ReadOp,
    StoreOp,
    TiledLoadOp,
    TiledStoreOp,
    WriteOp,
)
from tileas_xdsl.dialects.nv_tileaa.predicates import AssumePredicate
from tileas_xdsl.dialects.nv_tileaa.queue import GetOp, QueueYieldOp
from tileas_xdsl.dialects.nv_tileaa.regions import CanonicalizedOp, YieldOp
from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp, ExpandDimsOp, ExtractOp, SplatOp, ViewOp
from tileas_xdsl.dialects.nv_tileaa.types import bit_width, element_type_of, is_integer_like
from tileas_xdsl.dialects.tiles.policies import MemSemantic, RmwMode
from tileas_xdsl.dialects.tiles.traits import is_view

# What a value is known to be ----------------------------------------------------------------------


def uniform_constant(value: SSAValue) -> int | float | None:
    """The number that every element of `value` is, when a constant or a splat of one says so."""
    owner = value.owner
    if isinstance(owner, SplatOp):
        return uniform_constant(owner.source)
    if not isinstance(owner, arith.ConstantOp):
        return None
    match owner.value:
        case IntegerAttr() | FloatAttr() as scalar:
            return scalar.value.data
        case DenseIntOrFPElementsAttr() as dense if dense.is_splat():
            number = dense.get_values()[0]
            return number if isinstance(number, int | float) else None
        case _:
            return None


def is_constant_mask(mask: SSAValue | None) -> bool | None:
    """True or False for a mask that is so in every lane, else None."""
    constant = None if mask is None else uniform_constant(mask)
    return None if constant is None else constant != 0


# Queues and pragmas -------------------------------------------------------------------------------


def used_results(op: Operation) -> list[int] | None:
    """The indices of the results that are used, or None when all are."""
    used = [index for index, result in enumerate(op.results) if result.first_use is not None]
    return None if len(used) == len(op.results) else used


class PruneQueueGet(RewritePattern):
    """Drop the unused results of a get in region form, and the operands of `queue.yield` that they came from."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GetOp, rewriter: PatternRewriter) -> None:
        kept = used_results(op)
        if kept is None or op.body.first_block is None:
            return
        terminator = op.body.block.last_op
        if not isinstance(terminator, QueueYieldOp):
            return
        pruned = QueueYieldOp.of([terminator.values[index] for index in kept])
        rewriter.replace(terminator, pruned)
        results = [op.results[index].type for index in kept]
        new = GetOp.of(op.queue, op.index, body=_take(op.body), result_types=results)
        replace_pruned(op, new, kept, rewriter)


class PrunePragma(RewritePattern):
    """Drop the unused results of a pragma, and the values that its region yields for them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PragmaOp, rewriter: PatternRewriter) -> None:
        kept = used_results(op)
        if kept is None or op.body.first_block is None:
            return
        terminator = op.body.block.last_op
        if not isinstance(terminator, YieldOp):
            return
        rewriter.replace(terminator, YieldOp(operands=[[terminator.values[index] for index in kept]]))
        results = [op.results[index].type for index in kept]
        new = PragmaOp(result_types=[results], regions=[_take(op.body)])
        replace_pruned(op, new, kept, rewriter)


def _take(region: Region) -> Region:
    """Move the blocks of `region` into a new region."""
    taken = Region()
    region.move_blocks(taken)
    return taken


def replace_pruned(op: Operation, new: Operation, kept: Sequence[int], rewriter: PatternRewriter) -> None:
    """Replace `op` by `new`, which has the results `kept` of `op`; attributes and location are kept."""
    new.properties = dict(op.properties)
    new.attributes = dict(op.attributes)
    new.location = op.location
    replacements: list[SSAValue | None] = [None] * len(op.results)
    for position, index in enumerate(kept):
        replacements[index] = new.results[position]
    rewriter.replace(op, new, replacements)


# Addresses and tokens -----------------------------------------------------------------------------


class FuseAddPtr(RewritePattern):
    """`addptr(addptr(p, i), j)` is `addptr(p, i + j)`; all three pointers are of one type, so of one unit."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddPtrOp, rewriter: PatternRewriter) -> None:
        inner = op.base.owner
        if not isinstance(inner, AddPtrOp) or inner.offset.type != op.offset.type:
            return
        total = arith.AddiOp(inner.offset, op.offset)
        moved = AddPtrOp(operands=[inner.base, total.result], result_types=[op.result.type])
        rewriter.replace(op, [total, moved])


class JoinOfOneToken(RewritePattern):
    """A join of one token is that token."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: JoinMemTokenOp, rewriter: PatternRewriter) -> None:
        if len(op.tokens) == 1:
            rewriter.replace(op, [], [op.tokens[0]])


# Masked accesses ----------------------------------------------------------------------------------


class LoadWithConstantMask(RewritePattern):
    """A load under a true mask needs none; under a false one it is the fallback, and the token passes by."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReadOp):
            return
        mask = is_constant_mask(op.mask)
        if mask is True:
            groups = [op.base, op.indices, None, None, op.token]
            rewriter.replace(op, without_mask(op, groups))
        elif mask is False and op.other is not None:
            rewriter.replace(op, [], [op.other, *op.token])


class StoreWithConstantMask(RewritePattern):
    """A store under a true mask needs none; under a false one it does nothing, and the token passes by."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, WriteOp):
            return
        mask = is_constant_mask(op.mask)
        if mask is True:
            groups = [op.base, op.value, op.indices, None, op.token]
            rewriter.replace(op, without_mask(op, groups))
        elif mask is False:
            rewriter.replace(op, [], list(op.token))


def without_mask(op: AccessOp, operands: Sequence[SSAValue | Sequence[SSAValue] | None]) -> Operation:
    """The same kind of access on `operands`; the segment sizes follow from them."""
    *values, tokens = _result_groups(op)
    new = type(op)(
        operands=operands,
        result_types=[*values, tokens],
        properties={name: value for name, value in op.properties.items() if name != "operandSegmentSizes"},
        attributes=op.attributes,
        regions=[[]],
        successors=[[]],
    )
    new.location = op.location
    return new


def _result_groups(op: AccessOp) -> list[Attribute | list[Attribute]]:
    types = list(op.result_types)
    return [*types[:1], types[1:]] if isinstance(op, ReadOp) else [types]


# Atomics that change nothing ----------------------------------------------------------------------


def identity_of(mode: RmwMode, element: Attribute) -> int | None:
    """The identity element of a read-modify-write on integers: 0, or all ones for `and`; None for other modes."""
    if not is_integer_like(element):
        return None
    if mode in (RmwMode.ADD, RmwMode.OR, RmwMode.XOR):
        return 0
    return -1 if mode is RmwMode.AND else None


def can_be_a_load(op: AccessOp) -> bool:
    """Whether a load can have the order of the atomic: weak or relaxed. A stronger order would be lost."""
    semantic = op.mem_semantic
    return semantic is None or semantic.data in (MemSemantic.WEAK, MemSemantic.RELAXED)


def load_in_place_of(op: AtomicRmwOp | AtomicCasOp) -> LoadOp:
    """A load of what the atomic reads, between the same tokens."""
    policy: dict[str, Attribute | None] = {"mem_semantic": op.mem_semantic, "mem_scope": op.mem_scope}
    load = LoadOp(
        operands=[op.base, op.indices, op.mask, None, op.token],
        result_types=[op.old.type, [token.type for token in op.token_result]],
        properties=policy,
        attributes=op.attributes,
        regions=[[]],
        successors=[[]],
    )
    load.location = op.location
    return load


class AtomicRmwWithIdentity(RewritePattern):
    """An atomic that adds, ors or xors 0, or ands all ones, is a load."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AtomicRmwOp, rewriter: PatternRewriter) -> None:
        if op.rmw_mode is None or not can_be_a_load(op):
            return
        identity = identity_of(op.rmw_mode.data, element_type_of(op.value.type))
        constant = uniform_constant(op.value)
        if identity is None or constant is None:
            return
        if constant == identity or (identity == -1 and constant == all_ones(op.value.type)):
            rewriter.replace(op, load_in_place_of(op))


def all_ones(type_: Attribute) -> int:
    """The unsigned reading of a word of ones; an index has 64 bits."""
    width = bit_width(type_)
    return (1 << (64 if width is None else width)) - 1


class AtomicCasOfEqualValues(RewritePattern):
    """Replacing a value by itself is a load."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AtomicCasOp, rewriter: PatternRewriter) -> None:
        if op.compare is op.replacement and can_be_a_load(op):
            rewriter.replace(op, load_in_place_of(op))


# Tile structure -----------------------------------------------------------------------------------


class FuseViews(RewritePattern):
    """A view of a view is a view of the source, and no view at all when the type comes back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ViewOp, rewriter: PatternRewriter) -> None:
        inner = op.source.owner
        if op.source.type == op.result.type:
            rewriter.replace(op, [], [op.source])
        elif isinstance(inner, ViewOp):
            rewriter.replace(op, ViewOp(operands=[inner.source], result_types=[op.result.type]))


class ReshapeOfSplat(RewritePattern):
    """A view, broadcast or expand_dims of a splat is a splat."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ViewOp | BroadcastOp | ExpandDimsOp):
            return
        splat = op.source.owner
        if isinstance(splat, SplatOp) and AnyTensorTypeConstr.verifies(op.result.type):
            rewriter.replace(op, SplatOp(operands=[splat.source], result_types=[op.result.type]))


class SplatOfSelect(RewritePattern):
    """A splat of a selected scalar is the selected splat: `splat(c ? x : y)` is `c ? splat(x) : splat(y)`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SplatOp, rewriter: PatternRewriter) -> None:
        select = op.source.owner
        if not isinstance(select, arith.SelectOp) or select.cond.type != i1:
            return
        chosen, other = (SplatOp(operands=[value], result_types=[op.result.type]) for value in (select.lhs, select.rhs))
        rewriter.replace(op, [chosen, other, arith.SelectOp(select.cond, chosen.result, other.result)])


class AssumeOfSplat(RewritePattern):
    """A fact about every lane of a splat becomes a fact about the scalar, unless the fact distinguishes lanes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AssumeOp, rewriter: PatternRewriter) -> None:
        splat = op.value.owner
        if not isinstance(splat, SplatOp):
            return
        if not all(isinstance(fact, AssumePredicate) and fact.is_uniform for fact in op.predicates):
            return
        assume = AssumeOp(
            operands=[splat.source],
            result_types=[splat.source.type],
            properties={"predicates": op.predicates},
            attributes=op.attributes,
        )
        rewriter.replace(op, [assume, SplatOp(operands=[assume.result], result_types=[op.result.type])])


class ExtractOfElementwise(RewritePattern):
    """
    Extract from the operands of a lane-by-lane op, and compute only what is extracted.

    Only when nothing else uses the op, which otherwise would be computed twice, and when no operand is a view, which
    would then be read later.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExtractOp, rewriter: PatternRewriter) -> None:
        whole = op.source.owner
        if not isinstance(whole, ElementwiseOp) or not op.source.has_one_use():
            return
        if any(map(is_view, whole.operands)):
            return
        parts = [
            ExtractOp(operands=[value, op.indices], result_types=[part_type(op, value.type)])
            for value in whole.operands
        ]
        part = type(whole).create(
            operands=[part.result for part in parts],
            result_types=[op.result.type],
            properties=dict(whole.properties),
            attributes=dict(whole.attributes),
            location=whole.location,
        )
        rewriter.replace(op, [*parts, part])


def part_type(op: ExtractOp, source: Attribute) -> Attribute:
    """The type of `op` if it worked on what is extracted from `source`, a tile of the same shape as its own."""
    element, part = element_type_of(source), op.result.type
    if not AnyTensorTypeConstr.verifies(part):
        return element
    return TensorType(element, part.get_shape(), part.encoding)


class ExtractOfExpandDims(RewritePattern):
    """Taking away the leading unit axes that `expand_dims` has just inserted gives back its source."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExtractOp, rewriter: PatternRewriter) -> None:
        expand = op.source.owner
        if isinstance(expand, ExpandDimsOp) and op.result.type == expand.source.type:
            rewriter.replace(op, [], [expand.source])


# Products -----------------------------------------------------------------------------------------


class DotOfZero(RewritePattern):
    """
    A product with a zero factor adds nothing to C.

    Not where NaN is propagated (zero times infinity is NaN), and not with scale factors, which can be NaN.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotOp, rewriter: PatternRewriter) -> None:
        propagates = op.propagate_nan is not None and op.propagate_nan.value.data != 0
        if propagates or op.sfa is not None:
            return
        if 0 in (uniform_constant(op.a), uniform_constant(op.b)):
            rewriter.replace(op, [], [op.c])


PATTERNS: dict[type[CanonicalizedOp], tuple[RewritePattern, ...]] = {
    AddPtrOp: (FuseAddPtr(),),
    AssumeOp: (AssumeOfSplat(),),
    AtomicCasOp: (AtomicCasOfEqualValues(),),
    AtomicRmwOp: (AtomicRmwWithIdentity(),),
    BroadcastOp: (ReshapeOfSplat(),),
    DotOp: (DotOfZero(),),
    ExpandDimsOp: (ReshapeOfSplat(),),
    ExtractOp: (ExtractOfExpandDims(), ExtractOfElementwise()),
    GetOp: (PruneQueueGet(),),
    JoinMemTokenOp: (JoinOfOneToken(),),
    LoadOp: (LoadWithConstantMask(),),
    PragmaOp: (PrunePragma(),),
    SplatOp: (SplatOfSelect(),),
    StoreOp: (StoreWithConstantMask(),),
    TiledLoadOp: (LoadWithConstantMask(),),
    TiledStoreOp: (StoreWithConstantMask(),),
    ViewOp: (FuseViews(), ReshapeOfSplat()),
}
"""The patterns of each op, which `CanonicalizedOp` looks up."""
