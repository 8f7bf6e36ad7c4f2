"""Which chip is in this machine, asked of a driver that a test stands in for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stand_in_driver import stand_in_driver
from tileas_xdsl.backend.present_gpu import chip_of, present_capability, present_chip


@pytest.mark.parametrize(
    ("capability", "chip"),
    [
        ((9, 0), "sm_90a"),
        ((8, 0), "sm_80"),
        ((8, 7), "sm_86"),
        ((12, 1), "sm_120"),
        ((10, 3), "sm_103a"),
        ((7, 5), None),
    ],
)
def test_a_gpu_runs_the_code_of_its_own_chip_or_of_an_older_one(capability: tuple[int, int], chip: str | None) -> None:
    assert chip_of(*capability) == chip


def test_the_driver_says_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEAS_LIBCUDA", str(stand_in_driver(tmp_path)))
    assert present_capability() == (9, 0)
    assert present_chip() == "sm_90a"
    monkeypatch.setenv("TILEAS_STAND_IN", "no device")
    assert present_chip() is None
    monkeypatch.setenv("TILEAS_LIBCUDA", str(tmp_path / "absent.so"))
    assert present_chip() is None
