"""
Ops as rows: one line says the opcode, the encoding, the types and the text of an op.

    row("addf", 2, "[flush_to_zero] rounding_mode:rounding=nearest_even | lhs:float rhs:float -> result:float",
        "$lhs, $rhs( rounding<$rounding_mode>)?( $flush_to_zero)?{} : type(lhs rhs result)")

The encoding has, in the order of the bytecode,

- `#` where the number of results is written (it is where a group of operands or results is a list);
- `[a b]`: the bits of the flags: unit attributes, optional attributes, optional operands;
- attributes `name:kind`, with `?` in front if a flag says whether it is there, with `=word` for its default;
- behind `|` operands `name:class`, with `?` in front if optional, `*` if a list; behind `->` results alike.

`@13.x` behind a name is the first version of the format that has it. Which classes there are says `CLASSES` in
`verifiers.py`, which kinds `KINDS` below. `forms.py` explains the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

Version = tuple[int, int]
"""A version of the bytecode: (13, 3)."""

FIRST: Version = (13, 1)
NEWEST: Version = (13, 5)
VERSIONS: tuple[Version, ...] = tuple((13, minor) for minor in range(1, 6))

KINDS = (
    *("signedness", "predicate", "ordering", "overflow", "rounding", "semantics", "scope", "mode", "reduction"),
    *("i32", "i64", "bool", "str", "symbol", "i32s", "bools", "constant", "fact", "array", "hints"),
)
"""What an attribute of a row holds: an enumeration, or one of the last line."""

PART = re.compile(r"([?*]?)(\w+)(?::(\w+))?(?:=(\w+))?(?:@(\d+)\.(\d+))?$")
"""Matches `?name:kind=default@13.3`."""


@dataclass(frozen=True)
class Part:
    """One attribute, group of operands, group of results, or flag."""

    name: str
    many: str
    """`?` optional, `*` a list, nothing for exactly one."""
    kind: str
    """Kind of an attribute, class of an operand or a result."""
    default: str
    since: Version

    @classmethod
    def read(cls, text: str) -> Part:
        """The part that `text` describes."""
        match = PART.match(text)
        assert match is not None, f"{text!r} is no part of a row"
        many, name, kind, default, major, minor = match.groups()
        return cls(name, many, kind or "any", default or "", (int(major), int(minor)) if major else FIRST)


def _parts(text: str) -> tuple[Part, ...]:
    return tuple(map(Part.read, text.split()))


@dataclass(frozen=True)
class Row:
    """One op."""

    name: str
    opcode: int
    encoding: str
    form: str
    since: Version = FIRST
    regions: int = 0
    effects: str = "pure"
    """`pure`, `reads`, `writes`, `memory` (both), `allocates`, `regions` (those of what is inside), `terminator`."""
    match: str = ""
    """What has to agree: `shape a b; element a b; rank a b`. The types of one `type(a b)` of the form agree anyway."""

    @cached_property
    def _halves(self) -> tuple[str, str, str, str]:
        before, _, after = self.encoding.rpartition("|")
        operands, _, results = after.partition("->")
        flags = re.search(r"\[(.*?)\]", before)
        attributes = re.sub(r"\[.*?\]", "", before).replace("#", "")
        return (flags[1] if flags else ""), attributes, operands, results

    @cached_property
    def flags(self) -> tuple[Part, ...]:
        """The bits of the flags, from 0."""
        return _parts(self._halves[0])

    @cached_property
    def attributes(self) -> tuple[Part, ...]:
        """The attributes that are encoded as numbers, in order."""
        return _parts(self._halves[1])

    @cached_property
    def operands(self) -> tuple[Part, ...]:
        """The groups of operands, in order."""
        return _parts(self._halves[2])

    @cached_property
    def results(self) -> tuple[Part, ...]:
        """The groups of results, in order."""
        return _parts(self._halves[3])

    @cached_property
    def counts_results(self) -> bool:
        """Whether the number of results is written."""
        return "#" in self.encoding

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The flags that are nothing but flags."""
        known = {part.name for part in (*self.attributes, *self.operands)}
        return tuple(flag.name for flag in self.flags if flag.name not in known)

    @cached_property
    def defaults(self) -> Mapping[str, str]:
        """Attribute -> the word that it has where nothing is said."""
        return {part.name: part.default for part in self.attributes if part.default}

    @cached_property
    def has_segments(self) -> bool:
        """Whether groups of operands are told apart by their sizes."""
        return sum(bool(part.many) for part in self.operands) > 1

    @cached_property
    def counts_each_group(self) -> bool:
        """Whether each list has a count; else all operands have one count, or none."""
        flagged = {flag.name for flag in self.flags}
        lists = [place for place, part in enumerate(self.operands) if part.many == "*"]
        if any(part.name in flagged for part in self.operands):
            return True
        return bool(lists) and (len(lists) > 1 or lists[0] != len(self.operands) - 1)

    @cached_property
    def counts_all_operands(self) -> bool:
        """Whether one count stands in front of all operands."""
        return not self.counts_each_group and any(part.many for part in self.operands)
