"""Names of values, blocks and groups of attributes within one module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileas_xdsl.backend.llvm_ir.lines import Lines
from tileas_xdsl.backend.llvm_ir.types import type_text

LONG = 100
"""Characters of a struct from which on a name is shorter for LLVM to read."""


@dataclass
class Names:
    """
    A value is called what its name hint says, or `v` and a number; constants are their literals. Names, unlike LLVM's
    numbers, may be used before they are defined in the text, so blocks may stand in any order.
    """

    values: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    blocks: dict[Block, str] = field(default_factory=dict[Block, str])
    taken: set[str] = field(default_factory=set[str])
    groups: dict[str, int] = field(default_factory=dict[str, int])
    words: dict[int, tuple[Attribute, str]] = field(default_factory=dict[int, "tuple[Attribute, str]"])
    """`id` of a type -> the type, which is kept so that no other gets its `id`, and its word."""
    structs: dict[str, str] | None = None
    """Long struct -> the name that stands for it; None if structs are written out."""
    lines: Lines | None = None
    """Where ops stand in the program; None if that is not written."""

    def start_function(self) -> None:
        """Names of values and blocks begin anew; groups of attributes belong to the module."""
        self.values.clear()
        self.blocks.clear()
        self.taken.clear()

    def of(self, value: SSAValue) -> str:
        """How a value is written, without its type."""
        if value not in self.values:
            self.values[value] = f"%{self._fresh(value.name_hint)}"
        return self.values[value]

    def stands_for(self, value: SSAValue, literal: str) -> None:
        """From now on `literal` is written for `value`."""
        self.values[value] = literal

    def block(self, block: Block) -> str:
        """The label of a block, without `%`."""
        if block not in self.blocks:
            self.blocks[block] = self._fresh(f"bb{len(self.blocks)}")
        return self.blocks[block]

    def _fresh(self, hint: str | None) -> str:
        stem = hint if hint is not None else "v"
        name = stem if hint is not None else f"v{len(self.values)}"
        number = 0
        while name in self.taken:
            number += 1
            name = f"{stem}.{number}" if hint is not None else f"v{len(self.values) + number}"
        self.taken.add(name)
        return name

    def type(self, type_: Attribute, op: Operation) -> str:
        """
        The word for a type; `op` is blamed where there is none. Thousands of ops name the same few structs, and their
        hash is that of all members: so they are known by identity.
        """
        known = self.words.get(id(type_))
        if known is None:
            known = self.words[id(type_)] = (type_, self._short(type_text(type_, op)))
        return known[1]

    def _short(self, word: str) -> str:
        if self.structs is None or len(word) < LONG or not word.startswith("{"):
            return word
        return self.structs.setdefault(word, f"%struct.{len(self.structs)}")

    def typed(self, value: SSAValue, op: Operation) -> str:
        """A value behind its type."""
        return f"{self.type(value.type, op)} {self.of(value)}"

    def all_typed(self, values: Iterable[SSAValue], op: Operation) -> str:
        """Values, each behind its type."""
        return ", ".join(self.typed(value, op) for value in values)

    def group(self, words: str) -> str:
        """The name of the group of function attributes `words`."""
        return f"#{self.groups.setdefault(words, len(self.groups))}"
