"""
Products, attention and softmax by 1, 2, 4, 8 and 16 warps (`--num-warps`): whether ptxas spills, the numbers of the
threads beside those of the tiles, and what the check says of the threads.

    python -m bench.warps                            the table, of what was measured
    python -m bench.warps --measure [KERNEL]...      measure, and write down what was found

A cell says `proved` (the numbers are right, nothing spills, safe for every trip count within a minute), `right` (the
same but for the proof), or the op that is refused.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, run_passes
from tests.support.thread_kernels import DOWN
from tests.support.threads_and_tiles import AGENTS, BEFORE_TMA, CLOSE, ONE_AGENT, lowered
from tileas_xdsl.backend.ptx_target import ptx_of_module
from tileas_xdsl.backend.ptxas import assemble, find_ptxas
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, op_name
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import run
from tileas_xdsl.tools.machine_code.validation import differences, handed_over, made_up

TABLE = ROOT / "tests" / "threads" / "warps.json"
"""Kernel -> variant -> number of warps -> how it comes out."""
FILES = ROOT / "tests" / "kernels"
WARPS = (1, 2, 4, 8, 16)
VARIANTS = (AGENTS, ONE_AGENT, BEFORE_TMA)
SECONDS = 60
"""For the check of a cell."""
COUNTS, EXTENT = (0, 3), 256
"""Trips of the numbers, and what arrays have of elements along each axis."""
PROVED, OTHERWISE = "proved", "right"


def kernels() -> dict[str, str]:
    """The kernels by their names: their tiles."""
    product = (FILES / "gemm_128x64x16.mlir").read_text()
    wide = product.replace("128x64xf32", "128x256xf32").replace("128x16", "128x64").replace("16x64", "64x256")
    found = {name: (FILES / f"{name}.mlir").read_text() for name in ("gemm_64x64x16", "attention_64", "attention_128")}
    softmax = (FILES / "people" / "softmax_rows.mlir").read_text()
    return found | {"gemm_128x64x16": product, "gemm_128x256x64": wide, "softmax_rows": softmax}


def cell(text: str, variant: str, warps: int, *, proves: bool = True) -> str:
    """How a kernel comes out by so many warps."""
    try:
        threads = lowered(text, variant, warps)
    except RefusedError as error:
        return f"refused: {op_name(error.diagnostics[0].op)}"
    target, _ = variant.split()
    report = assemble(ptx_of_module(run_passes(threads.clone(), DOWN), target), target, find_ptxas())
    if report.spills:
        return f"spills {report.spills:,} bytes"
    wrong = [each for trips in COUNTS for each in wrong_numbers(text, threads, trips)]
    if wrong or not proves:
        return f"wrong: {wrong[0]}" if wrong else OTHERWISE
    verdict = check(threads, judge_waits=False, timeout=SECONDS)
    if verdict.findings:
        return f"unsafe: {verdict.kinds}"
    return PROVED if verdict.is_proved else OTHERWISE


def wrong_numbers(text: str, threads: ModuleOp, trips: int) -> Iterator[str]:
    """What the threads compute otherwise than the tiles, in a random order."""
    tiles = parse(text)
    (_, source), (_, code) = (find_function(module, "f") for module in (tiles, threads))
    given = made_up(source, trips, extent=EXTENT, first_coordinate=-2)
    expected = run(tiles, "f", handed_over(given, source))
    found = run(threads, "f", handed_over(given, code), order="random", seed=trips)
    yield from differences(expected, found, CLOSE)


def measured() -> dict[str, dict[str, dict[str, str]]]:
    """The table, as far as it was measured."""
    return json.loads(TABLE.read_text()) if TABLE.exists() else {}


def lines() -> Iterator[str]:
    """The table: a line for each kernel and variant, a cell for each number of warps."""
    found = measured()
    yield f"{'--num-warps':40}" + "".join(f"{warps:<16}" for warps in WARPS).rstrip()
    for name, rows in found.items():
        for variant, cells in rows.items():
            yield f"{f'{name} {variant}':40}" + "".join(f"{_short(cells[str(w)]):<16}" for w in WARPS).rstrip()


def _short(said: str) -> str:
    return said.replace("nv_tileas.", "").replace("func.func", "memory").removeprefix("refused: ")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--measure", action="store_true", help="measure, and write the table")
    parser.add_argument("--no-proofs", action="store_true", help="numbers and spills alone")
    arguments = parser.parse_args()
    texts = kernels()
    for name in (arguments.names or texts) if arguments.measure else ():
        for variant in VARIANTS:
            row = {str(warps): cell(texts[name], variant, warps, proves=not arguments.no_proofs) for warps in WARPS}
            found = measured()
            found.setdefault(name, {})[variant] = row
            TABLE.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(lines()))


if __name__ == "__main__":
    main()
