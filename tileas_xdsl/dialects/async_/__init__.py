"""
The upstream dialect `async` of LLVM 22.1: 6 types and 29 ops, in MLIR's custom and generic form.

`types` has the types, `tasks` the tasks (execute, yield, await), `groups` the groups, `functions` the asynchronous
functions. `coroutines` and `runtime` have what tasks are lowered to: syntax and verifiers only. Source: MLIR's page
"'async' Dialect", and what mlir-opt 22 prints and refuses.
"""

from xdsl.ir import Dialect

from tileas_xdsl.dialects.async_.coroutines import (
    CoroBeginOp,
    CoroEndOp,
    CoroFreeOp,
    CoroIdOp,
    CoroSaveOp,
    CoroSuspendOp,
)
from tileas_xdsl.dialects.async_.functions import CallOp, FuncOp, ReturnOp
from tileas_xdsl.dialects.async_.groups import AddToGroupOp, AwaitAllOp, CreateGroupOp
from tileas_xdsl.dialects.async_.runtime import (
    RuntimeAddRefOp,
    RuntimeAddToGroupOp,
    RuntimeAwaitAndResumeOp,
    RuntimeAwaitOp,
    RuntimeCreateGroupOp,
    RuntimeCreateOp,
    RuntimeDropRefOp,
    RuntimeIsErrorOp,
    RuntimeLoadOp,
    RuntimeNumWorkerThreadsOp,
    RuntimeResumeOp,
    RuntimeSetAvailableOp,
    RuntimeSetErrorOp,
    RuntimeStoreOp,
)
from tileas_xdsl.dialects.async_.tasks import AwaitOp, ExecuteOp, YieldOp
from tileas_xdsl.dialects.async_.types import (
    CoroHandleType,
    CoroIdType,
    CoroStateType,
    GroupType,
    TokenType,
    ValueType,
)

__all__ = [
    "AddToGroupOp",
    "Async",
    "AwaitAllOp",
    "AwaitOp",
    "CallOp",
    "CoroHandleType",
    "CoroIdType",
    "CoroStateType",
    "CreateGroupOp",
    "ExecuteOp",
    "FuncOp",
    "GroupType",
    "ReturnOp",
    "TokenType",
    "ValueType",
    "YieldOp",
]

Async = Dialect(
    "async",
    [
        AddToGroupOp,
        AwaitAllOp,
        AwaitOp,
        CallOp,
        CoroBeginOp,
        CoroEndOp,
        CoroFreeOp,
        CoroIdOp,
        CoroSaveOp,
        CoroSuspendOp,
        CreateGroupOp,
        ExecuteOp,
        FuncOp,
        ReturnOp,
        RuntimeAddRefOp,
        RuntimeAddToGroupOp,
        RuntimeAwaitAndResumeOp,
        RuntimeAwaitOp,
        RuntimeCreateGroupOp,
        RuntimeCreateOp,
        RuntimeDropRefOp,
        RuntimeIsErrorOp,
        RuntimeLoadOp,
        RuntimeNumWorkerThreadsOp,
        RuntimeResumeOp,
        RuntimeSetAvailableOp,
        RuntimeSetErrorOp,
        RuntimeStoreOp,
        YieldOp,
    ],
    [CoroHandleType, CoroIdType, CoroStateType, GroupType, TokenType, ValueType],
)
