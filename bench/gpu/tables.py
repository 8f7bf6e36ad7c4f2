"""
The tables of `docs/performance.md`, made of the results in `results/`: `python -m bench.gpu.tables` prints them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PROGRAMS = {
    "cublas": "cuBLAS",
    "triton 128x256x64 w8 s3 (3.6, plain tl.load)": "Triton 3.6, 128x256x64, 8 warps, 3 stages",
    "hgq1_128_128_128_d3": "queues of 3 slots, 128x128x128, grouped",
    "hgq1_128_128_64_d4": "queues of 4 slots, 128x128x64, grouped",
    "hg_128_128_64.warp-specialize": "a plain loop, 128x128x64, grouped",
    "h_128_128_64.warp-specialize": "a plain loop, 128x128x64, plain order",
    "hg_128_128_64.unspecialize": "a plain loop in one agent, grouped",
    "CUDNN_ATTENTION": "cuDNN",
    "FLASH_ATTENTION": "torch's flash",
    "att_64_128_128.warp-specialize": "64 queries x 128 keys",
    "att_64_64_64.unspecialize": "64 queries x 64 keys, one agent",
    "torch": "torch",
    "add_16_128.warp-specialize": "16x128, two agents",
    "add_16_128.unspecialize": "16x128, one agent",
}
"""The programs that the page shows, by their names in `kernels_h200.json`."""
OPTIONS = {
    "base": "128x128x64, one block a multiprocessor (`--blocks 1`)",
    "two": "the same, two blocks: since then without options",
    "one_w8_p": "the same, `--num-warps 8 --persistent --num-stages 6`",
    "coop": "128x256x64, two warpgroups, 4 slots (`--no-persistent`)",
    "coop_p": "the same, each block many tiles, 3 slots: without options",
    "coop_p_g8": "the same, grouped (`--group-programs 8`)",
    "coop_p_bf16": "128x256x64 of bf16, without options",
    "coop_cluster_2": "128x256x64, clusters of two (`--num-ctas 2 --num-warps 8`)",
    "rung25": "written by hand with the structure of 128x256x64 (`ladder_h200.json`, 25)",
}
"""The products that the page shows, by their names in `options_h200.json`."""
CALLS = {
    "ours: gemm[1,1](a, b, c, 0), three maps": "`kernel[1, 1](a, b, c, n)`: three tensor maps and a number",
    "ours: gemm(a, b, c, 0), derived grid": "`kernel(a, b, c, n)`: the grid follows from `c`",
    "ours: scale[1](s, t, 0)": "`kernel[1](a, b, n)`: two addresses, two sizes and a number",
    "triton: nop(a, b, c, n)": "Triton 3.6, an empty kernel of three tensors and a number",
    "triton: nop(s, t, n)": "Triton 3.6, an empty kernel of two tensors and a number",
    "torch: c.fill_(0)": "torch, `c.fill_(0)`",
}
"""The calls that the page shows, by their names in `launch_h200.json`."""


def tables() -> Iterator[str]:
    """The tables, each as the lines of one text."""
    kernels = json.loads((RESULTS / "kernels_h200.json").read_text())["rows"]
    for what in dict.fromkeys(row["what"] for row in kernels):
        yield rates([row for row in kernels if row["what"] == what])
    yield beside_cublas(json.loads((RESULTS / "options_h200.json").read_text())["rows"])
    yield beside_torch(json.loads((RESULTS / "beside_torch_h200.json").read_text())["rows"])
    launches = json.loads((RESULTS / "launch_h200.json").read_text())
    spent = {row["call"]: row["microseconds"] for row in launches["rows"]}
    yield table(("call", "microseconds"), [(said, f"{spent[call]:.1f}") for call, said in CALLS.items()])


def rates(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of programs by shapes: TFLOP/s, or GB/s, of each run."""
    shapes = list(dict.fromkeys(tuple(row["shape"]) for row in rows))
    found: dict[str, dict[tuple[int, ...], list[str]]] = {}
    for row in rows:
        if row["program"] in PROGRAMS:
            rate = row.get("tflops", row.get("gb_per_s"))
            found.setdefault(row["program"], {}).setdefault(tuple(row["shape"]), []).append(f"{rate:,.0f}")
    heads = ["program", *("x".join(f"{size:,}" for size in shape) for shape in shapes)]
    named = [(PROGRAMS[name], each) for name, each in found.items()]
    return table(heads, [(name, *(", ".join(each.get(shape, ["-"])) for shape in shapes)) for name, each in named])


def beside_cublas(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of programs by shapes: TFLOP/s, and what part that is of cuBLAS beside it."""
    shapes = list(dict.fromkeys(tuple(row["shape"]) for row in rows))
    found = {
        (row["program"], tuple(row["shape"])): f"{row['tflops']:.0f} ({row['tflops'] / row['cublas']:.2f})"
        for row in rows
    }
    heads = ["program", *("x".join(f"{size:,}" for size in shape) for shape in shapes)]
    return table(heads, [(said, *(found[name, shape] for shape in shapes)) for name, said in OPTIONS.items()])


def beside_torch(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of programs: the rate, and what part that is of the library's, and of what torch compiles."""
    heads = ("what", "shape", "program", "rate", "in", "of torch", "of torch.compile")
    return table(
        heads,
        [
            (
                *(row["what"], row["shape"], row["program"], f"{row['rate']:,.0f}", row["unit"]),
                f"{row['rate'] / row['theirs']:.3f}" + (" (cuDNN)" if row["library"] == "cuDNN" else ""),
                f"{row['rate'] / row['compiled']:.3f}" if "compiled" in row else "-",
            )
            for row in rows
        ],
    )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print("\n\n".join(tables()))
