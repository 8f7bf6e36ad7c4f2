"""Why a text cannot be read as PTX."""

from __future__ import annotations


class PtxError(Exception):
    """One sentence about the line `line` (from 1 on; None: about the file)."""

    def __init__(self, line: int | None, message: str) -> None:
        self.line = line
        super().__init__(message)
