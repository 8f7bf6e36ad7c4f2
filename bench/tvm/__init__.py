"""
The same annotated loops through TVM's pipeline pass and through ours, compared by what the results execute.

    loops.py       annotated loops, as data: random ones and those of the RFC
    executions.py  what a pipelined loop does for one trip count: a tree of commits, waits, scopes and accesses
    tir.py         a loop through TVM, executed
    queues.py      a loop through `inject-software-pipeline`, executed; an execution as a program for the checker

TVM is the extra `tvm` and needed by nothing else. The RFC is TVM's 0077, "Asynchronous stage in software pipeline"
(Masuda and Lin, 2022).
"""
