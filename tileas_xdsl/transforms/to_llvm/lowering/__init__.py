"""
What functions of loops, buffers and numbers are in LLVM: the rules of `convert-to-llvm`, one file a family.

A value of `llvm` stands for each value; for a buffer a pointer, and a number for whatever of its offset, sizes and
strides the type leaves open.
"""

from __future__ import annotations

from tileas_xdsl.transforms.to_llvm.lowering import accesses, control, numbers, threads
from tileas_xdsl.transforms.to_llvm.lowering.functions import lowered_function, lowered_global, refuse_function
from tileas_xdsl.transforms.to_llvm.lowering.state import REFUSALS, RULES

FAMILIES = (accesses, control, numbers, threads)
"""The modules whose rules are registered when they are imported."""

__all__ = ["FAMILIES", "REFUSALS", "RULES", "lowered_function", "lowered_global", "refuse_function"]
