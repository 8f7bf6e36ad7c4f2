"""
PTX of GEMMs of CuTe DSL, from the examples in a checkout of CUTLASS, with a launch beside each for `tileas check`.

    python bench/cute_dsl_texts.py CUTLASS OUT [NAME..]      in an environment with nvidia-cutlass-dsl; no GPU

`TILEAS_PTX=OUT python -m bench ptx_corpus` measures them. The boxes of the tensor maps are those that the example makes
for such tiles: 64 elements along K, and 64 x 32 of the result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

EXAMPLES = Path("examples", "python", "CuTeDSL", "cute", "hopper", "kernel", "dense_gemm")
TARGET = "sm_90a"
SWIZZLES = {64: 128, 32: 64}
"""Elements of 16 bits in a row -> bytes of the pattern."""


@dataclass(frozen=True)
class Gemm:
    """A GEMM with tiles of `tile` (M, N)."""

    tile: tuple[int, int]
    element: str = "f16"
    is_persistent: bool = False

    @property
    def name(self) -> str:
        kind = "persistent" if self.is_persistent else "gemm"
        return f"cute_{kind}_{self.element}_{self.tile[0]}x{self.tile[1]}.{TARGET}"

    def launch(self) -> dict[str, Any]:
        """The launch contract: a map, then the extents of its tensor; of a persistent kernel one block is taken."""
        parts = [("a", self.tile[0], 64, self.element), ("b", self.tile[1], 64, self.element), ("c", 64, 32, "f16")]
        parameters: list[dict[str, Any]] = []
        for name, rows, columns, element in parts:
            box = {"box": [1, rows, columns], "swizzle": SWIZZLES[columns]}
            parameters.append({"name": name, "kind": "tensor map", "type": element, **box})
            parameters.append({"name": f"{name}_sizes", "kind": "numbers"})
        one_block = dict.fromkeys(("nctaid.x", "nctaid.y", "nctaid.z"), 1) | {"ctaid.z": 0}
        args = {"args": one_block} if self.is_persistent else {}
        return {"kernels": [{"name": self.name, "parameters": parameters}], **args}


GEMMS = (
    *(Gemm(tile) for tile in ((128, 128), (64, 128), (128, 256), (64, 64))),
    *(Gemm(tile, "bf16") for tile in ((128, 128), (128, 64))),
    *(Gemm(tile, is_persistent=True) for tile in ((128, 128), (128, 256))),
)


def compiled(gemm: Gemm, examples: Path, folder: Path) -> str:
    """The PTX of `gemm`, which CuTe DSL writes into `folder`."""
    _compile(gemm, examples)
    (file,) = folder.glob("*.ptx")
    text = file.read_text()
    file.unlink()
    return text.replace(f"{examples}/", "")


def _compile(gemm: Gemm, examples: Path) -> None:
    cutlass, cute, fake = (import_module(name) for name in ("cutlass", "cutlass.cute", "cutlass.cute.runtime"))
    kinds = {"f16": cutlass.Float16, "bf16": cutlass.BFloat16}

    def tensor(element: str) -> Any:
        extents = [cute.sym_int() for _ in range(3)]
        return fake.make_fake_compact_tensor(kinds[element], extents, stride_order=(1, 0, 2), assumed_align=16)

    tensors = [tensor(gemm.element), tensor(gemm.element), tensor("f16")]
    module = _example(examples / f"dense_gemm{'_persistent' if gemm.is_persistent else ''}.py")
    (name,) = (name for name in dir(module) if name.startswith("Hopper") and name.endswith("Kernel"))
    along_m = (1, True) if gemm.is_persistent else ()
    clusters = (cutlass.Int32(132),) if gemm.is_persistent else ()
    made: Any = getattr(module, name)(cutlass.Float32, gemm.tile, (1, 1), *along_m)
    cute.compile(made, *tensors, *clusters, fake.make_fake_stream())


def _example(file: Path) -> Any:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(cutlass: Path, out: Path, names: Sequence[str]) -> Iterator[Path]:
    """Write those whose names have one of `names` in them; all, if there are none."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:  # CuTe DSL reads these once
        os.environ.update(CUTE_DSL_ARCH=TARGET, CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=folder, CUTE_DSL_LINEINFO="1")
        for gemm in GEMMS:
            if not names or any(name in gemm.name for name in names):
                file = out / f"{gemm.name}.ptx"
                file.write_text(compiled(gemm, cutlass / EXAMPLES, Path(folder)))
                file.with_suffix(".json").write_text(json.dumps(gemm.launch(), indent=1))
                yield file


if __name__ == "__main__":
    for file in written(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]):
        print(file)
