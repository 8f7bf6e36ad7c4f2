"""Which kernels there are, and what each mistake in them leads to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

RACE, DEADLOCK, PHASE, FENCE = "race", "deadlock", "phase", "missing-fence"

LAYOUT = "NVMMASharedLayout(swizzle_byte_width=128,element_bitwidth=16,rank=2)"


def over_blocks(rows: int, columns: int, bases: str) -> str:
    """The type of a descriptor of tiles that lie over the blocks of a cluster in that way."""
    return f"tensordesc<fp16[{rows},{columns}],{LAYOUT[:-1]},cga_layout={bases})>"


def descriptor(rows: int) -> str:
    """The type of a descriptor of tiles of that many rows and 64 columns."""
    return f"tensordesc<fp16[{rows},64],{LAYOUT}>"


SIGNATURES: dict[str, dict[str, str]] = {
    "wgmma_ring": {"a_desc": descriptor(64), "b_desc": descriptor(64), "c_ptr": "*fp32", "steps": "i32"},
    "copy_ring": {"a_ptr": "*fp32", "c_ptr": "*fp32", "n": "i32"},
    "tcgen05_loop": {"a_desc": descriptor(128), "b_desc": descriptor(64), "c_ptr": "*fp32", "n": "i32"},
    "store_ring": {"c_desc": descriptor(64), "n": "i32"},
    "fenced_stores": {"c_desc": descriptor(64), "n": "i32"},
    "buffer_ring": {"a_ptr": "*fp32", "c_ptr": "*fp32", "n": "i32"},
    "mover_ring": {"a_ptr": "*fp16", "c_ptr": "*fp16", "n": "i32"},
    "mover_queue": {"a_ptr": "*fp16", "c_ptr": "*fp16", "n": "i32"},
    "barrier_life": {"a_desc": descriptor(64), "c_ptr": "*fp16"},
    "two_rings": {
        "a_desc": descriptor(64),
        "b_desc": descriptor(64),
        "c_ptr": "*fp16",
        "tiles": "i32",
        "steps": "i32",
    },
    "pair_product": {
        "a_desc": over_blocks(256, 64, "[[1,0]]"),
        "b_desc": over_blocks(64, 128, "[[0,1]]"),
        "n": "i32",
    },
    "shared_operand": {
        "a_desc": over_blocks(256, 64, "[[1,0]]"),
        "b_desc": over_blocks(64, 128, "[[0,0]]"),
        "n": "i32",
    },
    "shared_tiles": {"a_desc": over_blocks(64, 64, "[[0,0]]"), "c_ptr": "*fp16", "n": "i32"},
    "taken_over": {"a_desc": descriptor(64), "c_ptr": "*fp16"},
    "taken_over_by_both": {"a_desc": over_blocks(128, 64, "[[1,0]]"), "c_ptr": "*fp16"},
    "told_by_first": {"n": "i32"},
}
OF_OTHER_TARGETS = {
    "pair_product": "sm_100",
    "shared_operand": "sm_100",
    "taken_over": "sm_100",
    "taken_over_by_both": "sm_100",
    "told_by_first": "sm_100",
    "tcgen05_loop": "sm_100",
    "copy_ring": "sm_80",
    "buffer_ring": "gfx950",
    "mover_ring": "gfx1250",
    "mover_queue": "gfx1250",
}
TARGETS = {name: OF_OTHER_TARGETS.get(name, "sm_90") for name in SIGNATURES}
"""Kernel -> what it is compiled for."""
BLOCKS: dict[str, int] = dict.fromkeys(
    ("pair_product", "shared_operand", "shared_tiles", "taken_over_by_both", "told_by_first"), 2
)
"""Kernel -> how many blocks its clusters have, where that is not one."""


@dataclass(frozen=True)
class Case:
    """A kernel with one mistake, or without (0, and below 0 in another way)."""

    mistake: int
    kind: str = ""
    """What a check says is wrong; nothing for a kernel that is right."""

    @property
    def name(self) -> str:
        return str(self.mistake) if self.kind else "good" if self.mistake == 0 else f"good{-self.mistake}"


@dataclass(frozen=True)
class Pair:
    """A kernel with its constants, and what is to be found in its variants."""

    kernel: str
    constants: dict[str, Any]
    cases: tuple[Case, ...]
    module: str = "kernels"
    """The file beside this one that the kernel lies in."""

    @property
    def name(self) -> str:
        return self.kernel + "".join(f"-{value}" for value in self.constants.values())


def _wgmma() -> tuple[Case, ...]:
    mistakes = {1: RACE, 2: PHASE, 3: PHASE, 4: RACE, 5: RACE, 6: DEADLOCK, 7: PHASE, 8: PHASE}
    return (Case(0), *(Case(mistake, kind) for mistake, kind in mistakes.items()))


def pairs() -> Iterator[Pair]:
    """All kernels in Gluon."""
    for slots in (1, 2, 3, 4):
        yield Pair("wgmma_ring", {"S": slots}, _wgmma())
    for slots in (2, 3, 4):
        cases = (Case(0), Case(1, RACE), Case(2, RACE), Case(3, RACE), Case(4, RACE))
        yield Pair("copy_ring", {"S": slots}, cases)
    yield Pair("tcgen05_loop", {}, (Case(0), Case(1, RACE), Case(2, RACE), Case(3, RACE), Case(4, PHASE)))
    for slots in (1, 2, 3):
        yield Pair("store_ring", {"S": slots}, (Case(0), Case(1, RACE), Case(2, RACE)))
    yield Pair("fenced_stores", {}, (Case(0), Case(-1), Case(1, FENCE), Case(2, FENCE), Case(3, RACE)))
    yield Pair("barrier_life", {}, (Case(0), Case(1, PHASE), Case(2, PHASE), Case(3, PHASE), Case(4, PHASE)))
    for slots in (3, 4):
        cases = (Case(0), Case(1, RACE), Case(2, RACE), Case(3, RACE), Case(4, RACE))
        yield Pair("buffer_ring", {"S": slots}, cases, "amd_kernels")
    for slots in (1, 2, 3):
        mistakes = {1: RACE, 2: PHASE, 3: PHASE, 4: RACE, 5: DEADLOCK}
        cases = (Case(0), *(Case(mistake, kind) for mistake, kind in mistakes.items()))
        yield Pair("mover_ring", {"S": slots}, cases, "amd_kernels")
    yield Pair("mover_queue", {"S": 2}, (Case(0), Case(1, RACE), Case(2, RACE)), "amd_kernels")
    yield Pair("two_rings", {}, (Case(0), Case(1, PHASE), Case(2, DEADLOCK)))
    yield from _of_clusters()


def _of_clusters() -> Iterator[Pair]:
    """Two blocks that multiply together, copies to both, and work that is taken over."""
    module = "cluster_kernels"
    for slots in (1, 2, 3):
        wrong = (Case(1, RACE), Case(2, RACE), Case(3, DEADLOCK), Case(4, PHASE), Case(5, PHASE)) if slots == 2 else ()
        yield Pair("pair_product", {"S": slots}, (Case(0), Case(-1), *wrong), module)
    for slots in (1, 2, 3):
        wrong = (Case(1, RACE), Case(2, RACE), Case(3, PHASE), Case(4, DEADLOCK), Case(5, FENCE)) if slots == 2 else ()
        yield Pair("shared_tiles", {"S": slots}, (Case(0), *wrong), module)
    yield Pair("shared_operand", {}, (Case(0), Case(-1), Case(1, PHASE), Case(2, DEADLOCK)), module)
    yield Pair("taken_over", {}, (Case(0), Case(1, RACE), Case(2, PHASE), Case(3, DEADLOCK)), module)
    yield Pair("taken_over_by_both", {}, (Case(0), Case(1, RACE), Case(2, FENCE)), module)
    yield Pair("told_by_first", {}, (Case(0), Case(1, PHASE), Case(2, DEADLOCK)), module)


def tile(rows: int, columns: int) -> str:
    """The type of a descriptor of tiles of that shape."""
    return f"tensordesc<fp16[{rows},{columns}],{LAYOUT}>"


EXAMPLE_SIGNATURE = {"a_desc": tile(128, 64), "b_desc": tile(64, 128), "c_desc": tile(128, 128), "K": "i32"}
EXAMPLES = {"matmul.bad": {"STAGES": 2, "LAG": 0}, "matmul.good": {"STAGES": 2, "LAG": 1}}
"""Name of a file in `examples/gluon` -> constants of the kernel that lies there."""

TILES = {"BM": 128, "BN": 128, "BK": 64}
MATMUL = {
    "a_ptr": "*fp16",
    "b_ptr": "*fp16",
    "c_ptr": "*fp16",
    **dict.fromkeys(("M", "N", "K", "sam", "sbk", "scm"), "i32"),
}
DESCRIPTORS = {
    "a_desc": "tensordesc<fp16[128,64]>",
    "b_desc": "tensordesc<fp16[64,128]>",
    "c_desc": "tensordesc<fp16[128,128]>",
    **dict.fromkeys(("M", "N", "K"), "i32"),
}
ATTENTION = {
    **dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "*fp16"),
    **dict.fromkeys(("M", "N", "K"), "i32"),
    "scale": "fp32",
}
ATTENTION_TILES = {"BM": 128, "BN": 64, "D": 64}
TRITON_KERNELS: dict[str, tuple[str, str, dict[str, str], dict[str, Any]]] = {
    "matmul-80": ("matmul", "sm_80", MATMUL, TILES),
    "matmul-90": ("matmul", "sm_90", MATMUL, TILES),
    "matmul-100": ("matmul", "sm_100", MATMUL, TILES),
    "matmul_cluster-90": ("matmul_descriptors", "sm_90", DESCRIPTORS, {**TILES, "WS": False}),
    "matmul_cluster-100": ("matmul", "sm_100", MATMUL, TILES),
    "matmul-950": ("matmul", "gfx950", MATMUL, TILES),
    "attention-90": ("attention", "sm_90", ATTENTION, {**ATTENTION_TILES, "CAUSAL": False}),
    "attention-100": ("attention", "sm_100", ATTENTION, {**ATTENTION_TILES, "CAUSAL": False}),
    "attention_causal-90": ("attention", "sm_90", ATTENTION, {**ATTENTION_TILES, "CAUSAL": True}),
    "matmul_descriptors-90": ("matmul_descriptors", "sm_90", DESCRIPTORS, {**TILES, "WS": False}),
    "matmul_descriptors-100": ("matmul_descriptors", "sm_100", DESCRIPTORS, {**TILES, "WS": False}),
    "matmul_specialized-100": ("matmul_descriptors", "sm_100", DESCRIPTORS, {**TILES, "WS": True}),
    "matmul_persistent-90": (
        "matmul_persistent",
        "sm_90",
        DESCRIPTORS,
        {**TILES, "SMS": 132, "WS": False, "FLATTEN": False},
    ),
    "matmul_persistent-100": (
        "matmul_persistent",
        "sm_100",
        DESCRIPTORS,
        {**TILES, "SMS": 132, "WS": True, "FLATTEN": False},
    ),
    "chunk_of_sequence-80": ("chunk_of_sequence", "sm_80", MATMUL, {"BM": 128, "BK": 32}),
    "masked_sums-80": ("masked_sums", "sm_80", MATMUL, {"BM": 128, "BK": 32}),
    "two_products-80": ("two_products", "sm_80", MATMUL, {"BM": 64, "BK": 32}),
    "two_products-90": ("two_products", "sm_90", MATMUL, {"BM": 64, "BK": 64}),
}
"""Name of the file -> kernel, target, signature and constants."""

CLUSTERS: dict[str, int] = {"matmul_cluster-90": 2, "matmul_cluster-100": 2}
"""Name of the file -> how many blocks its clusters have, where that is not one."""

POINTERS = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr", "d_ptr"), "*bf16")
FOUND: dict[str, tuple[str, str, dict[str, str], dict[str, Any]]] = {
    "read_twice-90": ("read_twice", "sm_90", {**POINTERS, "K": "i32"}, {"BM": 64, "BK": 64}),
    "multiplied_twice-100": ("multiplied_twice", "sm_100", {**POINTERS, "K": "i32"}, {"BM": 64, "BK": 64}),
}
"""
Kernels that are right, and are wrong when Triton 3.9 has pipelined them, in the same form.

A tile that is multiplied and also read by the threads gets a slot less than one that is only multiplied, and is copied
over while the product may still read it. And of two products of one tile in tensor memory only the first is waited for
before the next tile is stored there.
"""
