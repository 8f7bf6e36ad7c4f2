"""
How long the check of each variant of the tests' kernels took, in seconds of processor time, beside other work on the
same two cores (`python -m bench.thread_checks`): each was called safe for every trip count.
"""

from __future__ import annotations

import json

from bench.thread_checks import VARIANTS
from tests.support.ir import ROOT

SECONDS: dict[str, float] = json.loads((ROOT / "tests" / "threads" / "check_seconds.json").read_text())
LIMIT = 20
"""What `tileas compile` gives a check."""
LEAST_WITHIN = 0.9


def test_each_variant_was_measured() -> None:
    assert tuple(SECONDS) == VARIANTS


def test_nearly_all_checks_end_within_the_limit() -> None:
    within = [variant for variant, seconds in SECONDS.items() if seconds <= LIMIT]
    assert len(within) >= LEAST_WITHIN * len(VARIANTS)
    assert all(variant in within for variant in VARIANTS if variant.startswith("attention_128"))
