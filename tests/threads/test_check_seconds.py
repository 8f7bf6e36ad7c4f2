"""
How long the check of each variant of the tests' kernels took, in seconds of processor time, beside other work on the
same two cores (`python -m bench.thread_checks`): each was called safe for every trip count.
"""

from __future__ import annotations

import json

from bench.thread_checks import GIVEN_BEFORE, MEASURED, VARIANTS, lines

SECONDS: dict[str, dict[str, float | None]] = json.loads(MEASURED.read_text())
AFTER = {variant: seconds["after"] for variant, seconds in SECONDS.items()}
BEFORE = {variant: seconds["before"] for variant, seconds in SECONDS.items() if "before" in seconds}
GIVEN = 20
"""What `tileas compile` gives a check."""
LEAST_WITHIN = 0.9
LEAST_BEFORE = 20
"""Variants that were measured at the commit before, too."""


def test_each_variant_was_measured() -> None:
    assert tuple(SECONDS) == VARIANTS
    assert all(isinstance(seconds, float) for seconds in AFTER.values())


def test_nearly_all_checks_end_within_the_limit() -> None:
    within = [variant for variant, seconds in AFTER.items() if seconds is not None and seconds <= GIVEN]
    assert len(within) >= LEAST_WITHIN * len(VARIANTS)
    assert all(variant in within for variant in VARIANTS if variant.startswith("attention_128"))


def test_checks_became_faster() -> None:
    """Each of those that were measured at both commits; where there was no proof before, there is one now."""
    assert len(BEFORE) >= LEAST_BEFORE
    ends = {variant: GIVEN_BEFORE if before is None else before for variant, before in BEFORE.items()}
    assert all(after < ends[variant] for variant, after in AFTER.items() if after is not None and variant in ends)


def test_the_table_has_a_line_for_each_kernel() -> None:
    shown = [line.split()[0] for line in lines()]
    assert shown == ["seconds", *dict.fromkeys(variant.split()[0] for variant in VARIANTS)]
