"""
The passes, in folders by what they are about; each plans first and then rewrites.

    rewriting/   what several passes share: values through control flow, index arithmetic, the removal of values
    loops/       the loop expander, the one place that peels and overlaps loops
    queues/      counted queues: software pipelines, waits, and every conversion into or out of `async_queue`
    tokens/      MLIR's `async` and `async_region`
    marks/       AMDGPU's asynchronous marks, and the counters that they become
    tileas/      the TileAS family: pipelines, consumer and producer regions
    checking/    passes that rewrite nothing: the checker and the dominance test as passes

`rewriting/` stands below `loops/`, and both below the other folders, which do not use each other. `names.py` says which
passes exist.
"""
