"""Products in one agent of another number of warps than four: the numbers are those of the tiles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tests.support.threads_and_tiles import AGENTS, lowered, text_of
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.machine.running import run

TARGETS = ("sm_80", "sm_90a")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("warps", [1, 2, 8, 16])
def test_warps_share_a_product(target: str, warps: int) -> None:
    """Of eight warps wgmma would want 128 rows, and there are 64: they multiply by `mma.sync`."""
    tiles = parse(text_of("loaded_product"))
    threads = lowered(text_of("loaded_product"), f"{target} unspecialize", warps)
    draw = np.random.default_rng(1)
    given = [draw.integers(-2, 3, (64, 64)).astype(kind) for kind in (np.float16, np.float16, np.float32)]
    expected, found = (
        run(module, "f", {**{name: array.copy() for name, array in zip("aby", given, strict=True)}, "n": 2})
        for module in (tiles, threads)
    )
    assert np.array_equal(found.arrays["y"], expected.arrays["y"])
    assert not found.violations


@pytest.mark.parametrize("warps", [2, 8])
def test_agents_have_four_warps(warps: int) -> None:
    with pytest.raises(RefusedError, match="is executed by 4 warps") as refused:
        lowered(text_of("loaded_product"), AGENTS, warps)
    assert "num-warps 4" in str(refused.value)
