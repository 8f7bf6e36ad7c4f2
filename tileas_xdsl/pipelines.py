"""
Which pass runs when: the TileAS family as data, why the order is what it is, and the driver pass `tileir`.

`FAMILY` is the whole road (spec/tileas-passes.md 2.3), also where it is not built yet; `ORDER` says of two passes that
one must run before the other, and why. The driver runs what there is. Nothing here rewrites IR.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import refuse_block_scaling
from tileas_xdsl.names import PASSES, loaders

Strategy = Literal["none", "unspecialize", "warp-specialize"]

ALWAYS: tuple[Strategy, ...] = ("none", "unspecialize", "warp-specialize")
PIPELINED: tuple[Strategy, ...] = ("unspecialize", "warp-specialize")


@dataclass(frozen=True)
class Step:
    """One pass of the family, and the strategies under which it runs."""

    name: str
    strategies: tuple[Strategy, ...] = ALWAYS

    @property
    def exists(self) -> bool:
        return self.name in PASSES


FAMILY = (
    Step("tileas-queue-to-pipeline"),
    Step("tileas-materialize-async"),
    Step("tileas-dynamic-persistent"),
    Step("tileas-materialize-convert-layout"),
    Step("tileas-assign-load-store-layouts"),
    Step("lower-tma-load-store-to-async"),
    Step("tileas-attach-tma-desc-args"),
    Step("tileas-legalize-tmem-copy"),
    Step("tileas-prepare-for-scheduling"),
    Step("tileas-generate-schedule", PIPELINED),
    Step("tileas-materialize-schedule", PIPELINED),
    Step("tileas-unroll-register-loops"),
    Step("tileas-unspecialized-pipeline", ("unspecialize",)),
    Step("tileas-optimize-pipeline-region", PIPELINED),
    Step("optimize-execution-unit-mapping", PIPELINED),
    Step("tileas-plan-cta"),
    Step("tileas-resolve-agent-boundary"),
    Step("tileas-slicing"),
    Step("sink-negf-through-shapes"),
    Step("tileas-insert-OCG-knobs"),
    Step("convert-nv-tile-func-to-llvm"),
    Step("convert-pipeline-to-nvvm"),
    Step("convert-nv-tileas-to-llvm"),
)
"""The TileAS passes in the order in which they run."""

ORDER = (
    ("tileas-queue-to-pipeline", "tileas-materialize-async", "the async rewrite finds pipelines, not queues"),
    ("tileas-materialize-async", "tileas-materialize-schedule", "the schedule is materialised on tokens and stages"),
    ("tileas-dynamic-persistent", "tileas-generate-schedule", "the persistent loop is part of what is scheduled"),
    ("tileas-materialize-convert-layout", "tileas-unroll-register-loops", "it marks the roots of the loops to unroll"),
    ("tileas-materialize-convert-layout", "tileas-legalize-tmem-copy", "it makes the copies that are legalised"),
    ("tileas-materialize-convert-layout", "tileas-assign-load-store-layouts", "its atom_plan is read there"),
    (
        "tileas-materialize-convert-layout",
        "tileas-materialize-schedule",
        "it adds ops, so stage counts are final after it",
    ),
    ("tileas-prepare-for-scheduling", "tileas-generate-schedule", "schedules are made for prepared loops"),
    ("tileas-generate-schedule", "tileas-materialize-schedule", "nothing in between may drop the schedule"),
    (
        "tileas-materialize-schedule",
        "tileas-unspecialized-pipeline",
        "the expander takes tagged loops that are not peeled",
    ),
    (
        "tileas-unspecialized-pipeline",
        "tileas-optimize-pipeline-region",
        "regions are final then; its bit 2 is the gate",
    ),
    ("tileas-materialize-schedule", "optimize-execution-unit-mapping", "it maps the agents that are made there"),
    ("sink-negf-through-shapes", "tileas-insert-OCG-knobs", "the knobs are the last word"),
    ("tileas-plan-cta", "tileas-insert-OCG-knobs", "the knobs are the last word"),
    ("convert-nv-tile-func-to-llvm", "convert-pipeline-to-nvvm", "functions carry the kernel attributes by then"),
)
"""(before, after, why): spec/tileas-passes.md section 19. A test holds `FAMILY` against it."""


STRATEGY_HELP: dict[Strategy, str] = {
    "none": "no pipelining optimization",
    "unspecialize": "do pipelining for unspecialized flow",
    "warp-specialize": "do pipelining for warp specialized flow",
}
"""What each strategy does, in the words of the original driver."""


@dataclass(frozen=True)
class TileIRPass(ModulePass):
    """
    Run the TileAS passes in order, as far as they exist.

    Rewrites: what the passes of `FAMILY` rewrite.
    Requires: IR in the dialects nv_tileaa and nv_tileas.
    Refuses: a strategy or an option whose pass does not exist yet; block-scaled multiplication on a target without it;
    and what the passes refuse.

    Options and defaults are those of the original driver (spec/tileas-passes.md 2.1).
    """

    name = "tileir"

    DESCRIPTION: ClassVar[str] = "Run the TileAS pass family"

    num_warps: int = field(default=4, metadata={"help": "number of warps"})
    num_ctas: int = field(default=1, metadata={"help": "number of ctas in a cga"})
    compute_capability: str = field(default="sm_80", metadata={"help": "compute capability"})
    opt_level: int = field(
        default=2,
        metadata={
            "help": "Optimization level for NVVM compilation. Please notice that the default value is 2 and can be "
            "set from 0 to 3."
        },
    )
    v2_opt_level: int = field(default=0, metadata={"help": "Optimization level for tile_ir V2 pass pipeline."})
    pipeline_strategy: Strategy = field(
        default="none", metadata={"help": "Select the strategy of pipelining optimization."}
    )
    index_bitwidth: int = field(
        default=32, metadata={"help": "Bitwidth of the index type, 0 to use size of machine word."}
    )
    unspecialized_pipeline_num_stages: int = field(
        default=4, metadata={"help": "numStages for unspecialized pipeline pass."}
    )
    rrt_size_threshold: int = field(
        default=4096, metadata={"help": "quantise the reservation table beyond this many time slots; 0 = never"}
    )
    max_constraint_iterations: int = field(
        default=10, metadata={"help": "iteration cap of resource-constraint generation"}
    )
    dynamic_persistent: bool = field(default=False, metadata={"help": "Enable dynamic persistent transformation"})
    schedule_trace_file: str = field(
        default="", metadata={"help": "where a Chrome timeline trace of the schedule goes"}
    )
    enable_random_delay: bool = field(default=False, metadata={"help": "enable random delay"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.refuse_unbuilt_options()
        refuse_block_scaling(op, self.compute_capability)
        for step in self.steps():
            step.apply(ctx, op)
            op.verify()

    def refuse_unbuilt_options(self) -> None:
        """Raises `PassFailedException` for an option that asks for a pass which does not exist yet."""
        for option, needed in self.asked_for():
            if needed not in PASSES:
                raise PassFailedException(
                    f"tileir: {option} needs the pass {needed}, which does not exist yet; leave the option out"
                )

    def asked_for(self) -> list[tuple[str, str]]:
        """The options that differ from what happens anyway, each with the pass that it needs."""
        asked: list[tuple[str, str]] = []
        if self.pipeline_strategy == "warp-specialize":
            asked.append(("pipeline-strategy=warp-specialize", "tileas-materialize-schedule"))
        if self.pipeline_strategy == "unspecialize":
            asked.append(("pipeline-strategy=unspecialize", "tileas-unspecialized-pipeline"))
        if self.dynamic_persistent:
            asked.append(("dynamic-persistent=true", "tileas-dynamic-persistent"))
        scheduler = "tileas-generate-schedule"
        if self.schedule_trace_file:
            asked.append((f'schedule-trace-file="{self.schedule_trace_file}"', scheduler))
        if self.enable_random_delay:
            asked.append(("enable-random-delay=true", scheduler))
        if self.rrt_size_threshold != 4096:
            asked.append((f"rrt-size-threshold={self.rrt_size_threshold}", scheduler))
        if self.max_constraint_iterations != 10:
            asked.append((f"max-constraint-iterations={self.max_constraint_iterations}", scheduler))
        if self.num_ctas != 1:
            asked.append((f"num-ctas={self.num_ctas}", "tileas-plan-cta"))
        if self.num_warps != 4:
            asked.append((f"num-warps={self.num_warps}", "convert-nv-tile-func-to-llvm"))
        if self.index_bitwidth != 32:
            asked.append((f"index-bitwidth={self.index_bitwidth}", "convert-nv-tileas-to-llvm"))
        if self.opt_level != 2 or self.v2_opt_level != 0:
            asked.append(("opt-level", "convert-nv-tileas-to-llvm"))
        return asked

    def steps(self) -> list[ModulePass]:
        """The passes that exist and run under the strategy, with their options."""
        return [
            self._instance(step.name) for step in FAMILY if step.exists and self.pipeline_strategy in step.strategies
        ]

    def _instance(self, name: str) -> ModulePass:
        pass_type = loaders("transforms", PASSES)[name]()
        if name == "tileas-unspecialized-pipeline":
            return pass_type(num_stages=self.unspecialized_pipeline_num_stages)  # pyright: ignore[reportCallIssue]
        return pass_type()
