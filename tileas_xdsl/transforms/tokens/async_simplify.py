"""
Remove waits and edges between tokens that others imply, so that the order of everything stays what it is.

    %a = async_region.copy ...                        %a = async_region.copy ...
    %b = async_region.copy [%a] ...                   %b = async_region.copy [%a] ...
    %c = async_region.region [%a, %b] {        ->     %c = async_region.region [%b] {
      async.await %a                                    ...
      ...                                               async_region.yield after [%d]
      async_region.yield after [%b, %d]               }
    }                                                 async.await %c
    async.await %b
    async.await %c

An await is redundant when its operand is also a dependency or an operand of an enclosing region, or complete on every
path before it: "[RFC] New dialect for modelling asynchronous execution at a higher-level" (LLVM Discourse).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.completion import Completions, Tokens, is_unwrapped
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface, functions_in


@dataclass
class Simplification:
    """The waits, edges and yielded tokens to be removed from one function."""

    waits: dict[Operation, SSAValue | None] = field(default_factory=dict[Operation, "SSAValue | None"])
    """Each with the payload that takes the place of its result, if anybody uses that."""
    edges: list[tuple[AsyncOpInterface, SSAValue]] = field(default_factory=list[tuple[AsyncOpInterface, SSAValue]])
    """Ops and a dependency that each loses, one occurrence of it."""
    yields: list[tuple[AsyncRegionOpInterface, SSAValue, SSAValue]] = field(
        default_factory=list[tuple[AsyncRegionOpInterface, SSAValue, SSAValue]]
    )
    """Ops, a result token of each, and a token inside for which that need not wait by name."""

    def apply(self) -> None:
        for view, token in self.edges:
            view.remove_async_dependency(token)
        for regional, result, token in self.yields:
            regional.remove_async_result_dependency(result, token)
        for op, payload in self.waits.items():
            if payload is not None:
                op.results[0].replace_all_uses_with(payload)
            Rewriter.erase_op(op)


def plan_simplification(function: Operation) -> Simplification:
    """Find what goes. A union of token sets for each dependency; for an op with n of them n squared."""
    return _Planner(function).plan


class _Planner:
    """Judges each op of a function by the facts of the untouched function and by what the plan leaves."""

    def __init__(self, function: Operation) -> None:
        self.facts = Completions(function)
        self.demanded = self.facts.payloads_used()
        """Payloads that may take the place of others: the waits that make them stay."""
        self.plan = Simplification()
        for op in function.walk():
            view, regional = AsyncOpInterface.of(op), AsyncRegionOpInterface.of(op)
            if view is not None and not self._goes(op, view):
                self._thin_edges(op, view)
                if regional is not None:
                    self._thin_yields(op, view, regional)
        for op in function.walk():
            for region in op.regions:
                for block in region.blocks:
                    self._drop_overtaken(block)

    # Waits ----------------------------------------------------------------------------------------------------------

    def _goes(self, op: Operation, view: AsyncOpInterface) -> bool:
        """Plan the end of a wait for what is known, if `op` is one."""
        if not view.only_waits or not self._is_within(view, self.facts.known_before(op)):
            return False
        payload = self.facts.payload_before(op)
        if payload is None and self._is_needed(op):
            return False
        self.plan.waits[op] = payload
        return True

    def _is_within(self, view: AsyncOpInterface, known: Tokens) -> bool:
        """Whether all that the op waits for is in `known`. A group, or nothing at all, never is."""
        values = view.async_dependencies
        if not values or not all(map(self.facts.completes_once, values)):
            return False
        return all(self.facts.bit(value) & known for value in values)

    def _is_needed(self, op: Operation) -> bool:
        """Whether anybody uses, or is to use, what `op` returns."""
        return any(result.first_use is not None or result in self.demanded for result in op.results)

    def _drop_overtaken(self, block: Block) -> None:
        """Plan the end of waits that are followed at once by a wait that implies them."""
        following = 0
        for op in reversed(list(block.ops)):
            view = AsyncOpInterface.of(op)
            if view is None or not view.only_waits:
                # Nothing that looks at anything may come in between: it might look too early.
                following = following if not op.operands and not op.regions and is_side_effect_free(op) else 0
            elif op in self.plan.waits:
                continue
            elif self._is_within(view, following) and not self._is_needed(op):
                self.plan.waits[op] = None
            else:
                following |= self.facts.pasts([v for v in view.async_dependencies if self.facts.completes_once(v)])

    # Edges ----------------------------------------------------------------------------------------------------------

    def _thin_edges(self, op: Operation, view: AsyncOpInterface) -> None:
        dependencies = list(view.async_dependencies)
        payloads = self._taken(op)
        named = dependencies[: len(dependencies) - len(payloads)]
        for token in self._implied(named, payloads, self.facts.known_before(op)):
            self.plan.edges.append((view, token))

    @staticmethod
    def _taken(op: Operation) -> list[SSAValue]:
        """The promises whose payloads the body gets, which are the last dependencies, and more than edges."""
        regional = AsyncRegionOpInterface.of(op)
        if regional is None:
            return []
        passed = [pair for index in range(len(op.regions)) for pair in regional.async_region_arguments(index)]
        return [operand for operand, argument in passed if is_unwrapped(operand, argument)]

    def _thin_yields(self, op: Operation, view: AsyncOpInterface, regional: AsyncRegionOpInterface) -> None:
        token, anyway = view.async_token, self.facts.complete_anyway(op)
        if token is None:
            return
        own = list(regional.async_region_dependencies(0))
        others: list[SSAValue] = []
        for partial in op.results:
            if partial is token or partial.type != token.type:
                continue
            group = list(regional.async_result_dependencies(partial))
            for yielded in group:
                own.remove(yielded)
            others += group
            self.plan.yields += [(regional, partial, gone) for gone in self._implied(group, [], anyway)]
        self.plan.yields += [(regional, token, gone) for gone in self._implied(own, others, anyway)]

    def _implied(self, candidates: Sequence[SSAValue], others: Sequence[SSAValue], known: Tokens) -> list[SSAValue]:
        """
        Those of `candidates` that may go, one after the other: each is in `known`, or in the past of one of those that
        stay or of `others`.
        """
        gone: list[SSAValue] = []
        rest = list(candidates)
        for token in candidates:
            without = list(rest)
            without.remove(token)
            if self.facts.bit(token) & (known | self.facts.pasts(without) | self.facts.pasts(others)):
                gone.append(token)
                rest = without
        return gone


@dataclass(frozen=True)
class AsyncSimplifyPass(ModulePass):
    """
    Remove waits and edges between tokens that others imply.

    Rewrites:

    - A dependency goes if another one of the op, or what the issuing agent already waited for, implies it: transitive
      reduction. Promises that a body unwraps stay.
    - A token in a `yield` goes if another one of its group, the op's own dependencies or a wait in the body imply it.
    - A wait goes if all it waits for is known: waited for on every path before, a dependency or operand of a task
      around, or implied by one of these. One with a payload goes if the payload is at hand from an earlier wait of the
      same promise, or as the argument of a body around.
    - A wait goes if another one that implies it follows with nothing but pure ops and waits in between.

    What implies what is said by `analysis.completion`. Nothing is removed on the strength of something that is removed
    itself: candidates are taken one after the other, each judged by what is left.

    Requires: nothing. Refuses: nothing; what cannot be followed (tokens that loops carry, groups) is left as it is.
    """

    name = "async-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [plan_simplification(function) for function in functions_in(op)]
        for plan in plans:
            plan.apply()
