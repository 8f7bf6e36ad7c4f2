"""
The words of Triton's enumerations, and the numbers that they are stored as.

Where an enumeration has a place of its own in the text, Triton prints the word (`tt.get_program_id x`); in a dictionary
of attributes it prints the number (`{inputPrecision = 0 : i32}`). Words of a set of bits are joined by `|`.
"""

from __future__ import annotations


def _from(first: int, words: str) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


WORDS: dict[str, dict[str, int]] = {
    "axis": _from(0, "x y z"),
    "semantic": _from(1, "relaxed acquire release acq_rel"),
    "scope": _from(1, "gpu cta sys"),
    "atomic": _from(1, "and or xor add fadd max min umax umin exch"),
    "reduce": _from(1, "add min max inc dec and or xor"),
    "rounding": _from(0, "rtz rtne"),
    "nan": {"none": 0, "all": 0xFFFF},
    "precision": _from(0, "tf32 tf32x3 ieee bf16x3 bf16x6"),
    "scaled": _from(0, "e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16"),
    "cache": _from(1, "none ca cg wb cs wt cv"),
    "eviction": _from(1, "evict_normal evict_first evict_last"),
    "tmem_wait": _from(0, "load store"),
    "packed": _from(1, "add sub mul fma min max"),
    "spaces": {
        "none": 0,
        "local": 1,
        "global_read": 2,
        "global_write": 4,
        "tensor_read": 8,
        "tensor_write": 16,
        "all": 31,
    },
}
