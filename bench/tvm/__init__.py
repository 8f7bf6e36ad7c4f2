"""
The same annotated loops through TVM's pipeline pass and through ours, compared by what the results execute.

    loops.py       annotated loops, as data: random ones and those of the RFC
    executions.py  what a pipelined loop does for one trip count: a tree of commits, waits, scopes and accesses
    tir.py         a loop through TVM, executed
    queues.py      a loop through `inject-software-pipeline`, executed; an execution as a program for the checker

Source: spec/async-queue-pipeline.md section 14. TVM is the extra `tvm` and needed by nothing else.
"""
