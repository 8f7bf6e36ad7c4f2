"""
Which instructions can move a tile between global memory and registers or shared memory, and which is the best.

    global -> registers            ldg: loads of 1 to 16 bytes a lane
    registers -> global            stg: the converse
    global -> shared               tma_load: the copy engine (sm_90); cp_async: copies of 4, 8 or 16 bytes by the
                                   threads (sm_80); ldg, and a store of what was loaded
    shared -> global               tma_store; stg of what was loaded

A vector needs elements that are neighbours at both ends and an address that is a multiple of it (PTX ISA, ld and
cp.async); TMA needs a box, and a layout that it writes (CUDA Driver API, `cuTensorMapEncodeTiled`). The best is what
has the lowest `score`: wavefronts of shared memory, plus a quarter of the registers that a thread holds meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tileas_xdsl.layouts.access import accesses
from tileas_xdsl.layouts.banks import SHARED
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET, SWIZZLES, row_major, swizzled
from tileas_xdsl.targets.chips import Feature, can, nearest_older
from tileas_xdsl.targets.engines import Family

VECTOR_BYTES = 16
"""The most that one lane accesses at once."""


CP_ASYNC_BYTES = (16, 8, 4)
"""The widths of cp.async (PTX ISA)."""

MOST_AXES, MOST_ELEMENTS, INNER_BYTES = 5, 256, 16
"""A box of TMA has at most 5 axes and 256 elements along each; its innermost axis is a multiple of 16 bytes."""
SWIZZLED_BYTES = 128
"""A swizzle permutes chunks within so many bytes, all banks of shared memory: a box that has one is a multiple."""

TIERS = {"ldg": (70, 90), "stg": (70, 90), Family.CP_ASYNC: (80,), "tma_load": (90,), "tma_store": (90,)}
"""Family -> the compute capabilities after which its instructions are named, oldest first."""


@dataclass(frozen=True)
class CopyAtom:
    """One way to move a tile."""

    family: str
    """`ldg`, `stg`, `cp_async`, `tma_load` or `tma_store`."""
    width: int = 0
    """The bytes that a lane moves at once; 0 for TMA."""
    box: tuple[int, ...] = ()
    """What TMA moves at once, in elements; outermost axis first."""
    transactions: int = 0
    """How often shared memory is accessed for the tile: wavefronts, or boxes."""
    registers: int = 0
    """How many registers a thread holds on the way from memory to memory."""

    @property
    def score(self) -> float:
        """What the tile costs by this atom."""
        return score(self.transactions, 0, self.registers)

    def label(self, capability: int, element: str) -> str:
        """The name of the atom on a target: `sm90_tma_load_2d_f16`."""
        tier = nearest_older(capability, TIERS[self.family])
        size = f"{len(self.box)}d" if self.box else str(self.width * (1 if self.family == Family.CP_ASYNC else 8))
        return f"sm{tier}_{self.family}_{size}_{element}"


def score(transactions: int, tensor_cycles: int, registers: int) -> float:
    """
    The published figure of merit, lowest wins: accesses of shared memory, cycles of tensor memory for each row, live
    registers.
    """
    return transactions + 4 * tensor_cycles + 0.25 * registers


def best(atoms: Sequence[CopyAtom]) -> CopyAtom:
    """The atom with the lowest score; of equal ones that with fewer registers, then the first."""
    return min(atoms, key=lambda atom: (atom.score, atom.registers))


# Global memory and registers ------------------------------------------------------------------------------------------


def vectors(family: str, layout: LinearLayout, element_bits: int, aligned: int) -> list[CopyAtom]:
    """
    The accesses by which threads move a tile between their registers and global memory, widest first. `aligned`: the
    bytes of which each row of the tile begins at a multiple. Raises `LayoutError` where elements that share a byte
    belong to several threads.
    """
    memory = row_major(layout.shape)
    most = min(VECTOR_BYTES, max(aligned, element_bits // 8), _row_bytes(layout.shape, element_bits))
    found = [a.width for a in accesses(layout, memory, element_bits) if a.kind == "plain" and a.width <= most]
    if not found:
        raise LayoutError(f"a row of {_row_bytes(layout.shape, element_bits)} bytes is less than one access")
    return [CopyAtom(family, width) for width in sorted(set(found), reverse=True)]


def _row_bytes(shape: Sequence[int], element_bits: int) -> int:
    return max(1, (shape[-1] if shape else 1) * element_bits // 8)


# Global and shared memory ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transfer:
    """A tile between global and shared memory: what is known of both ends, and who moves it."""

    memory: LinearLayout
    """How it lies in shared memory."""
    element_bits: int
    aligned: int
    """The bytes of which each row of the tile begins at a multiple in global memory."""
    capability: int
    threads: int
    by_tma: bool = True
    """Whether TMA may be asked for it."""

    @property
    def bytes(self) -> int:
        return max(1, (self.element_bits << self.memory.output_bits) // 8)

    @property
    def neighbours(self) -> int:
        """How many bytes that are neighbours along a row of the tile are neighbours in shared memory, in order."""
        steps = self.memory.images(OFFSET)
        along = self._along_row(len(steps))
        count = 0
        while count < len(along) and steps[count] == along[count] and not self._elsewhere(steps, along, count):
            count += 1
        return max(1, (self.element_bits << count) // 8)

    def _along_row(self, most: int) -> tuple[int, ...]:
        """The packed distances 1, 2, 4, ... along a row."""
        if not self.memory.outputs:
            return ()
        start = self.memory.output_bits - self.memory.outputs[-1][1]
        return tuple(1 << bit for bit in range(start, self.memory.output_bits))[:most]

    @staticmethod
    def _elsewhere(steps: Sequence[int], along: Sequence[int], number: int) -> bool:
        """Whether another bit of the offset leads along the row at this distance, too: then the order changes."""
        return any(step & along[number] for other, step in enumerate(steps) if other != number)

    @property
    def vector(self) -> int:
        """The widest access that fits both ends, in bytes."""
        return min(VECTOR_BYTES, self.neighbours, max(self.aligned, self.element_bits // 8))

    @property
    def wavefronts(self) -> int:
        """Those of all threads that access the tile in shared memory in order."""
        return max(1, self.bytes // SHARED.row)

    @property
    def registers(self) -> int:
        """How many a thread holds of a tile that goes through registers."""
        return max(1, self.bytes // (4 * self.threads))


def into_shared(transfer: Transfer) -> list[CopyAtom]:
    """The ways to load a tile into shared memory."""
    return [
        *_boxes("tma_load", transfer),
        *_asynchronous(transfer),
        CopyAtom("ldg", transfer.vector, (), transfer.wavefronts, transfer.registers),
    ]


def out_of_shared(transfer: Transfer) -> list[CopyAtom]:
    """The ways to store a tile that lies in shared memory."""
    registers = CopyAtom("stg", transfer.vector, (), transfer.wavefronts, transfer.registers)
    return [*_boxes("tma_store", transfer), registers]


def is_stored_by_tma(transfer: Transfer) -> bool:
    """Whether TMA is the best way to store a tile that lies in shared memory."""
    return best(out_of_shared(transfer)).family == "tma_store"


def _asynchronous(transfer: Transfer) -> Iterator[CopyAtom]:
    if not can(transfer.capability, Feature.CP_ASYNC):
        return
    for width in CP_ASYNC_BYTES:
        if width <= transfer.vector:
            yield CopyAtom(Family.CP_ASYNC, width, (), transfer.wavefronts)


def _boxes(family: str, transfer: Transfer) -> Iterator[CopyAtom]:
    if not can(transfer.capability, Feature.TMA) or not transfer.by_tma:
        return
    box = box_of(transfer.memory, transfer.element_bits)
    if box is not None:
        pieces = transfer.memory.shape[-1] // box[-1]
        yield CopyAtom(family, 0, box, pieces)


def fits_in_boxes(shape: Sequence[int], element_bits: int) -> bool:
    """Whether TMA can move a tile of these extents, in one box or in several."""
    if not 1 <= len(shape) <= MOST_AXES or not all(1 <= extent <= MOST_ELEMENTS for extent in shape):
        return False
    return shape[-1] * element_bits % (8 * INNER_BYTES) == 0


@lru_cache(maxsize=1024)
def box_of(memory: LinearLayout, element_bits: int) -> tuple[int, ...] | None:
    """
    The box by which TMA writes a tile in this layout; None where it does not write it. Rows that are narrower than the
    swizzle lie as far apart as it is wide, which no layout of a tile says: those are packed.
    """
    shape = memory.shape
    if not fits_in_boxes(shape, element_bits):
        return None
    times = memory.input_size(OFFSET) >> memory.output_bits
    for width in sorted(SWIZZLES):
        if shape[-1] * element_bits >= 8 * width and swizzled(shape, element_bits, width, times=times) == memory:
            inner = min(shape[-1], 8 * width // element_bits) if width else shape[-1]
            return (*shape[:-1], inner)
    return None
