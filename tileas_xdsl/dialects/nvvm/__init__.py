"""
The dialect `nvvm`: the part of MLIR's that synchronises, as in LLVM 22.1.

One file a family: `mbarrier` (barriers that count arrivals and bytes), `cp_async` (small copies), `bulk` (bulk and
tensor copies), `wgmma` (matrix multiplications of a warpgroup, and their order), `tcgen05` and `tcgen05_mma` (tensor
memory, and multiplications there), `barrier` (named barriers, warp, cluster, grid), `fence`, `registers` (election,
register counts, special registers) and `thread` (exchange within a warp, inline PTX), `warp_matrix` (matrices of a
warp, and their products). Each op prints and refuses what mlir-opt 22 prints and refuses. What the ops do is that of
the PTX instructions that they lower to (PTX ISA).

Not here: conversions of numbers, and the ops of `wmma`.
"""
