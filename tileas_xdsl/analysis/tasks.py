"""
A task: an asynchronous op with one body, run by an agent of its own, and one token.

`AsyncOpInterface` gives what it waits for, `AsyncRegionOpInterface` what its body takes and yields. Passes that join or
split tasks build new ones with `task_like_this`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.dialects.async_ import GroupType
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface, end_of


@dataclass
class TokenTask:
    """A view of an op as a task; its token is the first result. Every property is read from the IR when asked for."""

    op: Operation
    view: AsyncOpInterface
    regional: AsyncRegionOpInterface

    @property
    def token(self) -> SSAValue:
        return self.op.results[0]

    @property
    def promises(self) -> list[SSAValue]:
        """The promises whose payloads the body receives."""
        return [operand for operand, _ in self.regional.async_region_arguments(0)]

    @property
    def dependencies(self) -> list[SSAValue]:
        """The tokens and promises, other than `promises`, that the task waits for."""
        return list(self.view.async_dependencies)[: len(self.view.async_dependencies) - len(self.promises)]

    @property
    def tokens(self) -> list[SSAValue]:
        """The tokens that the body yields: the task's own token waits for them."""
        return list(self.regional.async_region_dependencies(0))

    @property
    def body(self) -> Block:
        return self.op.regions[0].block

    @property
    def yielded(self) -> list[SSAValue]:
        """The values that the body yields, one for each result but the token."""
        terminator = end_of(self.body)
        return list(terminator.operands)[: len(self.op.results) - 1]


def task_of(op: Operation) -> TokenTask | None:
    """`op` as a task that could be joined; None for anything else."""
    view, regional = AsyncOpInterface.of(op), AsyncRegionOpInterface.of(op)
    if view is None or regional is None or len(op.regions) != 1 or view.async_token is not op.results[0]:
        return None
    if type(regional).task_like_this is AsyncRegionOpInterface.task_like_this:
        return None
    in_parts = any(result.type == op.results[0].type for result in op.results[1:])
    if in_parts or regional.async_region_token(0) is not None or waits_for_groups(op):
        return None
    return TokenTask(op, view, regional)


def waits_for_groups(op: Operation) -> bool:
    """Whether an op in `op` uses a group, whose members may be issued after `op`."""
    return any(isinstance(operand.type, GroupType) for inner in op.walk() for operand in inner.operands)
