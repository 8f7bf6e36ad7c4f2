"""
NVIDIA's chips in the words of LLVM and ptxas. What a chip has, and its version of PTX, is in `targets.chips`.

The version that LLVM takes for a chip by itself is the oldest that knows the chip. Forms of instructions that came
later (bulk copies within a block, mbarriers of relaxed order) then do not select. So the version is always stated.

Source: LLVM, "User Guide for NVPTX Back-end"; the PTX ISA, "Release History".
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.targets.chips import PTX_VERSIONS, Feature, can, capability_of

TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True)
class CodeTarget:
    """A chip in the words of LLVM and ptxas; `problem` says what is wrong with its name."""

    name: str

    @property
    def features(self) -> str:
        """What LLVM is told of it beyond its name."""
        return f"+ptx{PTX_VERSIONS[self.name]}"

    @property
    def with_own_instructions(self) -> CodeTarget | None:
        """
        The same chip with the instructions that no later chip has (PTX ISA, "Target ISA Notes"); None if there are
        none, or this is it already.
        """
        name = f"{self.name}a"
        return CodeTarget(name) if name in PTX_VERSIONS else None

    @property
    def problem(self) -> str | None:
        """Why there is no PTX for this chip."""
        if self.name in PTX_VERSIONS:
            return None
        capability = capability_of(self.name)
        if capability is not None and not can(capability, Feature.CP_ASYNC):
            return f"'{self.name}' is too old: cp.async came with sm_80"
        return f"'{self.name}' is not a chip that PTX is written for here: {', '.join(PTX_VERSIONS)}"
