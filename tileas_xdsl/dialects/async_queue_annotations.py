"""
The three annotations by which a loop asks to be pipelined: reading and checking.

    scf.for %i = %c0 to %n step %c1 {
      async_queue.block { ... }            // component 0: copies, two iterations ahead, asynchronously on queue 0
      async_queue.block { ... }            // component 1: computes
    } {software_pipeline_stage = array<i64: 0, 2>,
       software_pipeline_order = array<i64: 0, 1>,
       software_pipeline_async_stages = array<i64: 0>}

They are those of TVM RFC 0077 ("Asynchronous stage in software pipeline"), as discardable attributes of an `scf.for`,
so that stock `xdsl-opt` and MLIR carry them. What the lists alone determine is checked here, with TVM's error texts
where it has one. What needs the loop's body (the number of components, their dependences) is checked by the pass, which
calls `require_components`.

`double_buffer_scope` is checked against the memrefs that the body may write. `block` has only its body's effects;
`scope`, `commit` and `wait` read and write memory at large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import I64, DenseArrayBase, i64
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from tileas_xdsl.diagnostics import refuse, warn

STAGE = "software_pipeline_stage"
"""
One number for each component, its stage `s`: in slot `t` it works on iteration `t - s`.
"""

ORDER = "software_pipeline_order"
"""One number for each component: its place among the others in a slot; together a permutation."""

ASYNC_STAGES = "software_pipeline_async_stages"
"""Stage values whose components are asynchronous. The queue's id is the stage value."""

KEYS = (STAGE, ORDER, ASYNC_STAGES)


@dataclass(frozen=True)
class Annotations:
    """A well-formed request: as many stages as orders, orders that are a permutation, stages that are not negative."""

    stages: tuple[int, ...]
    """The stage of each component, in iterations."""
    order: tuple[int, ...]
    """The place of each component in a slot."""
    async_stages: tuple[int, ...] = ()
    """The asynchronous stages, ascending; each is the stage of some component."""

    @property
    def last_stage(self) -> int:
        """The number of prologue slots and of epilogue slots, in iterations; 0 without components."""
        return max(self.stages, default=0)

    @property
    def emission(self) -> tuple[int, ...]:
        """The components in the order in which a slot runs them."""
        return tuple(sorted(range(len(self.order)), key=self.order.__getitem__))

    def is_async(self, component: int) -> bool:
        """Whether `component` is only issued in its slot."""
        return self.stages[component] in self.async_stages


def is_annotated(op: Operation) -> bool:
    """Whether `op` asks to be pipelined: it carries stages or orders, well-formed or not."""
    return STAGE in op.attributes or ORDER in op.attributes


def annotate(loop: Operation, annotations: Annotations) -> None:
    """Write `annotations` on `loop`, replacing any that it has."""
    erase_annotations(loop)
    loop.attributes[STAGE] = DenseArrayBase.from_list(i64, annotations.stages)
    loop.attributes[ORDER] = DenseArrayBase.from_list(i64, annotations.order)
    if annotations.async_stages:
        loop.attributes[ASYNC_STAGES] = DenseArrayBase.from_list(i64, annotations.async_stages)


def erase_annotations(loop: Operation) -> None:
    """Remove the three annotations; other attributes stay."""
    for key in KEYS:
        loop.attributes.pop(key, None)


def read_annotations(loop: Operation) -> Annotations | None:
    """
    The annotations of `loop`, or None when it does not ask to be pipelined.

    Raises `RefusedError` on the loop for a wrong type, a missing list, lists of different length, orders that are no
    permutation, negative stages, a loop other than `scf.for`, and a loop that carries values. Warns of an asynchronous
    stage that no component has, and of asynchronous stages without stages and orders, which have no effect.
    """
    if not is_annotated(loop):
        if ASYNC_STAGES in loop.attributes:
            warn(
                loop,
                f"has {ASYNC_STAGES} alone, which does nothing",
                f"add {STAGE} and {ORDER}, or remove it",
            )
        return None
    _check_loop(loop)
    stages, order = _read(loop, STAGE), _read(loop, ORDER)
    async_stages = _read(loop, ASYNC_STAGES) or ()
    if stages is None or order is None:
        missing, present, subject = (STAGE, ORDER, "Stage") if stages is None else (ORDER, STAGE, "Order")
        refuse(
            loop,
            f"has {present} but no {missing}: {subject} of the software pipeline is not defined.",
            f"add {missing} with one number for each component",
        )
    _check_lists(loop, stages, order)
    return Annotations(stages, order, _known_stages(loop, stages, async_stages))


def require_components(loop: Operation, annotations: Annotations, components: Sequence[str]) -> None:
    """
    Check that the lists have one entry for each of `components`, the names of the loop's statements.

    A nested annotated loop counts as three components. Raises `RefusedError` on the loop, naming the components.
    """
    if len(components) == len(annotations.stages):
        return
    named = ", ".join(f"{index}: {name}" for index, name in enumerate(components)) or "none"
    refuse(
        loop,
        f"has {len(components)} components ({named}), but pipeline annotation is "
        f"{list(annotations.stages)} with different size",
        f"give {STAGE} and {ORDER} {len(components)} entries each; a nested pipelined loop counts as three components",
    )


def _check_loop(loop: Operation) -> None:
    if not isinstance(loop, scf.ForOp):
        refuse(
            loop,
            "cannot be software pipelined: only a sequential loop can",
            "put the annotations on an scf.for",
        )
    if loop.iter_args:
        refuse(
            loop,
            f"carries {len(loop.iter_args)} values from iteration to iteration, and components of a software pipeline "
            "talk through memory only",
            "keep the carried values in a memref",
        )


def _read(loop: Operation, key: str) -> tuple[int, ...] | None:
    """The list under `key`, or None when there is none."""
    value = loop.attributes.get(key)
    if value is None:
        return None
    if not isa(value, DenseArrayBase[I64]):
        refuse(
            loop,
            f"has {key} = {value}, which is not a list of 64-bit integers",
            f"write {key} = array<i64: 0, 1>",
        )
    return value.get_values()


def _check_lists(loop: Operation, stages: tuple[int, ...], order: tuple[int, ...]) -> None:
    if len(stages) != len(order):
        refuse(
            loop,
            f"has {len(stages)} entries in {STAGE} and {len(order)} in {ORDER}, with different size",
            "give both one entry for each component",
        )
    for component, stage in enumerate(stages):
        if stage < 0:
            refuse(
                loop,
                f"puts component {component} in stage {stage}, and a stage is not negative",
                "count stages from the earliest, 0, upwards",
            )
    for place, uses in sorted(Counter(order).items()):
        if not 0 <= place < len(order):
            refuse(
                loop,
                f"has order {place}, which is outside 0 to {len(order) - 1}",
                f"make {ORDER} a permutation of 0 to {len(order) - 1}",
            )
        if uses > 1:
            refuse(
                loop,
                f"uses order {place} {uses} times: Two statements in the software pipeline cannot have the same order",
                f"make {ORDER} a permutation of 0 to {len(order) - 1}",
            )


def _known_stages(loop: Operation, stages: Sequence[int], async_stages: Sequence[int]) -> tuple[int, ...]:
    """The asynchronous stages that occur among `stages`, once each; warns of the others."""
    known = set(stages)
    for stage in sorted(set(async_stages) - known):
        warn(
            loop,
            f"names stage {stage} in {ASYNC_STAGES}, and no component is in that stage",
            f"the list holds stage values, not numbers of components; the stages here are {sorted(known)}",
        )
    return tuple(sorted(known & set(async_stages)))
