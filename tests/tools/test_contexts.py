"""The context of the command: what stock `xdsl-opt` knows, without looking for plug-ins that nobody needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.universe import Universe

from tileas_xdsl.names import DIALECTS
from tileas_xdsl.tools.inputs import FullContext

Ask = Callable[[Context], object]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often plug-ins were looked for; one brings a dialect `other`."""
    found = Universe.get_multiverse()
    calls: list[str] = []

    def get_multiverse() -> Universe:
        calls.append("looked")
        return Universe(all_dialects={**found.all_dialects, "other": lambda: Dialect("other", [], [])})

    monkeypatch.setattr(Universe, "get_multiverse", staticmethod(get_multiverse))
    return calls


def test_it_knows_what_xdsl_opt_knows() -> None:
    assert set(FullContext().registered_dialect_names) == set(Universe.get_multiverse().all_dialects)


@pytest.mark.parametrize("name", [f"{dialect}.thing" for dialect in (*DIALECTS, "arith", "scf", "llvm")])
def test_our_names_and_those_of_xdsl_need_no_search(name: str, looked: list[str]) -> None:
    context = FullContext()
    assert context.get_optional_op(name) is context.get_optional_type(name) is context.get_optional_attr(name) is None
    assert context.get_optional_dialect(name.partition(".")[0]) is not None
    assert looked == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda context: context.get_optional_op("other.thing"),
        lambda context: context.get_optional_type("other.thing"),
        lambda context: context.get_optional_attr("other.thing"),
        lambda context: context.get_dialect("other"),
        lambda context: context.clone().get_dialect("other"),
        lambda context: list(context.registered_dialect_names),
    ],
)
def test_other_plug_ins_are_looked_for_once(ask: Ask, looked: list[str]) -> None:
    context = FullContext()
    ask(context)
    ask(context)
    assert looked == ["looked"]
    assert "other" in context.registered_dialect_names


def test_a_name_without_a_dialect_is_looked_for_in_those_at_hand(looked: list[str]) -> None:
    found = FullContext().get_optional_op("return", dialect_stack=["func"])
    assert found is not None
    assert (found.name, looked) == ("func.return", [])
