"""
Which statements of a loop conflict, and at which distance.

Input: the statements of a loop body (`async_queue.block`s, in program order), and the number of versions of each buffer
that has versions. Output: `ComponentConflict`s. A conflict from `p` to `c` at distance `d` says that `p` in iteration
`j` and `c` in iteration `j + d` touch the same bytes, that at least one of them writes, and that `p` came first in the
sequential loop:

    B[0] = A[i]           0 -> 1 at distance 0: flow through B
    C[i] = B[0]           1 -> 0 at distance 1: anti through B; with 2 versions of B at distance 2
                          0 -> 0 at distance 1: output through B; with 2 versions of B at distance 2

Distances are the least possible. A greater distance follows from the least one, since completed work stays completed.
In a buffer with versions every iteration writes before it reads, so across iterations only a later write conflicts.

This differs from `analysis/dependence.py` in three ways. It looks through the scopes of `async_queue`, whose queues the
pipeline itself manages. It knows versions. It drops no edge that others imply, since asynchronous work is waited for
pair by pair. Quadratic in the number of different places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffect, RecursiveMemoryEffect

from tileas_xdsl.analysis.dependence import DependenceKind
from tileas_xdsl.analysis.distances import smallest_distance
from tileas_xdsl.analysis.induction import LoopIndices, static_trip_count
from tileas_xdsl.analysis.memory.accesses import AccessReader
from tileas_xdsl.analysis.memory.objects import MemoryRoot, ObjectKind, may_alias
from tileas_xdsl.analysis.memory.places import AccessPlace
from tileas_xdsl.dialects.async_queue import QueueScope, ScopeOp
from tileas_xdsl.interfaces import EffectResource

MOST_ROUNDS = 64
"""How many multiples of the number of versions are tried. Beyond that the answer is the first one, which is safe."""


COUNTED = MemoryRoot(ObjectKind.RESOURCE, EffectResource("the queues of one nested pipeline"))
"""The resource that orders the parts of one asynchronous pipeline: each counts the groups that the others commit."""


@dataclass(frozen=True)
class ComponentTouch:
    """A read or write of a place by a component."""

    component: int
    writes: bool
    place: AccessPlace
    opaque: bool = False
    """The access is made by an op whose effects are unknown."""
    late: bool = False
    """An earlier component started the access; it may go on until this component is done."""
    issued: bool = False
    """The access stands in an `async_queue.scope`, so it may go on after the component ends."""

    @property
    def buffer(self) -> SSAValue | None:
        """The allocation that is touched, where the access goes to exactly one; else None."""
        if self.opaque or len(self.place.objects) != 1:
            return None
        (target,) = self.place.objects
        return target.key if target.kind is ObjectKind.ALLOCATION and isinstance(target.key, SSAValue) else None


@dataclass(frozen=True)
class ComponentConflict:
    """`source` in iteration `j` before `sink` in iteration `j + distance`."""

    source: int
    sink: int
    distance: int
    kind: DependenceKind
    through: MemoryRoot | None
    """What both touch; None where an op whose effects are unknown takes part."""
    issued: bool = False
    """The access of `source` stands in an `async_queue.scope`."""

    def __str__(self) -> str:
        carrier = "unknown effects" if self.through is None else str(self.through)
        return f"{self.kind.value} through {carrier}, distance {self.distance}"


def leaves(component: Operation) -> Iterator[tuple[Operation, bool]]:
    """
    The innermost ops of `component`, in program order, each with whether it is issued rather than executed.

    Scopes, branches and loops only run their regions, so the walk descends into them.
    """
    stack = [(component, False)]
    while stack:
        op, issued = stack.pop()
        if not _only_runs_regions(op):
            yield op, issued
            continue
        issued = issued or isinstance(op, ScopeOp)
        nested = [inner for region in op.regions for block in region.blocks for inner in block.ops]
        stack.extend((inner, issued) for inner in reversed(nested))


def _only_runs_regions(op: Operation) -> bool:
    if isinstance(op, QueueScope):
        return True
    effects = op.get_traits_of_type(MemoryEffect)
    return bool(op.regions and effects) and all(isinstance(trait, RecursiveMemoryEffect) for trait in effects)


def touches_of(
    loop: scf.ForOp, components: Sequence[Operation], nests: Sequence[Sequence[int]] = ()
) -> list[ComponentTouch]:
    """
    What the components of `loop` touch, in program order: each place at most once as a read and once as a write.

    Each of `nests` lists the components that are the parts of one asynchronous pipeline. What a part issues may be in
    flight until the last part is done, so the later parts touch it late.
    """
    reader = AccessReader(LoopIndices(loop))
    later = {part: nest[index + 1 :] for nest in nests for index, part in enumerate(nest)}
    found: dict[ComponentTouch, None] = {}
    for number, component in enumerate(components):
        for op, issued in leaves(component):
            for access in reader.accesses_of(op):
                touch = ComponentTouch(number, access.writes, access.place, access.opaque, issued=issued)
                found[touch] = None
                for part in later.get(number, ()) if issued else ():
                    found[replace(touch, component=part, late=True)] = None
    return list(found)


# Conflicts ------------------------------------------------------------------------------------------------------------


def conflicts_between(
    loop: scf.ForOp,
    touches: Sequence[ComponentTouch],
    versions: Mapping[SSAValue, int],
    nests: Sequence[Sequence[int]] = (),
) -> tuple[ComponentConflict, ...]:
    """
    All conflicts, ordered by source, sink and distance. `versions` holds the buffers of which each iteration has its
    own version.

    The parts of each of `nests` conflict in their order: they share queues, and count each other's commits.
    """
    trips = static_trip_count(loop)
    found: dict[tuple[int, int, int, DependenceKind, bool], ComponentConflict] = {}
    for source in touches:
        for sink in touches:
            if (source.writes or sink.writes) and not sink.late and _may_meet(source, sink):
                for conflict in _conflicts(source, sink, versions, trips):
                    key = (conflict.source, conflict.sink, conflict.distance, conflict.kind, conflict.issued)
                    found.setdefault(key, conflict)
    for nest in nests:
        for first, second in pairwise(nest):
            control = ComponentConflict(first, second, 0, DependenceKind.CONTROL, COUNTED)
            found.setdefault((first, second, 0, DependenceKind.CONTROL, False), control)
    kinds = list(DependenceKind)
    return tuple(found[key] for key in sorted(found, key=lambda key: (*key[:3], kinds.index(key[3]), key[4])))


def meets_later(source: ComponentTouch, sink: ComponentTouch, trips: int | None) -> bool:
    """
    Whether the two may touch the same bytes, `sink` in a later iteration than `source`, if the buffer had one version.
    """
    return _distance(source, sink, 1, trips) is not None


def _may_meet(first: ComponentTouch, second: ComponentTouch) -> bool:
    if first.opaque or second.opaque:
        return True
    return any(may_alias(a, b, arguments_alias=False) for a in first.place.objects for b in second.place.objects)


def _conflicts(
    source: ComponentTouch, sink: ComponentTouch, versions: Mapping[SSAValue, int], trips: int | None
) -> Iterator[ComponentConflict]:
    if source.component < sink.component and _distance(source, sink, 0, trips) == 0:
        yield _conflict(source, sink, 0)
    buffer = source.buffer
    if buffer is not None and buffer in versions and sink.buffer is buffer:
        distance = _distance_between_versions(source, sink, versions[buffer], trips) if sink.writes else None
    else:
        distance = _distance(source, sink, 1, trips)
    if distance is not None:
        yield _conflict(source, sink, distance)


def _conflict(source: ComponentTouch, sink: ComponentTouch, distance: int) -> ComponentConflict:
    if source.opaque or sink.opaque:
        return ComponentConflict(
            source.component, sink.component, distance, DependenceKind.CONTROL, None, source.issued
        )
    shared = (item for item in source.place.objects if item in sink.place.objects)
    through = next(shared, source.place.objects[0])
    kind = DependenceKind.ANTI if not source.writes else DependenceKind.OUTPUT if sink.writes else DependenceKind.FLOW
    return ComponentConflict(source.component, sink.component, distance, kind, through, source.issued)


def _distance(source: ComponentTouch, sink: ComponentTouch, least: int, trips: int | None) -> int | None:
    if source.opaque or sink.opaque:
        return least if trips is None or least < trips else None
    return smallest_distance(source.place, sink.place, least, trips)


def _distance_between_versions(
    source: ComponentTouch, sink: ComponentTouch, versions: int, trips: int | None
) -> int | None:
    """
    The least multiple of `versions`, above 0, at which the two touch the same bytes; may be too small, never too large.
    """
    least = versions
    for _ in range(MOST_ROUNDS):
        distance = _distance(source, sink, least, trips)
        if distance is None:
            return None
        least = -(-distance // versions) * versions
        if least == distance:
            return distance
    return versions
