"""
Verdicts on PTX of Triton 3.9, of `tileas compile`, and of what lies in the folders that `TILEAS_PTX` names.

For each kernel whether it is read, the verdict for trip counts 0 to 8 within 30 seconds of processor time, what is
found, and what is found in the TTGIR of the same kernel, where that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.ptx_corpus import row_of, texts

COUNTS, SECONDS = range(9), 30.0


def measure() -> Iterator[dict[str, Any]]:
    """A row for each kernel."""
    for text in texts():
        row = row_of(text, list(COUNTS), SECONDS)
        yield {
            "kernel": row.kernel,
            "source": row.source,
            "target": row.target,
            "read": row.read,
            "verdict": row.verdict,
            "found": " ".join(row.kinds),
            "expected": text.expected or "",
            "s": row.seconds,
        }
