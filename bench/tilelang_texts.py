"""
PTX of matmuls of TileLang: it writes CUDA, which nvcc compiles; with a launch beside each for `tileas check`.

    python bench/tilelang_texts.py SITE OUT [NAME..]      in an environment with tilelang 0.1.15; no GPU

SITE is a folder with nvcc and its headers, as `bench.cutlass_texts` has it. `TILEAS_PTX=OUT python -m bench.ptx_corpus`
measures them. All extents are constants: TileLang 0.1.15 writes no CUDA for a K that is an argument.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

K_TILES = 8
OPTIONS = ("-ptx", "-lineinfo", "-std=c++17", "-O3", "--expt-relaxed-constexpr")


@dataclass(frozen=True)
class Matmul:
    """A product of f16 with tiles of `m` x `n` x `k`, of which `stages` are on their way."""

    target: str
    m: int
    n: int
    k: int = 32
    stages: int = 3

    @property
    def name(self) -> str:
        return f"tilelang_f16_{self.m}x{self.n}.{self.target}"

    def launch(self) -> dict[str, Any]:
        """The launch: the boxes are those that TileLang loads, of 64 bytes of a row of A, and of 128 of B."""
        if self.target == "sm_80":
            return {"kernels": [{"name": self.name}]}
        boxes = [("a", [self.m, self.k], 64), ("b", [self.k, 64], 128)]
        maps = [{"name": n, "kind": "tensor map", "type": "f16", "box": b, "swizzle": s} for n, b, s in boxes]
        return {"kernels": [{"name": self.name, "parameters": maps}]}

    def cuda(self) -> str:
        """The CUDA that TileLang writes."""
        tilelang, language = import_module("tilelang"), import_module("tilelang.language")
        target = tilelang.tvm.target.Target({"kind": "cuda", "arch": self.target})
        with target:
            return tilelang.lower(_program(language, self), target=target).kernel_source


def _program(T: Any, of: Matmul) -> Any:
    rows, columns, depth = 4096, 4096, of.k * K_TILES

    @T.prim_func
    def main(
        a: T.Tensor((rows, depth), "float16"),  # pyright: ignore
        b: T.Tensor((depth, columns), "float16"),  # pyright: ignore
        c: T.Tensor((rows, columns), "float16"),  # pyright: ignore
    ) -> None:
        with T.Kernel(T.ceildiv(columns, of.n), T.ceildiv(rows, of.m), threads=128) as (x, y):
            left = T.alloc_shared((of.m, of.k), "float16")
            right = T.alloc_shared((of.k, of.n), "float16")
            sums = T.alloc_fragment((of.m, of.n), "float32")
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(depth, of.k), num_stages=of.stages):
                T.copy(a[y * of.m, step * of.k], left)
                T.copy(b[step * of.k, x * of.n], right)
                T.gemm(left, right, sums)
            T.copy(sums, c[y * of.m, x * of.n])

    return main


MATMULS = tuple(Matmul(target, m, n) for m, n in ((128, 128), (64, 128)) for target in ("sm_80", "sm_90a", "sm_100a"))


def written(site: Path, out: Path, names: Sequence[str]) -> Iterator[Path]:
    """Write those whose names have one of `names` in them; all, if there are none. Raises `CalledProcessError`."""
    (toolkit,) = (site / "nvidia").glob("cu*")
    root = Path(import_module("tilelang").__file__ or "").parent
    headers = [next(root.rglob("tl_templates")).parent, root / "3rdparty" / "cutlass" / "include"]
    folders = [f"-I{folder}" for folder in (*headers, toolkit / "include" / "cccl", toolkit / "include")]
    out.mkdir(parents=True, exist_ok=True)
    for matmul in MATMULS:
        if not names or any(name in matmul.name for name in names):
            source, made = out / f"{matmul.name}.cu", out / f"{matmul.name}.ptx"
            source.write_text(matmul.cuda())
            nvcc = [str(toolkit / "bin" / "nvcc"), *OPTIONS, *folders, f"-arch={matmul.target}"]
            subprocess.run([*nvcc, "-o", str(made), str(source)], check=True)
            made.with_suffix(".json").write_text(json.dumps(matmul.launch(), indent=1))
            yield made


if __name__ == "__main__":
    for file in written(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]):
        print(file, flush=True)
