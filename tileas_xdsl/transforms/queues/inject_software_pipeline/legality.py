"""
Whether stages and orders keep every dependence.

Component `x` runs iteration `j` at time `(j + stage, order)`. A conflict from `p` in iteration `j` to `c` in iteration
`j + d` goes forward when `p` is earlier: `s_p < s_c + d`, or `s_p = s_c + d` and `o_p < o_c`. A buffer whose reads
the same iteration has not all written before has no versions, so its conflicts between iterations count. The texts of
TVM's errors are kept, since people search for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.component_conflicts import ComponentConflict
from tileas_xdsl.analysis.thread_dependence import differs_between_threads
from tileas_xdsl.diagnostics import Diagnostic, RefusedError, Severity, op_name, refuse
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import Annotations
from tileas_xdsl.transforms.queues.inject_software_pipeline.buffers import Buffers
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import LoopBody, placements_of


def check_nesting(body: LoopBody, annotations: Annotations) -> None:
    """Raises `RefusedError` for an asynchronous component that itself issues, commits or waits."""
    for number, component in enumerate(body.components):
        if not annotations.is_async(number):
            continue
        for op in component.walk():
            if isinstance(op, ScopeOp | CommitOp | WaitOp):
                refuse(
                    component,
                    f"is asynchronous, in stage {annotations.stages[number]}, and holds '{op_name(op)}': Nested async "
                    "scopes not supported",
                    "put the component into a stage that is not asynchronous, or its asynchronous part into a "
                    "component of its own",
                )


def check_conflicts(
    body: LoopBody, annotations: Annotations, conflicts: Sequence[ComponentConflict], buffers: Buffers
) -> None:
    """Raises `RefusedError` for the first conflict that would run backward."""
    placements = placements_of(annotations)
    for conflict in conflicts:
        if not placements[conflict.source].precedes(placements[conflict.sink], conflict.distance):
            _refuse_conflict(body, annotations, conflict, buffers)


def _way_out_of_versions(buffer: object, conflict: ComponentConflict) -> str:
    """
    What lets iterations have versions of `buffer`, which only the loop uses. Where threads share the copies, the text
    of one thread cannot show that together they write all that is read.
    """
    if isinstance(buffer, SSAValue) and any(
        isinstance(operand.type, IndexType) and differs_between_threads(operand)
        for use in buffer.uses
        for operand in use.operation.operands
    ):
        return (
            f"if all threads together write in each iteration what it reads, allocate {conflict.through} in the body "
            "of the loop, which gives each iteration a buffer of its own; or put both statements into one stage"
        )
    return "write all of the buffer in each iteration before reading it, or put both statements into one stage"


def _refuse_conflict(
    body: LoopBody, annotations: Annotations, conflict: ComponentConflict, buffers: Buffers
) -> NoReturn:
    source, sink = conflict.source, conflict.sink
    component = body.components[sink]
    early, late = annotations.stages[sink], annotations.stages[source]
    if conflict.distance == 0 and early < late:
        refuse(
            component,
            f"statement {sink} in stage {early} cannot depends on statement {source} in a later stage {late}: "
            f"{conflict}",
            f"give statement {sink} stage {late} or a later one",
        )
    if conflict.distance == 0:
        refuse(
            component,
            "two statements with buffer access dependency in the same stage of the software pipeline cannot be "
            f"reordered: statement {sink} would run before statement {source}, both in stage {late}: {conflict}",
            f"give statement {source} a lower order than statement {sink}",
        )
    latest = early + conflict.distance
    buffer = conflict.through.key if conflict.through is not None else None
    uncovered = next((read for value, read in buffers.uncovered.items() if value is buffer), None)
    if uncovered is not None:
        reason = (
            f"may read what an earlier iteration left in {conflict.through}, so iterations can't have versions of "
            f"their own, and statement {sink} in stage {early} would run before what it depends on, statement {source} "
            f"of an earlier iteration in stage {late}: {conflict}"
        )
        raise RefusedError([Diagnostic(Severity.ERROR, uncovered, reason, _way_out_of_versions(buffer, conflict))])
    if conflict.through is None:
        refuse(
            component,
            f"statement {sink} in stage {early} would run before statement {source} of an earlier iteration in stage "
            f"{late}, and one of them holds an op of which nothing is known: {conflict}",
            "put both statements into one stage, or use ops that say what they read and write",
        )
    refuse(
        component,
        f"statement {sink} in stage {early} would run before what it depends on, statement {source} of an earlier "
        f"iteration in stage {late}: {conflict}",
        f"give statement {source} at most stage {latest - 1}, or stage {latest} and an order below that of statement "
        f"{sink}; or use the buffer in this loop alone and write all of it in each iteration before reading it, so "
        "that iterations can have versions of their own",
    )
