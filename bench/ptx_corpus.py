"""
Verdicts on PTX of Triton 3.9, of `tileas compile`, of nvcc, and of what lies in the folders that `TILEAS_PTX` names.

For each kernel whether it is read, the verdict for trip counts 0 to 8 within 30 seconds of processor time, what is
found, and what is found in the TTGIR of the same kernel, where that is known; and whether it is right for every trip
count, which is asked for 60 seconds. The last row counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.support.ptx_corpus import row_of, texts

COUNTS, SECONDS, SECONDS_OF_PROOF = range(9), 30.0, 60.0
VERDICTS = ("safe", "violation")


def measure() -> Iterator[dict[str, Any]]:
    """A row for each kernel, and one that counts those that are read, have a verdict, and are proved."""
    met: Counter[str] = Counter()
    for text in texts():
        row = row_of(text, list(COUNTS), SECONDS)
        proof = row_of(text, None, SECONDS_OF_PROOF) if row.verdict == "safe" else None
        met["kernels"] += 1
        met["read"] += row.read == "yes"
        met["verdict"] += row.verdict in VERDICTS
        met["proved"] += proof is not None and proof.proved
        yield {
            "kernel": row.kernel,
            "source": row.source,
            "target": row.target,
            "read": row.read,
            "verdict": row.verdict,
            "found": " ".join(row.kinds),
            "expected": text.expected or "",
            "s": row.seconds,
            "proved": "" if proof is None else "yes" if proof.proved else "no",
            "proof s": None if proof is None else proof.seconds,
        }
    counts = {column: str(met[column]) for column in ("read", "verdict", "proved")}
    yield {"kernel": f"{met['kernels']} kernels", **counts}
