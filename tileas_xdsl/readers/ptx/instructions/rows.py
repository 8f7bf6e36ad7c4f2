"""
A row of the table of instructions: an opcode, the roles of its operands, its modifiers in any order, what it becomes.

An instruction fits a row if its opcode is the row's, all its modifiers are among the row's, and it has as many operands
as there are roles. So what a row does not know it does not take: `add.sat.s32` fits none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.operands import Operand
from tileas_xdsl.readers.ptx.syntax import BITS, Instruction

INTEGERS = "u16 s16 u32 s32 u64 s64"
BIT_STRINGS = "b16 b32 b64"
NUMBERS = f"{INTEGERS} {BIT_STRINGS}"
ANY_TYPE = " ".join(BITS)


@dataclass(frozen=True)
class Call:
    """An instruction with its operands read, as a row is given it."""

    instruction: Instruction
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]

    def __getitem__(self, number: int) -> Operand:
        return self.operands[number]

    def has(self, modifier: str) -> bool:
        """Whether it has the modifier."""
        return modifier in self.modifiers

    @property
    def types(self) -> list[str]:
        """Those among the modifiers, in order."""
        return [word for word in self.modifiers if word in BITS]

    @property
    def bits(self) -> int:
        """Of the last type."""
        return BITS[self.types[-1]]

    @property
    def is_signed(self) -> bool:
        """Whether the last type is one of signed integers."""
        return self.types[-1].startswith("s")

    def one_of(self, words: Iterable[str]) -> str | None:
        """The first modifier among `words`."""
        wanted = set(words)
        return next((word for word in self.modifiers if word in wanted), None)


Becomes = Callable[[Builder, Call], None]


@dataclass(frozen=True)
class Row:
    """
    `roles`: one word an operand, in order, with `?` behind those that may be left out. They say what an operand is: `d`
    a result, `a`, `b`, `c` numbers, `p` a predicate, `m` a place in memory, `v` a vector.
    """

    opcode: str
    roles: str
    modifiers: str
    what: str
    """What it becomes: names of ops, `an unknown number`, `nothing`."""
    becomes: Becomes
    acts: bool = False
    """Whether others can see what it does: under a predicate it stands in a branch."""
    needs: str = ""
    """Modifiers of which it has to have one."""

    def has(self, modifiers: Sequence[str]) -> bool:
        """Whether an instruction of this opcode with these modifiers is one of this row."""
        known = set(modifiers) <= set(self.modifiers.split())
        return known and (not self.needs or not set(self.needs.split()).isdisjoint(modifiers))

    def takes(self, count: int) -> bool:
        """Whether it takes so many operands."""
        roles = self.roles.split()
        return sum(not role.endswith("?") for role in roles) <= count <= len(roles)


class Table:
    """The rows, by opcode."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._by_opcode: dict[str, list[Row]] = {}
        for row in self.rows:
            self._by_opcode.setdefault(row.opcode, []).append(row)
        self._longest = max(opcode.count(".") for opcode in self._by_opcode) + 1
        self._split: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {}
        self._rows_of: dict[tuple[str, ...], list[Row]] = {}

    def opcode(self, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The longest opcode of the table that `words` begin with (else their first), and the modifiers behind it."""
        if words not in self._split:
            lengths = range(min(self._longest, len(words)), 0, -1)
            known = (length for length in lengths if ".".join(words[:length]) in self._by_opcode)
            length = next(known, 1)
            self._split[words] = ".".join(words[:length]), words[length:]
        return self._split[words]

    def of(self, words: tuple[str, ...]) -> list[Row]:
        """The rows that an instruction fits, but for the number of its operands."""
        if words not in self._rows_of:
            opcode, modifiers = self.opcode(words)
            self._rows_of[words] = [row for row in self._by_opcode.get(opcode, ()) if row.has(modifiers)]
        return self._rows_of[words]


Rows = Sequence[Row]
BY_NAME = Mapping[str, Row]
