"""
NVIDIA's targets: the words of a chip, and the version of PTX that its instructions need.

The version that LLVM takes for a chip by itself is the oldest that knows the chip. Forms of instructions that came
later (bulk copies within a block, mbarriers of relaxed order) then do not select. So each chip has a version here that
has them all.

Source: LLVM, "User Guide for NVPTX Back-end"; the PTX ISA, "Release History".
"""

from __future__ import annotations

from dataclasses import dataclass

TRIPLE = "nvptx64-nvidia-cuda"

PTX_VERSIONS = {
    "sm_80": 71,
    "sm_86": 71,
    "sm_89": 78,
    "sm_90": 86,
    "sm_90a": 86,
    "sm_100": 88,
    "sm_100a": 88,
    "sm_103": 88,
    "sm_103a": 88,
    "sm_120": 88,
    "sm_120a": 88,
}
"""The chips that are known, and the version of PTX that is written for each."""


@dataclass(frozen=True)
class Chip:
    """A chip in the words of LLVM and ptxas; `problem` says what is wrong with its name."""

    name: str

    @property
    def features(self) -> str:
        """What LLVM is told of it beyond its name."""
        return f"+ptx{PTX_VERSIONS[self.name]}"

    @property
    def with_own_instructions(self) -> Chip | None:
        """
        The same chip with the instructions that no later chip has (PTX ISA, "Target ISA Notes"); None if there are
        none, or this is it already."""
        name = f"{self.name}a"
        return Chip(name) if name in PTX_VERSIONS else None

    @property
    def problem(self) -> str | None:
        """Why there is no PTX for this chip."""
        if self.name in PTX_VERSIONS:
            return None
        number = self.name.removeprefix("sm_").rstrip("af")
        if self.name.startswith("sm_") and number.isdecimal() and int(number) < 80:
            return f"'{self.name}' is too old: cp.async came with sm_80"
        return f"'{self.name}' is not a chip that PTX is written for here: {', '.join(PTX_VERSIONS)}"
