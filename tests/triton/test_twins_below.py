"""
The program of `nvvm` in each pair of `twins/` synchronises as what Triton itself makes of the program of TTGIR beside
it: the same instructions, as often, and waits with the same counts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.triton.test_below import BELOW
from tests.triton.test_pairs import HERE
from tests.triton.test_twins import ALL, Twin

RIGHT = {twin.pair: twin for twin in reversed(ALL) if not twin.kinds and not twin.pair.startswith("amd-")}
"""The first right program of each pair for GPUs of NVIDIA. (The library of Triton lowers for one backend at a time.)"""
INSTRUCTIONS = {
    **BELOW,
    "init": r"mbarrier\.init\.shared::cta()",
    "arrive": r"mbarrier\.arrive\.shared::cta()",
    "arrive behind copies": r"cp\.async\.mbarrier\.arrive()",
    "expect": r"mbarrier\.arrive\.expect_tx()",
    "wait for stores": r"nvvm\.tcgen05\.wait <store>()",
}
"""What happens -> the instruction in Triton's text, with its count where it waits for groups."""
OPS = {
    "init": r"nvvm\.mbarrier\.init()",
    "inval": r"nvvm\.mbarrier\.inval()",
    "arrive": r"nvvm\.mbarrier\.arrive %()",
    "arrive behind copies": r"nvvm\.cp\.async\.mbarrier\.arrive()",
    "expect": r"nvvm\.mbarrier\.arrive\.expect_tx()",
    "wait": r"nvvm\.mbarrier\.try_wait\.parity()",
    "copies committed": r"nvvm\.cp\.async\.commit\.group()",
    "copies awaited": r"nvvm\.cp\.async\.wait\.group (\d+)",
    "stores committed": r"nvvm\.cp\.async\.bulk\.commit\.group()",
    "store reads awaited": r"nvvm\.cp\.async\.bulk\.wait_group (\d+) \{read\}",
    "stores awaited": r"nvvm\.cp\.async\.bulk\.wait_group (\d+)$",
    "products committed": r"nvvm\.wgmma\.commit\.group()",
    "products awaited": r"nvvm\.wgmma\.wait\.group\.sync\.aligned (\d+)",
    "arrivals of the tensor core": r"nvvm\.tcgen05\.commit()",
    "wait for stores": r"nvvm\.tcgen05\.wait <store>()",
}
"""The same -> the op of `nvvm`."""


def happenings(text: str, patterns: dict[str, str]) -> Counter[tuple[str, str]]:
    return Counter((what, n) for what, pattern in patterns.items() for n in re.findall(pattern, text, re.MULTILINE))


@pytest.fixture(scope="module")
def lowered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what Triton makes of each program."""
    if find_spec("triton") is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail("Triton 3.9 is required and absent: pip install '.[triton]'")
        pytest.skip("needs Triton 3.9: pip install '.[triton]'")
    folder = tmp_path_factory.mktemp("twins")
    files = [folder / f"{pair}.ttgir" for pair in RIGHT]
    for file in files:
        target = "cuda:90" if file.stem.startswith("wgmma") else "cuda:100"
        file.write_text(RIGHT[file.stem].above.replace("cuda:100", target))
    command = [sys.executable, "-W", "ignore", "-m", "tests.triton.below", str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1], check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("twin", RIGHT.values(), ids=str)
def test_triton_makes_these_instructions(twin: Twin, lowered: Path) -> None:
    text = (lowered / twin.pair / "lowered.mlir").read_text()
    assert happenings(text, INSTRUCTIONS) == happenings(twin.below, OPS)
