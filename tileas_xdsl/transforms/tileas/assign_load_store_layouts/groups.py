"""
The choice of instructions: one for each access, of one kind for all loads that fill a pipeline.

Nothing here changes IR.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.diagnostics import Diagnostic, Severity
from tileas_xdsl.dialects.nv_tileas.attributes import AtomAttr, AtomFamily
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.layout import has_six_bit_floats
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.dialects.tiles.types import element_type_of
from tileas_xdsl.layouts.atoms import VECTOR_BYTES, CopyAtom, Transfer, best, into_shared, out_of_shared, vectors
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.targets.engines import Engine, Family
from tileas_xdsl.transforms.tileas.assign_load_store_layouts.accesses import Access, access_of
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.atoms import TMA, pads_for_tma

NO_COMMON_KIND = " can not find common memKind among pipeline alias group\n"
"""What TileAS says, byte for byte: the blank in front and the line break belong to it."""

KINDS = {
    "tma_load": Engine.TMA,
    "tma_store": Engine.TMA,
    Family.CP_ASYNC: Engine.CP_ASYNC,
    "ldg": "registers",
    "stg": "registers",
}
"""Family -> how the tile travels, and its arrival is counted."""

BOUND_KINDS = {
    AtomFamily.TMA_LOAD: Engine.TMA,
    AtomFamily.LDGSTS: Engine.CP_ASYNC,
    AtomFamily.LDG: "registers",
    AtomFamily.UNKNOWN_COPY: "registers",
}


@dataclass(frozen=True)
class Known:
    """What the options and the target say."""

    capability: int
    warps: int
    row_alignment: int


@dataclass
class Choice:
    """What is to be bound in a function, and what stands against it."""

    atoms: list[tuple[Access, AtomAttr]] = field(default_factory=list[tuple[Access, AtomAttr]])
    remarks: list[tuple[Operation, str, str]] = field(default_factory=list[tuple[Operation, str, str]])
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def bind(self, access: Access, atom: CopyAtom, known: Known) -> None:
        if access.atom is None:
            self.atoms.append((access, _attribute(atom, access, known)))

    def refuse(self, op: Operation, message: str, way_out: str, *, verbatim: bool = False) -> None:
        self.errors.append(Diagnostic(Severity.ERROR, op, message, way_out, verbatim))


@dataclass
class AliasGroup:
    """What one pipeline carries: the memories in which its tiles lie, and the loads that fill it."""

    first: Operation
    spaces: dict[str, Operation] = field(default_factory=dict[str, Operation])
    loads: list[Access] = field(default_factory=list[Access])


def choose(function: Operation, known: Known) -> Choice:
    """The atoms of a function's accesses, or why there is none for some."""
    choice = Choice()
    groups, alone = _grouped(function)
    for group in groups:
        _choose_for_group(group, known, choice)
    for access in alone:
        _choose_for(access, known, choice)
    return choice


def _grouped(function: Operation) -> tuple[list[AliasGroup], list[Access]]:
    """The pipelines of a function, and the accesses that fill none."""
    roots, groups = PipelineRoots(), dict[object, AliasGroup]()
    alone: list[Access] = []
    for op in function.walk():
        if isinstance(op, RegionOp) and (root := roots.of_op(op)) is not None:
            group = groups.setdefault(root.key, AliasGroup(op))
            for space in filter(None, map(space_of, _tiles_in(op))):
                group.spaces.setdefault(space, op)
        access = access_of(op)
        if access is None:
            continue
        around = _filled_by(op) if access.is_load and access.is_shared else None
        root = roots.of_op(around) if around is not None else None
        if root is None or around is None:
            alone.append(access)
        else:
            groups.setdefault(root.key, AliasGroup(around)).loads.append(access)
    return list(groups.values()), alone


def _tiles_in(op: RegionOp) -> Iterable[Attribute]:
    """The types of what an op puts into a slot or finds there."""
    return (*(op.payload or ()), *(value.type for value in op.value_results))


def _filled_by(op: Operation) -> RegionOp | None:
    """The op whose stage a load fills: the nearest around it."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, RegionOp):
        parent = parent.parent_op()
    return parent


# Candidates -----------------------------------------------------------------------------------------------------------


def _choose_for_group(group: AliasGroup, known: Known, choice: Choice) -> None:
    """One kind for all loads."""
    if len(group.spaces) > 1:
        where = ", ".join(group.spaces)
        way_out = f"the tiles of this pipeline lie in {where}: let them lie in one memory"
        choice.refuse(group.first, NO_COMMON_KIND, way_out, verbatim=True)
        return
    if not group.loads:
        return
    offers = [_by_kind(_candidates(load, known), load) for load in group.loads]
    common = [kind for kind in offers[0] if all(kind in offer for offer in offers)]
    if not common:
        found = "; ".join(dict.fromkeys(" or ".join(offer) for offer in offers))
        way_out = f"the loads into this pipeline go by {found}: leave their atoms out, or let them agree"
        choice.refuse(group.first, NO_COMMON_KIND, way_out, verbatim=True)
        return
    kind = min(common, key=lambda kind: sum(offer[kind].score for offer in offers))
    for load, offer in zip(group.loads, offers, strict=True):
        choice.bind(load, offer[kind], known)
        _tell_of_detour(load, offer[kind], known, choice)


def _by_kind(atoms: Sequence[CopyAtom], access: Access) -> dict[str, CopyAtom]:
    """The best atom of each kind. An access that has an atom goes by its kind alone."""
    found: dict[str, list[CopyAtom]] = {}
    for atom in atoms:
        found.setdefault(KINDS[atom.family], []).append(atom)
    bests = {kind: best(its) for kind, its in found.items()}
    if not isinstance(access.atom, AtomAttr):
        return bests
    kind = BOUND_KINDS.get(access.atom.family) if access.atom.family is not None else None
    return {} if kind is None else {kind: bests.get(kind, CopyAtom(access.atom.label.data))}


def _choose_for(access: Access, known: Known, choice: Choice) -> None:
    try:
        atom = best(_candidates(access, known))
    except LayoutError as error:
        choice.refuse(access.op, f"has no atom for {access.tile.type}: {error}", "give the tile another layout")
        return
    choice.bind(access, atom, known)
    if access.is_load and access.is_shared:
        _tell_of_detour(access, atom, known, choice)


def _candidates(access: Access, known: Known) -> list[CopyAtom]:
    """The instructions that can move the tile."""
    aligned = access.aligned(known.row_alignment)
    if not access.is_shared:
        return vectors("ldg" if access.is_load else "stg", access.layout, access.element_bits, aligned)
    transfer = _transfer(access, known, aligned)
    return into_shared(transfer) if access.is_load else out_of_shared(transfer)


def _transfer(access: Access, known: Known, aligned: int) -> Transfer:
    return Transfer(
        memory=access.layout,
        element_bits=access.element_bits,
        aligned=aligned,
        capability=known.capability,
        threads=known.warps * WARP_SIZE,
        by_tma=access.in_rows
        and aligned == VECTOR_BYTES
        and _has_bytes_for_tma(access)
        and pads_for_tma(access.op)
        and _asks_for_tma(access.op),
    )


def _has_bytes_for_tma(access: Access) -> bool:
    """Whether TMA puts each element where the layout says; floats of 6 bits it packs."""
    return not has_six_bit_floats(access.tile.type)


def _asks_for_tma(op: Operation) -> bool:
    """Whether the op that a load fills a stage for leaves TMA open."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ProduceOp):
        parent = parent.parent_op()
    return parent is None or parent.producer_kind is None or parent.producer_kind.data == TMA


def _tell_of_detour(access: Access, atom: CopyAtom, known: Known, choice: Choice) -> None:
    """A load goes through registers that could be asynchronous if rows were known to be aligned."""
    if atom.family != "ldg" or access.atom is not None or not access.in_rows:
        return
    better = into_shared(_transfer(access, known, VECTOR_BYTES))
    if any(other.family == Family.CP_ASYNC for other in better):
        message = "goes through registers: rows of the array do not begin at multiples of 4 bytes, as cp.async needs"
        choice.remarks.append((access.op, message, "pad the rows of the array to a multiple of 16 bytes"))


def _attribute(atom: CopyAtom, access: Access, known: Known) -> AtomAttr:
    label = atom.label(known.capability, str(element_type_of(access.tile.type)))
    return AtomAttr.of(label, **({"box": DenseArrayBase.from_list(i64, list(atom.box))} if atom.box else {}))
