"""
The elements of a form: a line of text that says how an op is read and printed, with optional groups `(...)?` in it.

A dialect has a pattern of its own for them, with the groups `group` and `end` for the parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Element:
    """One element of a form. Its `kind`, a group of the pattern or `optional`, says which fields count."""

    kind: str
    text: str = ""
    second: str = ""
    inside: tuple[Element, ...] = ()


def read_elements(
    form: str, pattern: re.Pattern[str], element: Callable[[re.Match[str]], Element]
) -> tuple[Element, ...]:
    """The elements of `form`, in order; `element` makes one of what the pattern matches, parentheses aside."""
    levels: list[list[Element]] = [[]]
    position = 0
    while position < len(form):
        match = pattern.match(form, position)
        assert match is not None, f"{form!r} has no meaning from {form[position:]!r} on"
        position = match.end()
        if match["group"]:
            levels.append([])
        elif match["end"]:
            inside = tuple(levels.pop())
            levels[-1].append(Element("optional", inside=inside))
        else:
            levels[-1].append(element(match))
    return tuple(levels[0])
