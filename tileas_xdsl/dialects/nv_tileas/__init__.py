"""
`nv_tileas`: the operational tile dialect of TileAS.

Where `nv_tileaa` says that data flows through queues, this dialect says how: pipelines of slots, tokens, layouts,
asynchronous copies. Files: `types`, `attributes`; `classified`, `pipeline` and `agents` (async.pipeline.*), `tokens`;
`structure` (storage, views, layouts) and `slices`; `memory`, `pointers` and `tma`; `compute` and `block_scaled`;
`control`. `dialect` has all of them, `effects` has the memory effects of ops, `verification` the checks that ops share.
"""

MASKED = "nv_tileas.masked"
"""
The attribute of a branch on an element of a mask, whose arm accesses one element of memory. Where data is not computed,
the branch is taken, as a mask of a tile counts as set there: more accesses, so no race is missed. A branch that does
anything else is none of a mask, whatever it says of itself.
"""
