"""
NVIDIA's chips: one record each, and what each can do.

A program at tile level states a compute capability (`#nv_tileaa.compute_capability<90>`), and may use all that chips of
this capability have, also the instructions of `sm_90a` alone. Passes ask `can` and compare no numbers.

Sources: CUDA C++ Programming Guide, "Compute Capabilities" (shared memory of a block); PTX ISA, "Target ISA Notes" of
each instruction; LLVM, "User Guide for NVPTX Back-end", and PTX ISA, "Release History" (versions).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Flag, auto

NAME = re.compile(r"sm_(\d{2,3})[af]?")


class Feature(Flag):
    """An instruction, or a family of them, that not every chip has."""

    MATRIX_LOADS = auto()
    """`ldmatrix`."""
    CP_ASYNC = auto()
    MATRIX_STORES = auto()
    """`stmatrix`."""
    TMA = auto()
    TRY_WAIT = auto()
    """`mbarrier.try_wait`, which suspends a thread."""
    SETMAXNREG = auto()
    WGMMA = auto()
    TCGEN05 = auto()
    """Tensor memory and its products."""
    TCGEN05_INTEGERS = auto()
    """Products of i8 with sums in tensor memory."""
    BLOCK_SCALING = auto()
    """Products with a scale for each block of a row."""


TURING = Feature.MATRIX_LOADS
AMPERE = TURING | Feature.CP_ASYNC
HOPPER = AMPERE | Feature.MATRIX_STORES | Feature.TMA | Feature.TRY_WAIT | Feature.SETMAXNREG
BLACKWELL = HOPPER | Feature.TCGEN05 | Feature.BLOCK_SCALING
CONSUMER_BLACKWELL = HOPPER | Feature.BLOCK_SCALING

KIB = 1024
TENSOR_MEMORY = 128 * 512 * 4
"""Bytes: 128 lanes of 512 columns of 4 bytes (PTX ISA, "Tensor Memory")."""


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A compute capability, and the chips that have it."""

    capability: int
    """major * 10 + minor."""
    names: tuple[str, ...]
    """For which LLVM and ptxas generate code; none if no PTX is written for it here."""
    ptx: int = 0
    """The version of PTX that is written: the oldest that has all forms of the instructions."""
    shared_bytes: int
    """The most shared memory of a block."""
    features: Feature
    has_model: bool = True
    """Whether there is a machine model of it."""


def _row(capability: int, shared: int, features: Feature, ptx: int = 0, suffixes: tuple[str, ...] = ("",)) -> Chip:
    names = tuple(f"sm_{capability}{suffix}" for suffix in suffixes) if ptx else ()
    return Chip(
        capability=capability,
        names=names,
        ptx=ptx,
        shared_bytes=shared * KIB,
        features=features,
        has_model=Feature.CP_ASYNC in features,
    )


BOTH = ("", "a")

CHIPS = {
    chip.capability: chip
    for chip in (
        _row(70, 96, Feature(0)),
        _row(75, 64, TURING),
        _row(80, 163, AMPERE, 71),
        _row(86, 99, AMPERE, 71),
        _row(87, 163, AMPERE),
        _row(89, 99, AMPERE, 78),
        _row(90, 227, HOPPER | Feature.WGMMA, 86, BOTH),
        _row(100, 227, BLACKWELL | Feature.TCGEN05_INTEGERS, 88, BOTH),
        _row(101, 227, BLACKWELL | Feature.TCGEN05_INTEGERS),
        _row(103, 227, BLACKWELL, 88, BOTH),
        _row(110, 227, BLACKWELL | Feature.TCGEN05_INTEGERS),
        _row(120, 99, CONSUMER_BLACKWELL, 88, BOTH),
        _row(121, 99, CONSUMER_BLACKWELL),
    )
}
"""Compute capability -> its chip, older ones first."""

PTX_VERSIONS = {name: chip.ptx for chip in CHIPS.values() for name in chip.names}
"""The names for which PTX is written, and its version for each."""

DEFAULT_NAME = "sm_80"
"""The chip of a pass that is not told another one."""


def capability_of(name: str) -> int | None:
    """The compute capability in the name of a chip: `sm_100a` -> 100; None for any other name."""
    match = NAME.fullmatch(name)
    return int(match[1]) if match else None


def chip_of(capability: int) -> Chip:
    """The chip of this capability, else the nearest older one, else the oldest."""
    return CHIPS[nearest_older(capability, tuple(CHIPS))]


def nearest_older(capability: int, known: Sequence[int]) -> int:
    """The latest of the `known` capabilities that is not later than `capability`; else the first of them."""
    return max((other for other in known if other <= capability), default=known[0])


def is_older(name: str, capability: int) -> bool:
    """Whether a chip has less than a compute capability; no for a name that says none."""
    own = capability_of(name)
    return own is not None and own < capability


def can(capability: int, feature: Feature) -> bool:
    """Whether the chips of this capability have `feature`."""
    return feature in chip_of(capability).features


def runs_on(target: str, capability: tuple[int, int]) -> tuple[bool, bool]:
    """
    Whether a GPU runs machine code for `target`, which is code for later chips of the same generation only, and whether
    its driver compiles PTX for `target`, which is for all later chips. With a suffix both are for one chip.
    """
    found = re.fullmatch(r"sm_(\d+)(\d)([af]?)", target)
    assert found is not None, "PTX is written for no other target"
    made_for = int(found[1]), int(found[2])
    if found[3]:
        return made_for == capability, made_for == capability
    return made_for[0] == capability[0] and made_for <= capability, made_for <= capability
