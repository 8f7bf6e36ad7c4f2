"""
Texts garbled by a seeded script: characters deleted, lines swapped, tokens exchanged.

Whatever becomes of an input, the command ends with a verdict or with a message, and never with a traceback, a hang, or
a message that it has a defect.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.corpora import each
from tests.support.ir import ROOT
from tileas_xdsl.tools.main import main

SOURCES = sorted(
    [
        *(ROOT / "examples").rglob("*.mlir"),
        *(ROOT / "examples").rglob("*.ttgir"),
        *(ROOT / "tests" / "triton" / "ttgir").glob("*.ttgir"),
    ]
)
PROGRAMS = 300
TIMEOUT = "2"
"""Seconds of processor time for each check."""
TOKEN = re.compile(r"[\w.]+|[%#@!^][\w$.]+|[^\s\w]")


def without_characters(generator: random.Random, text: str) -> str:
    """`text` less some characters."""
    for _ in range(generator.randint(1, 4)):
        place = generator.randrange(len(text))
        text = text[:place] + text[place + generator.randint(1, 3) :]
    return text


def with_lines_swapped(generator: random.Random, text: str) -> str:
    """`text` with two lines in each other's place."""
    lines = text.splitlines(keepends=True)
    one, two = generator.randrange(len(lines)), generator.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return "".join(lines)


def with_tokens_exchanged(generator: random.Random, text: str) -> str:
    """`text` with two tokens, not far from each other, in each other's place."""
    tokens = list(TOKEN.finditer(text))
    first = generator.randrange(len(tokens) - 1)
    second = generator.randrange(first + 1, min(first + 40, len(tokens)))
    one, two = tokens[first], tokens[second]
    return text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]


WAYS: tuple[Callable[[random.Random, str], str], ...] = (
    without_characters,
    with_lines_swapped,
    with_tokens_exchanged,
)


def garbled(seed: int) -> tuple[Path, str]:
    """The file that seed `seed` picks, and its text garbled."""
    generator = random.Random(seed)
    path = generator.choice(SOURCES)
    text = path.read_text()
    for _ in range(generator.randint(1, 2)):
        text = generator.choice(WAYS)(generator, text)
    return path, text


@each("seed", range(PROGRAMS), 20)
def test_a_garbled_input_gets_a_verdict_or_a_message(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = garbled(seed)
    file = tmp_path / path.name
    file.write_text(text)
    status = main(["check", str(file), "--timeout", TIMEOUT, "--no-advice"])
    said = capsys.readouterr()
    assert status in (0, 1, 2, 3)
    assert "defect of tileas" not in said.err
    assert "Traceback" not in said.err
    assert said.out or said.err
