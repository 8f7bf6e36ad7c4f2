"""
PTX of GEMMs of CUTLASS C++, by nvcc, both from their packages; with what `tileas check` has to be told beside each.

    pip install --target SITE nvidia-cutlass==4.2.0.0 nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-runtime \
        nvidia-cuda-cccl nvidia-nvvm
    python -m bench.cutlass_texts SITE OUT [NAME..]      no GPU; a GEMM takes a minute

`TILEAS_PTX=OUT python -m bench.ptx_corpus` measures them. The boxes of the tensor maps are those of CUTLASS' collective
builder for such tiles. K is at least one tile: the host launches no other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.ptx_corpus import by_nvcc

AMPERE = """
#include <cutlass/gemm/device/gemm.h>
using H = cutlass::half_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Gemm = cutlass::gemm::device::Gemm<H, Row, H, Column, H, Row, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<%(m)d, %(n)d, %(k)d>,
    cutlass::gemm::GemmShape<%(m)d / 2, %(n)d / 2, %(k)d>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<H, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, %(stages)d>;
template __global__ void cutlass::Kernel<typename Gemm::GemmKernel>(typename Gemm::GemmKernel::Params);
"""
HOPPER = """
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
using namespace cute;
using H = cutlass::half_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Tile = Shape<_%(m)d, _%(n)d, _%(k)d>;
using Cluster = Shape<_1, _1, _1>;
using Sm90 = cutlass::arch::Sm90;
using Core = cutlass::arch::OpClassTensorOp;
using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<Sm90, Core, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 8, H, Row, 8,
    cutlass::epilogue::TmaWarpSpecialized%(epilogue)s>::CollectiveOp;
using Main = cutlass::gemm::collective::CollectiveBuilder<Sm90, Core, H, Row, 8, H, Column, 8, float, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::KernelTmaWarpSpecialized%(schedule)s>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Main, Epilogue>;
const void *kernel() { return reinterpret_cast<const void *>(&cutlass::device_kernel<Kernel>); }
"""
MOST_OF_K = 1 << 20
"""How far a block goes along K: all of it."""
BLOCK_IDS = ("ctaid.x", "ctaid.y", "ctaid.z")


@dataclass(frozen=True)
class Gemm:
    """A GEMM of f16 with tiles of `m` x `n` x `k`; for sm_90a if it has a `schedule`."""

    name: str
    m: int
    n: int
    k: int
    stages: int = 3
    schedule: str | None = None
    """What CUTLASS' warps that are specialised do: nothing more is said, `Pingpong`, `Cooperative`."""

    @property
    def source(self) -> str:
        epilogue = "Cooperative" if self.schedule == "Cooperative" else ""
        words = {"m": self.m, "n": self.n, "k": self.k, "stages": self.stages, "schedule": self.schedule}
        return (AMPERE if self.schedule is None else HOPPER) % {**words, "epilogue": epilogue}

    def launch(self) -> dict[str, Any]:
        """The launch: of a GEMM for sm_90a one block, and its maps, which lie in the one struct that it is passed."""
        if self.schedule is None:
            one_tile = {"p0": self.m, "p0.4": self.n, "p0.12": 1, "p0.16": 1, "p0.24": 0, "p0.336": MOST_OF_K}
            block = {"kernels": [{"name": self.name, "block": [128]}]}
            return {**block, "multiples": {"p0.8": f"{self.k}*n"}, "args": {**one_tile, **dict.fromkeys(BLOCK_IDS, 0)}}
        ids = BLOCK_IDS if self.schedule == "" else BLOCK_IDS[:2]  # persistent kernels do not ask for the third
        box = f"f16[1x%dx{self.k}]:swizzle=128"
        return {
            "kernels": [{"name": self.name}],
            "tensor_maps": {"p0.128": box % self.m, "p0.384": box % self.n, "p0.1152": "f16[1x64x32]:swizzle=64"},
            "multiples": {"p0.8": f"{self.k}*n+{self.k}"},
            "args": {"p0.640": 2 * self.k * (self.m + self.n), **dict.fromkeys(ids, 0)},
        }


GEMMS = (
    Gemm("gemm80.sm_80", 128, 128, 32),
    Gemm("gemm80_64x64.sm_80", 64, 64, 32, stages=4),
    Gemm("gemm90.sm_90a", 128, 128, 64, schedule=""),
    Gemm("gemm90_64x128.sm_90a", 64, 128, 64, schedule=""),
    Gemm("gemm90_pingpong.sm_90a", 128, 128, 64, schedule="Pingpong"),
    Gemm("gemm90_cooperative.sm_90a", 128, 128, 64, schedule="Cooperative"),
)


def written(site: Path, out: Path, names: Sequence[str]) -> Iterator[Path]:
    """Write those whose names have one of `names` in them; all, if there are none. Raises `CalledProcessError`."""
    (toolkit,) = (site / "nvidia").glob("cu*")
    folders = [site / "cutlass_library" / "source" / "include", toolkit / "include" / "cccl", toolkit / "include"]
    with TemporaryDirectory() as folder:
        for gemm in GEMMS:
            if not names or any(name in gemm.name for name in names):
                file = Path(folder) / f"{gemm.name}.cu"
                file.write_text(gemm.source)
                by_nvcc(str(toolkit / "bin" / "nvcc"), ":".join(map(str, folders)), out, [str(file)])
                made = out / f"{gemm.name}.ptx"
                made.write_text(made.read_text().replace(f"{folder}/", ""))
                made.with_suffix(".json").write_text(json.dumps(gemm.launch(), indent=1))
                yield made


if __name__ == "__main__":
    for file in written(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]):
        print(file)
