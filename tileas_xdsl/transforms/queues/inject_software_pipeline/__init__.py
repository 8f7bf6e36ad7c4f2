"""
Make annotated loops into asynchronous software pipelines (TVM RFC 0077).

    scf.for %i = %c0 to %c16 step %c1 {              memref.alloc() : memref<2xf32>
      async_queue.block {                            // Prologue
        %v = memref.load %A[%i]                      async_queue.commit 0 {
        memref.store %v, %B[%c0]                       async_queue.scope { B[0] = A[0] }
      }                                              }
      async_queue.block {                            // Body
        %v = memref.load %B[%c0]                     scf.for %i = %c0 to %c15 step %c1 {
        memref.store %v, %C[%i]             ->         async_queue.commit 0 {
      }                                                  async_queue.scope { B[(i + 1) mod 2] = A[i + 1] }
    } {software_pipeline_stage = array<i64: 0, 1>,     }
       software_pipeline_order = array<i64: 0, 1>,     async_queue.wait 0, 1 { C[i] = B[i mod 2] }
       software_pipeline_async_stages                }
         = array<i64: 0>}                            // Epilogue
                                                     async_queue.wait 0, 0 { C[15] = B[1] }

`components.py` brings the body into shape, `plan.py` decides (`buffers.py`, and the arithmetic of
`scheduling/async_pipeline`), `emission.py` carries the plan out through the loop expander. All work is done on drafts
of the functions, which take their places when everything went well: a refusal leaves the module as it was.

Source: TVM RFC 0077, "Asynchronous stage in software pipeline" (Masuda and Lin, 2022), and TVM's pass
`InjectSoftwarePipeline`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.async_queue import BlockOp
from tileas_xdsl.dialects.async_queue_annotations import (
    KEYS,
    Annotations,
    erase_annotations,
    read_annotations,
    require_components,
)
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import bring_into_shape
from tileas_xdsl.transforms.queues.inject_software_pipeline.emission import PipelinedLoop, emit_pipeline
from tileas_xdsl.transforms.queues.inject_software_pipeline.own_commits import find_own_queues, take_out_waits
from tileas_xdsl.transforms.queues.inject_software_pipeline.plan import SourceCapture, plan_pipeline
from tileas_xdsl.transforms.rewriting.choices import ChoosingPass


@dataclass(frozen=True)
class _Request:
    """An annotated loop of a function."""

    loop: scf.ForOp
    annotations: Annotations
    is_nested: bool
    """Whether it stands in another annotated loop."""
    first_queue: int


def _requests(function: Operation) -> list[_Request]:
    """
    The annotated loops of `function`, outer ones before inner ones. Raises `RefusedError` for a wrong annotation.

    A queue has the number of its stage. Inner loops, whose groups no outer count knows, go on behind the queues of the
    loops around and before them.
    """
    requests: list[_Request] = []
    around: dict[Operation, Operation] = {}
    next_queue: dict[Operation, int] = {}
    for op in function.walk():
        annotations = read_annotations(op)
        if annotations is None:
            continue
        assert isinstance(op, scf.ForOp)
        outermost = _outermost_of(op, around)
        around[op] = outermost
        first_queue = next_queue.get(outermost, 0)
        requests.append(_Request(op, annotations, outermost is not op, first_queue))
        if annotations.async_stages:
            next_queue[outermost] = first_queue + annotations.async_stages[-1] + 1
    return requests


def _outermost_of(loop: Operation, around: dict[Operation, Operation]) -> Operation:
    """The outermost annotated loop around `loop`; `around` knows that of each loop seen so far."""
    node = loop.parent_op()
    while node is not None:
        if node in around:
            return around[node]
        node = node.parent_op()
    return loop


def _block_behind(loop: scf.ForOp) -> BlockOp:
    """An empty block, to hold what becomes of a nested loop."""
    block = BlockOp(Region(Block()))
    block.location = loop.location
    Rewriter.insert_op(block, InsertPoint.after(loop))
    return block


def _gather(pipelined: PipelinedLoop, container: BlockOp) -> None:
    """Put prologue, body and epilogue of a nested pipeline into `container`, as three components of the loop around."""
    for op in pipelined.setup:
        op.detach()
        container.body.block.add_op(op)
    for part in pipelined.parts:
        for op in part:
            op.detach()
        block = BlockOp(Region(Block(part)))
        block.location = container.location
        container.body.block.add_op(block)


@dataclass(frozen=True)
class InjectSoftwarePipelinePass(ChoosingPass):
    """
    Software-pipeline annotated loops: prologue, body and epilogue, versioned buffers, commit groups and exact waits.

    Rewrites: an `scf.for` with `software_pipeline_stage` and `software_pipeline_order` (and, for asynchronous stages,
    `software_pipeline_async_stages`), as the module's docstring shows; nested ones first. Requires: a body of
    `async_queue.block`s and nested annotated loops, with `memref.alloc`, constants and index arithmetic between them.
    Refuses: annotations that are no schedule of the components, schedules that break a dependence or would need
    versions of a buffer that iterations share, asynchronous components that wait or commit.

    Choices
        Stages are counted from the lowest, so stages `[2, 5]` make a prologue of 3 slots and not of 5; the two idle
        slots at either end are slots of the body, with the same counts. The queue keeps the annotated number.

        A buffer whose accesses never meet an earlier iteration's (`B[i]`) gets no versions; TVM's pass, which looks at
        stages only, gives it some.

        An allocation in the body is taken to be written before it is read, as it is new in each iteration; one in front
        of the loop must be seen to be. Different function arguments do not alias.

        The parts of a nested asynchronous pipeline keep their order and count as touching what they issued until the
        last part is over, whatever their waits say.

        A commit under a condition on data is one that a synchronous component holds, written by hand. Its queue belongs
        to that component; waits for it in other components are found anew, those in the component stay. A nested
        pipeline waits for 0 there, since its parts share no values.

        The option `merge-waits` is ours; without it every consumer keeps the wait that is exact for it alone.
    """

    name = "inject-software-pipeline"

    DESCRIPTION: ClassVar[str] = "Software-pipeline annotated loops, with asynchronous stages waited for by counting"

    source_capture: SourceCapture = field(
        default="completion",
        metadata={"help": "when asynchronous work reads its sources: until it completes, or when it is issued"},
    )
    merge_waits: bool = field(
        default=True, metadata={"help": "let one wait serve several consumers of a slot where that is exact"}
    )
    dynamic_counts: bool = field(
        default=False,
        metadata={"help": "count at run time what a component commits under a condition, in place of waiting for all"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        drafts: list[tuple[Operation, Operation]] = []
        for function in functions_in(op):
            if not any(key in inner.attributes for inner in function.walk() for key in KEYS):
                continue
            draft = function.clone()
            if requests := _requests(draft):
                self._pipeline(requests)
                drafts.append((function, draft))
        for function, draft in drafts:
            for region, new in zip(function.regions, draft.regions, strict=True):
                for block in list(region.blocks):
                    region.erase_block(block, safe_erase=False)
                new.move_blocks(region)

    def _pipeline(self, requests: list[_Request]) -> None:
        """Pipeline the loops of a draft, inner ones first."""
        queued: dict[Operation, bool] = {}
        reserved = {request.first_queue + stage for request in requests for stage in request.annotations.async_stages}
        for request in reversed(requests):
            body = bring_into_shape(request.loop, queued)
            require_components(request.loop, request.annotations, body.names)
            own_queues = find_own_queues(body, request.annotations, queued, reserved)
            take_out_waits(body, own_queues, queued)
            plan = plan_pipeline(
                body,
                request.annotations,
                capture=self.source_capture,
                merge=self.merge_waits,
                own_queues=own_queues,
                first_queue=request.first_queue,
            )
            if not plan.units:
                erase_annotations(request.loop)
                continue
            container = _block_behind(request.loop) if request.is_nested else None
            # The parts of a nested pipeline become components, which share no values.
            pipelined = emit_pipeline(plan, dynamic_counts=self.dynamic_counts and container is None)
            if container is not None:
                _gather(pipelined, container)
                queued[container] = bool(plan.annotations.async_stages or own_queues)
