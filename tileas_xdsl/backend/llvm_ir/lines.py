"""
Lines of the program as metadata, from which LLVM writes `.file` and `.loc`, and nothing else.

    store i32 %x, ptr %p, !dbg !5
    !5 = !DILocation(line: 12, column: 7, scope: !4)

An op without a place gets line 0, which means none. Source: LLVM, "Source Level Debugging with LLVM"; the emission kind
is `DebugDirectivesOnly`, so no section for a debugger is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xdsl.dialects import llvm
from xdsl.ir import Operation

from tileas_xdsl.backend.llvm_ir.literals import quoted
from tileas_xdsl.diagnostics import place_in

LINE_INFO = re.compile(r"^\s*\.(?:loc|file)\s.*\n", re.MULTILINE)
LEFTOVERS = re.compile(r"^\$L__(?:tmp|func_begin|func_end)\d+:\n|^\s*\.section\s+\.debug_\w+\s*\{\s*\}\n", re.MULTILINE)
"""Labels that debug sections would name, and an empty section."""


@dataclass
class Lines:
    """The nodes of a module, by their text; a function begins with `enter`."""

    nodes: dict[str, int] = field(default_factory=dict[str, int])
    function: tuple[str, int] | None = None
    """The file in which the current function begins, and its node; None where that is not known."""

    def enter(self, op: llvm.FuncOp) -> str:
        """What stands behind the head of the function `op`."""
        place = place_in(op.location)
        if place is None:
            self.function = None
            return ""
        file, line = place.filename.data, place.line.data
        in_file = self._file(file)
        unit = self._node(
            f"distinct !DICompileUnit(language: DW_LANG_C, file: !{in_file}, producer: {quoted('tileas compile')}, "
            "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)"
        )
        kind = self._node(f"!DISubroutineType(types: !{self._node('!{}')})")
        self.function = (
            file,
            self._node(
                f"distinct !DISubprogram(name: {quoted(op.sym_name.data)}, scope: !{in_file}, file: !{in_file}, "
                f"line: {line}, type: !{kind}, unit: !{unit}, spFlags: DISPFlagDefinition | DISPFlagOptimized)"
            ),
        )
        return f" !dbg !{self.function[1]}"

    def of(self, op: Operation) -> str:
        """What stands behind each instruction of `op`."""
        if self.function is None:
            return ""
        place = place_in(op.location)
        own, scope = self.function
        line, column = (0, 0) if place is None else (place.line.data, place.column.data)
        if place is not None and place.filename.data != own:
            file = self._file(place.filename.data)
            scope = self._node(f"!DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: 0)")
        return f", !dbg !{self._node(f'!DILocation(line: {line}, column: {column}, scope: !{scope})')}"

    def _file(self, name: str) -> int:
        return self._node(f'!DIFile(filename: {quoted(name)}, directory: "")')

    def _node(self, text: str) -> int:
        return self.nodes.setdefault(text, len(self.nodes))

    def text(self) -> list[str]:
        """What stands at the end of the module."""
        if not self.nodes:
            return []
        units = [f"!{number}" for text, number in self.nodes.items() if "DICompileUnit" in text]
        version = self._node('!{i32 2, !"Debug Info Version", i32 3}')
        named = [f"!llvm.dbg.cu = !{{{', '.join(units)}}}", f"!llvm.module.flags = !{{!{version}}}"]
        return ["", *named, *(f"!{number} = {text}" for text, number in self.nodes.items())]


def tidied(ptx: str) -> str:
    """PTX without what only debug sections would need."""
    return LEFTOVERS.sub("", ptx)


def without_lines(ptx: str) -> str:
    """PTX without the lines of the program."""
    return LINE_INFO.sub("", ptx)
