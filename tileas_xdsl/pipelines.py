"""
Which pass runs when: the TileAS family as data, why the order is what it is, and the driver pass `tileir`.

`FAMILY` lists all passes of TileAS in the order in which they run, those that are not built yet included; `ORDER` says
of two passes that one must run before the other, and why. The driver runs what there is. Nothing here rewrites IR.

The capability gate on block-scaled multiplication stands in `tileir`, where queue programs become pipelines; what the
IR says of its target wins over the option.

`schedule-strategy` is an option of ours, and the driver asks for the cost-based schedule on every target.
`enable-random-delay` is refused still.

`layouts` is off unless it is asked for (`tileas compile` asks for it on the way to machine code). Layouts are for tiles
whose extents are powers of two, so as a default it would refuse programs that the driver takes; and the pages on
schedules show what scheduling does to code whose products take their operands wherever they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import model_of_target, refuse_block_scaling
from tileas_xdsl.dialects.async_queue_annotations import KEYS
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.names import PASSES, loaders
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.transforms.rewriting.choices import ChoosingPass

Strategy = Literal["none", "unspecialize", "warp-specialize"]

ALWAYS: tuple[Strategy, ...] = ("none", "unspecialize", "warp-specialize")
PIPELINED: tuple[Strategy, ...] = ("unspecialize", "warp-specialize")


@dataclass(frozen=True)
class FamilyPass:
    """One pass of the family, the strategies under which it runs, and what the driver hands on to it."""

    name: str
    strategies: tuple[Strategy, ...] = ALWAYS
    options: tuple[tuple[str, str], ...] = ()
    """Options of the pass, each with the option of the driver that sets it."""
    switch: str | None = None
    """The option of the driver that asks for it; None where the strategy alone decides."""
    to_threads: tuple[Strategy, ...] | None = None
    """The strategies under which it runs on the way to threads, where these are others."""

    @property
    def exists(self) -> bool:
        return self.name in PASSES


TARGET = (("compute_capability", "compute_capability"),)
TARGET_AND_WARPS = (*TARGET, ("num_warps", "num_warps"))

FAMILY = (
    FamilyPass("tileas-persist-programs", ALWAYS, (("rows", "group_programs"), ("blocks", "blocks")), "persistent"),
    FamilyPass("tileas-queue-to-pipeline"),
    FamilyPass("tileas-split-agent-groups", ALWAYS, (), "threads"),
    FamilyPass("tileas-hoist-guarded-loads", PIPELINED),
    FamilyPass("tileas-stage-plain-tiles", PIPELINED, (), "threads"),
    # Nobody schedules compact stages under `none`, and threads take loads as they are.
    FamilyPass("tileas-materialize-async", ALWAYS, (("agents", "stages_agents"),), to_threads=PIPELINED),
    FamilyPass("tileas-group-programs", ALWAYS, (("rows", "group_programs"),), "group_programs"),
    FamilyPass("tileas-dynamic-persistent", ALWAYS, (), "dynamic_persistent"),
    FamilyPass("tileas-fold-views", ALWAYS, (), "threads"),
    FamilyPass("tileas-assign-layouts", ALWAYS, TARGET_AND_WARPS, "layouts"),
    FamilyPass("tileas-remove-layout-conversions", ALWAYS, (), "layouts"),
    FamilyPass("tileas-materialize-convert-layout", ALWAYS, (("compute_capability", "compute_capability"),)),
    FamilyPass("tileas-assign-load-store-layouts", ALWAYS, TARGET_AND_WARPS),
    FamilyPass("tileas-remove-layout-conversions", ALWAYS, (), "layouts"),
    FamilyPass("tileas-legalize-tmem-copy", ALWAYS, TARGET_AND_WARPS),
    FamilyPass(
        "tileas-prepare-for-scheduling",
        PIPELINED,
        (("compute_capability", "compute_capability"), ("sub_tiles", "sub_tiles"), ("agents", "keeps_agents")),
    ),
    FamilyPass(
        "tileas-generate-schedule",
        PIPELINED,
        (
            ("compute_capability", "compute_capability"),
            ("strategy", "schedule_strategy"),
            ("num_stages", "unspecialized_pipeline_num_stages"),
            ("rrt_size_threshold", "rrt_size_threshold"),
            ("max_constraint_iterations", "max_constraint_iterations"),
            ("schedule_trace_file", "schedule_trace_file"),
            ("agents", "keeps_agents"),
            ("under_load", "under_load"),
            ("num_warps", "num_warps"),
            ("blocks", "blocks"),
        ),
    ),
    FamilyPass("tileas-assign-buffers", PIPELINED, (("compute_capability", "compute_capability"),)),
    FamilyPass(
        "tileas-materialize-schedule",
        PIPELINED,
        (("compute_capability", "compute_capability"), ("use_AUS", "use_aus"), ("blocks", "blocks")),
    ),
    FamilyPass("tileas-unroll-register-loops"),
    FamilyPass(
        "tileas-unspecialized-pipeline",
        ("unspecialize",),
        (("num_stages", "unspecialized_pipeline_num_stages"),),
    ),
    FamilyPass("tileas-optimize-pipeline-region", PIPELINED),
    FamilyPass("tileas-remove-dead-work", PIPELINED),
    FamilyPass("propagate-execution-unit", PIPELINED),
    FamilyPass("optimize-execution-unit-mapping", PIPELINED),
    FamilyPass("tileas-plan-cta", ALWAYS, (("num_ctas", "num_ctas"),), "has_clusters"),
    FamilyPass("tileas-resolve-agent-boundary"),
    FamilyPass("tileas-slicing"),
    FamilyPass("sink-negf-through-shapes"),
    FamilyPass("tileas-insert-OCG-knobs"),
    FamilyPass("tileas-single-steps", ALWAYS, (), "threads"),
    FamilyPass("lower-tma-load-store-to-async", ALWAYS, (), "threads"),
    FamilyPass("tileas-attach-tma-desc-args", ALWAYS, (), "threads"),
    FamilyPass("convert-nv-tile-func-to-llvm", ALWAYS, (*TARGET, ("blocks", "blocks")), "threads"),
    FamilyPass("tileas-place-accumulators", ALWAYS, (), "threads"),
    FamilyPass("tileas-place-tiles", ALWAYS, TARGET, "threads"),
    FamilyPass("tileas-order-accesses", ALWAYS, (("remarks", "remarks"),), "threads"),
    FamilyPass("convert-pipeline-to-nvvm", ALWAYS, TARGET, "threads"),
    FamilyPass("convert-nv-tileas-to-llvm", ALWAYS, TARGET, "threads"),
)
"""The TileAS passes in the order in which they run."""

ORDER = (
    ("tileas-persist-programs", "tileas-materialize-async", "loads are staged in the loop over the programs"),
    ("tileas-persist-programs", "tileas-group-programs", "programs that a block computes in turn come in groups, too"),
    ("tileas-queue-to-pipeline", "tileas-materialize-async", "the async rewrite finds pipelines, not queues"),
    ("tileas-queue-to-pipeline", "tileas-split-agent-groups", "queues say how many agents take from them, by groups"),
    ("tileas-split-agent-groups", "tileas-prepare-for-scheduling", "loops get schedules in regions of one agent"),
    ("tileas-queue-to-pipeline", "tileas-hoist-guarded-loads", "what agents load stays where it was asked for"),
    ("tileas-hoist-guarded-loads", "tileas-materialize-async", "a load in a branch is not made asynchronous"),
    ("tileas-hoist-guarded-loads", "tileas-stage-plain-tiles", "a load that leaves its branch becomes a stage, too"),
    ("tileas-stage-plain-tiles", "tileas-materialize-async", "slots of pipelines lie in memory"),
    ("tileas-materialize-async", "tileas-materialize-schedule", "the schedule is materialised on tokens and stages"),
    ("tileas-group-programs", "tileas-dynamic-persistent", "each program that a block takes over is put in order, too"),
    ("tileas-dynamic-persistent", "tileas-generate-schedule", "the persistent loop is part of what is scheduled"),
    (
        "tileas-fold-views",
        "tileas-assign-load-store-layouts",
        "loads and stores are bound by the arrays that they name",
    ),
    ("tileas-materialize-async", "tileas-assign-layouts", "the tiles in the slots of pipelines get layouts, too"),
    ("tileas-assign-layouts", "tileas-remove-layout-conversions", "it puts a conversion wherever two layouts meet"),
    ("tileas-assign-layouts", "tileas-materialize-convert-layout", "conversions are made between layouts to the bit"),
    (
        "tileas-remove-layout-conversions",
        "tileas-materialize-convert-layout",
        "what cancels out is not made; it runs again behind, for what the layouts of loads and stores leave over",
    ),
    ("tileas-materialize-convert-layout", "tileas-unroll-register-loops", "it marks the roots of the loops to unroll"),
    ("tileas-materialize-convert-layout", "tileas-legalize-tmem-copy", "it makes the copies that are legalised"),
    ("tileas-materialize-convert-layout", "tileas-assign-load-store-layouts", "its atom_plan is read there"),
    (
        "tileas-materialize-convert-layout",
        "tileas-materialize-schedule",
        "it adds ops, so stage counts are final after it",
    ),
    ("tileas-prepare-for-scheduling", "tileas-generate-schedule", "schedules are made for prepared loops"),
    ("tileas-materialize-async", "tileas-prepare-for-scheduling", "its compact pipelines become rings there"),
    ("tileas-generate-schedule", "tileas-assign-buffers", "rings are as deep as the schedule asks for"),
    ("tileas-assign-buffers", "tileas-materialize-schedule", "its records say how many slots there are"),
    ("tileas-assign-buffers", "tileas-unspecialized-pipeline", "its records say how many slots there are"),
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
    (
        "tileas-optimize-pipeline-region",
        "tileas-remove-dead-work",
        "what the former leaves alone: nested regions, asynchronous forms, waits that another one covers",
    ),
    ("tileas-materialize-schedule", "optimize-execution-unit-mapping", "it maps the agents that are made there"),
    ("tileas-materialize-schedule", "propagate-execution-unit", "it marks what runs in the agents that are made there"),
    ("sink-negf-through-shapes", "tileas-insert-OCG-knobs", "the knobs are the last word"),
    ("tileas-plan-cta", "tileas-insert-OCG-knobs", "the knobs are the last word"),
    (
        "tileas-unspecialized-pipeline",
        "lower-tma-load-store-to-async",
        "stages are made of loads, and rings have slots",
    ),
    ("tileas-unspecialized-pipeline", "tileas-single-steps", "what it overlaps are compact stages"),
    ("tileas-single-steps", "lower-tma-load-store-to-async", "what fills a stage by TMA takes its slot as an argument"),
    ("lower-tma-load-store-to-async", "tileas-attach-tma-desc-args", "it makes the descriptors, and numbers them"),
    ("tileas-attach-tma-desc-args", "convert-nv-tileas-to-llvm", "threads copy by descriptors that are arguments"),
    ("convert-nv-tile-func-to-llvm", "tileas-place-tiles", "the warps that run each op are known"),
    ("lower-tma-load-store-to-async", "tileas-place-tiles", "what is left of loads is done by threads"),
    (
        "tileas-unspecialized-pipeline",
        "tileas-place-accumulators",
        "schedules move products whose sums are values; tiles in tensor memory are changed in place",
    ),
    ("convert-nv-tile-func-to-llvm", "tileas-place-accumulators", "functions are those of `func` by then"),
    ("tileas-place-accumulators", "tileas-place-tiles", "what a product still reads is known by its token"),
    ("tileas-place-accumulators", "tileas-order-accesses", "it is known which sums threads load and store"),
    ("tileas-place-tiles", "tileas-order-accesses", "it is known which tiles share bytes"),
    (
        "tileas-order-accesses",
        "convert-pipeline-to-nvvm",
        "hand-overs of slots are still one op each",
    ),
    ("convert-nv-tile-func-to-llvm", "convert-pipeline-to-nvvm", "functions carry the kernel attributes by then"),
    ("convert-pipeline-to-nvvm", "convert-nv-tileas-to-llvm", "threads have no pipelines, only barriers and slots"),
)
"""(before, after, why): the first pass must run before the second. A test holds `FAMILY` against it."""


@dataclass(frozen=True)
class Demand:
    """
    An option of the driver that needs the pass `needed`, or (None) a pass that reads it, when it is set to `value`, or
    to anything but its default.
    """

    option: str
    needed: str | None
    value: str | None = None

    def is_made_by(self, driver: TileIRPass) -> bool:
        """Whether the options of `driver` make the demand."""
        chosen = getattr(driver, self.option)
        if self.value is not None:
            return chosen == self.value
        return chosen != TileIRPass.__dataclass_fields__[self.option].default

    def spelled_for(self, driver: TileIRPass) -> str:
        """The option as it is written in a pass pipeline."""
        chosen = getattr(driver, self.option)
        if isinstance(chosen, bool):
            chosen = str(chosen).lower()
        elif isinstance(chosen, str) and self.value is None:
            chosen = f'"{chosen}"'
        return f"{self.option.replace('_', '-')}={chosen}"


DEMANDS = (
    Demand("pipeline_strategy", "tileas-materialize-schedule", "warp-specialize"),
    Demand("pipeline_strategy", "tileas-unspecialized-pipeline", "unspecialize"),
    Demand("enable_random_delay", None),
    Demand("index_bitwidth", None),
    Demand("opt_level", None),
    Demand("v2_opt_level", None),
)
"""The pass that each option needs. The error names the first option whose pass is missing."""


STRATEGY_HELP: dict[Strategy, str] = {
    "none": "no pipelining optimization",
    "unspecialize": "do pipelining for unspecialized flow",
    "warp-specialize": "do pipelining for warp specialized flow",
}
"""What each strategy does, in the words of TileAS' driver (docs/verbatim.md)."""


@dataclass(frozen=True)
class TileIRPass(ChoosingPass):
    """
    Run the TileAS passes in order, as far as they exist.

    Rewrites: what the passes of `FAMILY` rewrite.
    Requires: IR in the dialects nv_tileaa and nv_tileas.
    Refuses: a strategy or an option whose pass does not exist yet; options that contradict each other; an unknown
    target or schedule strategy, before anything is rewritten; block-scaled multiplication on a target without it; and
    what the passes refuse.

    Options, defaults and help texts are those of TileAS' driver (docs/verbatim.md).
    """

    name = "tileir"

    DESCRIPTION: ClassVar[str] = "Run the TileAS pass family"

    num_warps: int = field(default=4, metadata={"help": "number of warps"})
    num_ctas: int = field(default=1, metadata={"help": "number of ctas in a cga"})
    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "compute capability"})
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
    schedule_strategy: str = field(
        default="cost-based", metadata={"help": "how loops are scheduled: cost-based, fast, serial, default or none"}
    )
    sub_tiles: int = field(
        default=1, metadata={"help": "1, or 2: into how many tiles of fewer rows products are split"}
    )
    layouts: bool = field(
        default=False, metadata={"help": "give every tile a layout to the bit, and bind loads and stores"}
    )
    threads: bool = field(
        default=False, metadata={"help": "lower tile code to what each thread does; it needs layouts"}
    )
    dynamic_persistent: bool = field(default=False, metadata={"help": "Enable dynamic persistent transformation"})
    persistent: bool = field(
        default=False, metadata={"help": "launch as many blocks as there is room for, each for many programs"}
    )
    blocks: int = field(default=1, metadata={"help": "blocks that a multiprocessor holds at a time"})
    under_load: bool = field(
        default=False,
        metadata={"help": "let loads come in time if all multiprocessors load at once, where that is measured"},
    )
    group_programs: int = field(
        default=0,
        metadata={"help": "rows of programs in a group that follow each other in time; 0: in the order of the grid"},
    )
    schedule_trace_file: str = field(
        default="", metadata={"help": "where a Chrome timeline trace of the schedule goes"}
    )
    remarks: bool = field(default=False, metadata={"help": "remark on each barrier and fence what it orders"})
    enable_random_delay: bool = field(default=False, metadata={"help": "enable random delay"})

    @property
    def has_clusters(self) -> bool:
        """Whether blocks form clusters."""
        return self.num_ctas > 1

    @property
    def use_aus(self) -> bool:
        """Whether one agent is asked for, also where the program has several."""
        return self.pipeline_strategy == "unspecialize"

    @property
    def keeps_agents(self) -> bool:
        """Whether the agents that the program has are kept, and their loops get stages."""
        return self.pipeline_strategy == "warp-specialize"

    @property
    def stages_agents(self) -> bool:
        """Whether loads in the loops of agents become stages: threads have none but those of rings."""
        return not self.threads

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for step in self.steps_on(op):
            step.apply(ctx, op)
            op.verify()

    def steps_on(self, module: ModuleOp) -> list[ModulePass]:
        """The passes that `apply` runs on `module`. Raises `PassFailedException` for what the driver refuses."""
        self.refuse_unbuilt_options()
        self.refuse_contradictions()
        refuse_block_scaling(module, self.compute_capability)
        self.refuse_unknown_target()
        if self.pipeline_strategy in PIPELINED:
            self._refuse_unknown_choices(module)
        return self.steps()

    def refuse_unbuilt_options(self) -> None:
        """Raises `PassFailedException` for an option that no pass reads yet, or whose pass does not exist yet."""
        for demand in DEMANDS:
            if demand.needed not in PASSES and demand.is_made_by(self):
                problem = "is read by no pass yet"
                if demand.needed is not None:
                    problem = f"needs the pass {demand.needed}, which does not exist yet"
                raise PassFailedException(f"tileir: {demand.spelled_for(self)} {problem}; leave the option out")

    def refuse_contradictions(self) -> None:
        """Raises `PassFailedException` for an option that needs a schedule where no loop gets one."""
        if self.pipeline_strategy in PIPELINED:
            return
        for option in ("schedule_strategy", "schedule_trace_file"):
            chosen = getattr(self, option)
            if chosen != TileIRPass.__dataclass_fields__[option].default:
                raise PassFailedException(
                    f"tileir: {option.replace('_', '-')}={chosen} and pipeline-strategy={self.pipeline_strategy} "
                    "contradict each other: without pipelining no loop is scheduled; leave one of them out"
                )

    def refuse_unknown_target(self) -> None:
        """Raises `PassFailedException`, with the targets that there are, for a target that does not exist."""
        try:
            machine_model(self.compute_capability)
        except ValueError as error:
            raise PassFailedException(f"tileir: unknown compute-capability: {error}") from None

    def _refuse_unknown_choices(self, module: ModuleOp) -> None:
        """What the scheduler would refuse after other passes have rewritten the module."""
        from tileas_xdsl.transforms.tileas.generate_schedule import STRATEGIES

        if self.schedule_strategy not in STRATEGIES:
            raise PassFailedException(
                f"tileir: unknown schedule-strategy '{self.schedule_strategy}'; choose one of {', '.join(STRATEGIES)}"
            )
        for function in functions_in(module):
            model_of_target(function, self.compute_capability)

    def steps(self) -> list[ModulePass]:
        """The passes that exist and run under the strategy, with their options."""
        return [self._instance(member) for member in FAMILY if member.exists and self._asks_for(member)]

    def _asks_for(self, member: FamilyPass) -> bool:
        switched_on = member.switch is None or bool(getattr(self, member.switch))
        others = member.to_threads if self.threads else None
        return switched_on and self.pipeline_strategy in (member.strategies if others is None else others)

    def _instance(self, member: FamilyPass) -> ModulePass:
        pass_type = loaders("transforms", PASSES)[member.name]()
        return pass_type(**{option: getattr(self, source) for option, source in member.options})


def steps_to_llvm(module: ModuleOp, threads: int) -> Iterator[ModulePass]:
    """
    The passes behind the family, down to `llvm`: annotated loops, then queues, then what is left; in this order. What
    the module has none of when its turn comes is not even loaded.
    """
    passes = loaders("transforms", PASSES)
    if any(key in op.attributes for op in module.walk() for key in KEYS):
        yield passes["inject-software-pipeline"]()()
    if any(op.dialect_name() == "async_queue" for op in module.walk()):
        yield passes["convert-queue-to-nvvm"]()()
    yield passes["convert-to-llvm"]()(threads=threads)
    yield passes["convert-nvvm-to-llvm"]()()
