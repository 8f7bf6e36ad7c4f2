"""
The plan of an asynchronous software pipeline: groups, versions and waits, computed on small records.

A loop has components. Each component has a stage and a place in the order of a slot; `scheduling/timetable.py` says
which iteration it works on in which slot. The components of some stages are asynchronous: what they issue in a slot is
committed in one or more groups to the queue of the stage. A consumer of their results waits until at most a certain
number of younger groups is unfinished. That number follows from stages and places alone:

    groups.py     which components share a group; the same partition in every slot
    model.py      who is active in a slot, and how many groups are committed and needed then, in closed form
    waits.py      where waits stand and what they count, merged where that is exact; which queues are drained
    versions.py   how many versions a buffer needs

Nothing here reads IR. The annotations and the listings that the plan reproduces are those of TVM RFC 0077
("Asynchronous stage in software pipeline").
"""
