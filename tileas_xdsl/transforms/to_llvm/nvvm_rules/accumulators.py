"""
Waits for `wgmma` take and return the registers that they wait for, and fences those of the products behind them.

    nvvm.wgmma.fence.aligned                         %a = llvm.inline_asm "wgmma.fence ..", "=f,..,0,.." %c
    %d = nvvm.wgmma.mma_async .., %c                 %d = .. %a
    nvvm.wgmma.wait.group.sync.aligned 0      ->     %e = llvm.inline_asm "wgmma.wait_group ..", "=f,..,0,.." %d
    %x = llvm.extractvalue %d[0]                     %x = llvm.extractvalue %e[0]

An intrinsic that waits names no registers, so that LLVM may compute with an accumulator before the wait. What passes
through the wait stays behind it. Accumulators that are still being filled pass through as well: tied operands stay in
their registers, and nothing is done to them. An intrinsic that fences names none either, and LLVM would write the first
numbers of an accumulator where it is used, between two products that the fence stands in front of. ptxas then fences
and waits by itself, and lets the products of the function go on one by one.

It does so, too, where registers of A are written while a product reads them. To LLVM they are free behind the product,
and it would write there what a loop carries to the next turn. So each wait up to that for the product takes them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.dominance import immediate_dominators, successors_of
from tileas_xdsl.dialects.extensions.llvm_values import with_member
from tileas_xdsl.dialects.nvvm.register_products import RegisterProduct
from tileas_xdsl.dialects.nvvm.thread import InlinePtxOp
from tileas_xdsl.dialects.nvvm.wgmma import (
    WgmmaFenceAlignedOp,
    WgmmaGroupSyncAlignedOp,
    WgmmaMmaAsyncOp,
    WgmmaWaitGroupSyncOp,
)
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter

CONSTANTS = (llvm.ZeroOp, llvm.UndefOp, llvm.ConstantOp)


def tie_accumulators(root: Operation) -> None:
    """Let each wait in `root` behind which accumulators are used return them, and each fence those of its products."""
    types = {type_ for op in root.walk() for type_ in _added_to(op)}
    if not types:
        return
    for region in root.regions:
        _Tying(types).region(region, _Seen())
    for fence in [op for op in root.walk() if isinstance(op, WgmmaFenceAlignedOp)]:
        starts = list(_products_behind(fence))
        if starts:
            _fence(fence, starts)


def _added_to(op: Operation) -> Sequence[Attribute]:
    """The type of the accumulator that an op starts to fill."""
    if isinstance(op, WgmmaMmaAsyncOp):
        return [op.results_.type]
    product = RegisterProduct.of(op) if isinstance(op, InlinePtxOp) else None
    return [] if product is None else [product.sums]


@dataclass(frozen=True)
class _Factors:
    """The registers of A that a product reads until its group has been waited for."""

    values: Sequence[SSAValue]
    commits: int = 0
    """How many groups were committed since it started, at least; its own is the first."""


@dataclass
class _Seen:
    """What is visible at a place, and may be under way there."""

    accumulators: list[SSAValue] = field(default_factory=list[SSAValue])
    factors: list[_Factors] = field(default_factory=list[_Factors])

    def copy(self) -> _Seen:
        return _Seen([*self.accumulators], [*self.factors])


class _Tying:
    """A walk over regions in the order of dominance, with what is visible."""

    def __init__(self, types: set[Attribute]) -> None:
        self.types = types

    def region(self, region: Region, above: _Seen) -> None:
        entry = region.first_block
        if entry is None:
            return
        dominators = immediate_dominators(entry, successors_of)
        found: dict[Block, _Seen] = {}
        for block in (entry, *dominators):
            seen = found[block] = (above if block is entry else found[dominators[block]]).copy()
            seen.accumulators += [arg for arg in block.args if arg.type in self.types]
            for op in list(block.ops):
                self.op(op, seen, dominators)

    def op(self, op: Operation, seen: _Seen, dominators: dict[Block, Block]) -> None:
        for region in op.regions:
            self.region(region, seen)
        if isinstance(op, WgmmaWaitGroupSyncOp):
            behind = {value: list(_uses_behind(value, op, dominators)) for value in seen.accumulators}
            waited_for = {value: uses for value, uses in behind.items() if uses}
            read = [value for factors in seen.factors for value in factors.values]
            left = op.group.value.data
            seen.factors = [factors for factors in seen.factors if factors.commits <= left]
            if waited_for or read:
                seen.accumulators += _wait(op, waited_for, read)
            return
        if isinstance(op, WgmmaGroupSyncAlignedOp):
            seen.factors = [_Factors(factors.values, factors.commits + 1) for factors in seen.factors]
        if isinstance(op, InlinePtxOp) and (product := RegisterProduct.of(op)) is not None:
            _, a, _ = product.split(op.read_only_args)
            seen.factors.append(_Factors([register for part in a for register in part]))
        if not isinstance(op, CONSTANTS):
            seen.accumulators += [result for result in op.results if result.type in self.types]


def _products_behind(fence: WgmmaFenceAlignedOp) -> Iterator[WgmmaMmaAsyncOp]:
    """The products of the group behind a fence that begin a chain on an accumulator."""
    chained: set[SSAValue] = set()
    op = fence.next_op
    while op is not None and not isinstance(op, WgmmaFenceAlignedOp | WgmmaGroupSyncAlignedOp):
        if isinstance(op, WgmmaMmaAsyncOp):
            if op.inouts not in chained:
                yield op
            chained.add(op.results_)
        op = op.next_op


def _uses_behind(value: SSAValue, wait: Operation, dominators: dict[Block, Block]) -> Iterator[Use]:
    """The uses of `value` that come only behind `wait`."""
    home = wait.parent
    assert home is not None
    for use in value.uses:
        op = use.operation
        while op.parent is not None and op.parent.parent is not home.parent:
            above = op.parent_op()
            assert above is not None
            op = above
        if op.parent is home:
            if wait.is_before_in_block(op):
                yield use
        elif op.parent is not None and _dominates(home, op.parent, dominators):
            yield use


def _dominates(block: Block, other: Block, dominators: dict[Block, Block]) -> bool:
    while other in dominators:
        other = dominators[other]
        if other is block:
            return True
    return False


def _wait(
    wait: WgmmaWaitGroupSyncOp, waited_for: dict[SSAValue, list[Use]], read: Sequence[SSAValue]
) -> list[SSAValue]:
    """
    The accumulators behind the wait, which takes its place and returns them; their later uses are changed. What is
    `read` until then goes in as well: its registers are used up to here.
    """
    text = f"wgmma.wait_group.sync.aligned {wait.group.value.data};"
    made = _passed_through(wait, text, list(waited_for), read)
    for joined, uses in zip(made, waited_for.values(), strict=True):
        for use in uses:
            use.operation.operands[use.index] = joined
    return made


def _fence(fence: WgmmaFenceAlignedOp, starts: Sequence[WgmmaMmaAsyncOp]) -> None:
    """The fence takes the accumulators of the products, which begin with what it returns."""
    made = _passed_through(fence, "wgmma.fence.sync.aligned;", [product.inouts for product in starts])
    for product, joined in zip(starts, made, strict=True):
        product.operands[product.operands.index(product.inouts)] = joined


def _passed_through(
    op: Operation, text: str, values: Sequence[SSAValue], read: Sequence[SSAValue] = ()
) -> list[SSAValue]:
    """Assembly in place of `op`, which is given what is `read`, and the accumulators as it returns them."""
    emit = Emitter(op)
    made = [_one_through(values[0], text, emit, read)] if len(values) == 1 else _all_through(values, text, emit, read)
    Rewriter.erase_op(op)
    return made


def _one_through(value: SSAValue, text: str, emit: Emitter, read: Sequence[SSAValue]) -> SSAValue:
    """The only accumulator: what the assembly returns is of its type."""
    assert isinstance(value.type, llvm.LLVMStructType)
    registers = list(_parts(value, emit))
    return emit.assembled(text, value.type, [*read, *registers], range(len(registers)))


def _all_through(values: Sequence[SSAValue], text: str, emit: Emitter, read: Sequence[SSAValue]) -> list[SSAValue]:
    """Several go through one op, and each is put together again."""
    parts = [(value, list(_parts(value, emit))) for value in values]
    registers = [register for _, of_value in parts for register in of_value]
    outputs = [each.type for each in registers]
    after = iter(emit.assembly(text, outputs, [*read, *registers], range(len(registers))))
    made: list[SSAValue] = []
    for value, of_value in parts:
        joined: SSAValue = emit.insert(llvm.UndefOp(value.type)).res
        for number in range(len(of_value)):
            joined = emit.insert(with_member(joined, number, next(after))).res
        made.append(joined)
    return made


def _parts(value: SSAValue, emit: Emitter) -> Iterator[SSAValue]:
    assert isinstance(value.type, llvm.LLVMStructType)
    for number, type_ in enumerate(value.type.types):
        yield emit.part(value, number, type_)
