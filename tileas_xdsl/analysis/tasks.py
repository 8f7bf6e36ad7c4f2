"""
A task: an asynchronous op with one body that an agent of its own runs, and with one token.

What it waits for is asked through `AsyncOpInterface`, what it takes and yields through `AsyncRegionOpInterface`. Passes
that join and split tasks make new ones by `task_like_this`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.dialects.async_ import GroupType
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface


@dataclass
class Task:
    """An op with one body that an agent of its own runs, and one token, its first result. Asked afresh each time."""

    op: Operation
    view: AsyncOpInterface
    regional: AsyncRegionOpInterface

    @property
    def token(self) -> SSAValue:
        return self.op.results[0]

    @property
    def promises(self) -> list[SSAValue]:
        """The promises that its body unwraps."""
        return [operand for operand, _ in self.regional.async_region_arguments(0)]

    @property
    def dependencies(self) -> list[SSAValue]:
        """What else it waits for."""
        return list(self.view.async_dependencies)[: len(self.view.async_dependencies) - len(self.promises)]

    @property
    def tokens(self) -> list[SSAValue]:
        """What the body yields for the token to wait for."""
        return list(self.regional.async_region_dependencies(0))

    @property
    def body(self) -> Block:
        return self.op.regions[0].block

    @property
    def yielded(self) -> list[SSAValue]:
        """What the body yields for each result but the token."""
        terminator = self.body.last_op
        assert terminator is not None
        return list(terminator.operands)[: len(self.op.results) - 1]


def task_of(op: Operation) -> Task | None:
    """`op` as a task that could be joined; None for anything else."""
    view, regional = AsyncOpInterface.of(op), AsyncRegionOpInterface.of(op)
    if view is None or regional is None or len(op.regions) != 1 or view.async_token is not op.results[0]:
        return None
    if type(regional).task_like_this is AsyncRegionOpInterface.task_like_this:
        return None
    in_parts = any(result.type == op.results[0].type for result in op.results[1:])
    if in_parts or regional.async_region_token(0) is not None or waits_for_groups(op):
        return None
    return Task(op, view, regional)


def waits_for_groups(op: Operation) -> bool:
    """Whether anything in `op` takes a group: its members may be issued later."""
    return any(isinstance(operand.type, GroupType) for inner in op.walk() for operand in inner.operands)
