"""
How long a launch takes, foretold from the code of the threads.

Where the figures of a GPU have been measured (`GPUS`), its launches are foretold. Which blocks share a multiprocessor
follows from threads, registers and shared memory; what they read together, from the program; what a block takes, from
running its PTX (`machine/warps/`); the rest is `scheduling/launches.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import Error
from tileas_xdsl.kernels.records import CodeReport
from tileas_xdsl.machine.warps.blocks import SimulatedBlocks, timing_beside_others
from tileas_xdsl.machine.warps.code import code_of
from tileas_xdsl.scheduling.launches import Launched, launched
from tileas_xdsl.scheduling.program_work import Grid, ProgramWork, work_of
from tileas_xdsl.targets.chips import capability_of
from tileas_xdsl.targets.cycles import timing_table
from tileas_xdsl.targets.gpu_timing import MOST_REGISTERS, BlockNeeds, GPUTiming
from tileas_xdsl.targets.measured.h200 import H200_GPU

GPUS = {90: H200_GPU}
"""Compute capability -> what was measured on a GPU of it."""


class DoesNotFitError(Error):
    """A block needs more than a multiprocessor has; the message says of what."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The numbers, the sizes of arrays and the grid with which a kernel is launched."""

    numbers: Mapping[str, int]
    sizes: Mapping[str, Sequence[int]]
    grid: Grid

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return prod(self.grid)


def gpu_of(target: str) -> GPUTiming | None:
    """The GPU whose figures are known for a target; None where none was measured."""
    return GPUS.get(capability_of(target) or 0)


def work_in(function: Operation, problem: Problem, target: str) -> ProgramWork:
    """What a program of `function` does in that problem."""
    return work_of(function, problem.numbers, problem.sizes, problem.grid, timing_table(target))


def forecast(
    ptx: str,
    contract: Mapping[str, Any],
    work: ProgramWork,
    problem: Problem,
    gpu: GPUTiming,
    loops: Sequence[str],
) -> Launched:
    """
    What a launch of the kernel with that `contract` takes (an entry of `kernels` in the file that `tileas compile`
    writes). `loops` are the numbers that say how often loops turn. Raises `DoesNotFitError`, and `PtxError` or
    `StuckError` for code that the model cannot run.
    """
    report = CodeReport.from_data(contract)
    threads = prod(contract["block"])
    registers = report.registers if report.registers is not None else MOST_REGISTERS
    needs = BlockNeeds(threads=threads, registers=registers, shared_bytes=report.shared_bytes or 0)
    together = needs.together(gpu.shared_bytes)
    if not together:
        raise DoesNotFitError(
            f"{threads:,} threads of {registers} registers and {needs.shared_bytes:,} bytes are too many"
        )
    traffic = work.traffic(together * gpu.multiprocessors, problem.sizes)
    timing = timing_beside_others(gpu, problem.blocks, traffic.from_memory(gpu))
    serialized = bool(report.serialized_products)
    time_of = SimulatedBlocks(
        code=code_of(ptx, timing, serialized=serialized),
        contract=contract,
        timing=timing,
        serialized=serialized,
        numbers=problem.numbers,
        sizes=problem.sizes,
        loops=tuple(loops),
        turns=work.turns,
        spilled=(report.spill_bytes or 0) * threads / gpu.spilled_bytes,
    )
    between = None
    if contract.get("persistent_blocks") is not None:
        tiles = [axis for axis in contract.get("programs") or () if axis is not None]
        one, two = ({**problem.sizes, **_sizes_of(tiles, count, problem)} for count in (1, 2))
        time_of = replace(time_of, sizes=one)
        between = replace(time_of, sizes=two).longer_than(time_of, together)
    return launched(problem.blocks, together, time_of, traffic, work.product, gpu, between)


def _sizes_of(axes: Sequence[Mapping[str, Any]], count: int, problem: Problem) -> dict[str, list[int]]:
    """The sizes of the arrays that programs write, if there are `count` programs, along the first axis."""
    sizes = {axis["array"]: list(problem.sizes[axis["array"]]) for axis in axes}
    for number, axis in enumerate(axes):
        sizes[axis["array"]][axis["dimension"]] = axis["extent"] * (count if number == 0 else 1)
    return sizes
