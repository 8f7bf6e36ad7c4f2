"""
Every word of every enumeration, and that each registered op, type and attribute occurs in some test.

The words of our own dialects are listed here. For `nvvm`, mlir-opt lists them in its error about an unknown word. So a
word that is lost, added or misspelled is noticed by a second source.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError

from tests.dialects import nv_tileaa_samples, nv_tileas_samples, test_nvvm
from tests.support.corpora import whole
from tests.support.ir import ROOT, assert_round_trips, parse, print_custom, print_generic
from tests.support.mlir import mlir_opt, mlir_opt_rejects
from tileas_xdsl.dialects.upstream import BracketedKeyword
from tileas_xdsl.names import DIALECTS
from tileas_xdsl.universe import TILEAS

MEMORY = {
    "cache_modifier": "none ca cg cs lu cv",
    "eviction_policy": "none first last normal",
    "mem_semantic": "weak relaxed acquire release acq_rel",
    "mem_scope": "tl_blk cluster gpu sys",
    "rmw_mode": "add and or xor xchg cmpxchg min max umin umax addf",
    "padding_value": "zero neg_zero nan pos_inf neg_inf",
}
"""The enumerations that `nv_tileaa` and `nv_tileas` share."""

OURS = {
    **{f"{dialect}.{name}": words for dialect in ("nv_tileaa", "nv_tileas") for name, words in MEMORY.items()},
    "nv_tileaa.rounding_mode": "nearest_even zero negative_inf positive_inf approx full",
    "nv_tileaa.signedness": "signed unsigned",
    "nv_tileas.swizzle_mode": 'none "32B" "64B" "128B"',
    "nv_tileas.oob_mode": "zero nan constant",
}

ATTRIBUTES: dict[str, type[Attribute]] = {
    attribute.name: attribute for name in DIALECTS for attribute in TILEAS.all_dialects[name]().attributes
}
"""Every type and attribute that we register."""

ENUMS = {
    name: attribute for name, attribute in ATTRIBUTES.items() if issubclass(attribute, EnumAttribute | BracketedKeyword)
}

PARTS = {"nv_tileas.layout_form": "nv_tileas.layout"}
"""Attributes that are only ever written within another one."""


def spelled(name: str, word: str) -> str:
    """`#nvvm.mem_scope<gpu>`, and in the older way `#nvvm<action increase>`."""
    dialect, _, mnemonic = name.partition(".")
    return f"#{name}<{word}>" if issubclass(ENUMS[name], BracketedKeyword) else f"#{dialect}<{mnemonic} {word}>"


def holding(attribute: str) -> str:
    return f'"test.op"() {{a = {attribute}}} : () -> ()\n'


def declared(name: str) -> list[str]:
    """The words of an enumeration, as the class has them."""
    attribute = ENUMS[name]
    kinds = attribute.KINDS if issubclass(attribute, BracketedKeyword) else attribute.enum_type
    return [kind.value for kind in kinds]


def listed_by_mlir(name: str) -> set[str]:
    """The words that mlir-opt offers in place of one that does not exist."""
    message = mlir_opt_rejects(holding(spelled(name, "nonsense")), "--allow-unregistered-dialect")
    found = re.search(r"to be one of: ([^\n]*)|expected one of \[([^]]*)\]", message)
    assert found is not None, message
    return set((found[1] or found[2]).split(", "))


def test_each_enumeration_is_ours_or_mlirs() -> None:
    assert set(OURS) == {name for name in ENUMS if not name.startswith("nvvm.")}


@pytest.mark.parametrize("name", ENUMS)
def test_enumeration_has_these_words_and_no_other(name: str) -> None:
    if name in OURS:
        assert declared(name) == [word.strip('"') for word in OURS[name].split()]
    else:
        assert set(declared(name)) == listed_by_mlir(name)


@pytest.mark.parametrize("name", ENUMS)
def test_every_word_prints_as_it_is_written_and_comes_back_from_mlir(name: str) -> None:
    words = OURS[name].split() if name in OURS else declared(name)
    attributes = [spelled(name, word) for word in words]
    module = assert_round_trips("".join(map(holding, attributes)))
    printed = re.findall(r"\{a = (.*)\}", print_custom(module))
    assert printed == attributes
    returned = mlir_opt(print_generic(module), "--allow-unregistered-dialect")
    assert re.findall(r"\{a = (.*)\}", returned) == attributes
    assert parse(returned).is_structurally_equivalent(module)


@pytest.mark.parametrize("name", ENUMS)
@pytest.mark.parametrize("word", ["nonsense", "", "3"])
def test_another_word_is_refused_with_the_list(name: str, word: str) -> None:
    with pytest.raises(ParseError) as refusal:
        parse(holding(spelled(name, word)))
    *most, last = [f"`{kind}`" for kind in declared(name)]
    assert str(refusal.value).rstrip().endswith(f"Expected {', '.join(most)}, or {last}.")


# Nothing is left out --------------------------------------------------------------------------------------------------


@cache
def texts() -> str:
    """Every test, but this one, as text."""
    files = [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".py", ".mlir")]
    return "\n".join(path.read_text() for path in files if path.name != "test_words.py")


@cache
def words() -> frozenset[str]:
    """The names in them, with their dialects."""
    return frozenset(re.findall(r"[\w.]+", texts()))


@cache
def sampled_ops() -> frozenset[str]:
    """The ops in the tables of samples, whose names stand in no text."""
    modules = [
        *(nv_tileaa_samples.program(name) for name in nv_tileaa_samples.SAMPLES),
        *(nv_tileas_samples.program(*sample) for sample in nv_tileas_samples.SAMPLES.values()),
        *(test_nvvm.TABLE.function(line) for line in test_nvvm.TABLE.lines if "envreg" in line),
    ]
    return frozenset(op.name for text in modules for op in parse(text).walk())


OPS = [op.name for name in DIALECTS for op in TILEAS.all_dialects[name]().operations]


@whole("a name is looked for among all words")
@pytest.mark.parametrize("name", OPS)
def test_every_op_stands_in_a_test(name: str) -> None:
    assert name in words() or name in sampled_ops()


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_every_type_and_attribute_stands_in_a_test(name: str) -> None:
    dialect, _, mnemonic = PARTS.get(name, name).partition(".")
    spelling = rf"[#!]{dialect}(\.|<){re.escape(mnemonic)}(?![\w-])"
    assert re.search(spelling, texts()) is not None or name in ENUMS
