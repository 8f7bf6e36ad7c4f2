"""
The child of `code_generation`: reads texts of LLVM IR on standard input and writes PTX. LLVM may end it at any moment,
so each answer is written as soon as it is there. It imports nothing of the package: it is to begin at once.
"""

from __future__ import annotations

import sys
from typing import Any

NO_LLVMLITE = 3
"""Exit status where llvmlite is not installed."""
REFUSED = 4
"""Exit status where LLVM's parser or verifier refuses the text."""
SEPARATOR = "\0"
"""Between the texts that one child translates, and between what it answers."""


def main() -> int:
    """Translate what stands on standard input; the arguments are the triple, the chip, its features and the level."""
    triple, chip, features, level = sys.argv[1:]
    try:
        from llvmlite import binding  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return NO_LLVMLITE
    llvm: Any = binding
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=chip, features=features, opt=int(level))
    for text in sys.stdin.buffer.read().decode().split(SEPARATOR):
        try:
            answer = _translate(llvm, machine, triple, text, int(level))
        except RuntimeError as error:
            print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
            return REFUSED
        sys.stdout.buffer.write(f"{answer}{SEPARATOR}".encode())
        sys.stdout.buffer.flush()
    return 0


def _translate(llvm: Any, machine: Any, triple: str, text: str, level: int) -> str:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


if __name__ == "__main__":
    sys.exit(main())
