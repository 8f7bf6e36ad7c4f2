"""
The registered names of dialects and passes, and the module that holds the code of each.

A row is two strings; the module is imported when the name is looked up. So the plug-in knows every name at the start of
`xdsl-opt` without having loaded anything, and `pipelines.py` can ask which passes exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

DIALECTS: dict[str, tuple[str, str]] = {
    "amdg": ("triton.amdg", "AMDG"),
    "async": ("async_", "Async"),
    "async_queue": ("async_queue", "AsyncQueue"),
    "async_region": ("async_region", "AsyncRegion"),
    "cuda_tile": ("cuda_tile.dialect", "CudaTile"),
    "cute": ("cute", "Cute"),
    "nv_tileaa": ("nv_tileaa.dialect", "NvTileAA"),
    "nv_tileas": ("nv_tileas.dialect", "NvTileAS"),
    "nvg": ("triton.nvg", "NVG"),
    "nvgpu": ("nvgpu", "NVGPU"),
    "nvvm": ("nvvm.dialect", "NVVM"),
    "nvws": ("triton.nvws", "NVWS"),
    "rocdl": ("rocdl", "ROCDL"),
    "tt": ("triton.tt", "TT"),
    "ttg": ("triton.ttg", "TTG"),
    "tti": ("triton.tti", "TTI"),
    "ttng": ("triton.ttng", "TTNG"),
}
"""Dialect name -> (module below `tileas_xdsl.dialects`, the `Dialect` object in it)."""

EXTENDED: dict[str, str] = {
    "arith": "extensions.arith",
    "cf": "extensions.cf",
    "func": "extensions.func",
    "gpu": "extensions.gpu",
    "llvm": "extensions.llvm",
    "memref": "extensions.memref",
    "scf": "extensions.scf",
}
"""Dialect of xDSL -> module below `tileas_xdsl.dialects` whose function `extended` adds to it what it lacks."""

PASSES: dict[str, tuple[str, str]] = {
    "async-join-regions": ("tokens.async_join_regions", "AsyncJoinRegionsPass"),
    "async-region-to-execute": ("tokens.async_region_to_execute", "AsyncRegionToExecutePass"),
    "async-reuse-buffers": ("tokens.async_reuse_buffers", "AsyncReuseBuffersPass"),
    "async-split-regions": ("tokens.async_split_regions", "AsyncSplitRegionsPass"),
    "async-simplify": ("tokens.async_simplify", "AsyncSimplifyPass"),
    "check-async": ("checking.check_async", "CheckAsyncPass"),
    "convert-async-to-queue": ("queues.convert_async_to_queue", "ConvertAsyncToQueuePass"),
    "convert-pipeline-to-queue": ("queues.convert_pipeline_to_queue", "ConvertPipelineToQueuePass"),
    "convert-nvvm-to-llvm": ("to_llvm.nvvm_rules", "ConvertNVVMToLLVMPass"),
    "convert-nv-tile-func-to-llvm": ("to_llvm.convert_nv_tile_func_to_llvm", "ConvertNvTileFuncToLLVMPass"),
    "tileas-persist-programs": ("tileas.persist_programs", "PersistProgramsPass"),
    "tileas-place-accumulators": ("to_llvm.place_accumulators", "PlaceAccumulatorsPass"),
    "tileas-place-tiles": ("to_llvm.place_tiles", "PlaceTilesPass"),
    "tileas-order-accesses": ("to_llvm.order_accesses", "OrderAccessesPass"),
    "convert-pipeline-to-nvvm": ("to_llvm.pipelines", "ConvertPipelineToNVVMPass"),
    "convert-nv-tileas-to-llvm": ("to_llvm.tiles", "ConvertNvTileASToLLVMPass"),
    "convert-cuda-tile-to-nv-tileaa": (
        "tile_ir.convert_cuda_tile_to_nv_tileaa",
        "ConvertCudaTileToNvTileAAPass",
    ),
    "convert-nvgpu-to-queue": ("queues.convert_nvgpu_to_queue", "ConvertNVGPUToQueuePass"),
    "convert-to-llvm": ("to_llvm.lowering", "ConvertToLLVMPass"),
    "convert-queue-to-async": ("queues.convert_queue_to_async", "ConvertQueueToAsyncPass"),
    "convert-queue-to-nvvm": ("queues.convert_queue_to_nvvm", "ConvertQueueToNVVMPass"),
    "convert-queue-to-pipeline": ("queues.convert_queue_to_pipeline", "ConvertQueueToPipelinePass"),
    "convert-queue-to-rocdl": ("queues.convert_queue_to_rocdl", "ConvertQueueToROCDLPass"),
    "convert-rocdl-marks-to-counters": ("marks.convert_rocdl_marks_to_counters", "ConvertROCDLMarksToCountersPass"),
    "lower-tma-load-store-to-async": ("to_llvm.lower_tma_load_store_to_async", "LowerTmaLoadStoreToAsyncPass"),
    "optimize-execution-unit-mapping": ("tileas.execution_units", "OptimizeExecutionUnitMappingPass"),
    "propagate-execution-unit": ("tileas.execution_units", "PropagateExecutionUnitPass"),
    "queue-per-slot": ("queues.queue_per_slot", "QueuePerSlotPass"),
    "erase-async-queue": ("queues.erase_async_queue", "EraseAsyncQueuePass"),
    "inject-software-pipeline": ("queues.inject_software_pipeline", "InjectSoftwarePipelinePass"),
    "rocdl-elide-marks": ("marks.rocdl_elide_marks", "ROCDLElideMarksPass"),
    "queue-tighten-waits": ("queues.queue_tighten_waits", "QueueTightenWaitsPass"),
    "tileas-assign-load-store-layouts": ("tileas.assign_load_store_layouts", "AssignLoadStoreLayoutsPass"),
    "tileas-assign-layouts": ("tileas.assign_layouts", "AssignLayoutsPass"),
    "tileas-attach-tma-desc-args": ("to_llvm.attach_tma_desc_args", "AttachTmaDescArgsPass"),
    "tileas-legalize-tmem-copy": ("tileas.legalize_tmem_copy", "LegalizeTmemCopyPass"),
    "tileas-materialize-async": ("tileas.materialize_async", "MaterializeAsyncPass"),
    "tileas-materialize-convert-layout": ("tileas.materialize_convert_layout", "MaterializeConvertLayoutPass"),
    "tileas-materialize-schedule": ("tileas.materialize_schedule", "MaterializeSchedulePass"),
    "tileas-plan-cta": ("tileas.plan_cta", "PlanCtaPass"),
    "tileas-optimize-pipeline-region": ("tileas.optimize_pipeline_region", "OptimizePipelineRegionPass"),
    "tileas-prepare-for-scheduling": ("tileas.prepare_for_scheduling", "PrepareForSchedulingPass"),
    "tileas-generate-schedule": ("tileas.generate_schedule", "GenerateSchedulePass"),
    "tileas-assign-buffers": ("tileas.assign_buffers", "AssignBuffersPass"),
    "tileas-queue-to-pipeline": ("tileas.queue_to_pipeline", "QueueToPipelinePass"),
    "tileas-remove-dead-work": ("tileas.remove_dead_work", "RemoveDeadWorkPass"),
    "tileas-remove-layout-conversions": ("tileas.remove_layout_conversions", "RemoveLayoutConversionsPass"),
    "tileas-fold-views": ("tileas.fold_views", "FoldViewsPass"),
    "tileas-group-programs": ("tileas.group_programs", "GroupProgramsPass"),
    "tileas-hoist-guarded-loads": ("tileas.hoist_guarded_loads", "HoistGuardedLoadsPass"),
    "tileas-dynamic-persistent": ("tileas.dynamic_persistent", "DynamicPersistentPass"),
    "tileas-single-steps": ("tileas.single_steps", "SingleStepsPass"),
    "tileas-split-agent-groups": ("tileas.split_agent_groups", "SplitAgentGroupsPass"),
    "tileas-stage-plain-tiles": ("tileas.stage_plain_tiles", "StagePlainTilesPass"),
    "tileas-unroll-register-loops": ("tileas.unroll_register_loops", "UnrollRegisterLoopsPass"),
    "tileas-unspecialized-pipeline": ("tileas.unspecialized_pipeline", "UnspecializedPipelinePass"),
    "verify-dominance": ("checking.verify_dominance", "VerifyDominancePass"),
}
"""Pass name -> (module below `tileas_xdsl.transforms`, the pass class in it)."""

DRIVERS: dict[str, tuple[str, str]] = {
    "tileir": ("pipelines", "TileIRPass"),
}
"""Pass that runs other passes -> (module below `tileas_xdsl`, the pass class in it)."""

TARGETS: dict[str, tuple[str, str]] = {
    "llvm-ir": ("llvm_ir_target", "LLVMIRTarget"),
    "ptx": ("ptx_target", "PTXTarget"),
}
"""Target name -> (module below `tileas_xdsl.backend`, the target class in it)."""


UPSTREAM_MODELS = "tileas_xdsl.dialects.upstream_models"
"""The package that answers for xDSL's own ops, one dialect a module."""


@cache
def load_upstream_models(dialect: str) -> None:
    """Register the answers for `dialect`, if it has any: `interfaces.py` needs them and may import no dialect."""
    module = f"{UPSTREAM_MODELS}.{dialect}"
    if dialect.isidentifier() and find_spec(module) is not None:
        import_module(module)


def loaders(package: str, rows: dict[str, tuple[str, str]]) -> dict[str, Callable[[], Any]]:
    """Name -> function that imports and returns what its row says; `package` is one of `tileas_xdsl`, or ""."""

    def loader(module: str, attribute: str) -> Callable[[], Any]:
        return lambda: getattr(import_module(".".join(filter(None, ("tileas_xdsl", package, module)))), attribute)

    return {name: loader(module, attribute) for name, (module, attribute) in rows.items()}


def extensions(upstream: Mapping[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """Name -> loader of a dialect of xDSL with what it lacks, for each row of `EXTENDED`; `upstream` loads xDSL's."""

    def loader(module: str, load: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: import_module(f"tileas_xdsl.dialects.{module}").extended(load())

    return {name: loader(module, upstream[name]) for name, module in EXTENDED.items()}
