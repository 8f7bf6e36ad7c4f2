"""
The form of a machine model: what a scheduler believes of a target. The models are in `machine_models.py`.

A *slot* is a resource that an op occupies for a number of cycles: an issue port, a transport path, an engine, the agent
itself. A slot serves `capacity` ops at once. A *resource vector* says which slots an op of some class occupies, for how
long, counted from its start, and how much it takes from *pools*: budgets that are counted for each cycle.

    tiled TMA load      slot 12 (tma) for 8 cycles, slot 16 (tp_smem_wr) for 8 cycles

A model has vectors of its own, or a timing table (`cycles.py`) from which the footprint of an op follows by the size of
its tile: then the scheduler and the timed machine believe the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from tileas_xdsl.targets.cycles import TimingTable
from tileas_xdsl.targets.warp_timing import WarpTiming


class SlotKind(Enum):
    """How finely a slot is modelled: a whole issue port, a part of one or a transport path, or for tests only."""

    COARSE = "coarse"
    FINE = "fine"
    TEST = "test"


@dataclass(frozen=True)
class ResourceSlot:
    """One resource. `number` counts from 1; its bit in a reservation row is `1 << (number - 1)`."""

    number: int
    name: str
    kind: SlotKind = SlotKind.COARSE
    capacity: int = 1
    anchor: int = 0
    """The weight by which the published model ranks the slot, in cycles; 0 where nobody ranks it."""

    @property
    def bit(self) -> int:
        return 1 << (self.number - 1)


@dataclass(frozen=True)
class SlotUse:
    """`amount` of the slot `slot` for `rows` cycles, from the start of the op."""

    slot: str
    rows: int
    amount: int = 1


@dataclass(frozen=True)
class ResourceVector:
    """What an op of one class occupies. `latency` counts the cycles from its start until its result is there."""

    uses: tuple[SlotUse, ...]
    latency: int
    pools: tuple[tuple[int, int], ...] = ()
    """(index of the pool, demand)."""

    @property
    def rows(self) -> int:
        """The cycles for which it occupies anything."""
        return max((use.rows for use in self.uses), default=0)


class Products(Enum):
    """The asynchronous matrix products of a target."""

    NONE = "none"
    WGMMA = "wgmma"
    TCGEN05 = "tcgen05"


KEPT_BYTES = 1024
"""Of shared memory, which a multiprocessor keeps for each block."""


@dataclass(frozen=True)
class MachineModel:
    """One target as a scheduler sees it. `sources` says where the numbers come from."""

    name: str
    slots: tuple[ResourceSlot, ...]
    shared_bytes: int
    """Shared memory of a block, in bytes."""
    tensor_bytes: int
    """Tensor memory, or the register file where there is none, in bytes."""
    vectors: Mapping[str, ResourceVector] = field(default_factory=dict[str, ResourceVector])
    """Class of ops -> vector; empty where footprints come from `timing`."""
    pools: tuple[int, ...] = ()
    """The capacities of the pools."""
    ceilings: tuple[int, ...] = ()
    """Cycles beyond which no latency may accumulate, smallest first."""
    tag_latencies: Mapping[int, tuple[int, tuple[int, ...]]] = field(
        default_factory=dict[int, "tuple[int, tuple[int, ...]]"]
    )
    """Tag of an op -> its latency, and the numbers of the slots that it may take."""
    timing: TimingTable | None = None
    measured: WarpTiming | None = None
    """What was measured on a device of this target, if anything was."""
    products: Products = Products.NONE
    has_tma: bool = False
    sources: tuple[str, ...] = ()

    def slot(self, name: str) -> ResourceSlot:
        """The slot called `name`. Raises `KeyError`."""
        for slot in self.slots:
            if slot.name == name:
                return slot
        raise KeyError(name)

    def shared_among(self, blocks: int) -> MachineModel:
        """
        What each of so many blocks has of a multiprocessor: less shared memory, of which a part is kept for each (CUDA
        C++ Programming Guide, "Shared Memory" of compute capabilities 8.x and 9.0).
        """
        return replace(self, shared_bytes=(self.shared_bytes + KEPT_BYTES) // blocks - KEPT_BYTES)

    @property
    def capacities(self) -> dict[str, int]:
        """Name of each slot -> how many it serves at once."""
        return {slot.name: slot.capacity for slot in self.slots}
