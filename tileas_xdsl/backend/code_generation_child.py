"""
The child of `code_generation`: reads texts of LLVM IR on standard input and writes PTX. LLVM may end it at any moment,
so each answer is written as soon as it is there.
"""

from __future__ import annotations

import sys
from typing import Any

from tileas_xdsl.backend.code_generation import NO_LLVMLITE, REFUSED, SEPARATOR
from tileas_xdsl.backend.nvptx import TRIPLE


def main() -> int:
    """Translate what stands on standard input; the arguments are the chip, its features and the level."""
    chip, features, level = sys.argv[1:]
    try:
        from llvmlite import binding  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return NO_LLVMLITE
    llvm: Any = binding
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=chip, features=features, opt=int(level))
    for text in sys.stdin.buffer.read().decode().split(SEPARATOR):
        try:
            answer = _translate(llvm, machine, text, int(level))
        except RuntimeError as error:
            print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
            return REFUSED
        sys.stdout.buffer.write(f"{answer}{SEPARATOR}".encode())
        sys.stdout.buffer.flush()
    return 0


def _translate(llvm: Any, machine: Any, text: str, level: int) -> str:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


if __name__ == "__main__":
    sys.exit(main())
