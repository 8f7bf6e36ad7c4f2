"""The threads that run code together: a block, or the warps of one of its agents."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.transforms.to_llvm.warps import Warps


@dataclass
class Team:
    """Warps that run the code that is being built, and the numbers that each of their threads knows of itself."""

    warps: Warps
    lane: SSAValue
    """The number of the thread in its warp, i32; the same for the two below."""
    warp: SSAValue
    """The number of the warp among those of the team."""
    thread: SSAValue
    anchor: Operation
    """The op before which goes what is the same in all turns of loops."""
    own: dict[Hashable, SSAValue | None] = field(default_factory=dict[Hashable, "SSAValue | None"])
    """Numbers of the thread that have been computed ahead, by what they are."""
