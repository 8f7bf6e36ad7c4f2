"""
Which completions a token implies, and which completions an agent knows of at each op.

    async.await %a                       from here on %a is known, and whatever completed before %a
    %t = async_region.region [%b] {      inside, %b is known as well
      async.await %c
      async_region.yield after [%d]
    }                                    once %t is complete so are %b, %c, %d, and what was known at its issue (%a)

These are facts about happens-before: whoever waits for a token also sees everything that happened before its
completion. They follow from `AsyncOpInterface` and `AsyncRegionOpInterface`, and hold on every path. After a branch,
what both sides know is known. What the body of a loop waits for is not known after the loop. A token that a loop
carries or a branch chooses implies nothing but its own completion.

Tokens are numbered, and a set of tokens is an integer with one bit for each. An op costs one union, linear in the
number of tokens of the function.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from tileas_xdsl.dialects.async_ import TokenType, ValueType
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface

Tokens = int
"""A set of tokens: bit n stands for token number n."""


class Completions:
    """The facts about one function. Stale once the function changes."""

    def __init__(self, function: Operation) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self._past: dict[SSAValue, Tokens] = {}
        self._known: dict[Operation, Tokens] = {}
        self._implicit: dict[Operation, Tokens] = {}
        self._payloads: dict[Operation, SSAValue] = {}
        views = [view for op in function.walk() if (view := AsyncOpInterface.of(op)) is not None]
        self._token_types: set[Attribute] = {v.async_token.type for v in views if v.async_token is not None}
        for region in function.regions:
            for block in region.blocks:
                self._visit_block(block, 0, ChainMap())

    def bit(self, token: SSAValue) -> Tokens:
        """The set that holds `token` alone. Values that are other names of one token have one bit."""
        if token not in self._numbers:
            self._numbers[token] = len(self._numbers)
        return 1 << self._numbers[token]

    def past(self, token: SSAValue) -> Tokens:
        """The tokens that are complete once `token` is, itself included."""
        return self._past.get(token, 0) | self.bit(token)

    def pasts(self, tokens: Sequence[SSAValue]) -> Tokens:
        """The tokens that are complete once all of `tokens` are."""
        total = 0
        for token in tokens:
            total |= self.past(token)
        return total

    def known_before(self, op: Operation) -> Tokens:
        """The tokens that the agent which reaches `op` knows to be complete."""
        return self._known.get(op, 0)

    def complete_anyway(self, op: Operation) -> Tokens:
        """The tokens that are complete once `op`, which has a body, is complete, whatever tokens the body yields."""
        return self._implicit.get(op, 0)

    def payload_before(self, op: Operation) -> SSAValue | None:
        """
        The payload of the promise that `op` waits for, where an earlier wait or a surrounding body already unwrapped
        it.
        """
        return self._payloads.get(op)

    def payloads_used(self) -> set[SSAValue]:
        """All that `payload_before` answers with."""
        return set(self._payloads.values())

    def completes_once(self, value: SSAValue) -> bool:
        """Whether `value` is a token or a promise. A group is neither: its members are known only at run time."""
        return isinstance(value.type, TokenType | ValueType) or value.type in self._token_types

    # The walk -------------------------------------------------------------------------------------------------------

    def _visit_block(self, block: Block, known: Tokens, payloads: ChainMap[SSAValue, SSAValue]) -> Tokens:
        """Record the facts in `block`, which an agent enters with `known`; return what it knows at the end."""
        for op in block.ops:
            self._known[op] = known
            known = self._visit(op, known, payloads)
        return known

    def _visit(self, op: Operation, known: Tokens, payloads: ChainMap[SSAValue, SSAValue]) -> Tokens:
        view = AsyncOpInterface.of(op)
        if view is None:
            return self._visit_ordinary(op, known, payloads)
        dependencies = [value for value in view.async_dependencies if self.completes_once(value)]
        if view.async_token is not None:
            self._visit_asynchronous(op, view, self.pasts(dependencies), known, payloads)
            return known
        if view.only_waits and len(op.results) == 1 and len(dependencies) == 1:
            promise = dependencies[0]
            if promise in payloads:
                self._payloads[op] = payloads[promise]
            else:
                payloads[promise] = op.results[0]
        return known | self.pasts(dependencies)

    def _visit_ordinary(self, op: Operation, known: Tokens, payloads: ChainMap[SSAValue, SSAValue]) -> Tokens:
        """An op that is not asynchronous. Its regions, if any, run in place, any number of times or never."""
        ends: list[Tokens] = []
        inside = ChainMap[SSAValue, SSAValue]() if op.has_trait(IsolatedFromAbove) else payloads
        entered = 0 if op.has_trait(IsolatedFromAbove) else known
        for region in op.regions:
            last = 0
            for block in region.blocks:
                # In a graph of blocks only what was known before all of them counts.
                last = self._visit_block(block, entered, inside.new_child())
            ends.append(last if len(region.blocks) == 1 else 0)
        if isinstance(op, scf.IfOp) and len(ends) == 2:
            return known | (ends[0] & ends[1])
        return known

    def _visit_asynchronous(
        self,
        op: Operation,
        view: AsyncOpInterface,
        awaited: Tokens,
        issued: Tokens,
        payloads: ChainMap[SSAValue, SSAValue],
    ) -> None:
        """An op that waits for `awaited`, issued by an agent that knows `issued`."""
        regional = AsyncRegionOpInterface.of(op)
        complete = awaited | issued
        if regional is not None:
            for index in range(len(op.regions)):
                complete |= self._visit_body(op, regional, index, awaited, issued, payloads)
        self._implicit[op] = complete
        inside = regional.async_region_dependencies(0) if regional is not None else ()
        assert view.async_token is not None
        together = [view.async_token]
        for result in op.results:
            if result is view.async_token or not self.completes_once(result):
                continue
            if isinstance(result.type, ValueType):
                together += [] if _hands_on(op, result) else [result]
            elif regional is not None:
                self._past[result] = complete | self.pasts(regional.async_result_dependencies(result))
        partial = [result for result in op.results if result in self._past]
        whole = complete | self.pasts(inside) | self.pasts(partial)
        for token in together:
            whole |= self.bit(token)
        for token in together:
            self._past[token] = whole

    def _visit_body(
        self,
        op: Operation,
        regional: AsyncRegionOpInterface,
        index: int,
        awaited: Tokens,
        issued: Tokens,
        payloads: ChainMap[SSAValue, SSAValue],
    ) -> Tokens:
        """The body of an asynchronous op; return what is known at its end."""
        token = regional.async_region_token(index)
        scope = ChainMap[SSAValue, SSAValue]() if op.has_trait(IsolatedFromAbove) else payloads.new_child()
        for operand, argument in regional.async_region_arguments(index):
            if operand.type == argument.type and self.completes_once(operand):
                self._past[argument] = self.past(operand)
                self._numbers[argument] = self._numbers[operand]
            elif is_unwrapped(operand, argument):
                scope[operand] = argument
        if token is not None:
            self._past[token] = awaited
        end = 0
        for block in op.regions[index].blocks:
            # With a token the issuing agent runs the body at once; without, a task that has waited.
            end = self._visit_block(block, issued if token is not None else issued | awaited, scope)
        return end


def is_unwrapped(operand: SSAValue, argument: SSAValue) -> bool:
    """Whether `argument` of a body is the payload of the promise `operand`."""
    return isinstance(operand.type, ValueType) and operand.type.value_type == argument.type


def _hands_on(op: Operation, promise: SSAValue) -> bool:
    """Whether `promise` may be one that the body of `op` received or made: then it may complete at any time."""
    blocks = [region.last_block for region in op.regions]
    ends = [block.last_op for block in blocks if block is not None]
    return any(operand.type == promise.type for end in ends if end is not None for operand in end.operands)
