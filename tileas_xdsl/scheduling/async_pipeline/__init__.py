"""
The plan of an asynchronous software pipeline: groups, versions and waits, as arithmetic on small records.

A loop of `N` iterations has components; each has a stage `s` and a place in the slot's order. In slot `t` it works on
iteration `t - s`. The components of some stages are asynchronous: what they issue in a slot is committed in one group
or more to the queue of the stage, and whoever needs it waits until at most so many younger groups are unfinished. How
many that is follows from stages and places alone:

    groups.py     which components share a group; the same cut in every slot
    model.py      slots, who is active, how many groups are committed when: the closed form of the spec's section 5
    waits.py      where waits stand and what they count, merged where that is exact; which queues are drained
    versions.py   how many versions a buffer needs

No IR enters here. Source: spec/async-queue-pipeline.md sections 4 to 6.
"""
