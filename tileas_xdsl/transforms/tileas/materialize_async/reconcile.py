"""
The reconciler of TileASMaterializeAsync: do all producers of a pipeline agree?

A wait for a stage is lowered by what fills it: a barrier for TMA, a group of copies, nothing at all. So one pipeline
has one family of instructions, and one type of slot. Peeling and staging clone producers; clones agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.diagnostics import Diagnostic, Severity
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ProducerWriteOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType, is_token
from tileas_xdsl.dialects.nv_tileas.verification import type_list
from tileas_xdsl.transforms.tileas.materialize_async.classify import producer_kind

TWO_WRITERS = (
    "there are two `produce-one-like` operations using different instructions to generate data into the same "
    "pipeline. It's a bug of MaterializeAsync Pass."
)
"""TileAS' own text, byte for byte (docs/verbatim.md)."""


def disagreements(function: Operation, kinds: Mapping[Operation, str | None]) -> list[Diagnostic]:
    """
    The errors of the pipelines of `function`, at most one for each pipeline.

    `kinds` are the families of the produce ops that are about to be rewritten, as they will be. Looks at every root:
    each allocation (`create_pipeline`) and each implicit pipeline.
    """
    roots = PipelineRoots()
    writers: dict[PipelineRoot, list[ProduceOp | ProducerWriteOp]] = {}
    for op in function.walk():
        if isinstance(op, ProduceOp | ProducerWriteOp) and (root := roots.of_op(op)) is not None:
            writers.setdefault(root, []).append(op)
    found = (_disagreement(ops, kinds) for ops in writers.values())
    return [diagnostic for diagnostic in found if diagnostic is not None]


def _disagreement(
    writers: Sequence[ProduceOp | ProducerWriteOp], kinds: Mapping[Operation, str | None]
) -> Diagnostic | None:
    family: str | None = None
    payload: tuple[Attribute, ...] | None = None
    iterator: Attribute | None = None
    for op in writers:
        own_family = _family(op, kinds)
        if own_family is not None:
            family = own_family if family is None else family
            if own_family != family:
                return Diagnostic(Severity.ERROR, op, TWO_WRITERS, verbatim=True)
        own_payload = _payload(op)
        if own_payload:
            payload = own_payload if payload is None else payload
            if own_payload != payload:
                return _incoherent(op, f"a slot of {type_list(own_payload)}", type_list(payload))
        stage = op.stage
        if stage is not None and isinstance(stage.type, PipelineIteratorType):
            iterator = stage.type if iterator is None else iterator
            if stage.type != iterator:
                return _incoherent(op, f"the slot of {stage.type}", str(iterator))
    return None


def _family(op: ProduceOp | ProducerWriteOp, kinds: Mapping[Operation, str | None]) -> str | None:
    if not isinstance(op, ProduceOp):
        return None
    return kinds[op] if op in kinds else producer_kind(op)


def _payload(op: ProduceOp | ProducerWriteOp) -> tuple[Attribute, ...]:
    """What `op` itself puts into the slot: nothing where an op in its region does, or where it does not say."""
    if op.payload:
        return op.payload
    values = op.yielded or (op.values if isinstance(op, ProducerWriteOp) else ())
    types = tuple(value.type for value in values if not isinstance(value.type, PipelineIteratorType))
    return () if any(is_token(type_) for type_ in types) else types


def _incoherent(op: Operation, own: str, other: str) -> Diagnostic:
    return Diagnostic(
        Severity.ERROR,
        op,
        f"fills {own} in a pipeline that another op fills with {other}",
        "give all producers of a pipeline the same payload and the same type of iterator",
    )
