"""
Coroutines: the mechanism that `async-to-async-runtime` lowers tasks to.

    %id = async.coro.id
    %handle = async.coro.begin %id
    %state = async.coro.save %handle
    async.coro.suspend %state, ^suspended, ^resumed, ^cleanup
    async.coro.free %id, %handle
    async.coro.end %handle

They map one to one to LLVM's switched-resume coroutines. Syntax and verifiers only: nothing here runs them.
Source: MLIR's page "'async' Dialect", and LLVM's page "Coroutines in LLVM".
"""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, successor_def, traits_def
from xdsl.traits import IsTerminator

from tileas_xdsl.dialects.async_.support import AllocatesResultEffect, AsyncOp, SynchronizationEffect
from tileas_xdsl.dialects.async_.types import CORO_HANDLE, CORO_ID, CORO_STATE


@irdl_op_definition
class CoroIdOp(AsyncOp):
    """
    Name a coroutine.

    `%id = async.coro.id`
    """

    name = "async.coro.id"

    id = result_def(CORO_ID)

    traits = traits_def(AllocatesResultEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class CoroBeginOp(AsyncOp):
    """
    Allocate the frame of a coroutine activation.

    `%handle = async.coro.begin %id`
    """

    name = "async.coro.begin"

    id = operand_def(CORO_ID)
    handle = result_def(CORO_HANDLE)

    traits = traits_def(AllocatesResultEffect())
    assembly_format = "$id attr-dict"


@irdl_op_definition
class CoroFreeOp(AsyncOp):
    """
    Free the frame of a coroutine activation.

    `async.coro.free %id, %handle`
    """

    name = "async.coro.free"

    id = operand_def(CORO_ID)
    handle = operand_def(CORO_HANDLE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$id `,` $handle attr-dict"


@irdl_op_definition
class CoroEndOp(AsyncOp):
    """
    Mark the point at which a coroutine returns control to its caller.

    `async.coro.end %handle`
    """

    name = "async.coro.end"

    handle = operand_def(CORO_HANDLE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$handle attr-dict"


@irdl_op_definition
class CoroSaveOp(AsyncOp):
    """
    Save the point at which the coroutine is about to suspend, so that it may be resumed from now on.

    `%state = async.coro.save %handle`
    """

    name = "async.coro.save"

    handle = operand_def(CORO_HANDLE)
    state = result_def(CORO_STATE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$handle attr-dict"


@irdl_op_definition
class CoroSuspendOp(AsyncOp):
    """
    Suspend, then go on at the block that says why: still suspended, resumed, or to be cleaned up.

    `async.coro.suspend %state, ^suspended, ^resumed, ^cleanup`
    """

    name = "async.coro.suspend"

    state = operand_def(CORO_STATE)
    suspend_dest = successor_def()
    resume_dest = successor_def()
    cleanup_dest = successor_def()

    traits = traits_def(IsTerminator(), SynchronizationEffect())
    assembly_format = "$state `,` $suspend_dest `,` $resume_dest `,` $cleanup_dest attr-dict"
