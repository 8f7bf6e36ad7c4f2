"""
How long a launch takes, estimated from the schedule: a tenth of the time that it takes to make code.

The passes run as far as the agents. Then the rings, the warps and the interval of the loop are known, and what a turn
takes is the most of five:

    tensor cores    products of all blocks on the multiprocessor
    loads           their bytes, while all multiprocessors load
    ring            a load's latency, over the slots that may be on their way
    agent           the interval of the schedule, and what an agent spends beside it
    memory          see `scheduling/launches.py`

Two figures, marked, are what compiled products (`launches_code.tar.xz`) take in the simulator more than the schedule
says; nothing else is fitted. What code needs is known when it is made: the best candidates are compiled and foretold
by `forecast`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp as UnassignedStoreOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.dialects.nv_tileas.verification import integers_of
from tileas_xdsl.kernels.compiling import Program
from tileas_xdsl.kernels.tuning.forecast import DoesNotFitError, Problem
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.warps.blocks import timing_beside_others
from tileas_xdsl.scheduling.launches import BlockTime, Launched, launched
from tileas_xdsl.scheduling.op_times import tile_bytes
from tileas_xdsl.scheduling.program_work import ProgramWork, TileRead
from tileas_xdsl.targets.gpu_timing import MOST_REGISTERS, REGISTERS, BlockNeeds, GPUTiming
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.targets.warps import WARP
from tileas_xdsl.tools.compile import SCHEDULED, Options, loops_of, say_target
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_code import TO_KERNELS
from tileas_xdsl.tools.main import without_collector
from tileas_xdsl.transforms.tileas.assign_buffers import BUFFER

ROW = 128
"""Bytes of a row of a box; a shorter one takes as long."""
OF_CONSUMER, OF_ONE_AGENT = 110.0, 410.0
"""Cycles of a turn beside the interval of the schedule, where another agent loads, or the same: fitted, see above."""
REGISTERS_STEP = 8
"""A thread gets a multiple of so many."""
SHARED_BYTES = 128
"""That a multiprocessor writes to shared memory in a cycle: what is stored goes there while nothing is multiplied."""
REGISTER = 4
BESIDE_SUMS = 40
"""Registers of a thread beside the tiles that a loop carries: fitted to what ptxas reports of the same products."""


@dataclass(frozen=True, kw_only=True)
class Agents:
    """What the passes have decided of a block, before there is code."""

    several: bool
    threads: int
    registers: int
    slots: int
    """Of the shortest ring."""
    shared_bytes: int
    stored_bytes: int
    """Of the tiles that it stores, which are staged in shared memory."""
    interval: int
    """Cycles from one turn to the next, as the schedule says."""
    is_persistent: bool = False
    """Whether a block computes many programs."""


def agents_of(program: Program, name: str | None, options: Options) -> Agents:
    """
    What the passes decide of the function `name` (None: the only one) of a program. Candidates that differ only in the
    order of programs share it: that order decides nothing in a block.

    Raises `InputError` for a target that does not exist, and `PassFailedException` where a pass refuses.
    """
    return _agents_of(program, name, replace(options, group_programs=0))


@lru_cache(maxsize=256)
def _agents_of(program: Program, name: str | None, options: Options) -> Agents:
    module = parse_module(program.text, program.name, full_context())
    with without_collector():
        return _decided(module, name, options)


def _decided(module: ModuleOp, name: str | None, options: Options) -> Agents:
    interval, written = 0, find_function(module, name)[0]
    carried = max(map(_carried, written.walk()))
    stored = sum(
        tile_bytes(op.operands[1].type) for op in written.walk() if isinstance(op, UnassignedStoreOp | TiledStoreOp)
    )
    say_target(module, options.target)
    context = full_context()
    for step in options.driver(to_threads=True).steps():
        if step.name == TO_KERNELS:
            break
        step.apply(context, module)
        if step.name == SCHEDULED:
            interval = max([0, *(loop.cycles for loop in loops_of(module))])
    function, _ = find_function(module, name)
    rings = [op for op in function.walk() if isinstance(op, CreatePipelineOp) and _ring_bytes(op)]
    switch = next((op for op in function.walk() if isinstance(op, AgentSwitchOp)), None)
    shared = sum(map(_ring_bytes, rings))
    slots = min([ring.depth for ring in rings], default=1)
    most = machine_model(options.target).shared_among(options.structure.blocks).shared_bytes
    is_beside = (
        options.structure.persistent or shared + stored <= most
    )  # else what is stored lies in the slots of the rings
    if switch is None:
        threads = options.structure.num_warps * WARP
        registers = BESIDE_SUMS + carried // (REGISTER * threads)
    else:
        warps, limits = (integers_of(entry) or () for entry in (switch.num_warps, switch.max_regs))
        threads = sum(warps) * WARP
        room = REGISTERS // (options.structure.blocks * threads) // REGISTERS_STEP * REGISTERS_STEP
        registers = min(max(limits, default=MOST_REGISTERS), room)
    return Agents(
        several=switch is not None,
        threads=threads,
        registers=registers,
        slots=slots,
        shared_bytes=shared + stored if is_beside else max(shared, stored),
        stored_bytes=stored,
        interval=interval,
        is_persistent=options.structure.persistent,
    )


def estimated(agents: Agents, work: ProgramWork, problem: Problem, gpu: GPUTiming) -> Launched:
    """What a launch takes. Raises `DoesNotFitError` for a block that no multiprocessor holds."""
    if agents.registers > MOST_REGISTERS:
        raise DoesNotFitError(f"a thread would need {agents.registers} registers, and has {MOST_REGISTERS}")
    needs = BlockNeeds(threads=agents.threads, registers=agents.registers, shared_bytes=agents.shared_bytes)
    together = needs.together(gpu.shared_bytes)
    if not together:
        raise DoesNotFitError(
            f"a block of {agents.threads:,} threads needs {agents.registers} registers a thread and "
            f"{agents.shared_bytes:,} bytes of shared memory"
        )
    traffic = work.traffic(together * gpu.multiprocessors, problem.sizes)
    timing = timing_beside_others(gpu, problem.blocks, traffic.from_memory(gpu))
    asked = sum(_asked(read) * read.turns for read in work.reads) / work.turns
    latency = timing.tma_start + timing.tma_latency + timing.l2_far + timing.hand_over + timing.wake

    def time_of(sharing: int) -> BlockTime:
        product, loads = work.product / work.turns, asked / timing.tma_bytes
        ring = (latency + loads + (0 if agents.several else product)) / max(agents.slots - 1, 1)
        beside = OF_CONSUMER if agents.several else OF_ONE_AGENT
        turn = max(sharing * product, sharing * loads, ring, agents.interval + beside)
        return BlockTime(turn, latency + loads + sharing * agents.stored_bytes / timing.tma_store_bytes, work.turns)

    between = agents.stored_bytes / SHARED_BYTES if agents.is_persistent else None
    return launched(problem.blocks, together, time_of, traffic, work.product, gpu, between)


def _asked(read: TileRead) -> float:
    """Bytes that a load costs: a short row counts as a whole one."""
    return read.size * max(1.0, ROW / read.row_bytes)


def _carried(op: Operation) -> int:
    """Bytes of the tiles that a loop carries; views of shared memory have none of their own."""
    if not isinstance(op, scf.ForOp):
        return 0
    return sum(tile_bytes(result.type) for result in op.results if _is_in_registers(result.type))


def _is_in_registers(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and type_.encoding == NoneAttr()


def _ring_bytes(op: CreatePipelineOp) -> int:
    record = op.attributes.get(BUFFER)
    if not isinstance(record, DictionaryAttr):
        return 0
    stages, footprint = (record.data.get(key) for key in ("stages", "footprint"))
    if not isinstance(stages, IntegerAttr) or not isinstance(footprint, IntegerAttr):
        return 0
    return stages.value.data * footprint.value.data
