"""What a run takes of a family: each value of each axis, and each member in some of the runs."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path

import pytest

from tests.conftest import in_this_run
from tests.support.corpora import nightly, whole
from tests.support.families import LONG, SHARE, Axes, allowed, axes_of, chosen, parts_of, values_that_repeat

KERNELS = [f"kernel {n}" for n in range(9)]
TARGETS = ["sm_80", "sm_90a", "sm_100a"]
TRIPS = range(60)


def of_rows(*names: str, rows: list[tuple[object, ...]]) -> list[Axes]:
    return [dict(zip(names, row, strict=True)) for row in rows]


PRODUCT = of_rows("kernel", "target", "trips", rows=list(product(KERNELS, TARGETS, TRIPS)))


@pytest.mark.parametrize("seconds", [5, 100, 400])
@pytest.mark.parametrize("members", [PRODUCT, PRODUCT[:7], of_rows("seed", rows=[(n,) for n in range(50)])])
def test_as_many_seeds_as_there_are_parts_take_every_member(members: list[Axes], seconds: float) -> None:
    parts = parts_of(len(members), seconds)
    assert parts > 1
    for first in (0, 17, 364):
        taken = [chosen("family", members, seconds, first + n) for n in range(parts)]
        assert set.union(*taken) == set(range(len(members)))
        assert max(map(len, taken)) < len(members)


def test_every_kernel_and_every_target_is_in_every_run() -> None:
    for seed in range(40):
        taken = [PRODUCT[n] for n in chosen("family", PRODUCT, 10_000, seed)]
        assert {member["kernel"] for member in taken} == set(KERNELS)
        assert {member["target"] for member in taken} == set(TARGETS)
        assert len(taken) < 50


def test_a_run_takes_no_more_seconds_than_it_is_allowed() -> None:
    for seconds in (0.5, 1, 4, 64, 300):
        assert seconds / parts_of(1000, seconds) <= allowed(seconds)
    assert parts_of(1000, SHARE**2) == 1
    assert chosen("short", PRODUCT, SHARE**2, 5) == set(range(len(PRODUCT)))


def test_a_short_test_is_in_every_run_and_a_long_one_in_one_of_some() -> None:
    assert [parts_of(1, seconds) for seconds in (1.0, LONG)] == [1, 1]
    assert parts_of(4, 4 * LONG) == 4
    parts = parts_of(1, 9 * LONG)
    assert parts > 3
    assert sum(len(chosen("long", [{}], 9 * LONG, 40 + seed)) for seed in range(parts)) == 1


def test_names_and_seeds_of_programs_are_no_axes_of_which_every_value_is_needed() -> None:
    assert values_that_repeat(of_rows("name", "seed", rows=list(zip("abcd", range(4), strict=True)))) == set()
    rows = list(product("ab", range(9)))
    assert values_that_repeat(of_rows("name", "seed", rows=rows)) == {("name", "a"), ("name", "b")}


def test_the_parts_of_a_tuple_are_axes() -> None:
    assert axes_of({"case": ("gemm", 3), "other": [1]}, {"case": 5, "other": 7}) == {
        "case 0": "gemm",
        "case 1": 3,
        "other": ("place", 7),
    }


def test_families_are_drawn_differently() -> None:
    alone = of_rows("seed", rows=[(n,) for n in range(100)])
    assert len({frozenset(chosen(name, alone, 400, 3)) for name in "abcdefgh"}) > 6


# Of pytest's tests ----------------------------------------------------------------------------------------------------

FILE = """
import pytest

@pytest.mark.parametrize("n", range(100))
def test_family(n): ...

@pytest.mark.whole("every one")
@pytest.mark.parametrize("n", range(100))
def test_whole(n): ...

@pytest.mark.nightly("long")
def test_long(): ...

def test_alone(): ...
"""


class Collected:
    """A plug-in that keeps what was collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items += items


def collected(path: Path) -> list[pytest.Item]:
    path.write_text(FILE)
    plugin = Collected()
    said = [str(path), "--collect-only", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-W", "ignore"]
    with redirect_stdout(StringIO()):
        assert pytest.main([*said, "--rootdir", str(path.parent)], plugins=[plugin]) == pytest.ExitCode.OK
    return plugin.items


def test_a_run_has_a_part_of_a_family_and_nothing_nightly(tmp_path: Path) -> None:
    items = collected(tmp_path / "test_made_up.py")
    by_name = {name: 0 for name in ("test_family", "test_whole", "test_long", "test_alone")}
    seconds = {item.nodeid.partition("[")[0]: 0.16 for item in items}
    for item in in_this_run(items, seconds, seed=3):
        by_name[item.name.partition("[")[0]] += 1
    assert abs(by_name.pop("test_family") - 100 / parts_of(100, 16)) < 1
    assert by_name == {"test_whole": 100, "test_long": 0, "test_alone": 1}


def test_marks_say_why() -> None:
    assert nightly("a proof of two minutes").mark.args == ("a proof of two minutes",)
    assert whole("static").mark.args == ("static",)
