"""
Which products read their factors from shared memory, those of a warpgroup and those of tensor memory, and which of them
may still be going on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.analysis.ages import Ages, Commit
from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import form_of, layout_of
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.targets.engines import Engine

Product = DotOp | AsyncDotOp
QUEUE = Engine.WGMMA


def is_of_warpgroup(op: Product) -> bool:
    """Whether the layout of the sum is that of wgmma."""
    form = form_of(op.c.type)
    return isinstance(form, Mma) and form.shape.is_wgmma


def is_in_tensor_memory(op: Product) -> bool:
    """Whether the sum is one of tcgen05: it lies in tensor memory, or has the layout in which threads load it."""
    form, layout = form_of(op.c.type), layout_of(op.c.type)
    return (isinstance(form, Mma) and form.shape.is_tcgen05) or (layout is not None and layout.space.data == "tmem")


def reads_shared_memory(op: Product) -> bool:
    """Whether the tensor core reads B, and mostly A, from shared memory by itself."""
    return is_of_warpgroup(op) or is_in_tensor_memory(op)


def factors_of(op: Product) -> tuple[SSAValue, ...]:
    """What a product multiplies, and the scale factors of that."""
    return (op.a, op.b, *(each for each in op.operands[3:] if not isinstance(each.type, IntegerType)))


def product_ages(function: Operation) -> Ages:
    """How many groups are committed after that of each product."""

    def commits(op: Operation) -> list[Commit]:
        if isinstance(op, AsyncDotOp):
            return [Commit(op.done, QUEUE)]
        return [Commit(op, QUEUE)] if isinstance(op, DotOp) and reads_shared_memory(op) else []

    complete = frozenset(op.results[0] for op in function.walk() if isinstance(op, CreateNoneOp))
    return Ages(function, commits, finished=complete)


def tokens_in_scope(point: Operation) -> Iterator[SSAValue]:
    """The tokens that an op may use, those of its own block first."""
    op: Operation | None = point
    while op is not None and isinstance(block := op.parent, Block):
        before = op.prev_op
        while before is not None:
            yield from (result for result in before.results if isinstance(result.type, AsyncTokenType))
            before = before.prev_op
        yield from (argument for argument in block.args if isinstance(argument.type, AsyncTokenType))
        op = block.parent_op()


class Underway(FlowClient[frozenset[AsyncDotOp]]):
    """
    Which asynchronous products may still be going on at each op.

    Groups are finished in the order in which they were committed. A wait that leaves `n` of them unfinished is one for
    each product behind whose last group at least `n` others have been committed, on any path.
    """

    def __init__(self, function: Operation) -> None:
        self.ages = product_ages(function)
        self._flow = analyse(function, self, frozenset())

    def at(self, op: Operation) -> frozenset[AsyncDotOp]:
        """Those that may be under way when control reaches `op`."""
        return self._flow.before.get(op, frozenset())

    def last_wait(
        self, products: Collection[AsyncDotOp], point: Operation, tokens: Iterable[SSAValue]
    ) -> SSAValue | None:
        """Of `tokens`, the one whose wait at `point` is for all of `products`, and for as few others as possible."""
        counts = [age.count for product in products if (age := self.ages.age(product.done, point)) is not None]
        ages = [(age, token) for token in tokens if (age := self.ages.age(token, point)) is not None]
        known = [(age.count, token) for age, token in ages if age.queue == QUEUE]
        fitting = [(count, token) for count, token in known if count <= min(counts, default=0)]
        return max(fitting, key=lambda each: each[0])[1] if fitting else None

    def join(self, arrivals: Sequence[Arrival[frozenset[AsyncDotOp]]]) -> frozenset[AsyncDotOp]:
        return frozenset[AsyncDotOp]().union(*(arrival.state for arrival in arrivals))

    def leave(self, op: Operation, state: frozenset[AsyncDotOp]) -> frozenset[AsyncDotOp]:
        if isinstance(op, AsyncDotOp):
            return state | {op}
        if isinstance(op, DotOp) and reads_shared_memory(op):
            return frozenset()
        return (
            frozenset(each for each in state if not self.is_waited_for(each, op.token, op))
            if isinstance(op, AsyncWaitOp)
            else state
        )

    def is_waited_for(self, product: AsyncDotOp, token: SSAValue, point: Operation) -> bool:
        """Whether a wait for `token` at `point` is one for a product, too."""
        waited, own = self.ages.age(token, point), self.ages.age(product.done, point)
        if waited is None or waited.queue != QUEUE:
            return False
        return own is None or own.count >= waited.count
