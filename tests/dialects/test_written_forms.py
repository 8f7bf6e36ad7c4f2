"""
Ops and forms as people write them (`written_forms`): accepted here and by mlir-opt 22, with one text, or refused by
both.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.dialects.written_forms import FORMS, function
from tests.support.ir import assert_round_trips, parse, print_custom, print_generic
from tests.support.mlir import mlir_opt, mlir_opt_rejects

VALID = [text for form in FORMS.values() for text in form.valid]
INVALID = {text: message for form in FORMS.values() for text, message in form.invalid.items()}
NEWER = {text: generic for form in FORMS.values() for text, generic in form.newer.items()}
SEPARATOR = "\n// -----\n"


def same(text: str) -> str:
    """
    A text whatever the names of values and blocks, the blanks, and the comments are; without the name of the dialect
    where one of the two leaves it out, and with result packs taken apart.
    """
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"\b(builtin\.module|func\.return)\b", lambda name: name[0].partition(".")[2], text)
    text = re.sub(
        r"(%[\w$.-]+):(\d+)(?= =)", lambda pack: ", ".join(f"{pack[1]}#{n}" for n in range(int(pack[2]))), text
    )
    text = _numbered(text)
    return re.sub(r"(?<=\W)\s+|\s+(?=\W)", "", re.sub(r"\s+", " ", text)).strip()


def _taken_apart(pack: re.Match[str]) -> str:
    return ", ".join(f"{pack[1]}#{number}" for number in range(int(pack[2])))


BLOCK_HEAD = re.compile(r"\^\w+\([^()]*\)\s*:$", re.MULTILINE)
NAME = re.compile(r"[%^][\w$.-]+(#\d+)?")


def _numbered(text: str) -> str:
    """`text` with values and blocks numbered by first appearance; the head of a block names its arguments anew."""
    names: dict[str, str] = {}
    given = 0

    def number(name: re.Match[str], *, anew: bool = False) -> str:
        nonlocal given
        if name[0] not in names or (anew and name[0][0] == "%"):
            names[name[0]] = f"{name[0][0]}{given}"
            given += 1
        return names[name[0]]

    def numbered_line(line: str) -> str:
        is_head = BLOCK_HEAD.search(line.strip()) is not None
        return NAME.sub(lambda name: number(name, anew=is_head), line)

    return "\n".join(map(numbered_line, text.splitlines()))


@cache
def theirs() -> dict[str, str]:
    """What mlir-opt prints for each valid text."""
    printed = mlir_opt(SEPARATOR.join(map(function, VALID)), "--split-input-file").split("// -----")
    return dict(zip(VALID, printed, strict=True))


@cache
def theirs_of_ours() -> dict[str, str]:
    """What it prints when it is given our generic form of them."""
    ours = [print_generic(parse(function(text))) for text in VALID]
    printed = mlir_opt(SEPARATOR.join(ours), "--split-input-file").split("// -----")
    return dict(zip(VALID, printed, strict=True))


@pytest.mark.parametrize("text", VALID)
def test_both_accept_it_with_one_text(text: str) -> None:
    module = assert_round_trips(function(text))
    assert same(print_custom(module)) == same(theirs()[text])
    assert theirs_of_ours()[text] == theirs()[text]


@pytest.mark.parametrize("text", VALID)
def test_mlir_knows_the_op(text: str) -> None:
    """What comes back in quotes was not recognised."""
    assert not re.search(r'^\s*(%\S+ = )?"', theirs()[text], re.MULTILINE)


@pytest.mark.parametrize("text", INVALID)
def test_both_refuse_it(text: str) -> None:
    with pytest.raises((VerifyException, ParseError)) as refusal:
        parse(function(text))
    assert INVALID[text] in str(refusal.value)
    assert "error: " in mlir_opt_rejects(function(text))


@pytest.mark.parametrize("text", NEWER)
def test_what_llvm_22_lacks_has_the_text_that_is_written_here(text: str) -> None:
    module = assert_round_trips(function(text))
    assert f"    {text}\n" in print_custom(module)
    assert f"    {NEWER[text]}\n" in print_generic(module)


def test_each_form_has_at_least_two_texts_and_a_refusal() -> None:
    newer_only = {name for name, form in FORMS.items() if form.newer}
    for name, form in FORMS.items():
        assert len(form.valid) + len(form.newer) >= 2, name
        assert form.invalid or name in newer_only, name
    assert len(VALID) + len(INVALID) + len(NEWER) >= 117
