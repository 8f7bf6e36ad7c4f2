"""
A forward dataflow analysis over structured control flow: what holds on the paths that lead to an op.

The *client* brings the lattice and says what an op does to a state; the driver brings the paths.

    class Held(FlowClient[int]):                      flow = analyse(function, Held(), initial=0)
        def leave(self, op, state):                   flow.before[op]     # the state at each op that is reached
            return state + isinstance(op, CommitOp)
        def join(self, arrivals):                     # the least number of commits on any path
            return min(arrival.state for arrival in arrivals)

What the driver follows: `scf.for`, `scf.while`, `scf.if`, `scf.index_switch`, `scf.execute_region`, the scopes of
`async_queue`, graphs of blocks, and calls of functions with a body, which are run through at each call. Values that
travel (loop-carried values, what a branch yields, arguments and results of calls) are handed to the client as
assignments. Where paths meet the client joins; a loop is run through until nothing changes, so chains of ever smaller
states must be finite. A loop of few constant trips is run through as often as it really runs: then its end is reached
by one path only.

What it does not follow it takes at its worst. The regions of an op that is not known may run any number of times, in
any order. The regions of an op that starts others (agents, asynchronous bodies) run elsewhere: they are entered with
what held when they were started, and what they do is not seen by whoever goes on. A recursive call, and one of a
function without a body, is *opaque*: the client says what is left.

Where the states are few and ordered, `analyse_levels` (`levels.py`) takes tables in place of rounds, and is linear also
in nests of loops.
"""

from tileas_xdsl.analysis.forward_flow.client import Arrival, EdgeKind, Flow, FlowClient, FlowEdge
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
    "LevelClient",
    "LevelFlow",
    "analyse",
    "analyse_levels",
]
