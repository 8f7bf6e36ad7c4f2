"""
Lower `async_region` to upstream `async`, which mlir-opt accepts: one task for everything that is performed.

    %done, %early = async_region.region [%a] -> !async.token {     %x = async.execute [%a] { memref.copy %p, %q ... }
      %x = async_region.copy %p to %q ...                          %y = async.execute [%a] { memref.copy %r, %s ... }
      %y = async_region.copy %r to %s ...                   ->     (%early is %x; %done is a task that waits for both)
      async_region.yield after [%y], [%x]
    }

Source: "[RFC] New dialect for modelling asynchronous execution at a higher-level" (LLVM Discourse); MLIR, "'async'
Dialect", where an `async.execute` completes with its body, whatever the body has started.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tokens.async_region_to_execute.lowering import lower_function
from tileas_xdsl.transforms.tokens.async_region_to_execute.plan import plan_function


@dataclass(frozen=True)
class AsyncRegionToExecutePass(ModulePass):
    """
    Flatten `async_region` into upstream `async`, which mlir-opt accepts.

    Rewrites:

    - A copy, a launch, and a region without a token argument become an `async.execute`. What a launch is given it sees
      from outside now. The tokens that the body yields are awaited before the task's `async.yield`.
    - A region with a token argument is issued at once by whoever issues it: its operations move in front of it, and its
      argument becomes the dependencies.
    - A region without a token argument that completes in parts is split: what its body does by itself becomes a chain
      of tasks, what it starts is issued after them from outside, so that each part has its tokens.
    - Memory is reserved when the `alloc` is issued; its token becomes the dependencies. A token that stands for several
      is a task that waits for them.
    - A value that comes later becomes a promise. A task that waits for its region anyway unwraps it; any other use
      waits.
    - Operations on one resource are put in the order of their issue: one of the orders that the resource leaves open.

    Requires: nothing. What touches memory is ordered as the tokens had it. A use of a value that comes later waits for
    it, also where no token covered it, which was a race.

    Refuses, before anything is changed: graphs of blocks; a resource whose users do not stand in one block, or are not
    known; a region that completes in parts and whose tokens come out of control flow or calls; tokens that escape
    (`analysis.token_uses`). Linear in the number of operations and edges.
    """

    name = "async-region-to-execute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [(function, plan_function(function)) for function in functions_in(op)]
        for function, plan in plans:
            if plan is not None:
                lower_function(function, plan)
