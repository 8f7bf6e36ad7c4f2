"""Random kernels of warps: what is right by construction the explorer finds right, in any order of its search."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.checker.explorer.explorer import TooLargeError, explore
from tests.checker.explorer.kernel_programs import generate
from tests.support.ir import parse

MOST_STEPS = 3_000
KERNELS = 3_000 if os.environ.get("TILEAS_CASES") == "full" else 150


def test_the_corpus_is_judged() -> None:
    """Right ones as they are generated; enough of both sorts, every kind of mistake; few too large to explore."""
    kinds: Counter[str] = Counter()
    too_large = 0
    for seed in range(KERNELS):
        sample = generate(seed)
        try:
            found = explore(parse(sample.text), most_steps=MOST_STEPS, stops_early=True)
        except TooLargeError:
            too_large += 1
            continue
        assert sample.changes or not found.verdict, f"{seed}: {found.witnesses}"
        kinds.update(found.verdict or {"safe"})
    assert too_large * 100 <= 2 * KERNELS
    assert KERNELS // 3 <= kinds["safe"] <= KERNELS * 3 // 4
    assert set(kinds) == {"safe", "race", "deadlock", "phase", "missing-fence", "undrained"}


def test_kernels_follow_from_the_seed() -> None:
    assert [generate(seed) for seed in range(40)] == [generate(seed) for seed in range(40)]
    assert len({generate(seed).text for seed in range(40)}) > 35


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_the_search_leaves_nothing_out(first: int) -> None:
    """Every order of the visible steps finds what the reduced search finds; after what is undefined kinds may lack."""
    for seed in range(first, first + 10):
        module = parse(generate(seed).text)
        try:
            all_orders = explore(module, most_steps=1_500, reduced=False)
            reduced = explore(module, most_steps=1_500)
        except TooLargeError:
            continue
        assert bool(all_orders.verdict) == bool(reduced.verdict), seed
        assert "phase" in all_orders.verdict or all_orders.verdict == reduced.verdict, seed
        assert reduced.runs <= all_orders.runs


def test_the_explorer_knows_nothing_of_what_it_judges() -> None:
    """It shares the parser and the dialects with the checker, and no more; the tests beside it may."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    for path in (path for path in paths if not path.name.startswith("test_")):
        imports = re.findall(r"^(?:from|import) (tileas_xdsl\S*)", path.read_text(), re.MULTILINE)
        assert all(name.startswith("tileas_xdsl.dialects") for name in imports), path.name
