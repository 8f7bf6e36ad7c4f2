"""What stock `xdsl-opt` sees of us, and that seeing it costs nothing until it is used."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from tests.support.ir import ROOT
from tileas_xdsl.names import DIALECTS, DRIVERS, PASSES, TARGETS
from tileas_xdsl.universe import TILEAS

BIN = Path(sys.executable).parent

PLUG_IN = ["tileas_xdsl", "tileas_xdsl.names", "tileas_xdsl.universe"]
"""All of ours that may be loaded when a plug-in is."""


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def test_importing_the_universe_loads_no_dialect_no_pass_and_no_numpy():
    script = (
        "import sys, tileas_xdsl.universe\n"
        "ours = sorted(m for m in sys.modules if m.split('.')[0] == 'tileas_xdsl')\n"
        "heavy = sorted(set(sys.modules) & {'numpy', 'ml_dtypes', 'rich', 'llvmlite'})\n"
        "print(ours, heavy)"
    )
    assert run(sys.executable, "-c", script) == f"{PLUG_IN} []\n"


def test_collecting_all_plug_ins_loads_none_of_our_rooms():
    script = (
        "import sys\nfrom xdsl.universe import Universe\nUniverse.get_multiverse()\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] == 'tileas_xdsl'), 'numpy' in sys.modules)"
    )
    assert run(sys.executable, "-c", script) == f"{PLUG_IN} False\n"


def test_the_entry_point_is_installed():
    (plugin,) = entry_points(group="xdsl.universe", name="tileas_xdsl")
    assert plugin.load() is TILEAS


def test_we_take_no_name_that_xdsl_uses():
    """`get_multiverse` raises on a clash, and with it every `xdsl-opt` in the environment."""
    everything = Universe.get_multiverse()
    for ours, upstream, all_names in (
        (DIALECTS, XDSL_UNIVERSE.all_dialects, everything.all_dialects),
        (PASSES, XDSL_UNIVERSE.all_passes, everything.all_passes),
        (TARGETS, XDSL_UNIVERSE.all_targets, everything.all_targets),
    ):
        assert set(ours).isdisjoint(upstream)
        assert {*ours, *upstream} <= set(all_names)


@pytest.mark.parametrize(
    ("room", "row"),
    [
        (room, row)
        for room, rows in (("dialects", DIALECTS), ("transforms", PASSES), ("backend", TARGETS))
        for row in rows.values()
    ],
    ids=lambda value: value if isinstance(value, str) else value[1],
)
def test_every_row_names_something_that_exists(room: str, row: tuple[str, str]):
    module, attribute = row
    name = f"tileas_xdsl.{room}.{module}"
    assert find_spec(f"tileas_xdsl.{room}") is not None
    assert find_spec(name) is not None, f"names.py names {name}, and there is no such module"
    assert hasattr(import_module(name), attribute)


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_are_called_what_their_row_says(name: str):
    dialect = TILEAS.all_dialects[name]()
    assert isinstance(dialect, Dialect)
    assert dialect.name == name
    assert [op.name for op in dialect.operations if not op.name.startswith(f"{name}.")] == []
    for attribute in dialect.attributes:
        home = attribute.name.split(".")[0]
        if home != name:  # an attribute that xDSL's own dialect lacks and ours has to print
            assert attribute.name not in {known.name for known in XDSL_UNIVERSE.all_dialects[home]().attributes}


@pytest.mark.parametrize("name", PASSES)
def test_passes_are_called_what_their_row_says_and_are_frozen(name: str):
    pass_type = TILEAS.all_passes[name]()
    assert issubclass(pass_type, ModulePass)
    assert pass_type.name == name
    assert dataclasses.is_dataclass(pass_type)
    assert pass_type.__dataclass_params__.frozen


def test_targets_are_called_what_their_row_says():
    for name in TARGETS:
        target = TILEAS.all_targets[name]()
        assert issubclass(target, Target)
        assert target.name == name


def test_stock_xdsl_opt_lists_our_passes_and_targets():
    """The help text is wrapped, also at the hyphens of a name, so all its white space goes first."""
    listed = "".join(run(str(BIN / "xdsl-opt"), "--help").split()).split(",")
    for name in (*PASSES, *DRIVERS, *TARGETS):
        assert any(name in item for item in listed), name


def test_stock_xdsl_opt_reads_our_dialects(tmp_path: Path):
    source = tmp_path / "queue.mlir"
    source.write_text("async_queue.wait 0, 0\n")
    assert run(str(BIN / "xdsl-opt"), str(source)).strip() == "builtin.module {\n  async_queue.wait 0, 0\n}"
