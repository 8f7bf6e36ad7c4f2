"""
Who fills the slots of pipelines, who reads them, and which products give them back.

    %a, %read = consumer_read %got, %it          %a = nv_tileas.view %slots[%slot]
    async.dot %a, %b, %c                   ->    async.dot %a, %b, %c
    async.wait %done                             nvvm.tcgen05.commit %empty             by one thread
    consumer_release %read

Where only products of `tcgen05` read a ring, a commit behind the last of them gives its slot back, when it is complete.
So nobody waits for it, and one thread alone takes part in the ring (PTX ISA, "tcgen05.commit").
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.threads.filling import copies_into, is_by_tma, multicast_of
from tileas_xdsl.analysis.threads.liveness import uses_of
from tileas_xdsl.analysis.threads.products import factors_of, is_in_tensor_memory, reads_shared_memory
from tileas_xdsl.analysis.threads.rings import Rings
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp


@dataclass(frozen=True)
class RingAccess:
    """How the slots of a ring are written and read."""

    fillers: tuple[ProduceOp, ...] = ()
    """The ops that fill them."""
    is_read_by_engine: bool = False
    """Whether the tensor core reads them itself."""
    returns: Mapping[AsyncDotOp, Sequence[ConsumerReadOp]] | None = None
    """By product: the reads whose slots it gives back. None where those who read the slots give them back."""

    @property
    def blocks(self) -> int:
        """How many blocks fill them together, each those of all."""
        return max((multicast_of(copy) for filler in self.fillers for copy in copies_into(filler)), default=1)

    @property
    def is_by_tma(self) -> bool:
        """Whether one thread fills them, by TMA."""
        return any(map(is_by_tma, self.fillers))


def ring_accesses(function: func.FuncOp, roots: PipelineRoots) -> dict[Operation, RingAccess]:
    """How each ring of a function is accessed, by its root."""
    fillers: dict[PipelineRoot, list[ProduceOp]] = {}
    for op in function.body.walk():
        for root in roots.all_of_op(op) if isinstance(op, ProduceOp | ConsumerReadOp) else ():
            fillers.setdefault(root, []).extend([op] if isinstance(op, ProduceOp) else [])
    read = _read_by_engine(function)
    returned = _returned(function, roots)
    return {root.op: RingAccess(tuple(ops), root.key in read, returned.get(root.key)) for root, ops in fillers.items()}


def _read_by_engine(function: func.FuncOp) -> set[Hashable]:
    """The rings whose slots the tensor core reads, under whatever names, by their keys."""
    rings = Rings(function)
    products = [op for op in function.body.walk() if isinstance(op, DotOp | AsyncDotOp) and reads_shared_memory(op)]
    return {slots.ring for op in products for operand in factors_of(op) for slots in rings.of_tile(operand)}


# Slots that products give back ----------------------------------------------------------------------------------------

Returns = dict[AsyncDotOp, list[ConsumerReadOp]]


def _returned(function: func.FuncOp, roots: PipelineRoots) -> dict[Hashable, Returns]:
    """By key of the rings that only products with sums in tensor memory read: what each gives back."""
    found: dict[Hashable, Returns] = {}
    others: set[Hashable] = set()
    for op in function.body.walk():
        if not isinstance(op, ConsumerReadOp):
            continue
        last = _last_product(op)
        for root in roots.all_of_op(op):
            if last is None or not op.is_abstract:
                others.add(root.key)
            else:
                found.setdefault(root.key, {}).setdefault(last, []).append(op)
    return {key: returns for key, returns in found.items() if key not in others}


def _last_product(read: ConsumerReadOp) -> AsyncDotOp | None:
    """The last product that reads a slot, where only products in the block of the read do; else None."""
    users = [use.operation for value in read.value_results for use in uses_of(value)]
    products = [
        user
        for user in users
        if isinstance(user, AsyncDotOp) and user.parent is read.parent and is_in_tensor_memory(user)
    ]
    if not products or len(products) < len(users):
        return None
    last = products[0]
    for each in products:
        last = each if last.is_before_in_block(each) else last
    return last


def returned_rings(function: func.FuncOp, roots: PipelineRoots) -> set[Hashable]:
    """The keys of the rings whose slots products give back."""
    return set(_returned(function, roots))
