"""
What `speed` times: products, attention, sums and rows, each compiled in several ways, and the kernels of the tests of
which the turns of one block are measured.

`written(folder)` compiles them into `folder/code` and lists them in `folder/speed.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import e, log2, sqrt
from pathlib import Path
from typing import Any

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, TensorType
from xdsl.ir import BlockArgument, OpResult, SSAValue

import tileas_xdsl as tileas
from bench.gpu.speed import TRIPS
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.kernels.kernel import Kernel

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
KERNELS = HERE.parent.parent / "tests" / "kernels"
STRATEGIES = {"ws": "warp-specialize", "one": "unspecialize"}
"""In one agent, or in several."""
TILES = (
    *((128, 128, 64), (128, 128, 32), (128, 128, 128), (64, 128, 64), (128, 64, 64)),
    *((64, 64, 64), (64, 256, 64), (128, 256, 64), (64, 128, 128), (64, 256, 32)),
)
"""Rows, columns and depth of the tiles of products."""
LARGE, ROWS = (128, 256, 64), (0, 8)
"""A tile of which two warpgroups have half each, and rows of programs in a group, where blocks stay for many."""
STAGES, DEPTHS = (2, 3, 6), (2, 3, 4, 5, 6)
TURNS = {
    "sm_90a": (
        *("gemm_64x64x16", "gemm_64x128x32", "attention_128", "queues/attention_in_two_agents", "chained_gemm"),
        *("elementwise", "reduction", "layer_norm", "queues/gemm_without_numbers", "queues/sums_in_three_agents"),
        "queues/rows_in_a_group",
    ),
    "sm_80": (
        *("gemm_64x64x16", "gemm_64x128x32", "attention_128", "elementwise", "reduction"),
        *("queues/gemm_without_numbers", "queues/rows_in_a_group"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A program to be compiled, what it is for, and what `speed` has to know of it."""

    kind: str
    name: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    target: str = "sm_90a"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


def jobs() -> Iterator[Job]:
    """All of them, what matters most first."""
    for short, strategy in STRATEGIES.items():
        for tile in TILES:
            yield product(tile, f"s4.{short}", {"strategy": strategy})
        for stages in STAGES:
            yield product(TILES[0], f"s{stages}.{short}", {"strategy": strategy, "num_stages": stages})
        yield product(TILES[0], f"s4.{short}", {"strategy": strategy}, order="plain")
        yield plain("streaming", "sum_16_128", short)
        yield plain("streaming", "sum_4_1024", short)
        for name in ("attention_64_128_128", "attention_64_128_64"):
            yield plain("attention", name, short)
        yield plain("attention", "attention_64_64_128", short, num_stages=3)
    yield beside((128, 128, 128), "w8", {"num_warps": 8})
    yield beside((128, 128, 128), "w8.persistent", {"num_warps": 8, "persistent": True})
    yield beside((64, 128, 64), "b2", {"blocks": 2})
    yield product(TILES[0], "blocks2.ws", options("ws", blocks=2), order="plain")
    for rows in ROWS:
        how = options("ws", num_warps=8, persistent=True, group_programs=rows)
        yield product(LARGE, f"persistent{rows}.ws", how, order="plain")
    for depth in DEPTHS:
        text = (PROGRAMS / "product_in_queues.mlir").read_text().replace("depth = 4", f"depth = {depth}")
        facts = {"tile": TILES[0], "order": "grouped"}
        yield Job(kind="products", name=f"product.128_128_64.grouped.queue{depth}", text=text, facts=facts)
    for what in ("softmax", "rms_norm"):
        for rows, width in ((4, 1024), (16, 512)):
            text = (PROGRAMS / f"{what}.mlir").read_text()
            text = text.replace("<16x", f"<{rows}x").replace("x512x", f"x{width}x").replace("512.0", f"{width}.0")
            facts = {"tile": (rows, width), "what": what}
            yield Job(kind="rows", name=f"{what}.{rows}_{width}", text=text, facts=facts, options=options("one"))
    yield from turns()


def options(short: str, **others: Any) -> dict[str, Any]:
    """The options of a strategy."""
    return {"strategy": STRATEGIES[short], **others}


def product(tile: tuple[int, int, int], ending: str, how: Mapping[str, Any], *, order: str = "grouped") -> Job:
    """The product with tiles of that size, its programs in groups of eight rows of tiles, or in plain order."""
    rows, columns, depth = tile
    text = (PROGRAMS / ("product.mlir" if order == "plain" else "product_grouped.mlir")).read_text()
    for alias, shape in (("a_tile", (rows, depth)), ("b_tile", (depth, columns))):
        text = re.sub(rf"!{alias} = tensor<\d+x\d+x", f"!{alias} = tensor<{shape[0]}x{shape[1]}x", text)
    text = re.sub(r"!([co])_tile = tensor<\d+x\d+x", rf"!\1_tile = tensor<{rows}x{columns}x", text)
    name = f"product.{rows}_{columns}_{depth}.{order}.{ending}"
    return Job(kind="products", name=name, text=text, facts={"tile": tile, "order": order}, options=how)


def beside(tile: tuple[int, int, int], ending: str, how: Mapping[str, Any]) -> Job:
    """Attention of heads that lie side by side, with so many queries and keys in tiles, and columns of a head."""
    queries, keys, columns = tile
    text = (PROGRAMS / "attention_128_128_128.mlir").read_text()
    extents = {"q": (queries, columns), "k": (columns, keys), "v": (keys, columns), "s": (queries, keys)}
    extents |= {"p": (queries, keys), "o": (queries, columns), "oh": (queries, columns), "col": (queries, 1)}
    for alias, (rows, across) in extents.items():
        text = re.sub(rf"!{alias} = tensor<\d+x\d+x", f"!{alias} = tensor<{rows}x{across}x", text)
    text = re.sub(r"!row = tensor<\d+x", f"!row = tensor<{queries}x", text)
    text = text.replace("0.12751743", f"{log2(e) / sqrt(columns):.8f}")
    name = f"attention_beside_{queries}_{keys}_{columns}.{ending}"
    return Job(kind="attention", name=name, text=text, facts={"tile": tile, "beside": True}, options=how)


def plain(kind: str, file: str, short: str, **others: Any) -> Job:
    """A program whose file names its tile."""
    text = (PROGRAMS / f"{file}.mlir").read_text()
    tile = tuple(map(int, re.findall(r"\d+", file)))
    return Job(kind=kind, name=f"{file}.{short}", text=text, facts={"tile": tile}, options=options(short, **others))


def turns() -> Iterator[Job]:
    """What turns are measured of, with the sizes of its arrays."""
    for target, names in TURNS.items():
        for name in names:
            for strategy in STRATEGIES.values():
                text = (KERNELS / f"{name}.mlir").read_text()
                module = tileas.parse(text)
                arrays = {trips: extents(module, trips) for pair in TRIPS.values() for trips in pair}
                full = f"{name.rpartition('/')[2]}.{target}.{strategy}"
                how = {"strategy": strategy}
                yield Job(kind="turns", name=full, text=text, facts={"arrays": arrays}, target=target, options=how)


# How large arrays are -------------------------------------------------------------------------------------------------


def extents(module: ModuleOp, trips: int) -> dict[str, tuple[str, list[int]]]:
    """The element type and the sizes of each array of which the first block reads or writes tiles in so many trips."""
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    found: dict[SSAValue, tuple[str, str, list[int]]] = {
        argument: (argument.name_hint or "", str(argument.type.element_type), [0] * argument.type.get_num_dims())
        for argument in function.body.block.args
        if isinstance(argument.type, MemRefType)
    }
    for op in module.walk():
        if op_name(op).rpartition(".")[2] not in ("tiled_load", "tiled_store"):
            continue
        array = op.operands[0]
        while isinstance(array, OpResult):
            array = array.op.operands[0]
        tile = op.results[0].type if op.results else op.operands[1].type
        assert isinstance(tile, TensorType)
        places = [operand for operand in op.operands[1:] if str(operand.type) == "index"]
        sizes = found[array][2]
        for axis, (place, extent) in enumerate(zip(places, tile.get_shape(), strict=True)):
            sizes[axis] = max(sizes[axis], (largest(place, trips) + 1) * extent)
    return {name: (kind, sizes) for name, kind, sizes in found.values()}


def largest(value: SSAValue, trips: int) -> int:
    """The largest number that an index is, in the first block, where every argument of the function is `trips`."""
    if isinstance(value, BlockArgument):
        op = value.block.parent_op()
        if isinstance(op, scf.ForOp):
            return largest(op.ub, trips) - 1
        return trips if isinstance(op, func.FuncOp) else 1  # the second of two agents of a group
    assert isinstance(value, OpResult)
    match value.op:
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data
        case arith.AddiOp() as op:
            return largest(op.lhs, trips) + largest(op.rhs, trips)
        case arith.MuliOp() as op:
            return largest(op.lhs, trips) * largest(op.rhs, trips)
        case op if op_name(op).endswith("get_program_id"):
            return 0
        case op:
            raise ValueError(f"no largest number is known of {op_name(op)}")


# The folder -----------------------------------------------------------------------------------------------------------


def written(folder: Path) -> Iterator[str]:
    """Compile all into the folder; a line for each. Code that is there stays."""
    code = folder / "code"
    code.mkdir(parents=True, exist_ok=True)
    listed: dict[str, dict[str, Any]] = {"products": {}, "attention": {}, "streaming": {}, "rows": {}, "turns": {}}
    for job in jobs():
        try:
            said = "there" if (code / f"{job.name}.json").exists() else repr(_compiled(job, code))
        except tileas.Error as error:
            yield f"{job.name}: NOT COMPILED: {str(error).partition(chr(10))[0]}"
            continue
        listed[job.kind][job.name] = dict(job.facts)
        (folder / "speed.json").write_text(json.dumps(listed, indent=1) + "\n")
        yield f"{job.name}: {said}"


def _compiled(job: Job, code: Path) -> Kernel:
    kernel = tileas.compile(job.text, target=job.target, check=False, **job.options)
    for ending in ("ptx", "cubin"):
        kernel.save(code / f"{job.name}.{ending}")
    return kernel
