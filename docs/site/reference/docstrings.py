"""
Docstrings as Markdown: indented blocks become fences, and the sections of a pass become headings.

    Rewrites                       ## Rewrites
        One op by two.       ->
                                   One op by two.
    Requires: verified IR.
                                   ## Requires

                                   verified IR.
"""

from __future__ import annotations

import inspect
import re
import textwrap

SECTION = re.compile(r"(?:^|(?<=\. ))(Rewrites|Requires|Refuses|Choices)(?=[:, \n])[:, ]*", re.MULTILINE)
"""The name of a section: on a line of its own, or where a sentence begins (`Refuses tokens that escape`)."""
CODE = re.compile(r"(`[^`]*`)")


def doc_of(documented: object) -> str:
    """The docstring of its own, or nothing; what `dataclass` writes is none."""
    own = getattr(documented, "__dict__", {}).get("__doc__") or ""
    name = getattr(documented, "__name__", "")
    return "" if own.startswith(f"{name}(") else inspect.cleandoc(own)


def sections(doc: str) -> dict[str, str]:
    """
    What stands under each section of a docstring; what stands in front of them all is under "".

    A section whose text is indented below its name is set flush.
    """
    parts = SECTION.split(doc)
    found = {"": parts[0].strip()}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = textwrap.dedent(text.lstrip("\n")).strip() if text.startswith("\n") else text.strip()
    return found


def as_markdown(doc: str, language: str = "text") -> str:
    """Prose and lists as they are, without HTML; paragraphs that are indented by four as fences of `language`."""
    blocks: list[str] = []
    for paragraph in re.split(r"\n{2,}", doc.strip("\n")):
        if paragraph.startswith("    "):
            if blocks and blocks[-1].startswith("```"):
                blocks[-1] = f"{blocks[-1].removesuffix(chr(10) + '```')}\n\n{textwrap.dedent(paragraph)}\n```"
            else:
                blocks.append(f"```{language}\n{textwrap.dedent(paragraph)}\n```")
        else:
            blocks.append(escaped(paragraph))
    return "\n\n".join(blocks)


def escaped(prose: str) -> str:
    """Prose whose `<`, `*` and `_` stand for themselves; code between backticks stays."""
    parts = CODE.split(prose)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(part: str) -> str:
    return re.sub(r"(?<=\w)_(?=\w)|(?<![*\s])\*(?=\w)", lambda found: "\\" + found[0], part.replace("<", "&lt;"))


LONG = 24
"""Characters of a word that a column on a telephone has no room for."""


def breakable(text: str) -> str:
    """Text for HTML, in which long names may end a line behind their dots, slashes and underscores."""
    return " ".join(
        re.sub(r"(?<=[./_])(?=\w)", "<wbr>", word) if len(word) > LONG else word for word in text.split(" ")
    )


def cell(text: str) -> str:
    """Text for one cell of a table. Between backticks Python-Markdown takes a bar, and a backslash, as they stand."""
    parts = CODE.split(" ".join(text.split()))
    return "".join(part if part.startswith("`") else _plain(part).replace("|", "\\|") for part in parts)
