"""
Plans that take a tile from one set of registers to another: which elements move how, and what it costs.

Three ways, from the cheapest to the most general: registers are renamed or selected within each thread; lanes of a
warp exchange them (`exchange.py`); the tile goes through shared memory (`staging.py`). None is looked up: whether one
is possible, and how much it moves, follows from the two layouts.

The cost of a plan counts what one warp issues, in cycles, for each byte that it holds: a select of a 32-bit word, a
shuffle and a wavefront take one each, a barrier between writers and readers `BARRIER`. The first three are the
throughput of a multiprocessor's quarter that 32 lanes share (CUDA C++ Programming Guide, arithmetic instructions;
shared memory); the barrier is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tileas_xdsl.layouts.distributed import BLOCK, LANE, REGISTER
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.exchange import EXCHANGED_BITS, SHUFFLE_BITS, Exchange, exchange
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.staging import Staging, staging
from tileas_xdsl.targets.chips import chip_of

BARRIER = 30
REGISTERS, THROUGH_SHARED = 0, 1
"""The tags of plans."""


@dataclass(frozen=True)
class Abilities:
    """What a target and an option allow."""

    matrix_loads: bool = True
    """ldmatrix: from sm_75 on."""
    matrix_stores: bool = True
    """stmatrix: from sm_90 on."""
    shared_bytes: int = chip_of(90).shared_bytes
    """The shared memory that a block may take."""
    word_bits: int = SHUFFLE_BITS
    """How much one shuffle may carry for a lane."""


@dataclass(frozen=True)
class LayoutPlan:
    """One way; exactly one of `exchange` and `staging` is there."""

    cost: float
    """Cycles a warp for each byte that it gets."""
    exchange: Exchange | None = None
    staging: Staging | None = None

    @property
    def tag(self) -> int:
        """0: from register to register. 1: through shared memory."""
        return REGISTERS if self.exchange is not None else THROUGH_SHARED

    def __str__(self) -> str:
        if self.exchange is None:
            assert self.staging is not None
            write, read = self.staging.write.wavefronts, self.staging.read.wavefronts
            return f"through {self.staging.bytes} bytes of shared memory, {write} + {read} wavefronts a warp"
        if self.exchange.is_relabelling:
            return "by renaming registers"
        if self.exchange.moves_registers_only:
            return "by selecting registers within each thread"
        return f"by {self.exchange.shuffles} shuffles a warp"


@lru_cache(maxsize=1024)
def plans(
    source: LinearLayout, target: LinearLayout, element_bits: int, abilities: Abilities
) -> tuple[LayoutPlan, ...]:
    """
    All plans that become code, for a tile with elements of so many bits, cheapest first. Raises `LayoutError`, with
    the reasons, where there is none.
    """
    reasons: list[str] = []
    found: list[LayoutPlan] = []
    for attempt in (_by_exchange, _by_staging):
        try:
            found.append(attempt(source, target, element_bits, abilities))
        except LayoutError as error:
            reasons.append(str(error))
    if not found:
        raise LayoutError("; ".join(reasons))
    return tuple(sorted(found, key=lambda plan: plan.cost))


def _by_exchange(source: LinearLayout, target: LinearLayout, element_bits: int, abilities: Abilities) -> LayoutPlan:
    found = exchange(source, target, element_bits, abilities.word_bits)
    if not found.is_relabelling and element_bits not in EXCHANGED_BITS:
        raise LayoutError(f"lanes exchange no elements of {element_bits} bits")
    if not found.is_relabelling and not found.can_be_code:
        raise LayoutError("warps, or lanes that take from each other, would execute different instructions")
    words = max(1, target.input_size(REGISTER) * element_bits // SHUFFLE_BITS)
    selects = 0 if found.is_relabelling else words
    sent = 0 if found.moves_registers_only else found.shuffles + selects
    return LayoutPlan((selects + sent) / _bytes(target, element_bits), exchange=found)


def _by_staging(source: LinearLayout, target: LinearLayout, element_bits: int, abilities: Abilities) -> LayoutPlan:
    if source.images(BLOCK) != target.images(BLOCK):
        raise LayoutError("blocks share no shared memory")
    found = staging(
        source,
        target,
        element_bits,
        matrix_loads=abilities.matrix_loads,
        matrix_stores=abilities.matrix_stores,
    )
    if found.bytes > abilities.shared_bytes:
        raise LayoutError(f"staging takes {found.bytes} bytes of shared memory, and there are {abilities.shared_bytes}")
    return LayoutPlan((found.wavefronts + BARRIER) / _bytes(target, element_bits), staging=found)


def _bytes(layout: LinearLayout, element_bits: int) -> float:
    """The bytes that one warp holds."""
    return layout.input_size(REGISTER) * layout.input_size(LANE) * element_bits / 8
