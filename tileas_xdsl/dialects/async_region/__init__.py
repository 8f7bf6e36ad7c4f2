"""
Asynchronous regions: nested completion, region tokens, partial completion, transfers and launches in the token model,
and resources.

All of these are proposed in the MLIR RFC "New dialect for modelling asynchronous execution at a higher-level", and
missing in the upstream dialect `async` that came of it.

    %dma = async_region.create_resource "dma"
    %done, %early = async_region.region [%a, %b as %ready] -> !async.token {
      %tile, %allocated = async_region.alloc [%ready] : memref<64x64xf32, 3>
      %copied = async_region.copy [%allocated] %source to %tile on %dma : memref<64x64xf32> to memref<64x64xf32, 3>
      %run = async_region.launch [%copied] (%tile as %t: memref<64x64xf32, 3>) { ... }
      async_region.yield after [%run], [%copied]
    }

*Words.* An operation is *issued* when the agent that runs the surrounding code reaches it. It is *performed* at some
time after all its dependencies are complete, and it is *complete* when its token is ready. A dependency is a token or
a promise. An operation looks at its operands when it is performed, not when it is issued. All that is done under an
operation happens before all that is done under an operation that depends on its token; between asynchronous operations
there is no other order.

*Two kinds of region.* With a token argument (`as %ready`) the issuing agent runs the body at once, whether the
dependencies are complete or not. The argument stands for them all, may be not ready, and is itself used as a
dependency. Such a body only issues: it holds nothing that blocks or touches memory. Without a token argument, the body
is run by an agent of its own, from when the dependencies are complete; it may do anything, and gets the payloads of
promises.

*Completion.* A region is complete when its dependencies are complete, its body is done (it has reached
`async_region.yield`) and all yielded tokens are complete. An operation inside whose token is not yielded need not be.
The tokens are yielded in groups, one for each token among the results: result token k > 0, a *partial* token, is ready
as soon as dependencies, body and group k are; result token 0, the region's own, waits for all groups.

*Values.* A yielded `T` becomes a result of type `T` or `!async.value<T>`. A promise is complete, and has its payload,
when token 0 is ready. A result of type `T` is *deferred*: only operations performed after a token of the region may
use it (any of its tokens, but if the yielded value was deferred itself, one whose group covers that). A region with a
token argument runs at once and defers nothing of its own: its results may be used like the values that it yields.

*Resources* are mutual exclusion without order: see `LaunchOp`.

A resource is held from start to completion; it excludes, it does not order.
"""

from xdsl.ir import Dialect

from tileas_xdsl.dialects.async_region.leaves import AllocOp, CopyOp, CreateResourceOp
from tileas_xdsl.dialects.async_region.regions import LaunchOp, RegionOp, YieldOp
from tileas_xdsl.dialects.async_region.syntax import ResourceType

__all__ = [
    "AllocOp",
    "AsyncRegion",
    "CopyOp",
    "CreateResourceOp",
    "LaunchOp",
    "RegionOp",
    "ResourceType",
    "YieldOp",
]

AsyncRegion = Dialect(
    "async_region",
    [AllocOp, CopyOp, CreateResourceOp, LaunchOp, RegionOp, YieldOp],
    [ResourceType],
)
