"""
Dialects of Triton: `tt` (tiles, global memory), `ttg` (shared memory, partitions), `ttng` (NVIDIA's asynchrony), `amdg`
(AMD's).
"""
