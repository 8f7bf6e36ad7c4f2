"""
Pictures in a notebook: each in a frame of its own, so that the styles of two do not meet.
"""

from __future__ import annotations

from base64 import b64encode
from html import escape


def picture_tag(svg: str, what: str) -> str:
    """An SVG file as an image of a page; `what` is said where it cannot be seen."""
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(what)}" src="data:image/svg+xml;base64,{data}"/>'


def page_tag(page: str, height: int) -> str:
    """A whole page inside of another, `height` pixels high."""
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:{height}px;border:0"></iframe>'
