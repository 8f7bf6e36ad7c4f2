"""
The runs on GPUs so far: what was right, and how fast, beside the vendors' libraries in the same run. The figures stand
in `h200.json`, which says on which device they were measured, and with which version of the compiler. What `run_all.py`
has written of all variants of the tests' kernels is kept as `variants.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "h200.json"
VARIANTS = Path(__file__).parent / "variants.json"


def lines(data: dict[str, Any]) -> Iterator[str]:
    """A line for each set of variants, and one for each program: its rate in each run."""
    yield f"{data['device']}; compiled at {data['compiled at']}"
    for each in data["numbers"]:
        yield f"{each['programs']}: {each['right']} of {each['variants']} compiled variants give the right numbers"
    rates: dict[tuple[str, str, str], list[str]] = {}
    for row in data["rows"]:
        shape = " x ".join(f"{extent:,}" for extent in row["shape"])
        unit = "TFLOP/s" if "TFLOP/s" in row else "GB/s"
        rates.setdefault((f"{row['what']}, {shape}", row["program"], unit), []).append(f"{row[unit]:,.0f}")
    heading = ""
    for (what, program, unit), found in rates.items():
        if what != heading:
            yield what
        heading = what
        yield f"  {program}: {' and '.join(found)} {unit}"


def variant_lines(data: dict[str, Any]) -> Iterator[str]:
    """How many variants are right at all trip counts, and a line for each that is not."""
    right = f"{data['right']} of {data['variants']} variants are right"
    yield f"{data['device']}, {data['launches']} launches at each trip count: {right}"
    for row in data["rows"]:
        if row["wrong"] or row["problem"] or not row["right"]:
            counts = f"wrong at {', '.join(row['wrong'])} trips" if row["wrong"] else row["problem"] or "nothing ran"
            yield f"  {row['program']}, {row['target']}, {row['strategy']}: {counts}"


if __name__ == "__main__":
    print("\n".join(lines(json.loads(DATA.read_text()))))
    if VARIANTS.exists():
        print("\n".join(variant_lines(json.loads(VARIANTS.read_text()))))
