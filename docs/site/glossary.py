"""
Words of the course, linked where a page uses them first.

The pages of the course link them by hand, which their tests demand. Elsewhere it is done here, for the words that mean
nothing else: a count or an order may be any, an initiation interval is one.
"""

from __future__ import annotations

import os
import re

PAGE = "course/glossary.md"
ENTRY = re.compile(r"^### (.+)\n(.+)$", re.MULTILINE)
PROSE_ONLY = re.compile(
    r"^ *```.*?^ *```|^(?: {4}|#|\||!!!|<)[^\n]*$|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]*>", re.MULTILINE | re.DOTALL
)
AMBIGUOUS = set(
    """
    acquire age barrier body commit complete count counter group issue mark order perform period phase release stage
    target task token version wait
    """.split()  # noqa: SIM905 - a list of one word a line would be longer than the module
)
"""Words that pages outside of the course use in other senses as well."""


def terms(glossary: str) -> dict[str, str]:
    """Word -> what it means, of those that are linked; longer words come first."""
    found = {term: meaning for term, meaning in ENTRY.findall(glossary) if term not in AMBIGUOUS}
    return dict(sorted(found.items(), key=lambda item: (-len(item[0]), item[0])))


def link_terms(text: str, page: str, known: dict[str, str]) -> str:
    """
    `text` with the first use of each word in its prose made a link to what it means.

    `page` is where the text stands, below the source of the site. Code, headings, tables and links stay.
    """
    target = os.path.relpath(PAGE, os.path.dirname(page))
    kept = [(found.start(), found.end()) for found in PROSE_ONLY.finditer(text)]
    links: dict[tuple[int, int], str] = {}
    blank = _blanked(text, kept)
    for term, meaning in known.items():
        found = re.search(rf"(?<![\w-]){re.escape(term)}(?:e?s)?(?![\w-])", blank, re.IGNORECASE)
        if found is not None:
            title = meaning.replace('"', "'").replace("`", "")
            links[found.span()] = f'[{found[0]}]({target}#{term.replace(" ", "-")} "{title}")'
            blank = _blanked(blank, [found.span()])
    for (start, end), link in sorted(links.items(), reverse=True):
        text = text[:start] + link + text[end:]
    return text


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """`text` with spaces in the place of `spans`."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], " " * (end - start)]
        done = end
    return "".join([*parts, text[done:]])
