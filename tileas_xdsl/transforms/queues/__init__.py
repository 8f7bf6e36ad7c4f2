"""
Passes about counted queues (`async_queue`): groups are committed, and a wait leaves at most a given number of them
unfinished.

Every other model is converted into a queue or out of one, so the conversions live here, whichever way they go.
"""
