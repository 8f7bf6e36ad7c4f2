"""
Locations of instructions: those of the user's source, where `.loc` gives them, else lines of the PTX.

    .loc 2 43 13, function_name $L__info_string0, inlined_at 1 128 14
    callsite("standard.py":43:13 at "kernel.py":128:14)
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, LocationAttr, StringAttr

from tileas_xdsl.readers.ptx.syntax import Instruction, Place

LIBRARIES = ("triton/", "cutlass/", "cute/", "cccl/", "cuda/", "tl_templates/", "site-packages/")
"""Parts of paths of files that are no user's."""


class Locations:
    """Locations of the instructions of a text that is called `name`."""

    def __init__(self, name: str, files: Mapping[int, str]) -> None:
        self.name = name
        self.files = files
        self._known: dict[Place, LocationAttr | None] = {}

    def of(self, instruction: Instruction) -> LocationAttr:
        """Where `instruction` comes from."""
        place = instruction.place
        if place is not None:
            if place not in self._known:
                self._known[place] = self._of(place)
            known = self._known[place]
            if known is not None:
                return known
        return _at(self.name, instruction.line, 1)

    def _of(self, place: Place) -> LocationAttr | None:
        around = None if place.inlined_at is None else self._of(place.inlined_at)
        if place.line == 0 or place.file not in self.files:
            return around
        own = _at(self.files[place.file], place.line, max(place.column, 1))
        if around is None:
            return own
        return around if self._is_library(place) else CallSiteLoc(own, around)

    def _is_library(self, place: Place) -> bool:
        return any(part in self.files[place.file] for part in LIBRARIES)


def _at(name: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))
