"""
What the rules work on: the function under way, and what stands for the values of pipelines.

    an iterator                    the number of its slot and the parity of its turn, i32 both
    a number that names a stage    itself; slot and parity are computed of it
    a token of a pipeline's end    the number of the slot that it holds, i32
    anything else                  itself
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType, is_ownership_token
from tileas_xdsl.transforms.to_llvm.building import Building
from tileas_xdsl.transforms.to_llvm.pipelines.filling import RingAccess
from tileas_xdsl.transforms.to_llvm.pipelines.participants import Arrivals
from tileas_xdsl.transforms.to_llvm.rule_table import RuleTable
from tileas_xdsl.transforms.to_llvm.warps import Warps

TABLE: RuleTable[PipelineCode] = RuleTable()
RULES, REFUSALS = TABLE.rules, TABLE.refusals
rule, refusal = TABLE.rule, TABLE.refusal

BARRIER_BYTES = 8
"""Of an mbarrier (PTX ISA, "Size and alignment of mbarrier object")."""


@dataclass(frozen=True)
class Ring:
    """A pipeline whose slots and barriers have been made."""

    place: Operation
    """What made the pipeline."""
    depth: int
    slots: tuple[SSAValue, ...]
    """For each tile of the payload, the storage of all slots."""
    barriers: SSAValue
    """The pointer to full[0]; behind them lie the empty ones."""
    access: RingAccess
    arrivals: Arrivals

    @property
    def full(self) -> int:
        """How many bytes behind `barriers` full[0] lies."""
        return 0

    @property
    def empty(self) -> int:
        """How many bytes behind `barriers` empty[0] lies."""
        return BARRIER_BYTES * self.depth


@dataclass
class PipelineCode(Building):
    """One function under way."""

    roots: PipelineRoots
    capability: int
    registers: int | None
    """With how many registers each thread starts; None where agents keep those."""
    warps: Warps
    """Who runs what is built now."""
    rings: dict[Hashable, Ring] = field(default_factory=dict[Hashable, Ring])
    idle: Collection[Operation] = ()
    """The waits for products that nothing needs."""
    first: SSAValue | None = None
    """Whether this thread is the first of `warps`; None where nobody asks."""
    plain: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What stands for values that stay one."""
    turns: dict[SSAValue, Sequence[SSAValue]] = field(default_factory=dict[SSAValue, Sequence[SSAValue]])
    """What stands for iterators and tokens."""
    computed: dict[tuple[Block, SSAValue, int], Sequence[SSAValue]] = field(
        default_factory=dict[tuple[Block, SSAValue, int], Sequence[SSAValue]]
    )
    """Slot and parity of a number that names a stage, by where they are and for how many slots."""

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """The SSA values that stand for a value, of the types that `types_for` gives."""
        return self.turns[value] if value in self.turns else [self.plain[value]]

    def all_parts(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Those of several values, one behind the other."""
        return [part for value in values for part in self.parts(value)]

    def give(self, value: SSAValue, parts: Sequence[SSAValue]) -> None:
        """`parts` stand for `value` from now on."""
        if is_of_pipeline(value.type):
            self.turns[value] = parts
        else:
            (self.plain[value],) = parts
        for part, end in zip(parts, ("", "_parity"), strict=False):
            part.name_hint = part.name_hint or (f"{value.name_hint}{end}" if value.name_hint else None)

    def bind(self, values: Sequence[SSAValue], found: Sequence[SSAValue]) -> None:
        """Values before the lowering, and the SSA values that stand for them, one behind the other."""
        start = 0
        for value in values:
            count = len(types_for(value.type))
            self.give(value, found[start : start + count])
            start += count

    def ring(self, value: SSAValue) -> Ring:
        """The pipeline of a token or an iterator."""
        root = self.roots.of(value)
        assert root is not None
        return self.rings[root.key]

    def by_first_thread(self, build: Callable[[], None]) -> None:
        """Do what `build` builds in one thread of those that run this."""
        assert self.first is not None
        self.when(self.first, build)


def is_of_pipeline(type_: Attribute) -> bool:
    """Whether values of this type say which slot of a pipeline is meant."""
    return isinstance(type_, PipelineIteratorType) or is_ownership_token(type_)


def types_for(type_: Attribute) -> Sequence[Attribute]:
    """The types of the SSA values that stand for a value of this type."""
    if isinstance(type_, PipelineIteratorType):
        return [i32, i32]
    return [i32] if is_ownership_token(type_) else [type_]


def all_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of all SSA values that stand for `values`."""
    return [kind for value in values for kind in types_for(value.type)]


def lower(op: Operation, code: PipelineCode) -> None:
    """Build what stands for an op: by its rule, or the same op on what stands for its operands."""
    with code.standing_for(op):
        if type(op) in RULES:
            RULES[type(op)](op, code)
        else:
            code.insert(op.clone(code.plain))


def lower_body(block: Block, code: PipelineCode) -> None:
    """Build what stands for the ops of a block; its arguments are bound already."""
    for op in block.ops:
        lower(op, code)
