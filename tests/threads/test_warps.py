"""Products of other numbers of warps than four, in one agent and in several: the numbers are those of the tiles."""

from __future__ import annotations

import pytest

from tests.support.threads_and_tiles import AGENTS, BEFORE_TMA, ONE_AGENT, RIGHT, compared, lowered, text_of


@pytest.mark.parametrize("variant", [AGENTS, ONE_AGENT, BEFORE_TMA])
@pytest.mark.parametrize("warps", [1, 2, 8, 16])
def test_warps_share_a_product(variant: str, warps: int) -> None:
    """Of eight warps wgmma would want 128 rows, and there are 64: they multiply by `mma.sync`."""
    text = text_of("loaded_product")
    assert compared(text, lowered(text, variant, warps), (2,), 64) == RIGHT
