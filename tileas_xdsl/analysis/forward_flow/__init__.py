"""
A forward dataflow analysis over structured control flow: what holds on the paths that lead to an op.

The *client* brings the lattice and says what an op does to a state; the driver enumerates the paths.

    class Held(FlowClient[int]):                      flow = analyse(function, Held(), initial=0)
        def leave(self, op, state):                   flow.before[op]     # the state at each op that is reached
            return state + isinstance(op, CommitOp)
        def join(self, arrivals):                     # the least number of commits on any path
            return min(arrival.state for arrival in arrivals)

The driver follows `scf.for`, `scf.while`, `scf.if`, `scf.index_switch`, `scf.execute_region`, the scopes of
`async_queue`, control flow between blocks, and calls of functions with a body, which are analysed anew at each call.
Loop-carried values, yields of branches, arguments and results of calls are handed to the client as assignments. Where
paths meet the client joins. A loop is iterated to a fixpoint, so descending chains of states must be finite. A loop
with a small constant trip count is run through exactly that often: then one path only leads to its end.

Everything else is approximated safely. The regions of an unknown op may run any number of times, in any order. The
regions of an op that starts other agents (agents, asynchronous bodies) run elsewhere: they are entered with the state
at their start, and the code after the op does not see their effects. A recursive call, or a call of a function without
a body, is *opaque*: the client gives the state after it.

A client that knows what holds in every iteration of a loop before it has seen the body (`InvariantClient`) is led
through each body once, in program order: in linear time, and so that what it refuses first stands first.

Where the states are few and ordered, `analyse_levels` (`levels.py`) composes tables in place of iterating, and is
linear also in nests of loops.
"""

from tileas_xdsl.analysis.forward_flow.client import (
    Arrival,
    EdgeKind,
    Flow,
    FlowClient,
    FlowEdge,
    InvariantClient,
)
from tileas_xdsl.analysis.forward_flow.driver import MAX_CALLS, MAX_EXACT_TRIPS, analyse
from tileas_xdsl.analysis.forward_flow.levels import LevelClient, LevelFlow, analyse_levels

__all__ = [
    "MAX_CALLS",
    "MAX_EXACT_TRIPS",
    "Arrival",
    "EdgeKind",
    "Flow",
    "FlowClient",
    "FlowEdge",
    "InvariantClient",
    "LevelClient",
    "LevelFlow",
    "analyse",
    "analyse_levels",
]
