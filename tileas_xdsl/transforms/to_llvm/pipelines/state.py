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
from tileas_xdsl.transforms.to_llvm.building import Structured
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
class PipelineCode(Structured[Sequence[SSAValue]]):
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
    computed: dict[tuple[Block, SSAValue, int], Sequence[SSAValue]] = field(
        default_factory=dict[tuple[Block, SSAValue, int], Sequence[SSAValue]]
    )
    """Slot and parity of a number that names a stage, by where they are and for how many slots."""

    @staticmethod
    def types_for(type_: Attribute) -> Sequence[Attribute]:
        """An iterator is the number of a slot and a parity, a token a number of a slot."""
        if isinstance(type_, PipelineIteratorType):
            return [i32, i32]
        return [i32] if is_ownership_token(type_) else [type_]

    def form_of(self, type_: Attribute, parts: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return parts

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        return self.forms[value]

    def give(self, value: SSAValue, parts: Sequence[SSAValue]) -> None:
        """`parts` stand for `value` from now on."""
        self.forms[value] = parts
        self.name(value, parts)

    def name(self, value: SSAValue, parts: Sequence[SSAValue]) -> None:
        for part, end in zip(parts, ("", "_parity"), strict=False):
            part.name_hint = part.name_hint or (f"{value.name_hint}{end}" if value.name_hint else None)

    def copy(self, op: Operation) -> None:
        """Build the same op on what stands for its operands."""
        used = (value for inner in op.walk() for value in inner.operands)
        made = op.clone({value: self.of(value) for value in used if len(self.forms.get(value, ())) == 1})
        self.forms.update({old: [new] for old, new in zip(op.results, self.insert(made).results, strict=True)})

    def lower(self, op: Operation) -> None:
        """Build what stands for an op: by its rule, or the same op."""
        with self.standing_for(op):
            RULES.get(type(op), _copied)(op, self)

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


def _copied(op: Operation, code: PipelineCode) -> None:
    code.copy(op)
