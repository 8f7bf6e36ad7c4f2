"""
Annotated copy loops all the way: pipelined, lowered to hardware counts, translated, PTX and AMD assembly.

What stands in `cp.async.wait_group` is what the pipeline needs, and the lowered program computes what the loop did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.lowering import amd_assembly_of, ptx_of
from tests.support.meaning import assert_same_meaning
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncOp, CpAsyncWaitGroupOp
from tileas_xdsl.dialects.rocdl.waits import SWaitcntOp, WaitAsynccntOp

PIPELINE = "inject-software-pipeline"
ROWS = "memref<32x8xf32>"
TILE = "memref<8xf32, 3>"


def annotations(stages: str, order: str, asynchronous: str) -> str:
    return (
        f"{{software_pipeline_stage = array<i64: {stages}>, software_pipeline_order = array<i64: {order}>, "
        f"software_pipeline_async_stages = array<i64: {asynchronous}>}}"
    )


def row(source: str, tile: str) -> str:
    """A component that copies a row, an element a time."""
    return f"""async_queue.block {{
      scf.for %j = %c0 to %c8 step %c1 {{
        %x = memref.load {source}[%i, %j] : {ROWS}
        memref.store %x, {tile}[%j] : {TILE}
      }}
    }}
    """


def row_in_quads(source: str, tile: str) -> str:
    """A component that copies a row, four elements a time."""
    return f"""async_queue.block {{
      %x = vector.load {source}[%i, %c0] : {ROWS}, vector<4xf32>
      vector.store %x, {tile}[%c0] : {TILE}, vector<4xf32>
      %y = vector.load {source}[%i, %c4] : {ROWS}, vector<4xf32>
      vector.store %y, {tile}[%c4] : {TILE}, vector<4xf32>
    }}
    """


def row_as_tile(source: str, tile: str) -> str:
    """A component that copies a row as a tile, by one `memref.copy`."""
    kind = "memref<8xf32, strided<[1], offset: ?>>"
    return f"""async_queue.block {{
      %row = memref.subview {source}[%i, 0] [1, 8] [1, 1] : {ROWS} to {kind}
      "memref.copy"(%row, {tile}) : ({kind}, {TILE}) -> ()
    }}
    """


def row_or_zeros(source: str, tile: str) -> str:
    """A component that copies a row where it exists, and else writes zeros."""
    return f"""async_queue.block {{
      %exists = arith.cmpi ult, %i, %c24 : index
      %zero = arith.constant 0.0 : f32
      scf.for %j = %c0 to %c8 step %c1 {{
        %x = scf.if %exists -> (f32) {{
          %inside = memref.load {source}[%i, %j] : {ROWS}
          scf.yield %inside : f32
        }} else {{
          scf.yield %zero : f32
        }}
        memref.store %x, {tile}[%j] : {TILE}
      }}
    }}
    """


def use(*tiles: str) -> str:
    """A component that adds up tiles."""
    loads = "".join(f"%x{k} = memref.load {tile}[%j] : {TILE}\n" for k, tile in enumerate(tiles))
    sums = "".join(f"%y{k + 1} = arith.addf %y{k}, %x{k} : f32\n" for k in range(len(tiles)))
    return f"""async_queue.block {{
      scf.for %j = %c0 to %c8 step %c1 {{
        %y0 = memref.load %out[%i, %j] : {ROWS}
        {loads}{sums}
        memref.store %y{len(tiles)}, %out[%i, %j] : {ROWS}
      }}
    }}
    """


def loop(body: str, asked: str, bounds: str = "%c0 to %c32 step %c1", tiles: tuple[str, ...] = ("%s",)) -> str:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 8, 24, 32))
    allocations = "".join(f"{tile} = memref.alloc() : {TILE}\n" for tile in tiles)
    return f"""func.func @f(%a: {ROWS}, %b: {ROWS}, %out: {ROWS}, %n: index) {{
      {constants}{allocations}scf.for %i = {bounds} {{
        {body}
      }} {asked}
      func.return
    }}"""


@dataclass(frozen=True)
class Case:
    """An annotated loop, the bytes of its copies, and the counts of its waits in program order."""

    text: str
    sizes: frozenset[int]
    counts: list[int]


CASES = {
    "one iteration ahead": Case(
        loop(row("%a", "%s") + use("%s"), annotations("0, 1", "0, 1", "0")), frozenset({4}), [1, 0]
    ),
    "three iterations ahead": Case(
        loop(row("%a", "%s") + use("%s"), annotations("0, 3", "0, 1", "0")), frozenset({4}), [3, 2, 1, 0]
    ),
    "two copies in a group": Case(
        loop(
            row_in_quads("%a", "%s") + row("%b", "%t") + use("%s", "%t"),
            annotations("0, 0, 3", "0, 1, 2", "0"),
            tiles=("%s", "%t"),
        ),
        frozenset({4, 16}),
        [3, 2, 1, 0],
    ),
    "tiles": Case(
        loop(row_as_tile("%a", "%s") + use("%s"), annotations("0, 2", "0, 1", "0")), frozenset({16}), [2, 1, 0]
    ),
    "two groups a slot, the consumer between": Case(
        loop(
            row("%a", "%s") + row("%b", "%t") + use("%s", "%t"),
            annotations("0, 0, 3", "0, 2, 1", "0"),
            tiles=("%s", "%t"),
        ),
        frozenset({4}),
        [5, 4, 2, 0],
    ),
    "lower bound and step": Case(
        loop(row("%a", "%s") + use("%s"), annotations("0, 2", "0, 1", "0"), "%c3 to %c32 step %c2"),
        frozenset({4}),
        [2, 1, 0],
    ),
    "zeros where there is nothing": Case(
        loop(row_or_zeros("%a", "%s") + use("%s"), annotations("0, 2", "0, 1", "0")), frozenset({4}), [2, 1, 0]
    ),
    "bounds that are not known": Case(
        loop(row("%a", "%s") + use("%s"), annotations("0, 2", "0, 1", "0"), "%c0 to %n step %c1"),
        frozenset({4}),
        [2, 1, 0],
    ),
}


def lowered(text: str, spec: str) -> ModuleOp:
    module = parse(text)
    with recorded_diagnostics() as said:
        run_passes(module, f"{PIPELINE},{spec}")
    assert [remark.message for remark in said if "ordinary" in remark.message] == []
    return module


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_annotated_loops_become_ptx(case: Case) -> None:
    module = lowered(case.text, "convert-queue-to-nvvm")
    assert {op.size.value.data for op in module.walk() if isinstance(op, CpAsyncOp)} == case.sizes
    assert [op.n.value.data for op in module.walk() if isinstance(op, CpAsyncWaitGroupOp)] == case.counts
    trips = (0, 1, 2, 3, 7, 32) if "unknown" in case.text or "%c0 to %n" in case.text else (4,)
    assert_same_meaning(parse(case.text), module, "f", [{"n": n} for n in trips], orders=("lazy", "random:1"))
    ptx = ptx_of(module)
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx) == [str(count) for count in case.counts]
    assert "cp.async.commit_group" in ptx
    for size in case.sizes:
        kind = "cg" if size == 16 else "ca"
        assert re.search(rf"cp\.async\.{kind}\.shared\.global .*, {size}[;,]", ptx)
    assert "malloc" not in ptx
    assert ".shared .align 16" in ptx


def test_two_asynchronous_stages_share_one_sequence_of_groups() -> None:
    """
    Queue 0 is two iterations ahead, queue 1 one; on one sequence the groups of both are counted. Behind the group of
    queue 0 that is needed come 5 in the steady state and 4 in the first iteration, for which there was no older one of
    queue 1.
    """
    text = loop(
        row("%a", "%s") + row("%b", "%t") + use("%s", "%t"),
        annotations("0, 1, 2", "0, 1, 2", "0, 1"),
        tiles=("%s", "%t"),
    )
    queues = run_passes(parse(text), PIPELINE)
    module = lowered(text, "convert-queue-to-nvvm")
    per_queue = [(op.queue, op.count) for op in queues.walk() if op.name == "async_queue.wait"]  # pyright: ignore
    assert set(per_queue) >= {(0, 2), (1, 1)}
    counts = [op.n.value.data for op in module.walk() if isinstance(op, CpAsyncWaitGroupOp)]
    assert counts == [4, 2, 4, 1, 2, 0]
    assert_same_meaning(parse(text), module, "f", [{"n": 4}], orders=("lazy", "random:1"))
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx_of(module)) == [str(count) for count in counts]


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1250"])
def test_an_annotated_loop_becomes_amd_assembly(target: str) -> None:
    """Eight transfers a row: three rows ahead leave 24 of them in flight."""
    text = CASES["three iterations ahead"].text
    option = f"{{target={target}}}"
    spec = f"convert-queue-to-rocdl{option},rocdl-elide-marks,convert-rocdl-marks-to-counters{option}"
    module = lowered(text, spec)
    fields = [op.bitfield.value.data for op in module.walk() if isinstance(op, SWaitcntOp)]
    counts = [field & 15 | field >> 14 << 4 for field in fields]
    counts += [op.count.value.data for op in module.walk() if isinstance(op, WaitAsynccntOp)]
    assert counts == [24, 16, 8, 0]
    assert_same_meaning(parse(text), module, "f", [{"n": 4}], orders=("lazy", "random:1"))
    assembly = amd_assembly_of(module, target)
    if target == "gfx1250":
        assert re.findall(r"s_wait_asynccnt (\w+)", assembly) == ["0x18", "0x10", "0x8", "0x0"]
    else:
        assert "global_load_lds_dword" in assembly
