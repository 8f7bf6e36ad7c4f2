"""
Modulo scheduling: when each op of a loop runs, so that a new iteration begins every II cycles.

Pure data in, frozen records out; nothing here knows IR. From the bottom up: `problem.py` (ops, dependences, rings),
`reservation.py` (who holds which slot in which cycle), `distances.py` and `bounds.py` (no schedule is better than
these), `arms.py` (ways to seat ops), `queues.py` (engines serve works in order), `placement.py` (one
initiation interval), `search.py` (the smallest one), `schedule.py` (the result), and `validator.py`, which shares
nothing with them but the records.
"""
