"""Bytecode of kernels in `written/`, as cuTile writes it, in each version that has what they use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tileas_xdsl.dialects.cuda_tile.rows import Version


def require_cutile() -> Any:
    """The package `cuda.tile`. Without it the test is skipped, unless `TILEAS_REQUIRE_ORACLES=1`."""
    try:
        import cuda.tile as ct
    except ImportError:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            raise
        pytest.skip("cuda-tile is not installed: pip install tileas-xdsl[cutile]")
    return ct


EXPORTS: dict[str, tuple[str, str, Version]] = {
    "double": ("ops.double", "f32:1 4", (13, 1)),
    "matmul_f16": ("products.gemm", "f16:2 f16:2 f16:2 128 128 64", (13, 1)),
    "matmul_bf16": ("products.gemm", "bf16:2 bf16:2 f32:2 64 64 32", (13, 1)),
    "matmul_f8": ("products.gemm", "f8:2 f8:2 f32:2 64 64 64", (13, 1)),
    "multiplied_f16": ("ops.multiplied", "f16:2 f16:2 f16:2 32 16 64", (13, 1)),
    "multiplied_f32": ("ops.multiplied", "f32:2 f32:2 f32:2 32 16 64", (13, 1)),
    "multiplied_f64": ("ops.multiplied", "f64:2 f64:2 f64:2 32 16 64", (13, 1)),
    "softmax": ("rows.softmax", "f16:2 f16:2 256", (13, 1)),
    "elementwise": ("ops.elementwise", "f32:1 f32:1 f32:1 f32 64", (13, 2)),
    "integers": ("ops.integers", "i32:1 i32:1 i32:1 256", (13, 1)),
    "shapes": ("ops.shapes", "f16:2 f16:2 16 32", (13, 1)),
    "row_sums": ("ops.row_sums", "f32:2 f32:1 i32:1 8 64", (13, 1)),
    "sums_behind": ("ops.sums_behind", "f32:2 f32:2 16 32", (13, 1)),
    "bytes_of": ("ops.bytes_of", "f32:1 u8:1 f32:1 32", (13, 3)),
    "halves_of": ("ops.bytes_of", "f16:1 u8:1 f16:1 32", (13, 3)),
    "empty": ("ops.empty", "f32:1 4", (13, 1)),
    "single": ("ops.single", "f32:1 4", (13, 1)),
    "running_sums": ("rows.running_sums", "f32:2 f32:2 16 32", (13, 1)),
    "gathered": ("ops.gathered", "f32:2 i32:1 f32:2 32 64", (13, 1)),
    "locked": ("ops.locked", "i32:1 i32:1 i32:1 i32:1 128", (13, 1)),
    "controlled": ("ops.controlled", "f32:1 f32:1 i32 64", (13, 1)),
    "attention": ("ops.attention", "f16:3 f16:3 f16:3 f16:3 f32 64 32 32 0", (13, 1)),
    "attention_causal": ("ops.attention", "f16:3 f16:3 f16:3 f16:3 f32 64 32 32 1", (13, 1)),
    "windows": ("ops.windows", "f32:1 f32:1 16", (13, 3)),
    "by_row": ("ops.by_row", "f32:2 i32:1 f32:2 32 64", (13, 3)),
    "added": ("ops.added", "f32:2 f32:2 128", (13, 3)),
    "scaled": ("ops.scaled", "f8:2 e8:2 f8:2 e8:2 f32:2 128 128 64", (13, 3)),
}
"""Name -> kernel; its parameters (`f16:2` an array of rank 2, `f32` a scalar, a number a constant); first version."""

EXPORTED: tuple[Version, ...] = ((13, 1), (13, 2), (13, 3), (13, 4))


def cases() -> Iterator[tuple[str, Version]]:
    """Each export in each version that has it."""
    for name, (_, _, since) in EXPORTS.items():
        yield from ((name, version) for version in EXPORTED if version >= since)


@cache
def exported(name: str, version: Version = (13, 3), divisor: int = 16) -> bytes:
    """The bytecode of an export, whose extents and strides are multiples of `divisor`."""
    ct = require_cutile()
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    (file, _, kernel), words, _ = EXPORTS[name][0].partition("."), *EXPORTS[name][1:]
    written = import_module(f"tests.cutile.written.{file}")
    parameters = [_parameter(ct, word, divisor) for word in words.split()]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.tileirbc"
        export_kernel(
            getattr(written, kernel),
            [signature],
            str(path),
            output_format="tileir_bytecode",
            bytecode_version=f"{version[0]}.{version[1]}",
            gpu_code="sm_100" if version < (13, 3) else None,
        )
        return path.read_bytes()


def _parameter(ct: Any, word: str, divisor: int) -> Any:
    from cuda.tile.compilation import ArrayConstraint, ScalarConstraint

    kinds = {
        "f16": ct.float16,
        "bf16": ct.bfloat16,
        "f32": ct.float32,
        "f64": ct.float64,
        "f8": ct.float8_e4m3fn,
        "e8": ct.float8_e8m0fnu,
        "i32": ct.int32,
        "u8": ct.uint8,
    }
    kind, _, rank = word.partition(":")
    if kind not in kinds:
        return int(word)
    if not rank:
        return ScalarConstraint(kinds[kind])
    axes = int(rank)
    return ArrayConstraint(
        kinds[kind],
        axes,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None] * (axes - 1) + [1],
        stride_divisible_by=[divisor] * (axes - 1) + [1],
        shape_divisible_by=[divisor] * axes,
        base_addr_divisible_by=16,
    )
