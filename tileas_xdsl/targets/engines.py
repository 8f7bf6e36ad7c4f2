"""
The engines of a multiprocessor, and the families of instructions that drive them, by the names that IR, schedules,
timelines and reports write.
"""

from __future__ import annotations

from enum import StrEnum


class Engine(StrEnum):
    """Who does asynchronous work, or counts its groups."""

    CP_ASYNC = "cp.async"
    """Copies of 4 to 16 bytes into shared memory (PTX ISA, "cp.async")."""
    TMA = "tma"
    """The engine of tensor and bulk copies (PTX ISA, "cp.async.bulk.tensor")."""
    TENSOR_CORE = "tensor core"
    WGMMA = "wgmma"
    """The tensor core as a warpgroup drives it, by groups of products (PTX ISA, "wgmma.commit_group")."""


class Family(StrEnum):
    """A family of instructions, by the first word of an atom or of a layout."""

    CP_ASYNC = "cp_async"
    MMA = "mma"
    """Products of the tensor core, whose fragments are a layout."""
