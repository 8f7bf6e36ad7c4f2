"""
Whether a function can be written in upstream `async`. Refuses what cannot, and orders the users of each resource.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.token_uses import is_token, refuse_untraceable_tokens
from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.dialects.async_ import ExecuteOp, GroupType
from tileas_xdsl.dialects.async_region import AllocOp, AsyncRegion, CopyOp, CreateResourceOp, LaunchOp, RegionOp
from tileas_xdsl.dialects.async_region.regions import BodyOp
from tileas_xdsl.dialects.async_region.syntax import ResourceType
from tileas_xdsl.interfaces import AsyncOpInterface

OPS = tuple(AsyncRegion.operations)
MOVABLE = (RegionOp, LaunchOp, AllocOp, CopyOp, ExecuteOp)
"""Ops that can be issued from outside the task that issued them, with one dependency more."""


@dataclass
class Plan:
    """Facts about a function that the rewrite needs beforehand."""

    predecessor: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """User of a resource -> the user of that resource in front of it, for which it is to wait."""


def plan_function(function: Operation) -> Plan | None:
    """
    The plan for `function`, or None where there is nothing to do. Raises `RefusedError` at the first operation that
    cannot be flattened. Linear.
    """
    if not any(isinstance(op, OPS) for op in function.walk()):
        return None
    plan = Plan()
    refuse_untraceable_tokens(function)
    has_groups = any(isinstance(result.type, GroupType) for op in function.walk() for result in op.results)
    for op in function.walk():
        if isinstance(op, OPS):
            _refuse_block_graphs(op)
        if isinstance(op, CreateResourceOp):
            _order_users(op, plan, has_groups)
        elif isinstance(op, BodyOp) and op.partial_tokens and op.async_region_token(0) is None:
            _refuse_inseparable(op)
        if isinstance(op, CopyOp | LaunchOp) and op.resource is not None:
            _refuse_unknown_resource(op, op.resource)
    return plan


def _refuse_block_graphs(op: Operation) -> None:
    region = op.parent_region()
    if region is not None and len(region.blocks) > 1:
        refuse(
            op,
            "stands in a graph of blocks, in which an order of the operations is not to be had",
            "write the control flow with scf.for, scf.while and scf.if",
        )


# Resources ------------------------------------------------------------------------------------------------------------


def _refuse_unknown_resource(op: Operation, resource: SSAValue) -> None:
    """A resource is known when it leads through the captures of launches to where it is made."""
    while isinstance(resource, BlockArgument):
        launch = resource.block.parent_op()
        if not isinstance(launch, LaunchOp):
            break
        resource = launch.captures[resource.index]
    if isinstance(resource, BlockArgument) or not isinstance(resource.owner, CreateResourceOp):
        refuse(
            op,
            "runs on a resource that is not made in this function, so who else holds it is not known; upstream 'async' "
            "has no resources",
            "make the resource in this function, or order its users by tokens and leave it out",
        )


def _order_users(create: CreateResourceOp, plan: Plan, has_groups: bool) -> None:
    users = _users(create.resource)
    if len(users) > 1 and has_groups:
        refuse(
            users[1],
            "shares a resource in a function with groups, where waiting for the one before it may never end",
            "order the users of the resource by tokens and leave the resource out",
        )
    blocks = {id(user.parent_block()): user for user in users}
    for user in users:
        if len(blocks) > 1 or _is_repeated(user, create):
            refuse(
                user,
                "shares a resource with operations of other blocks or iterations; upstream 'async' has no resources",
                "order the users of the resource by tokens and leave the resource out",
            )
    if users:
        block = users[0].parent_block()
        assert block is not None
        places = {op: number for number, op in enumerate(block.ops)}
        users.sort(key=lambda user: places[user])
    for before, after in pairwise(users):
        plan.predecessor[after] = before


def _users(resource: SSAValue) -> list[Operation]:
    """The operations that hold `resource`, also under the names that launches give it."""
    users: list[Operation] = []
    stack = [resource]
    while stack:
        for use in stack.pop().uses:
            inside = _captured_as(use)
            if inside is not None:
                stack.append(inside)
            elif isinstance(use.operation, CopyOp | LaunchOp):
                users.append(use.operation)
            else:
                refuse(
                    use.operation,
                    "takes a resource to where its users cannot be followed, and upstream 'async' has no resources",
                    "order the users of the resource by tokens and leave the resource out",
                )
    return users


def _captured_as(use: Use) -> BlockArgument | None:
    """The name inside of what a launch is given, None for any other use."""
    launch = use.operation
    if not isinstance(launch, LaunchOp):
        return None
    place = use.index - len(launch.dependencies)
    return launch.body.block.args[place] if place < len(launch.captures) else None


def _is_repeated(user: Operation, create: Operation) -> bool:
    """Whether anything but regions and launches stands between the two: then `user` may come many times."""
    node = user
    while node.parent_block() is not create.parent_block():
        parent = node.parent_op()
        if not isinstance(parent, BodyOp):
            return True
        node = parent
    return False


# Regions that complete in parts ---------------------------------------------------------------------------------------


def _refuse_inseparable(region: BodyOp) -> None:
    """Raises where a body cannot be taken apart: what it starts must be such as can be started from outside."""
    block = region.body.block
    tasks = tasks_of_body(block)
    for op in block.ops:
        if op.has_trait(IsTerminator) or isinstance(op, MOVABLE):
            continue
        view = AsyncOpInterface.of(op)
        if view is not None and view.async_token is not None and not is_token(view.async_token):
            refuse(
                op,
                f"stands in an '{op_name(region)}' that completes in parts, and its token is not one of 'async'",
                "start it outside the region, or let the region complete as a whole",
            )
        for result in op.results:
            if not (is_token(result) or isinstance(result.type, GroupType | ResourceType)):
                continue
            if any(tasks[_ancestor_in(block, use.operation)] != tasks[op] for use in result.uses):
                refuse(
                    op,
                    f"stands in an '{op_name(region)}' that completes in parts and returns {_kind(result)} that "
                    "another part uses, which cannot be taken out of the task that this part becomes",
                    "start it outside the region, or let the region complete as a whole",
                )


def tasks_of_body(block: Block) -> dict[Operation, int]:
    """The operations of a body by the task that they go to: what is issued (an even number each) ends one (odd)."""
    numbers: dict[Operation, int] = {}
    current = 1
    for op in block.ops:
        issued = isinstance(op, MOVABLE) or op.has_trait(IsTerminator, value_if_unregistered=False)
        current += 2 * issued
        numbers[op] = current - 1 if issued else current
    return numbers


def _ancestor_in(block: Block, user: Operation) -> Operation:
    while user.parent_block() is not block:
        parent = user.parent_op()
        assert parent is not None
        user = parent
    return user


def _kind(value: SSAValue) -> str:
    return "a token" if is_token(value) else "a group" if isinstance(value.type, GroupType) else "a resource"
