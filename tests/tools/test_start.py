"""What lets the command start sooner: the same classes, of which most are never asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.start.methods import KeptCode
from tileas_xdsl.tools.start.ops import TRIGGERS, Later

OPS = """
import json, sys
from tileas_xdsl.tools.start.ops import TRIGGERS, define_ops_when_met
if sys.argv[1] == "later":
    define_ops_when_met()
from xdsl.irdl import IRDLOperation
from tileas_xdsl.tools.inputs import full_context
found = {}
context = full_context()
for name in sorted(context.registered_dialect_names):
    dialect = context.get_optional_dialect(name)
    for number, op in enumerate(dialect.operations):
        if not issubclass(op, IRDLOperation):
            continue
        waits = "Trigger" in type(vars(op).get("traits")).__name__
        if waits:
            getattr(op, TRIGGERS[number % len(TRIGGERS)])
        definition = op.get_irdl_definition()
        parts = [definition.operands, definition.results, definition.regions, definition.properties]
        shown = [[part[0] if isinstance(part, tuple) else part for part in each] for each in parts]
        found[f"{op.__module__}.{op.name}"] = [waits, sorted(vars(op)), shown, len(op.traits.traits)]
print(json.dumps(found))
"""


def now_and_later(script: str) -> list[dict[str, Any]]:
    """What a script prints of classes that are defined at once, and when they are met."""
    commands = ([sys.executable, "-c", script, how] for how in ("now", "later"))
    return [json.loads(subprocess.run(each, stdout=subprocess.PIPE, cwd=ROOT, check=True).stdout) for each in commands]


def test_ops_that_are_defined_later_are_the_same() -> None:
    now, later = now_and_later(OPS)
    assert not any(waits for waits, *_ in now.values())
    assert sum(waits for waits, *_ in later.values()) > 500
    assert {name: rest for name, (_, *rest) in now.items()} == {name: rest for name, (_, *rest) in later.items()}


@pytest.mark.parametrize("name", TRIGGERS)
def test_who_asks_for_a_name_gets_what_is_there_afterwards(name: str) -> None:
    defined: list[type] = []

    def define(kind: type[Any]) -> None:
        defined.append(kind)
        kind.get_irdl_definition = classmethod(lambda kind: kind.__name__)

    later = Later(define)

    class Base:
        parse = traits = get_irdl_definition = "of Base"

    later.decorate(Base)

    class Derived(Base):
        traits = "of Derived"

    later.decorate(Derived)
    assert defined == []
    found = getattr(Derived, name)
    assert defined == [Base, Derived]
    if name != "get_irdl_definition":  # which is what the definition gives
        assert found == {"traits": "of Derived"}.get(name, "of Base")
    assert Base.traits == "of Base"
    assert defined == [Base, Derived], "once"


ATTRIBUTES = """
import json, sys
if sys.argv[1] == "later":
    from tileas_xdsl.tools.start import hasten
    hasten()
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from tileas_xdsl.tools.inputs import full_context
found = {}
context = full_context()
for name in sorted(context.registered_dialect_names):
    for kind in context.get_optional_dialect(name).attributes:
        if issubclass(kind, ParametrizedAttribute):
            definition = kind.get_irdl_definition()
            if definition is None:
                continue
            waits = "name" not in vars(definition)
            parameters = [(field, repr(one.constr), one.converter is None) for field, one in definition.parameters]
            found[f"{kind.__module__}.{kind.__name__}"] = [waits, type(kind).__name__, definition.name, parameters]
print(json.dumps(found))
"""


def test_attributes_that_are_defined_later_are_the_same() -> None:
    now, later = now_and_later(ATTRIBUTES)
    assert {(waits, kind) for waits, kind, *_ in now.values()} == {(False, "ABCMeta")}
    assert {kind for _, kind, *_ in later.values()} == {"Plain"}
    assert sum(waits for waits, *_ in later.values()) > 100
    assert {name: rest for name, (_, _, *rest) in now.items()} == {name: rest for name, (_, _, *rest) in later.items()}


INSTANCES = """
from typing import Protocol
import typing_extensions
from tileas_xdsl.tools.start import hasten
hasten()
from xdsl.dialects.builtin import FixedBitwidthType, ShapedType, f32, i32
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
op = ConstantOp.from_int_and_width(1, 32)
kinds = [Attribute, TypeAttribute, FixedBitwidthType, ShapedType, Operation, AddiOp, SSAValue]
print([[isinstance(each, kind) for kind in kinds] for each in (f32, op, op.result, 1)])
print(issubclass(AddiOp, Operation), issubclass(AddiOp, Attribute), len({AddiOp, ConstantOp, Operation}))

class Named(Protocol): ...
class Marked(typing_extensions.Protocol): ...
class Own(Operation, Named, Marked): ...
print(issubclass(Own, Operation), isinstance(op, Own))
try:
    Operation.register(int)
except TypeError as error:
    print(error)
"""


def test_type_answers_for_instances_as_abc_does() -> None:
    done = subprocess.run([sys.executable, "-c", INSTANCES], capture_output=True, text=True, cwd=ROOT, check=True)
    of_f32, of_op, of_value, of_number = ([True] * 3 + [False] * 4, *([False] * 7 for _ in range(3)))
    of_op[4], of_value[6] = True, True
    assert done.stdout.splitlines() == [
        str([of_f32, of_op, of_value, of_number]),
        "True False 3",
        "True False",
        "Operation takes no virtual subclasses: derive int from it",
    ]


# Kept code ------------------------------------------------------------------------------------------------------------

TEXT = "def made(start):\n def count(self)->int:\n  return start + 1\n return count"


def made(kept: KeptCode) -> int:
    names: dict[str, Any] = {}
    kept.execute(TEXT, {}, names)
    return names["made"](41)(None)


def test_the_meanings_of_every_dialect_load_in_a_command() -> None:
    """A program of the dialect `gpu` ended in an error while types answered for instances."""
    script = (
        "from importlib import import_module\nfrom pkgutil import walk_packages\n"
        "from tileas_xdsl.tools.start import hasten\nhasten()\nfrom tileas_xdsl.machine import meanings\n"
        "for module in walk_packages(meanings.__path__, 'tileas_xdsl.machine.meanings.'): import_module(module.name)\n"
        "from xdsl.dialects.gpu import AsyncTokenType\nfrom tileas_xdsl.machine.core.handles import is_handle\n"
        "assert is_handle(AsyncTokenType())"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_code_is_kept_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "cache" / "code"
    kept = KeptCode(file)
    assert made(kept) == 42
    kept.write()
    assert [each.name for each in file.parent.iterdir()] == ["code"], "no draft is left"
    monkeypatch.setattr("builtins.compile", None)
    assert made(KeptCode(file)) == 42


@pytest.mark.parametrize("damage", [b"", b"x", b"header", None])
def test_a_file_that_cannot_be_read_is_made_again(
    damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "code"
    kept = KeptCode(file)
    made(kept)
    kept.write()
    whole = file.read_bytes()
    file.write_bytes(whole[:-3] if damage is None else damage)
    again = KeptCode(file)
    assert made(again) == 42
    again.write()
    assert file.read_bytes() == whole


def test_it_is_written_where_bytecode_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptCode(tmp_path / "code")
    made(kept)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept.write()
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "file").write_text("no folder")
    elsewhere = KeptCode(tmp_path / "file" / "code")
    assert made(elsewhere) == 42
    elsewhere.write()


def test_a_text_that_is_no_function_is_executed(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    KeptCode(tmp_path / "code").execute("x = 1\ndef made(): return x", names, names)
    assert (names["x"], names["made"]()) == (1, 1)


def test_who_only_compiles_loads_no_checker(tmp_path: Path) -> None:
    """Nor numpy, which the machine computes with: each takes as long as the passes."""
    script = (
        "import sys\nfrom tileas_xdsl.tools.main import main\n"
        f"main(['compile', 'examples/annotated_copy.mlir', '--no-check', '-o', {str(tmp_path / 'copy.ll')!r}])\n"
        "loaded = {'.'.join(name.split('.')[:2]) for name in sys.modules}\n"
        "print(sorted(loaded & {'numpy', 'rich', 'tileas_xdsl.checker', 'tileas_xdsl.machine', 'tileas_xdsl.views'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_ctrl_c_at_the_start_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "build_parser", interrupted)
    assert command.main(["check", "x.mlir"]) == 130
    assert capsys.readouterr() == ("", "")


def test_the_command_starts_with_all(tmp_path: Path) -> None:
    """The second start compiles no method of a class, and finds the verdict of the first one."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    script = (
        "import sys, tileas_xdsl.tools.start.methods as start\n"
        "def refused(text): raise AssertionError(text)\n"
        "if sys.argv.pop(1) == 'again': start._only_function = refused\n"
        "from tileas_xdsl.tools.main import main\nsys.exit(main())"
    )
    words = ["check", "examples/double_buffer_race.mlir"]
    first, again = (
        subprocess.run([sys.executable, "-c", script, how, *words], capture_output=True, cwd=ROOT, env=environment)
        for how in ("first", "again")
    )
    assert (first.returncode, first.stderr) == (1, b"")
    assert (again.returncode, again.stdout, again.stderr) == (1, first.stdout, b"")
    assert len(list(tmp_path.rglob("*.methods"))) == 1


IDENTITY = """
import sys
if sys.argv[1] == "later":
    from tileas_xdsl.tools.start import hasten
    hasten()
import tileas_xdsl as tileas
module, again = (tileas.parse("func.func @f(%x: index, %y: index) { func.return }") for _ in range(2))
body = next(iter(module.ops)).body
things = [module, again, body, body.block, *body.block.args]
print([[one == other for other in things] for one in things], len({*things, *things}), hash(module) == hash(module))
"""


def test_values_and_nodes_equal_themselves_alone() -> None:
    commands = ([sys.executable, "-c", IDENTITY, how] for how in ("now", "later"))
    now, later = (subprocess.run(each, capture_output=True, text=True, cwd=ROOT, check=True) for each in commands)
    assert now.stdout == later.stdout
    assert now.stdout.endswith(" 6 True\n")
