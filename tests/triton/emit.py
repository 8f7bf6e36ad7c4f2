"""
Writes the TTGIR that Triton 3.9 makes of the kernels of `kernels.py` and its like: `make triton-texts`.

No GPU is needed, and no torch: the stages of Triton's compiler are run up to TTGIR. Of some modules the generic form is
written as well (`.generic`), by the switch of MLIR's printer that Triton's library exports.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.triton.pairs import (
    BLOCKS,
    CLUSTERS,
    EXAMPLE_SIGNATURE,
    EXAMPLES,
    FOUND,
    SIGNATURES,
    TARGETS,
    TRITON_KERNELS,
    pairs,
)
from tileas_xdsl.triton.compiling import module_of_stages, target_named

HERE = Path(__file__).parent
TEXTS = HERE / "ttgir"
ROOT = HERE.parents[1]


def stages_to_ttgir(
    function: Any, signature: dict[str, str], constants: dict[str, Any], target: str, blocks: int = 1
) -> Any:
    """Triton's module of `function` for `target`, as far as TTGIR, for clusters of so many blocks."""
    from triton.compiler import ASTSource
    from triton.experimental.gluon._runtime import GluonASTSource

    kind = GluonASTSource if function.is_gluon() else ASTSource
    attributes = {
        (number,): [["tt.divisibility", 16]]
        for number, name in enumerate(function.arg_names)
        if signature.get(name, "").startswith("*") or signature.get(name) == "i32"
    }
    given = {(function.arg_names.index(name),): value for name, value in constants.items()}
    full = {**signature, **dict.fromkeys(constants, "constexpr")}
    source = kind(function, full, given, None if function.is_gluon() else attributes)
    return module_of_stages(source, target_named(target), {"num_warps": 4, "num_stages": 3, "num_ctas": blocks})


class GenericForm:
    """Switches MLIR's printer to the generic form and back."""

    def __init__(self) -> None:
        from triton._C import libtriton  # type: ignore[import-not-found]

        self._library = ctypes.CDLL(libtriton.__file__)
        self._library["_ZN4mlir27registerAsmPrinterCLOptionsEv"]()

    def text(self, module: Any) -> str:
        self._set("--mlir-print-op-generic")
        try:
            return str(module)
        finally:
            self._set("--mlir-print-op-generic=false")

    def _set(self, option: str) -> None:
        self._library["_ZN4llvm2cl25ResetAllOptionOccurrencesEv"]()
        self._library.LLVMParseCommandLineOptions(2, (ctypes.c_char_p * 2)(b"x", option.encode()), b"")


def without_places_of_this_machine(text: str) -> str:
    """`text` with the files of the checkout and of Triton named from their roots."""
    import triton  # type: ignore[import-not-found]

    return text.replace(f"{Path(triton.__file__).parents[1]}/", "").replace(f"{ROOT}/", "")


def texts() -> Iterator[tuple[str, str]]:
    """(file below `TEXTS`, text) of every module."""
    from examples.gluon import matmul
    from tests.triton import triton_kernels

    generic = GenericForm()
    for pair in pairs():
        for case in pair.cases:
            function = getattr(import_module(f"tests.triton.{pair.module}"), pair.kernel)
            constants = {**pair.constants, "MISTAKE": case.mistake}
            signature = SIGNATURES[pair.kernel]
            blocks = BLOCKS.get(pair.kernel, 1)
            module, _context = stages_to_ttgir(function, signature, constants, TARGETS[pair.kernel], blocks)
            yield f"{pair.name}-{case.name}.ttgir", str(module)
            if case.mistake == 0:
                yield f"{pair.name}-{case.name}.generic", generic.text(module)
    for name, constants in EXAMPLES.items():
        module, _context = stages_to_ttgir(matmul.matmul, EXAMPLE_SIGNATURE, constants, "sm_90")
        yield f"{ROOT}/examples/gluon/{name}.ttgir", str(module)
    for name, (kernel, target, signature, constants) in {**TRITON_KERNELS, **FOUND}.items():
        signature = {
            each: kind for each, kind in signature.items() if each in getattr(triton_kernels, kernel).arg_names
        }
        module, _context = stages_to_ttgir(
            getattr(triton_kernels, kernel), signature, constants, target, CLUSTERS.get(name, 1)
        )
        yield f"{name}.ttgir", str(module)
        yield f"{name}.generic", generic.text(module)


def main() -> int:
    """Write all; with `--check`, say which files are not what Triton makes."""
    TEXTS.mkdir(exist_ok=True)
    changed: list[str] = []
    for name, text in texts():
        path, text = TEXTS / name, without_places_of_this_machine(text)
        if not path.exists() or path.read_text() != text:
            changed.append(name)
            if "--check" not in sys.argv:
                path.write_text(text)
    print("\n".join(changed) or "all as they are")
    return int(bool(changed) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
