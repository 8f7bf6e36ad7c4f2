"""
Holding our copies of MLIR's ops against mlir-opt: same text, custom and generic, op by op.

A table of op lines goes through mlir-opt in three runs, however long it is: every line becomes a function of its own
in a chunk of its own. Exit status 0 proves nothing for `nvvm`, `rocdl` and `llvm` (mlir-opt lets unknown ops of these
through), so what counts is the printed line: a registered op comes back unquoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.support.ir import parse, print_custom, print_generic
from tests.support.mlir import mlir_opt

SEPARATOR = "\n// -----\n"


@dataclass(frozen=True)
class OpTable:
    """Op lines to be compared, and the arguments that they may use, as in a function's header."""

    arguments: str
    lines: Sequence[str]

    def function(self, line: str) -> str:
        """`line` alone in a function."""
        return f"func.func @f({self.arguments}) {{\n  {line}\n  func.return\n}}\n"

    @cached_property
    def from_custom(self) -> dict[str, str]:
        """What mlir-opt prints for each line."""
        return self._through_mlir([self.function(line) for line in self.lines])

    @cached_property
    def from_custom_generic(self) -> dict[str, str]:
        """What mlir-opt prints for each line in the generic form."""
        return self._through_mlir([self.function(line) for line in self.lines], "--mlir-print-op-generic")

    @cached_property
    def from_our_generic(self) -> dict[str, str]:
        """What mlir-opt prints for each line when it is given our generic form of it."""
        return self._through_mlir([print_generic(parse(self.function(line))) for line in self.lines])

    def _through_mlir(self, chunks: Sequence[str], *arguments: str) -> dict[str, str]:
        output = mlir_opt(SEPARATOR.join(chunks), "--split-input-file", *arguments)
        pieces = output.split("// -----")
        assert len(pieces) == len(self.lines)
        return dict(zip(self.lines, pieces, strict=True))

    def assert_same_text(self, line: str) -> None:
        """Our custom and generic print of `line` are mlir-opt's; our generic form comes back from it unquoted."""
        module = parse(self.function(line))
        theirs = op_text(self.from_custom[line])
        assert op_text(print_custom(module)) == theirs
        assert op_text(self.from_our_generic[line]) == theirs
        assert op_text(print_generic(module)) == op_text(self.from_custom_generic[line])
        assert parse(self.from_custom[line]).is_structurally_equivalent(module)


def op_text(text: str) -> str:
    """
    The ops of the one function in `text`, with values numbered by first appearance and result packs taken apart.

    A memref's memory space is `3` for MLIR and `3 : i64` for xDSL.
    """
    text = re.sub(r", (\d+) : i64>", r", \1>", text)
    text = re.sub(
        r"(%[\w$.-]+):(\d+)(?= =)",
        lambda match: ", ".join(f"{match[1]}#{index}" for index in range(int(match[2]))),
        text,
    )
    numbers: dict[str, str] = {}
    text = re.sub(r"%[\w$.-]+(#\d+)?", lambda match: numbers.setdefault(match[0], f"%{len(numbers)}"), text)
    frame = re.compile(r'"?(builtin\.module|module|func\.func|func\.return|return)"?\b|\^bb|\}|//|#')
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not frame.match(line))
