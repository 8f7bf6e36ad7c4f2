"""
What the checker takes for granted of Triton's work below TTGIR, held against that work: which proxy fences the compiler
puts in, who arrives at barriers and how often, and what each wait waits for.

Triton lowers texts of this folder as far as LLVM's dialect (`below`). There each op that synchronises is an
instruction.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.triton.test_pairs import HERE, module_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.meanings import ttng

KERNELS = (
    *("wgmma_ring-1-good", "wgmma_ring-2-good", "wgmma_ring-2-7", "wgmma_ring-2-8", "copy_ring-3-good"),
    *("store_ring-1-good", "store_ring-3-good", "fenced_stores-good", "fenced_stores-good1", "fenced_stores-2"),
    *("tcgen05_loop-good", "two_rings-good", "matmul-90", "matmul-100", "matmul_descriptors-90"),
)
FENCE = re.compile(r"^ *ttng\.fence_async_shared.*\n", re.MULTILINE)
WITHOUT = "-without-fences"
"""Behind the name of a kernel from which all written fences were taken."""


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what Triton makes of each kernel."""
    if find_spec("triton") is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail("Triton 3.9 is required and absent: pip install '.[triton]'")
        pytest.skip("needs Triton 3.9: pip install '.[triton]'")
    folder = tmp_path_factory.mktemp("below")
    files: list[str] = []
    for name in KERNELS:
        text = (HERE / "ttgir" / f"{name}.ttgir").read_text()
        for suffix, changed in (("", text), (WITHOUT, FENCE.sub("", text))):
            folder.joinpath(f"{name}{suffix}.ttgir").write_text(changed)
            files.append(str(folder / f"{name}{suffix}.ttgir"))
    command = [sys.executable, "-W", "ignore", "-m", "tests.triton.below", str(folder), *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1], check=False)
    assert done.returncode == 0, done.stderr
    return folder


# Fences ---------------------------------------------------------------------------------------------------------------


@contextmanager
def _nothing_put_in(_agent: Any) -> Generator[None]:
    """What stands in the text is all there is."""
    yield


def kinds(module: ModuleOp) -> set[str]:
    return {kind for kind in check(module, trip_counts=(0, 1, 3), prove=False, timeout=None).kinds}


@pytest.mark.parametrize("suffix", ["", WITHOUT])
@pytest.mark.parametrize("name", KERNELS)
def test_the_compiler_puts_in_the_fences_that_it_is_taken_to_put_in(
    name: str, suffix: str, below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text with Triton's fences in it says, read to the letter, what the text without them says under the rule."""
    before = module_of(name, (below / f"{name}{suffix}.ttgir").read_text())
    after = module_of(name, (below / f"{name}{suffix}" / "fenced.ttgir").read_text())
    under_the_rule = kinds(before)
    monkeypatch.setattr(ttng, "fenced_by_compiler", _nothing_put_in)
    assert kinds(after) == under_the_rule


def test_some_fences_are_put_in_and_some_are_not(below: Path) -> None:
    """The test above says something of both."""
    put_in = {
        name: (below / f"{name}{WITHOUT}" / "fenced.ttgir").read_text().count("fence_async_shared") for name in KERNELS
    }
    assert put_in["store_ring-1-good"] == 1
    assert put_in["fenced_stores-good"] == 0
    assert sum(number > 0 for number in put_in.values()) >= 4


# Arrivals and waits ---------------------------------------------------------------------------------------------------

BELOW = {
    "init": r"@\$0 mbarrier\.init\.shared::cta\.b64 \[\$1\], (\d+);",
    "inval": r"@\$0 mbarrier\.inval\.shared::cta\.b64 \[\$1\]()",
    "arrive": r"@\$0 mbarrier\.arrive\.shared::cta\.b64 _, \[\$1\](?:, (\d+))?;",
    "expect": r"@\$0 mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, \[\$1\], (\d+);",
    "wait": r"mbarrier\.try_wait\.parity()",
    "copies committed": r"nvvm\.cp\.async\.commit\.group()",
    "copies awaited": r"nvvm\.cp\.async\.wait\.group (\d+)",
    "stores committed": r"nvvm\.cp\.async\.bulk\.commit\.group()",
    "store reads awaited": r"nvvm\.cp\.async\.bulk\.wait_group (\d+) \{read\}",
    "stores awaited": r"nvvm\.cp\.async\.bulk\.wait_group (\d+) loc",
    "products committed": r"nvvm\.wgmma\.commit\.group()",
    "products awaited": r"wgmma\.wait_group\.sync\.aligned (\d+)",
    "arrivals of the tensor core": r"tcgen05\.commit\.cta_group::1\.mbarrier::arrive::one()",
}
"""What happens -> the instruction, and the number in it."""
ABOVE = {
    "ttng.init_barrier": ("init", "count"),
    "ttng.inval_barrier": ("inval", ""),
    "ttng.arrive_barrier": ("arrive", "count"),
    "ttng.barrier_expect": ("expect", "size"),
    "ttng.wait_barrier": ("wait", ""),
    "ttg.async_commit_group": ("copies committed", ""),
    "ttg.async_wait": ("copies awaited", "num"),
    "ttng.async_tma_copy_local_to_global": ("stores committed", ""),
    "ttng.warp_group_dot": ("products committed", ""),
    "ttng.warp_group_dot_wait": ("products awaited", "pendings"),
    "ttng.tc_gen5_commit": ("arrivals of the tensor core", ""),
}
"""Op -> what it is taken to do, once, and the property with the number."""

Happening = tuple[str, str]


def happenings_above(module: ModuleOp) -> Counter[Happening]:
    found = Counter[Happening]()
    for op in module.walk():
        if op.name in ABOVE:
            what, name = ABOVE[op.name]
            number: Any = op.properties[name] if name else None
            found[what, str(number.value.data) if number is not None else ""] += 1
        elif op.name == "ttng.async_tma_store_wait":
            pendings: Any = op.properties["pendings"]
            reads = "read_only" in op.properties
            found["store reads awaited" if reads else "stores awaited", str(pendings.value.data)] += 1
        elif op.name == "ttng.tc_gen5_mma":
            found["arrivals of the tensor core", ""] += len(op.barriers)  # type: ignore[attr-defined]
    return +found


def happenings_below(text: str) -> Counter[Happening]:
    found = Counter[Happening]()
    for what, pattern in BELOW.items():
        for number in re.findall(pattern, text):
            found[what, number or ("1" if what == "arrive" else "")] += 1
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_arrivals_and_waits_are_the_instructions_that_they_are_taken_for(name: str, below: Path) -> None:
    lowered = (below / name / "lowered.mlir").read_text()
    assert happenings_below(lowered) == happenings_above(module_of(name))


@pytest.mark.parametrize("name", [name for name in KERNELS if "ring" in name or "tcgen05" in name])
def test_one_thread_of_an_agent_arrives(name: str, below: Path) -> None:
    """The predicate of each arrival is that of one elected thread, or of the thread with a certain number."""
    text = (below / name / "lowered.mlir").read_text()
    makers = dict(re.findall(r"^ *(%\w+) = (.*)$", text, re.MULTILINE))

    def elects(value: str) -> bool:
        maker = makers.get(value, "")
        if maker.startswith("llvm.and"):
            return any(map(elects, re.findall(r"%\w+", maker)))
        return maker.startswith(('llvm.icmp "eq"', "nvvm.elect.sync"))

    arrivals = re.findall(r'"@\$0 mbarrier\.arrive[^"]*", "[^"]*" (%\w+)', text)
    assert arrivals or "mbarrier.arrive" not in text
    assert all(map(elects, arrivals))
