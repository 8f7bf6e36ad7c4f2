"""
The texts of kernels of Gluon: `python -m tests.readers.ptx.kernels.make_triton`, with Triton 3.9 and without a GPU.

Each kernel of `tests/triton/kernels.py` is compiled to PTX. Beside it stands what Triton's cache has there: the
metadata, of which those are kept that say how it is launched.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.triton.emit import without_places_of_this_machine
from tests.triton.pairs import SIGNATURES
from tileas_xdsl.triton.compiling import target_named

HERE = Path(__file__).parent
KEPT = ("name", "num_warps", "num_ctas", "shared", "tensordesc_meta", "target")
KERNELS: dict[str, tuple[str, dict[str, Any]]] = {
    "copy_ring": ("sm_80", {"S": 4}),
    "store_ring": ("sm_90a", {"S": 3}),
    "fenced_stores": ("sm_90a", {}),
    "wgmma_ring": ("sm_90a", {"S": 3}),
}
"""Kernel -> target and constants."""


def compiled(kernel: str, target: str, constants: dict[str, Any]) -> Any:
    """What Triton makes of a kernel."""
    import triton  # type: ignore[import-not-found]
    from triton.experimental.gluon._runtime import GluonASTSource  # type: ignore[import-not-found]

    from tests.triton import kernels

    function = getattr(kernels, kernel)
    signature = SIGNATURES[kernel]
    given = {**constants, "MISTAKE": 0}
    places = {(function.arg_names.index(name),): value for name, value in given.items()}
    source = GluonASTSource(function, {**signature, **dict.fromkeys(given, "constexpr")}, places, None)
    return triton.compile(source, target=target_named(target), options={"num_warps": 4})


def main() -> None:
    for name, (target, constants) in KERNELS.items():
        made = compiled(name, target, constants)
        text = re.sub(r"\t\.section\s+\.debug_\w+\s*\{.*?\n\t?\}\n", "", made.asm["ptx"], flags=re.DOTALL)
        HERE.joinpath(f"{name}.{target}.ptx").write_text(without_places_of_this_machine(text))
        metadata = made.metadata._asdict()
        metadata["target"] = target
        kept = {key: metadata[key] for key in KEPT if key in metadata}
        HERE.joinpath(f"{name}.{target}.json").write_text(json.dumps(kept, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
