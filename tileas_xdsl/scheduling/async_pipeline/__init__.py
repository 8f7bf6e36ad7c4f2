"""
The plan of an asynchronous software pipeline: groups, versions and waits, as arithmetic on small records.

A loop has components; each has a stage and a place in the slot's order, and `scheduling/timetable.py` says on which
iteration it works in which slot. The components of some stages are asynchronous: what they issue in a slot is committed
in one group or more to the queue of the stage, and whoever needs it waits until at most so many younger groups are
unfinished. How many that is follows from stages and places alone:

    groups.py     which components share a group; the same cut in every slot
    model.py      who is active in a slot, and how many groups are committed and needed then, in closed form
    waits.py      where waits stand and what they count, merged where that is exact; which queues are drained
    versions.py   how many versions a buffer needs

No IR enters here.
"""
