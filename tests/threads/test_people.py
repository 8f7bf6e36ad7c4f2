"""
Kernels as people write them (`tests/kernels/people/`): what each becomes on each target, down to threads.

`people.json` says how each comes out in each variant, and the tests hold it:

    proved               the threads compute what the tiles do, and are safe for every trip count
    compiled             they compute the same; that they are safe is not said, or for some trip counts only
    refused: OP          a pass refuses the op

Who improves one changes its row.
"""

from __future__ import annotations

import json

from tests.support.corpora import each
from tests.support.ir import ROOT
from tests.support.threads_and_tiles import (
    AGENTS,
    RIGHT,
    SECONDS,
    VARIANTS,
    compared,
    lowered,
)
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, op_name

KERNELS = ROOT / "tests" / "kernels" / "people"
NAMES = sorted(path.stem for path in KERNELS.glob("*.mlir"))
OUTCOMES: dict[str, dict[str, str]] = json.loads((ROOT / "tests" / "threads" / "people.json").read_text())
PROVED, COMPILED, REFUSED = "proved", "compiled", "refused"
CASES = [(name, variant) for name in NAMES for variant in VARIANTS]
COUNTS = (0, 1, 2, 3, 4, 5)
"""Trips, in the same four orders as those of all programs of threads."""
EXTENT = 160
LEAST_COMPILED = 0.9
"""Of all kernels, in all variants."""
ARE_PROVED = [case for case in CASES if OUTCOMES[case[0]][case[1]] == PROVED]


OPEN = {
    "causal_attention_blocks": "too long: after a minute the proof is at trip count 25",
    "persistent_gemm": "too long: 8 places of the ring times the heads of two loops make more than 130 states",
    "stream_k": "too long: the number of the block decides, and is tried from 0 to 3",
}
"""What keeps the proof back where a kernel is in no variant known to be safe for every trip count."""


def text_of(name: str) -> str:
    return (KERNELS / f"{name}.mlir").read_text()


def outcome(name: str, variant: str) -> str:
    """Whether a kernel is compiled, else which op is refused."""
    try:
        lowered(text_of(name), variant)
    except RefusedError as error:
        return f"{REFUSED}: {op_name(error.diagnostics[0].op)}"
    return COMPILED


def test_each_kernel_has_a_row() -> None:
    assert sorted(OUTCOMES) == NAMES
    assert all(list(row) == list(VARIANTS) for row in OUTCOMES.values())


def test_what_is_open_is_not_called_proved() -> None:
    assert not [name for name in OPEN if PROVED in OUTCOMES[name].values()]


def test_most_kernels_are_compiled() -> None:
    compiled = [row for row in OUTCOMES.values() if set(row.values()) <= {PROVED, COMPILED}]
    assert len(compiled) >= LEAST_COMPILED * len(OUTCOMES)


@each("case", CASES, 24, ids="-".join)
def test_kernels_are_refused_where_the_table_says_so(case: tuple[str, str]) -> None:
    name, variant = case
    expected = OUTCOMES[name][variant]
    assert outcome(name, variant) == (expected if expected.startswith(REFUSED) else COMPILED)


@each("case", [case for case in CASES if not OUTCOMES[case[0]][case[1]].startswith(REFUSED)], 4, ids="-".join)
def test_threads_compute_what_people_wrote(case: tuple[str, str]) -> None:
    name, variant = case
    text = text_of(name)
    assert compared(text, lowered(text, variant), COUNTS, EXTENT) == RIGHT


SLOW = [("transpose_f16", AGENTS)]
"""Whose check takes most of the minute."""


@each("case", ARE_PROVED, 2, ids="-".join, slow=SLOW)
def test_threads_are_safe_for_every_trip_count(case: tuple[str, str]) -> None:
    name, variant = case
    report = check(lowered(text_of(name), variant), judge_waits=False, timeout=SECONDS)
    assert not report.findings
    assert report.is_proved, report.verdict_line
