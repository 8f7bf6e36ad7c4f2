"""
Groups: wait for many tokens and promises at once.

    %group = async.create_group %size : !async.group
    %rank = async.add_to_group %token, %group : !async.token
    async.await_all %group

Meaning. A group has a size from the start. It completes when as many members as its size were added *and* all of them
are complete; a group that never gets its members never completes. Adding does not wait and returns the member's rank,
counted from 0 in the order of the additions.

Each `async.create_group` makes a group of its own. Upstream declares the op pure, so common subexpression elimination
merges two groups of equal size into one, to which twice as many members are then added. Here the op allocates, which
keeps the two apart. Otherwise the source is MLIR's page "'async' Dialect".
"""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from tileas_xdsl.dialects.async_.support import AllocatesResultEffect, AsyncOp, SynchronizationEffect
from tileas_xdsl.dialects.async_.tasks import BlockingOp
from tileas_xdsl.dialects.async_.types import GROUP, INDEX, TOKEN_OR_VALUE


@irdl_op_definition
class CreateGroupOp(AsyncOp):
    """
    Make an empty group for `size` members.

    `%group = async.create_group %size : !async.group`
    """

    name = "async.create_group"

    size = operand_def(INDEX)
    group = result_def(GROUP)

    traits = traits_def(AllocatesResultEffect())
    assembly_format = "$size `:` type($group) attr-dict"


@irdl_op_definition
class AddToGroupOp(AsyncOp):
    """
    Make a token or promise a member of a group; return its rank. Does not wait.

    `%rank = async.add_to_group %member, %group : !async.token` (the type is the member's)
    """

    name = "async.add_to_group"

    operand = operand_def(TOKEN_OR_VALUE)
    group = operand_def(GROUP)
    rank = result_def(INDEX)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand `,` $group `:` type($operand) attr-dict"


@irdl_op_definition
class AwaitAllOp(BlockingOp):
    """
    Wait until a group is complete. Blocks the agent that runs it, like `async.await`.
    The group stands for its members: who they are is known only at run time.

    `async.await_all %group`
    """

    name = "async.await_all"

    operand = operand_def(GROUP)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand attr-dict"
