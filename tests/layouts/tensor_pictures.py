"""
The pictures of the PTX manual, "tcgen05.ld", "Data Movement Shape", written out once more: which lane and column of
tensor memory a thread's register holds, from the address of the instruction on.
"""

from __future__ import annotations

from collections.abc import Callable

Picture = Callable[[int, int, int], tuple[int, int]]
"""(thread, register, distance in columns of the two accesses of `.16x32bx2`) -> (lane, column)."""

PICTURES: dict[str, Picture] = {
    "32x32b": lambda thread, register, _: (thread, register),
    "16x32bx2": lambda thread, register, distance: (thread % 16, register + thread // 16 * distance),
    "16x64b": lambda thread, register, _: (thread % 2 * 8 + thread // 4, thread // 2 % 2 + 2 * register),
    "16x128b": lambda thread, register, _: (thread // 4 + register % 2 * 8, thread % 4 + register // 2 * 4),
    "16x256b": lambda thread, register, _: (
        thread // 4 + register // 2 % 2 * 8,
        thread % 4 * 2 + register % 2 + register // 4 * 8,
    ),
}

REGISTERS = {"32x32b": 1, "16x32bx2": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}
"""Of a thread in one step: "tcgen05.ld", the table of `.num`."""
