"""Prose of the pages: its sentences, what they should be, and the first uses of the words in the glossary."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.ir import ROOT

COURSE = ROOT / "docs" / "course"
GLOSSARY = COURSE / "glossary.md"
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#.*$", re.MULTILINE)
INLINE = re.compile(r"`[^`\n]*`")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
SENTENCE_ENDS = re.compile(r"(?<=[.!?])[\"”*)]*\s+(?=[\"“*(A-Z`0-9])")

LONGEST = 25
"""Words of a sentence."""
BANNED = re.compile(
    r"\b(nobody|whoever|simply|just|obviously|trivial\w*|easily|basically|clearly|very|magic\w*|"
    r"in order to|utili[sz]e\w*|leverage\w*|note that|of course|as we all know|storey\w*|riddle\w*|"
    r"somebody|the latter|in the place of|held against|told apart|so many)\b",
    re.IGNORECASE,
)
"""Filler, words that hide who acts, and wordings for which the field has a shorter one."""
FILLER = re.compile(
    r"\b(simply|obviously|trivial\w*|easily|basically|clearly|very|in order to|utili[sz]e\w*|leverage\w*|of course|"
    r"as we all know|storey\w*|riddle\w*|the latter|in the place of|held against)\b",
    re.IGNORECASE,
)
"""The part of `BANNED` that no text of the code has: its other words are also names, or verbs with another sense."""
FRONTED = re.compile(r"(?:^|(?<=[.:;] )|(?<=\n\n))Of [^,.;:]{3,60}?,? (?:the|it|is|only|there|no|that)\b")
"""A sentence that begins with a genitive, and so has its subject in the middle: "Of a call the verdict is tested"."""
NOT_OURS = re.compile(r"^\s*(?:#|//)?\s*\".*", re.MULTILINE)
"""Lines of a text that quote a source."""


def texts_of(code: str) -> list[tuple[int, str]]:
    """Line and text of each string of a module: its docstrings, its messages and its help."""
    constants = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant))
    return [(node.lineno, NOT_OURS.sub("", node.value)) for node in constants if isinstance(node.value, str)]


def words_of_code(pattern: re.Pattern[str], code: str) -> list[str]:
    """`line: word` for each match of `pattern` in the texts of a module."""
    return [f"{line}: {found[0]}" for line, text in texts_of(code) for found in pattern.finditer(text)]


def chapters() -> list[Path]:
    """The pages of the course, without its list of contents and its glossary."""
    return sorted(COURSE.glob("[0-9][0-9]-*.md"))


def terms() -> dict[str, str]:
    """Word of the glossary -> what it means."""
    found = re.findall(r"^### (.+)\n(.+)$", GLOSSARY.read_text(), re.MULTILINE)
    return dict(found)


def slug(term: str) -> str:
    """The anchor of a heading."""
    return term.replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """`text` with spaces in the place of what matches, so that positions stay."""
    for pattern in patterns:
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def sentences(text: str) -> list[str]:
    """The sentences of a page, without code, headings and tables; an inline code is one word."""
    plain = FENCE.sub("\n\n", text)
    plain = IMAGE.sub("", HEADING.sub("\n", plain))
    plain = INLINE.sub("Code", LINK.sub(r"\1", plain))
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:-|\d+\.) )", plain):
        if not paragraph.lstrip().startswith("|"):
            words = re.sub(r"^\s*(?:-|\d+\.) ", "", paragraph).split()
            found += SENTENCE_ENDS.split(" ".join(words))
    return [sentence for sentence in found if sentence.strip()]


def first_use(text: str, term: str) -> re.Match[str] | None:
    """
    Where `term` is first used in the prose of a page: not in code, a heading or a link to another page. Group 1 is the
    opening bracket of a link, if it is one to the glossary.
    """
    prose = blanked(text, FENCE, HEADING, INLINE, IMAGE)
    for found in LINK.finditer(prose):
        if found[2] != f"glossary.md#{slug(term)}":
            prose = prose[: found.start()] + " " * len(found[0]) + prose[found.end() :]
    for longer in terms():
        if term in longer.split() and longer != term:
            prose = blanked(prose, re.compile(rf"{longer}", re.IGNORECASE))
    return re.search(rf"(\[)?(?<![\w-]){term}(?:s|es)?(?![\w-])", prose, re.IGNORECASE)


def unlinked(text: str) -> list[str]:
    """The words of the glossary that a page uses, and does not link where it does so first."""
    found = {term: first_use(text, term) for term in terms()}
    return [term for term, use in found.items() if use is not None and use[1] is None]
