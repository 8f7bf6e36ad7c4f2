"""
Pictures in a notebook, each in a frame of its own, so that the styles of two do not meet; and panes, of which our
notebooks and their pages on the site are made.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

TEXT, PICTURE = "text", "picture"
"""What a pane holds: lines, or an SVG file."""

LIT = "background:#ffd54a;color:#17212b"
"""The style of a line that is lit."""


@dataclass(frozen=True)
class Pane:
    """One thing that a notebook shows under a heading: a text, some lines of which may be lit, or a picture."""

    title: str
    text: str
    kind: str = TEXT
    lit: Collection[int] = ()
    """Numbers of lines, from 1."""

    def html(self) -> str:
        """The pane as a part of a page."""
        if self.kind == PICTURE:
            shown = f'<div style="overflow-x:auto">{picture_tag(self.text, self.title)}</div>'
        else:
            shown = f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px">{self._lines()}</pre>'
        return f"<h3>{escape(self.title)}</h3>\n{shown}"

    def _lines(self) -> str:
        lines = [escape(line) for line in self.text.splitlines()]
        lit = [f'<mark style="{LIT}">{line}</mark>' if k in self.lit else line for k, line in enumerate(lines, 1)]
        return "\n".join(lit)


def panes_html(panes: Sequence[Pane]) -> str:
    """All panes of a notebook, one below the other."""
    return "\n".join(pane.html() for pane in panes)


def picture_tag(svg: str, what: str) -> str:
    """An SVG file as an image of a page; `what` is said where it cannot be seen."""
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(what)}" src="data:image/svg+xml;base64,{data}"/>'


def page_tag(page: str, height: int) -> str:
    """A whole page inside of another, `height` pixels high."""
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:{height}px;border:0"></iframe>'
