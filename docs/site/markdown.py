"""
From the Markdown of `docs/`, which GitHub and the tests read, to that of Python-Markdown, which mkdocs renders.

They differ in three things. A fence of ours has words behind its language that say how it is tested. A list may follow
a paragraph without an empty line. And links lead out of `docs/`, to programs and to code, for which the site has pages
of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

FENCE = re.compile(r"^(?P<indent> *)```(?P<tag>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
LANGUAGES = {"mlir-fragment": "mlir", "console": "text", "": "text"}
LIST_ITEM = re.compile(r"(?:[-*]|1\.) ")


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` made to what stands between its fences."""
    parts: list[str] = []
    end = 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def retag(text: str) -> str:
    """
    Fences with tags that Python-Markdown reads.

    ```sh exit=1             -> ```sh
    ```text output           -> ``` { .text .output }
    ```python file=twice.py  -> ``` { .python title="twice.py" }
    """
    return FENCE.sub(_retagged, text)


def _retagged(fence: re.Match[str]) -> str:
    indent, words = fence["indent"], fence["tag"].split()
    language = LANGUAGES.get(words[0] if words else "", words[0] if words else "")
    options = [f".{language}"]
    options += [f'title="{word.removeprefix("file=")}"' for word in words if word.startswith("file=")]
    if "output" in words:
        options.append(".output")
    tag = language if len(options) == 1 else f" {{ {' '.join(options)} }}"
    return f"{indent}```{tag}\n{fence['body']}{indent}```"


def space_lists(text: str) -> str:
    """An empty line before each list that follows a paragraph, without which Python-Markdown sees no list."""
    lines = text.split("\n")
    spaced: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        starts = LIST_ITEM.match(line) and before.strip() and not LIST_ITEM.match(before) and before[0] not in " |#<"
        spaced += ["", line] if starts else [line]
    return "\n".join(spaced)


def relink(text: str, page: str, place_of: Callable[[str], str | None]) -> str:
    """
    Links of the page `page` (a path below the root of the repository), led to where the site has what they name.

    `place_of` says of a path below the root where that is, below the root as well; None leaves a link as it is.
    """

    def led(link: re.Match[str]) -> str:
        target, mark, anchor = link[0].partition("#")
        if "://" in target or not target:
            return link[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        place = place_of(path)
        if place is None:
            return link[0]
        placed_page = place_of(page) or page
        return os.path.relpath(place, os.path.dirname(placed_page)) + mark + anchor

    return outside_fences(text, lambda part: LINK.sub(led, part))
