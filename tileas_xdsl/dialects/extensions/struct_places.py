"""Places in structs of LLVM."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import DenseArrayBase, i64


@cache
def place_in_struct(position: int) -> DenseArrayBase:
    """The attribute that names the member at `position`: thousands of ops share a few."""
    return DenseArrayBase.from_list(i64, [position])
